"""The largest element of each window, and where its gradient goes.

Every gradient is an op whose own gradient is again one of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, REAL, int32
from dovetail.engine.adjoints import adjoint_of
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.limits import least
from dovetail.ops.create import full
from dovetail.ops.primitive import clone, eq, idiv, lt, maximum, where
from dovetail.ops.view import contiguous, expand
from dovetail.ops.windows import (
    POOLS,
    added_back,
    columns_of,
    counted,
    first_of_largest,
    gathered_back,
    pooled_shape,
    windows,
)
from dovetail.xp.windows import Windows

Sizes = Sequence[int]


@op(shape=partial(pooled_shape, "max_pool"), accepts=REAL, unrounded=True, grows=(1,))
def max_pool(
    input: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints,
    ceil_mode: bool,
) -> Tensor:  # fmt: skip
    """The largest element of each window; padding is below everything, NaN wins."""
    w = Windows(kernel_size, stride, padding, dilation, ceil_mode)
    parts = windows(input, w, least(input.dtype))
    best = clone(next(parts))
    for part in parts:
        best = maximum(best, part)
    return contiguous(best)


@op(shape=partial(pooled_shape, "max_pool_slots"), accepts=REAL, result=int32,
    unrounded=True, nondifferentiable=True)  # fmt: skip
def max_pool_slots(
    x: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints,
    ceil_mode: bool,
) -> Tensor:  # fmt: skip
    """Which offset of the kernel, counted row by row, holds each window's maximum.

    The first among equals, the last among NaNs.
    """
    w = Windows(kernel_size, stride, padding, dilation, ceil_mode)
    slot = _first_inside(x, w)
    parts = windows(x, w, least(x.dtype))
    best = next(parts)
    for i, part in enumerate(parts, 1):
        better = lt(best, part)
        slot = where(better, i, slot)
        if x._kind.dtype.is_floating_point:
            slot = where(eq(part, part), slot, i)
        best = maximum(best, part)
    return contiguous(slot)


def _first_inside(x: Tensor, w: Windows) -> Tensor:
    """The first offset of each window that is not padding."""
    places = w.places(tuple(x._a.shape[2:]))
    slot = full((1,) * len(places), 0, x._kind.with_dtype(int32))
    if any(w.padding):
        for axis in range(2, x.ndim):
            n, k, t, p, d = w.along(axis, places)
            outside = maximum(p - counted(x, n, x.ndim - 1 - axis) * t, 0)
            slot = slot * k + idiv(outside + (d - 1), d)
    return expand(slot, (*x._a.shape[:2], *places))


def _taken_shape(u: Sizes, x: Sizes, **steps: Any) -> Sizes:
    if u != x:
        raise ShapeError("max_pool_take", "u", was=f"of shape {u}", needed=str(x))
    return pooled_shape("max_pool_take", x, **steps)


@op(shape=_taken_shape, accepts=FLOAT, unrounded=True)
def max_pool_take(
    u: Tensor, input: Tensor, kernel_size: Ints, stride: Ints, padding: Ints,
    dilation: Ints, ceil_mode: bool,
) -> Tensor:  # fmt: skip
    """The elements of `u` where each window of `input` has its maximum."""
    w = Windows(kernel_size, stride, padding, dilation, ceil_mode)
    slot, parts = max_pool_slots(input, *w), windows(u, w)
    y = clone(next(parts))
    for i, part in enumerate(parts, 1):
        y = where(eq(slot, i), part, y)
    return contiguous(y)


# The place of each maximum is a constant: `input` gets nothing through it.
@adjoint_of(max_pool_take, "u", shape=lambda dy, x, **_: x)
def max_pool_backward(
    dy: Tensor, input: Tensor, kernel_size: Ints, stride: Ints, padding: Ints,
    dilation: Ints, ceil_mode: bool,
) -> Tensor:  # fmt: skip
    """`dy` added to the place in `input` where each window has its maximum."""
    w = Windows(kernel_size, stride, padding, dilation, ceil_mode)
    slot = max_pool_slots(input, *w)
    parts = (where(eq(slot, i), dy, 0) for i in range(math.prod(kernel_size)))
    return gathered_back(parts, tuple(input._a.shape[2:]), w)


max_pool.grad(input=max_pool_backward)


def flat_positions(slot: Tensor, size: Sizes, w: Windows) -> Tensor:
    """Slots as positions in the flattened spatial axes of an input of that size."""
    flat: Any = 0
    left, step = slot, 1
    for behind, s in enumerate(reversed(size)):
        n, k, t, p, d = w.along(slot.ndim - 1 - behind, slot._a.shape[2:])
        rest = idiv(left, k)
        at = counted(slot, n, behind) * t - p + (left - rest * k) * d
        flat = flat + at * step
        left, step = rest, step * s
    found: Tensor = flat
    return found


def _columns(x: Any, *steps: Any) -> Any:
    """The elements of each window, with less than any around the input."""
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return columns_of(x, Windows(*steps), lowest)


def _best(x: Any, *steps: Any) -> Any:
    """Which offset is largest; where none is more than padding, the first behind it.

    Of windows that reach beyond the input at both ends, none need be within.
    """
    w = Windows(*steps)
    best = first_of_largest(_columns(x, *steps))[..., None]
    wins = np.take_along_axis(columns_of(np.ones(x.shape, bool), w), best, -1)
    first = np.zeros((), int)
    for n, k, t, p, d in zip(w.places(x.shape[2:]), *w[:4], strict=True):
        before = np.maximum(p - np.arange(n) * t, 0)
        first = first[..., None] * k + -(-before // d)
    return np.where(wins, best, first[..., None])


@max_pool.oracle
def _(x: Any, *steps: Any) -> Any:
    return _columns(x, *steps).max(-1)


@max_pool_slots.oracle
def _(x: Any, *steps: Any) -> Any:
    return _best(x, *steps)[..., 0].astype(np.int32)


@max_pool_take.oracle
def _(u: Any, x: Any, *steps: Any) -> Any:
    best = _best(x, *steps)
    return np.take_along_axis(_columns(u, *steps), best, -1)[..., 0]


@max_pool_backward.oracle
def _(dy: Any, x: Any, *steps: Any) -> Any:
    best = _best(x, *steps)
    chosen = best == np.arange(math.prod(steps[0]))
    columns = np.where(chosen, dy[..., None], 0)
    return added_back(columns, x.shape[2:], Windows(*steps))


@max_pool.cases
@max_pool_slots.cases
def _(make: Any) -> Iterator[Any]:
    for x, *steps in POOLS:
        yield case(make.distinct(*x), *steps)


@max_pool_take.cases
def _(make: Any) -> Iterator[Any]:
    for x, *steps in POOLS:
        yield case(make(*x), make.distinct(*x), *steps)
