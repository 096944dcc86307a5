"""How often small calls are served slowly before a kernel is worth its making."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from dovetail.device_api import Kernel

CALLS: Final = 64
"""Small calls of one kind, whose NumPy kernel takes several times what a generated one
would, before that is made: together they take about as long as its making."""


class Patience:
    """A count of small calls.

    Threads may count together, so that one call or another is left out.

    Args:
        calls: after how many it ends, and begins anew.
    """

    __slots__ = ("calls", "left")

    def __init__(self, calls: int = CALLS) -> None:
        self.calls = self.left = calls

    def ends(self) -> bool:
        """Whether there were so many calls before this one."""
        self.left -= 1
        if self.left >= 0:
            return False
        self.left = self.calls
        return True


def patient(own: Kernel, least: int, serve: Callable[..., Any]) -> Callable[..., Any]:
    """What binds a kernel in front of another one that gives the same bits.

    After enough small calls it serves all. Which NaN the sum of two is may differ.

    Args:
        least: elements of the largest array from which on it serves at once.
        serve: the kernel, of arrays in rows; gives None where it cannot.
    """

    def bound(**attributes: Any) -> Any:
        small = partial(own.function, **attributes)
        large = partial(serve, **attributes)
        fewest, patience = least, Patience()

        def kernel(*arrays: Any) -> Any:
            nonlocal fewest
            if max([a.size for a in arrays]) < fewest:
                if patience.ends():
                    fewest = 1
                return small(*arrays)
            y = large(*map(_in_rows, arrays))
            return small(*arrays) if y is None else y

        return kernel

    return bound


def _in_rows(a: Any) -> Any:
    return a if a.flags.c_contiguous else np.ascontiguousarray(a)
