"""Where classes are and which there are, for bodies and for kernels alike."""

from __future__ import annotations

from dovetail.errors import IndexOutOfRange


def class_dim(ndim: int) -> int:
    """Where the classes are: [classes], or [n, classes, ...]."""
    return 0 if ndim == 1 else 1


def refuse_label(name: str, label: int, classes: int) -> IndexOutOfRange:
    """The error for a class that is none."""
    return IndexOutOfRange(
        name, "target", was=f"{label}: Target {label} is out of bounds",
        needed=f"classes from 0 to {classes - 1}, or ignore_index",
    )  # fmt: skip
