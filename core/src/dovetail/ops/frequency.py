"""Which elements are most frequent along a dim."""

from __future__ import annotations

import numpy as np

from dovetail.dtypes import ORDERED, Array, int64
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import maximum
from dovetail.ops.compare import ne
from dovetail.ops.create import full
from dovetail.ops.extremes import argmax, places
from dovetail.ops.formats import where
from dovetail.ops.order import sort
from dovetail.ops.pick import pick
from dovetail.ops.primitive import take_along
from dovetail.ops.scan import scanned
from dovetail.ops.view import expand


def _last_of_most(row: Array) -> int:
    """By how often each value is met; each NaN is one of its own, behind all others."""
    values, counts = np.unique(row, return_counts=True, equal_nan=False)
    most = values[counts.argmax()]
    if most != most:  # noqa: PLR0124  there is nothing else
        return int(np.isnan(row).argmax())
    return int(np.flatnonzero(row == most)[-1])


def _by_counting(x: Array, dim: int = -1) -> Array:
    if not x.ndim:
        return np.zeros((), np.int64)
    return np.asarray(np.apply_along_axis(_last_of_most, dim, x), np.int64)


@op(shape="(n+@dim)->()", accepts=ORDERED, result=int64, outputs=("indices",),
    nondifferentiable=True, unrounded=True, grows=(0,), largest=1 << 8,
    oracle=_by_counting,
    cases=lambda make: [
        case(make.ints(3, 9, high=4).astype(make.dtype.numpy), 1),
        case(make.ints(7, 2, high=2).astype(make.dtype.numpy), 0),
        case(make(2, 5)), case(make()),
    ])  # fmt: skip
def most_frequent(input: Tensor, dim: Axis = -1) -> Tensor:
    """The last place of the most frequent element along `dim`, the least of several."""
    narrow = input._kind.with_dtype(int64)
    if not input._a.shape:
        return full((), 0, narrow)
    values, order = sort(input, dim)
    numbers, shape = places(input, dim), tuple(values._a.shape)
    before = take_along(values, expand(maximum(numbers - 1, 0), shape), dim)
    start = where(ne(values, before), expand(numbers, shape), 0)
    best = argmax(numbers - scanned(start, dim, maximum), dim)
    found: Tensor = pick(order, best, dim)
    return found


__all__ = ["most_frequent"]
