"""Orders of the rows of matrices: what LAPACK's pivots exchange, and what undoes it."""

from __future__ import annotations

import numpy as np

from dovetail.dtypes import Array, Sizes, int32
from dovetail.engine import signature as sig
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.formats import cast, iota, take_along, where
from dovetail.ops.index import scatter
from dovetail.ops.view import basic_index, contiguous, expand, unsqueeze


def _shape(pivots: Sizes, *, size: int) -> Sizes:
    if not pivots:
        raise ShapeError("row_order", "pivots", was="0-d", needed="a row of pivots")
    return (*pivots[:-1], size)


def _exchanged(pivots: Array, size: int) -> Array:
    """The truth, a row at a time."""
    y = np.zeros((*pivots.shape[:-1], size), np.int32)
    for at in np.ndindex(*pivots.shape[:-1]):
        order = list(range(size))
        for i, pivot in enumerate(pivots[at][:size]):
            if 0 < pivot <= size:
                order[i], order[pivot - 1] = order[pivot - 1], order[i]
        y[at] = order
    return y


def swapped(size: int, i: int, j: Tensor) -> Tensor:
    """0 … size-1 with `i` and `j` in each other's place, for each j of a batch."""
    r = iota(size, j._kind.with_dtype(int32))
    j = unsqueeze(cast(j, int32), -1)
    return where(r == i, j, where(r == j, i, r))


@op(shape=_shape, accepts=frozenset({int32}), result=int32, nondifferentiable=True,
    unrounded=True, oracle=_exchanged, largest=64, levels={"size": (1, 3, 40)},
    cases=lambda make: [
        case(np.array(pivots, np.int32), size)
        for pivots, size in (
            ([3, 3, 3], 3), ([[2, 2], [1, 3]], 4), ([1], 1), ([4, 9, -1, 0, 5], 5),
            ([2, 1, 3], 2),
        )
    ])  # fmt: skip
def row_order(pivots: Tensor, size: int) -> Tensor:
    """Where each row comes from once `pivots`, counted from 1, have exchanged rows.

    The first of them says which row the first is exchanged with, and so on. A pivot
    that is no row's number exchanges nothing.
    """
    lead = tuple(pivots._a.shape[:-1])
    order: Tensor = expand(iota(size, pivots._kind), (*lead, size))
    for i in range(min(pivots._a.shape[-1], size)):
        j = basic_index(pivots, (Ellipsis, i)) - 1
        j = where((j >= 0) & (j < size), j, i)
        order = take_along(order, swapped(size, i, j), len(lead))
    return contiguous(order)


def moved_rows(x: Tensor, order: Tensor) -> Tensor:
    """The rows of matrices in another order."""
    shape = tuple(x._a.shape)
    wide = expand(unsqueeze(order, -1), (*order._a.shape, shape[-1]))
    if shape[:-2] != tuple(order._a.shape[:-1]):
        lead = sig.broadcast("rows", (shape[:-2], order._a.shape[:-1]), ("x", "order"))
        x = expand(x, (*lead, *shape[-2:]))
        wide = expand(wide, (*lead, *wide._a.shape[-2:]))
    return take_along(x, wide, len(x._a.shape) - 2)


def unmoved(order: Tensor) -> Tensor:
    """The order that undoes another one."""
    shape = tuple(order._a.shape)
    places: Tensor = expand(iota(shape[-1], order._kind), shape)
    return scatter(zeros_of(order, shape), -1, order, places)
