"""How operands lie along the elements of a result: in one run, or in rows.

A result lies in row-major order. Dims that all operands walk alike are one dim; what
is left has to be one dim (a run), two (rows) or three (blocks of rows), else operands
have to be copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

Ints = tuple[int, ...]

ONE: Final = "one"
"""An operand that is the same along the lanes."""
RUN: Final = "run"
"""An operand whose elements lie side by side along the lanes."""
APART: Final = "apart"
"""An operand whose elements lie apart along the lanes, by a step given at the call."""

SHORT_ROW: Final = 64  # elements; of shorter rows, too much is spent beside the lanes


class Layout(NamedTuple):
    """Rows of lanes, and how operands walk them.

    Attributes:
        rows: how many, those of all blocks; 1 for a run.
        lanes: elements in a row.
        kinds: `ONE`, `RUN` or `APART`, one an operand.
        row_steps, lane_steps: from row to row and from lane to lane, in elements.
        inner: rows in a block; 0 where all are one block.
        block_steps: from block to block.
    """

    rows: int
    lanes: int
    kinds: tuple[str, ...]
    row_steps: Ints
    lane_steps: Ints
    inner: int = 0
    block_steps: Ints = ()

    @property
    def words(self) -> Ints:
        """What a kernel for operands that lie so gets behind the addresses."""
        words = self.lane_steps
        if self.rows > 1:
            words = (*words, self.lanes, *self.row_steps)
        return (*words, self.inner, *self.block_steps) if self.inner else words


def layout_of(
    shape: Ints, strides: Sequence[Ints], blocks: bool = False
) -> Layout | None:
    """The layout of operands, or None where they need more than rows, or than blocks.

    Args:
        shape: of the result.
        strides: of each operand, in elements, 0 along dims that it is repeated in.
        blocks: whether there may be blocks of rows.
    """
    *outer, (lanes, lane_steps) = walked(shape, strides)
    if len(outer) > 1 + blocks or (outer and lanes < SHORT_ROW):
        return None
    kinds = tuple(map(_kind, lane_steps))
    if not outer:
        return Layout(1, lanes, kinds, (0,) * len(strides), lane_steps)
    rows, row_steps = outer[-1]
    if len(outer) == 1:
        return Layout(rows, lanes, kinds, row_steps, lane_steps)
    count, block_steps = outer[0]
    return Layout(count * rows, lanes, kinds, row_steps, lane_steps, rows, block_steps)


def walked(shape: Ints, strides: Sequence[Ints]) -> list[tuple[int, Ints]]:
    """(size, steps of each operand) of dims; what all walk alike is one dim."""
    dims = [d for d, size in enumerate(shape) if size != 1]
    walks = [
        (shape[d], tuple([s[d] for s in strides])) for d in dims
    ] or [(1, (0,) * len(strides))]  # fmt: skip
    merged = [walks[0]]
    for size, steps in walks[1:]:
        outer, before = merged[-1]
        if all(b == size * s for b, s in zip(before, steps, strict=True)):
            merged[-1] = (outer * size, steps)
        else:
            merged.append((size, steps))
    return merged


def _kind(step: int) -> str:
    return ONE if step == 0 else RUN if step == 1 else APART


def is_row_major(shape: Ints, strides: Sequence[Ints]) -> bool:
    """Whether NumPy, too, would give such operands a result in row-major order.

    It does where an operand that has all elements lies so, and where none speaks for
    another order.
    """
    against = False
    for steps in strides:
        walked = [s for size, s in zip(shape, steps, strict=True) if size != 1]
        in_order = all(a >= b for a, b in pairwise(walked))
        if 0 not in walked and in_order and min(walked, default=0) >= 0:
            return True
        known = [abs(s) for s in walked if s]
        against |= any(a < b for a, b in pairwise(known))
        against |= any(s < 0 for s in walked)
    return not against


def order_of(shape: Ints, strides: Sequence[Ints]) -> Ints | None:
    """The dims, longest steps first, where all operands agree on their order."""
    full = [s for s in strides if all(step > 0 for step in s)]
    if not full:
        return None
    lead = full[0]
    order = tuple(sorted(range(len(shape)), key=lambda d: -lead[d]))
    turned = [tuple([s[d] for d in order]) for s in strides]
    along = tuple([shape[d] for d in order])
    agrees = all(is_row_major(along, [s]) for s in turned)
    return order if agrees else None
