"""The ops that the engine itself calls, bound once when they are declared.

The engine imports no op: `ops` stands above it.
"""

from __future__ import annotations

from typing import Any, Final

Function = Any  # has its op in `op`


class Basics:
    """The functions of these ops, by name; absent until they are declared."""

    add: Function
    as_strided: Function
    assign_: Function
    cast: Function
    clone: Function
    conj_physical: Function
    filled: Function
    full: Function
    permute: Function
    sum: Function
    sum_to: Function
    transfer: Function
    transpose: Function
    view: Function
    zeros_like: Function

    def bind(self, name: str, function: Function) -> None:
        """Note an op that was declared, if it is one of these."""
        if name in Basics.__annotations__:
            setattr(self, name, function)


basics: Final = Basics()
