"""docs/torch-compatibility.md, written from what the code declares."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dovetail.engine.omissions import OMISSIONS, Omission

# Only a checkout has a folder of documentation.
PAGE: Final = Path(__file__).parents[4] / "docs" / "torch-compatibility.md"
_HEAD: Final = """# Names of torch's

<!-- Written by `python -m dovetail.signatures`. -->

Functions, methods and classes have torch's names, in torch's places: `torch.linalg.qr`
is `dovetail.linalg.qr`. This page lists what is left out on purpose, each with its
reason, which the error for the name says too. A name that is neither there nor listed
is not there yet: asking for it raises an AttributeError that names the nearest one.

A name that …"""


def page() -> str:
    """The text of the page."""
    return "\n\n".join([_HEAD, *map(_section, OMISSIONS)]) + "\n"


def _section(omission: Omission) -> str:
    reason = _wrapped(f"**… {omission.reason}:**")
    return "\n\n".join([reason, "\n".join(_items(omission))])


def _items(omission: Omission) -> Iterator[str]:
    for room, names in omission.names.items():
        place = {"torch": "dovetail", "Tensor": "Tensor"}.get(room, f"dovetail.{room}")
        listed = " ".join(f"`{name}`" for name in sorted(names.split()))
        yield textwrap.fill(
            f"of `{place}`: {listed}", 88, initial_indent="- ", subsequent_indent="  ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 88, break_long_words=False, break_on_hyphens=False)
