"""Decorators of `torch.jit`, which leave programs as they are: they run as Python.

What makes programs fast is `dovetail.compile`. TorchScript's files and its traces,
which are C++ objects, are not here.
"""

from __future__ import annotations

import typing as _typing
from typing import Any, Final, TypeVar

from dovetail.engine.missing_names import missing_name as _missing_name

T = TypeVar("T")


def script(obj: T, **_options: Any) -> T:
    """The function, class or module itself: Python is what it is run as."""
    return obj


def script_if_tracing(fn: T) -> T:
    """The function itself."""
    return fn


def export(fn: T) -> T:
    """The method itself, which a script would keep."""
    return fn


def unused(fn: T) -> T:
    """The method itself, which a script would leave out."""
    return fn


def ignore(drop: Any = False, **_options: Any) -> Any:
    """The method itself, which a script would leave to Python; or a decorator."""
    return drop if callable(drop) else _itself


def _itself(fn: T) -> T:
    return fn


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def annotate(the_type: Any, the_value: T) -> T:
    """The value: types are not compiled."""
    return the_value


def is_scripting() -> bool:
    """False: nothing is compiled to TorchScript."""
    return False


def is_tracing() -> bool:
    """False: nothing is traced to TorchScript."""
    return False


__all__ = [
    "Final", "annotate", "export", "ignore", "interface", "is_scripting", "is_tracing",
    "script", "script_if_tracing", "unused",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
