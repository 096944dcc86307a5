"""What users call functions and types."""

from __future__ import annotations

import builtins
import math
import operator
import sys
from typing import Any, Final

from dovetail.engine import return_types

# Where functions are looked for, below the package.
_ROOMS: Final = (
    "", "nn.functional", "linalg", "fft", "special", "nn.init", "func", "autograd",
)  # fmt: skip


def room(name: str) -> Any:
    """A module that is loaded, by its name below the package; None if it is not."""
    return sys.modules.get(f"dovetail.{name}" if name else "dovetail")


def public_place(fn: Any) -> tuple[str, str] | None:
    """The room and the name by which users call a function, if there are such."""
    name = str(getattr(fn, "__name__", ""))
    for path in _ROOMS:
        place = room(path)
        if place is not None and name and getattr(place, name, None) is fn:
            return path, name
    return None


def qualified_name(fn: Any) -> str:
    """How users call a function: by its public name, if it has one."""
    name = str(getattr(fn, "__name__", None) or type(fn).__name__)
    for module in (operator, builtins, math):
        if getattr(module, name, None) is fn:
            return f"{module.__name__}.{name}"
    public = public_place(fn)
    if public is not None:
        return ".".join(part for part in (return_types.shown[0], *public) if part)
    home = getattr(fn, "__module__", None) or ""
    qualified = getattr(fn, "__qualname__", name)
    return f"{home}.{qualified}" if home else qualified


def type_text(kind: Any) -> str:
    """A type as annotations name it."""
    if isinstance(kind, type) and not hasattr(kind, "__origin__"):
        name = str(kind.__name__)
        if kind.__module__ == "builtins":
            return name
        if getattr(room(""), name, None) is kind:
            return f"{return_types.shown[0]}.{name}"
    return str(kind).replace("typing.", "typing_") if kind is not None else "None"
