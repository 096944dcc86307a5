"""Where public functions are found, and where they are written.

Pickles name a function by its module: that is where users find it, so that networks
which hold one as an activation are saved, copied and sent to other processes.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any


def called_so(function: Any, module: str, name: str) -> None:
    """Let a function be found where users find it."""
    if isinstance(function, FunctionType):
        function.__dict__.setdefault("__home__", function.__module__)
        function.__module__, function.__qualname__ = module, name


def home_of(function: Any) -> str:
    """The module that a function is written in."""
    return str(getattr(function, "__home__", None) or function.__module__)
