"""How operands of a reduction look once dims that are alike are one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen.row_ops import extents_of, merged

Dims = tuple[int, ...]
Array = np.ndarray[Any, Any]

LANES: Final = 64  # as in dovetail.codegen.row_places
_LONGEST: Final = 1 << 16  # elements; sums of more would lose digits
_FEW: Final = 8  # pieces of work, fewer than which are split
_MUCH: Final = 1 << 17  # elements, of fewer than which a second stage costs too much


class Form(NamedTuple):
    """The dims of a call, as kernels see them.

    Attributes:
        pattern: what becomes of each dim.
        sizes: of the dims.
        extents: the dims that each operand has.
        shape: of the whole, as the caller has it.
        left: the shape of what is left where dims are reduced.
        turns: whether the first dim is the last one of the caller's arrays, which is
            too short to lie along the lanes.
    """

    pattern: str
    sizes: Dims
    extents: tuple[Dims, ...]
    shape: Dims
    left: Dims
    turns: bool

    def turned(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Operands with their last dim in front."""
        return tuple(
            self._turned(a, extent) if a is not None and 0 in extent else a
            for a, extent in zip(arrays, self.extents, strict=True)
        )

    def _turned(self, a: Array, extent: Dims) -> Array:
        if len(extent) == 1:
            return a.reshape(-1)
        there = a.reshape(*[self.sizes[d] for d in extent[1:]], self.sizes[0])
        last = len(extent) - 1  # moveaxis would take longer than the copy
        return np.ascontiguousarray(there.transpose(last, *range(last)))

    def shaped(self, y: Array) -> Array:
        """A result as the caller has it."""
        if y.shape == self.left and not self.turns:
            return y
        if y.size != math.prod(self.shape):
            if self.turns and self.pattern[0] == "k":
                y = np.ascontiguousarray(y.reshape(self.sizes[0], -1).T)
            return y.reshape(self.left)
        if self.turns:
            y = np.ascontiguousarray(y.transpose(*range(1, y.ndim), 0))
        return y.reshape(self.shape)


def form_of(
    shapes: Sequence[Dims], shape: Dims, reduced: set[int], left: Dims, shortest: int
) -> Form | None:
    """The form of a call; None where no kernel serves it well.

    Args:
        shapes: of the operands, which broadcast to `shape`.
        shortest: elements that a dim along the lanes has at least.
    """
    dims = merged(shape, shapes, reduced)
    if not any(dim.reduced for dim in dims):
        return None
    sizes = [dim.size for dim in dims]
    turns = sizes[-1] < shortest
    if turns:
        if len(sizes) < 2 or sizes[-2] < shortest:
            return None
        dims = [dims[-1], *dims[:-1]]
        sizes = [dim.size for dim in dims]
    pattern = "".join("r" if dim.reduced else "k" for dim in dims)
    extents = extents_of(dims, len(shapes))
    pattern = split_of(pattern, sizes)
    return Form(pattern, tuple(sizes), extents, shape, left, turns)


def split_of(pattern: str, sizes: Sequence[int]) -> str:
    """The pattern, the longest reduced dim being split where there is much of it.

    That depends on nothing but sizes, so that each call gives the same bits.
    """
    across = pattern[-1] == "k"
    every = math.prod(sizes)
    reduced = {d: n for d, n in enumerate(sizes) if pattern[d] == "r"}
    pieces = every // math.prod(reduced.values())
    if across:
        pieces = pieces // sizes[-1] * -(-sizes[-1] // LANES)
    each = every // pieces
    if each > _LONGEST or (pieces < _FEW and every >= _MUCH):
        longest = max(reduced, key=lambda d: reduced[d])
        return pattern[:longest] + "s" + pattern[longest + 1 :]
    return pattern
