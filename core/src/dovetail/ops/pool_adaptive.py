"""Poolings to a size of the result, over windows that divide each axis evenly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, REAL, Array, int32
from dovetail.engine.adjoints import adjoint_of
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.inplace import inplace
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops import sums
from dovetail.ops.compare import isnan
from dovetail.ops.create import full, zeros_of
from dovetail.ops.index import gather
from dovetail.ops.primitive import (
    add,
    clone,
    idiv,
    maximum,
    take_along,
    where,
)
from dovetail.ops.view import basic_index, contiguous, expand, reshape
from dovetail.ops.windows import counted, first_of_largest

Sizes = Sequence[int]
_ALL = slice(None)


def spans(size: int, out: int) -> list[tuple[int, int]]:
    """Start and stop of each of the `out` windows that cover an axis."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def adaptive_shape(x: Sizes, *, output_size: Sizes) -> Sizes:
    """The shape of a pooling to `output_size`."""
    name, n = "adaptive pooling", len(output_size)
    if len(x) != n + 2 or any(s < 0 for s in output_size):
        raise ShapeError(
            name, "input", was=f"of shape {x} for an output of {output_size}",
            needed="(batch, channels, *spatial) and a size for each spatial axis",
        )  # fmt: skip
    if 0 in x[1:]:
        raise ShapeError(name, "input", was=x, needed="no empty dim but the batch")
    return (*x[:2], *output_size)


@op(averages=True, shape=adaptive_shape, accepts=FLOAT)
def adaptive_avg_pool(input: Tensor, output_size: Ints) -> Tensor:
    """Means over windows that divide each axis as evenly as whole numbers can."""
    size = tuple(input._a.shape[2:])
    x = input
    for axis, out in enumerate(output_size, 2):
        x = _axis_means(x, axis, out)
    return clone(x) if tuple(output_size) == size else contiguous(x)


def _axis_means(x: Tensor, axis: int, out: int) -> Tensor:
    shape = tuple(x._a.shape)
    size = shape[axis]
    if out == size:
        return x
    if out and size % out == 0:
        split = reshape(x, (*shape[:axis], out, size // out, *shape[axis + 1 :]))
        mean: Tensor = sums.sum(split, (axis + 1,)) / (size // out)
        return mean
    y = zeros_of(x, (*shape[:axis], out, *shape[axis + 1 :]))
    before = (_ALL,) * axis
    for i, (start, stop) in enumerate(spans(size, out)):
        part = sums.sum(basic_index(x, (*before, slice(start, stop))), (axis,))
        part = part / (stop - start)
        inplace("write", lambda _, part=part: part, basic_index(y, (*before, i)))
    return y


@adjoint_of(adaptive_avg_pool, "input", averages=True, largest=1 << 12,
            shape=lambda dy, *, size, **_: (*dy[:2], *size))  # fmt: skip
def adaptive_avg_pool_backward(dy: Tensor, size: Ints) -> Tensor:
    """`dy`, divided by the size of its window, added to all of the window."""
    same = tuple(dy._a.shape[2:]) == tuple(size)
    for axis, whole in enumerate(size, 2):
        dy = _axis_shares(dy, axis, whole)
    return clone(dy) if same else contiguous(dy)


def _axis_shares(dy: Tensor, axis: int, size: int) -> Tensor:
    shape = tuple(dy._a.shape)
    out = shape[axis]
    if out == size:
        return dy
    if out and size % out == 0:
        share = reshape(dy / (size // out), (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        wide = (*shape[: axis + 1], size // out, *shape[axis + 1 :])
        return reshape(expand(share, wide), (*shape[:axis], size, *shape[axis + 1 :]))
    whole = zeros_of(dy, (*shape[:axis], size, *shape[axis + 1 :]))
    before = (_ALL,) * axis
    for i, (start, stop) in enumerate(spans(size, out)):
        share = basic_index(dy, (*before, slice(i, i + 1))) / (stop - start)
        inplace("add_", add, basic_index(whole, (*before, slice(start, stop))), share)
    return whole


@op(shape=adaptive_shape, accepts=REAL, result=int32, unrounded=True,
    nondifferentiable=True, largest=1 << 12)  # fmt: skip
def adaptive_max_positions(x: Tensor, output_size: Ints) -> Tensor:
    """Where, in the flattened spatial axes, each adaptive window has its maximum.

    The first among equals, the last among NaNs.
    """
    size = tuple(x._a.shape[2:])
    if 0 in output_size:
        return full((*x._a.shape[:2], *output_size), 0, x._kind.with_dtype(int32))
    axes = []
    for axis, (s, out) in enumerate(zip(size, output_size, strict=True)):
        number = counted(x, out, len(size) - 1 - axis)
        start = idiv(number * s, out)
        last = idiv((number + 1) * s + (out - 1), out) - 1
        axes.append((start, last, -(-s // out) + (s % out > 1)))
    best, found = None, None
    for at in itertools.product(*(range(longest) for *_, longest in axes)):
        places = [
            0 - maximum(0 - (start + k), 0 - last)
            for (start, last, _), k in zip(axes, at, strict=True)
        ]
        part, flat = _picked(x, places, size)
        if best is None or found is None:
            best, found = part, flat
            continue
        found = where(best < part, flat, found)
        if x._kind.dtype.is_floating_point:
            found = where(isnan(part), flat, found)
        best = maximum(best, part)
    assert found is not None
    return contiguous(expand(found, (*x._a.shape[:2], *output_size)))


def _picked(x: Tensor, places: list[Tensor], size: Sizes) -> tuple[Tensor, Tensor]:
    """Elements at the product of places along each axis, and their flat positions."""
    flat: Any = 0
    for axis, (at, s) in enumerate(zip(places, size, strict=True), 2):
        flat = flat * s + at
        shape = list(x._a.shape)
        shape[axis] = at._a.shape[0]
        x = take_along(x, contiguous(expand(at, tuple(shape))), axis)
    return x, flat


def adaptive_max_pool(x: Tensor, output_size: Ints) -> tuple[Tensor, Tensor]:
    """The largest element of each adaptive window, and its flat position."""
    found = adaptive_max_positions(x, output_size)
    shape = tuple(found._a.shape)
    lead = shape[:2]
    source = reshape(x, (*lead, math.prod(x._a.shape[2:])))
    index = reshape(found, (*lead, math.prod(shape[2:])))
    return reshape(gather(source, 2, index), shape), found


def _regions(size: Sizes, output_size: Sizes) -> Iterator[tuple[Any, Any]]:
    """The index of each window, and where it lies, by fractions of each axis."""
    for at in np.ndindex(*output_size):
        region = (
            slice(math.floor(i * s / o), math.ceil((i + 1) * s / o))
            for i, s, o in zip(at, size, output_size, strict=True)
        )
        yield (..., *at), (..., *region)


@adaptive_avg_pool.oracle
def _(x: Any, output_size: Any) -> Any:
    y = np.empty((*x.shape[:2], *output_size))
    for at, region in _regions(x.shape[2:], output_size):
        y[at] = x[region].mean(axis=tuple(range(2, x.ndim)))
    return y


@adaptive_avg_pool_backward.oracle
def _(dy: Any, size: Any) -> Any:
    dx = np.zeros((*dy.shape[:2], *size))
    for at, region in _regions(size, dy.shape[2:]):
        target = dx[region]
        share = dy[at] / math.prod(target.shape[2:])
        target += share.reshape(*dy.shape[:2], *(1 for _ in size))
    return dx


@adaptive_max_positions.oracle
def _(x: Any, output_size: Any) -> Any:
    numbers = np.arange(math.prod(x.shape[2:])).reshape(x.shape[2:])
    found = np.empty((*x.shape[:2], *output_size), np.int32)
    for at, region in _regions(x.shape[2:], output_size):
        patch = x[region].reshape(*x.shape[:2], -1)
        found[at] = numbers[region].reshape(-1)[first_of_largest(patch)]
    return found


# input, size of the result; None for an axis that keeps its size, which may be drawn
_CALLS: Any = (
    ((2, 3, 4, 6), (1, 1)), ((2, 2, 6, 4), (3, 2)), ((1, 2, 7, 5), (3, 4)),
    ((1, 2, 3, 4), (5, None)), ((2, 2, 7), (2,)), ((1, 1, 2, 3, 4), (1, 2, 3)),
    ((0, 2, 4, 4), (2, 2)),
)  # fmt: skip


def _pooled(x: Array, output_size: Any) -> Case:
    sizes = zip(output_size, x.shape[2:], strict=False)
    return case(x, tuple(own if out is None else out for out, own in sizes))


@adaptive_avg_pool.cases
def _(make: Any) -> Iterator[Any]:
    for x, output_size in _CALLS:
        yield _pooled(make(*x), output_size)


@adaptive_max_positions.cases
def _(make: Any) -> Iterator[Any]:
    for x, output_size in _CALLS[:-1]:
        yield _pooled(make.distinct(*x), output_size)
