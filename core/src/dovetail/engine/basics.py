"""The ops that the engine itself calls, bound once when they are declared.

The engine imports no op: `ops` stands above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Function = Callable[..., Any]


class Basics:
    """The functions of these ops, by name; absent until they are declared."""

    add: Function
    assign_: Function
    cast: Function
    clone: Function
    conj_physical: Function
    filled: Function
    full: Function
    permute: Function
    sum_to: Function
    transfer: Function
    view: Function
    zeros_like: Function

    def bind(self, name: str, function: Function) -> None:
        """Note an op that was declared, if it is one of these."""
        if name in Basics.__annotations__:
            setattr(self, name, function)


basics: Final = Basics()
