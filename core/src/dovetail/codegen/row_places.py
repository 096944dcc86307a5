"""Where a piece of work of a kernel on dims is, and where its operands lie."""

from __future__ import annotations

from typing import Final

from dovetail.codegen.program import ABSENT, KEPT, SPLIT, Dims
from dovetail.codegen.values import Term, apply, constant, parameter

LANES: Final = 64
"""How far apart elements of a reduced dim are that one lane adds up; and how many
results lie side by side in one piece of work. Part of what a sum is, to the last bit:
whatever vectors a processor has."""
SHIFT: Final = LANES.bit_length() - 1


def zero() -> Term:
    """0, as a place."""
    return constant(0, "int64")


class Places:
    """The dims of a kernel: their sizes, and where it is along those that stay.

    Args:
        pattern: what becomes of each dim, a letter each.
        piece: the number of the piece of work.

    Attributes:
        last: the dim that lies along the lanes, -1 where there is none.
        across: whether it stays, so that lanes are results of their own.
        split: the dim that is reduced in parts, -1 where there is none.
        at: the place along each dim that stays; of one along the lanes, the number of
            its piece.
    """

    def __init__(self, pattern: str, piece: Term) -> None:
        self.pattern = pattern
        there = [d for d, kind in enumerate(pattern) if kind != ABSENT]
        self.last = there[-1] if there else -1
        self.across = bool(there) and pattern[self.last] == KEPT
        self.split = pattern.find(SPLIT)
        self.sizes = [parameter(f"size{d}") for d in range(len(pattern))]
        self.at = self._found(piece)
        self.part = self.at.pop(self.split, zero())

    def words(self) -> list[str]:
        """The names of the numbers that the kernel needs to know its sizes."""
        found = [f"size{d}" for d in range(len(self.pattern))]
        if self.split >= 0:
            found += ["part", "parts"]
        return [*found, "tiles"] if self.across else found

    def _found(self, piece: Term) -> dict[int, Term]:
        """The place of a piece; pieces are in the order of their results."""
        counted: list[tuple[int, Term]] = []
        for d, kind in enumerate(self.pattern):
            if kind == SPLIT:
                counted.append((d, parameter("parts")))
            elif kind == KEPT:
                tiled = self.across and d == self.last
                counted.append((d, parameter("tiles") if tiled else self.sizes[d]))
        at: dict[int, Term] = {}
        for d, count in reversed(counted[1:]):
            whole = apply("div", piece, count)
            at[d], piece = piece - whole * count, whole
        if counted:
            at[counted[0][0]] = piece
        return at

    def span(self, d: int) -> tuple[Term, Term]:
        """Where a pass begins and ends along a reduced dim."""
        if d != self.split:
            return zero(), self.sizes[d]
        first = self.part * parameter("part")
        return first, apply("minimum", first + parameter("part"), self.sizes[d])

    def offset(self, extent: Dims, at: dict[int, Term]) -> Term:
        """Where an element of a row-major array with some of the dims lies."""
        found: Term | None = None
        for d in extent:
            found = at[d] if found is None else found * self.sizes[d] + at[d]
        return zero() if found is None else found

    def offset_of_part(self, extent: Dims) -> Term:
        """Where a part's result lies: the split dim has as many elements as parts."""
        found: Term | None = None
        for d in sorted({*extent, self.split}):
            of_part = d == self.split
            size = parameter("parts") if of_part else self.sizes[d]
            here = self.part if of_part else self.at[d]
            found = here if found is None else found * size + here
        return zero() if found is None else found
