"""The names of backends that torch's compiler has, all of which mean the same here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail.errors import ArgumentError, NotSupported

_BACKENDS: Final = ("inductor", "aot_eager", "eager")
_DEBUG: Final = ("aot_eager", "eager")


def list_backends(exclude_tags: Sequence[str] | None = ("debug",)) -> list[str]:
    """The names that `compile` takes as its backend, all of which mean the same here.

    Args:
        exclude_tags: kinds that are left out; "debug" and "experimental" are torch's.
    """
    left_out = _DEBUG if "debug" in (exclude_tags or ()) else ()
    return sorted(name for name in _BACKENDS if name not in left_out)


def check_backend(name: str, argument: str, backend: Any) -> None:
    """Raise for what is no name of a backend; `name` says who asks."""
    if callable(backend):
        raise NotSupported(
            name, argument, was="a function", needed=f"one of {_BACKENDS}"
        )
    if backend is not None and backend not in _BACKENDS:
        raise ArgumentError(
            name, argument, was=f"{backend!r}, an invalid backend",
            needed=f"one of {', '.join(_BACKENDS)}",
        )  # fmt: skip


__all__ = ["check_backend", "list_backends"]
