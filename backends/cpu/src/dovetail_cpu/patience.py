"""How often small calls are served slowly before a kernel is worth its making."""

from __future__ import annotations

from typing import Final

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
