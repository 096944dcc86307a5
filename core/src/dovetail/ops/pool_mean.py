"""Means over windows: of a fixed size, and adaptive to a size of the result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, int64
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.inplace import inplace
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops import sums
from dovetail.ops.create import zeros_of
from dovetail.ops.primitive import add, cast, clone, div, idiv, maximum
from dovetail.ops.view import basic_index, contiguous, expand, reshape
from dovetail.ops.windows import (
    POOLS,
    counted,
    gathered_back,
    pooled_shape,
    window_views,
    windows,
)  # fmt: skip
from dovetail.xp.windows import places_of

Sizes = Sequence[int]
_ALL = slice(None)


def _ones(kernel: Sizes) -> Sizes:
    return (1,) * len(kernel)


def _mean_shape(
    x: Sizes, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Sizes:  # fmt: skip
    if divisor_override == 0:
        raise ArgumentError("avg_pool", "divisor_override", was=0, needed="not zero")
    once = _ones(kernel_size)
    return pooled_shape("avg_pool", x, kernel_size, stride, padding, once, ceil_mode)


@op(averages=True, shape=_mean_shape, accepts=FLOAT | {int64})
def avg_pool(
    input: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """The mean of each window: its sum over the number of its elements.

    The means of integers are truncated.
    Padding counts where `count_include_pad`; what hangs over the padding never does.
    `divisor_override` replaces the number.
    """
    once = _ones(kernel_size)
    size = tuple(input._a.shape[2:])
    places = places_of(size, kernel_size, stride, padding, once, ceil_mode)
    parts = windows(input, places, kernel_size, stride, padding, once, 0)
    total = next(parts)
    for part in parts:
        total = total + part
    how = (kernel_size, stride, padding, count_include_pad, divisor_override)
    counts = divisors(input, size, places, *how)
    divide = div if input._kind.dtype.is_floating_point else idiv
    y: Tensor = divide(contiguous(total), counts)
    return y


def _mean_grad_shape(
    dy: Sizes, *, size: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes,
    count_include_pad: bool, divisor_override: int | None,
) -> Sizes:  # fmt: skip
    counts = {len(size), len(kernel_size), len(stride), len(padding), len(dy) - 2}
    if len(counts) > 1:
        raise ShapeError(
            "avg_pool_backward", "dy", was=dy, needed="a number for each axis"
        )
    made = [
        places_of(size, kernel_size, stride, padding, _ones(kernel_size), ceil_mode)
        for ceil_mode in (False, True)
    ]
    if 0 in (*dy[1:], *size) or tuple(dy[2:]) not in made:
        raise ShapeError(
            "avg_pool_backward", "dy", was=dy, needed=f"places {made[0]} or {made[1]}"
        )
    return (*dy[:2], *size)


@op(averages=True, shape=_mean_grad_shape, accepts=FLOAT)
def avg_pool_backward(
    dy: Tensor, size: Ints, kernel_size: Ints, stride: Ints, padding: Ints,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """`dy`, divided as the mean of its window was, added to all of the window."""
    places = tuple(dy._a.shape[2:])
    how = (kernel_size, stride, padding, count_include_pad, divisor_override)
    share = dy / divisors(dy, tuple(size), places, *how)
    parts = (share for _ in range(math.prod(kernel_size)))
    steps = (kernel_size, stride, padding, _ones(kernel_size))
    return gathered_back(parts, dy, tuple(size), *steps)


def divisors(
    x: Tensor, size: Sizes, places: Sizes, kernel: Sizes, stride: Sizes,
    padding: Sizes, count_include_pad: bool, divisor_override: int | None,
) -> Tensor | int:  # fmt: skip
    """What the sum of each window is divided by: a number if it is one for all."""
    if divisor_override is not None:
        return divisor_override
    geometry = list(zip(size, places, kernel, stride, padding, strict=True))
    counts: Tensor | int = 1
    for behind, (s, n, k, t, p) in enumerate(reversed(geometry)):
        margin = p if count_include_pad else 0
        if (margin == p) and (n - 1) * t + k <= s + 2 * p:
            counts = counts * k
            continue
        start = counted(x, n, behind) * t - p
        # min and max of integers, as level 0 has only one of them
        stop = 0 - maximum(0 - (start + k), -(s + margin))
        counts = (stop - maximum(start, -margin)) * counts
    return cast(counts, x._kind.dtype) if isinstance(counts, Tensor) else counts


avg_pool.grad(
    input=lambda ct, input_shape, kernel_size, stride, padding, count_include_pad,
    divisor_override: avg_pool_backward(
        ct, tuple(input_shape[2:]), kernel_size, stride, padding, count_include_pad,
        divisor_override,
    )
)  # fmt: skip


def _back_again(
    ct: Tensor, dy_shape: Sizes, size: Sizes, kernel_size: Sizes, stride: Sizes,
    padding: Sizes, count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    plain = places_of(size, kernel_size, stride, padding, _ones(kernel_size), False)
    ceil_mode = plain != tuple(dy_shape[2:])
    how = (ceil_mode, count_include_pad, divisor_override)
    return avg_pool(ct, kernel_size, stride, padding, *how)


avg_pool_backward.grad(dy=_back_again)


# ---- adaptive


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


def _adaptive_grad_shape(dy: Sizes, *, size: Sizes) -> Sizes:
    if len(dy) != len(size) + 2:
        raise ShapeError(
            "adaptive_avg_pool_backward", "dy", was=dy, needed=f"as {size}"
        )
    if 0 in (*dy[1:2], *size):
        raise ShapeError(
            "adaptive_avg_pool_backward",
            "dy",
            was=dy,
            needed="no empty dim but the batch",
        )
    return (*dy[:2], *size)


@op(averages=True, shape=_adaptive_grad_shape, accepts=FLOAT, largest=1 << 12)
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


adaptive_avg_pool.grad(
    input=lambda ct, input_shape: adaptive_avg_pool_backward(ct, input_shape[2:])
)
adaptive_avg_pool_backward.grad(
    dy=lambda ct, dy_shape: adaptive_avg_pool(ct, dy_shape[2:])
)


# ---- proof


def _counts(
    size: Sizes, places: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
    include: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    counts = np.ones(places)
    for at in np.ndindex(*places):
        for i, s, k, t, p in zip(at, size, kernel, stride, padding, strict=True):
            margin = p if include else 0
            reached = range(i * t - p, i * t - p + k)
            counts[at] *= sum(-margin <= j < s + margin for j in reached)
    return (
        counts if divisor_override is None else np.full(places, float(divisor_override))
    )


@avg_pool.oracle
def _(
    x: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, *how: Any
) -> Any:
    once = _ones(kernel)
    places = places_of(x.shape[2:], kernel, stride, padding, once, ceil_mode)
    y = np.empty((*x.shape[:2], *places), x.dtype)
    for at, patch in window_views(x, places, (kernel, stride, padding, once), 0):
        y[at] = patch.sum(axis=tuple(range(2, x.ndim)))
    counts = _counts(x.shape[2:], places, kernel, stride, padding, *how)
    if x.dtype.kind == "f":
        return y / counts
    size = np.abs(y.astype(object)) // np.asarray(counts).astype(int).astype(object)
    return (np.sign(y).astype(object) * size).astype(x.dtype)


@avg_pool_backward.oracle
def _(dy: Any, size: Any, kernel: Any, stride: Any, padding: Any, *how: Any) -> Any:
    places = dy.shape[2:]
    share = dy / _counts(size, places, kernel, stride, padding, *how)
    dx = np.zeros((*dy.shape[:2], *size))
    for at in np.ndindex(*places):
        region: Any = tuple(
            slice(max(i * t - p, 0), max(i * t - p + k, 0))
            for i, k, t, p in zip(at, kernel, stride, padding, strict=True)
        )
        dx[(..., *region)] += share[(..., *at)].reshape(*dy.shape[:2], *_ones(kernel))
    return dx


_HOW: Any = ((True, None), (False, None), (True, 3), (False, None))


def _mean_calls() -> Iterator[Any]:
    for i, (x, kernel, stride, padding, _, ceil_mode) in enumerate(POOLS):
        yield x, kernel, stride, padding, ceil_mode, *_HOW[i % len(_HOW)]


@avg_pool.cases
def _(make: Any) -> Iterator[Any]:
    for x, *how in _mean_calls():
        yield case(make(*x), *how)


@avg_pool_backward.cases
def _(make: Any) -> Iterator[Any]:
    for x, kernel, stride, padding, ceil_mode, *how in _mean_calls():
        places = places_of(x[2:], kernel, stride, padding, _ones(kernel), ceil_mode)
        yield case(make(*x[:2], *places), x[2:], kernel, stride, padding, *how)


@adaptive_avg_pool.oracle
def _(x: Any, output_size: Any) -> Any:
    y = np.empty((*x.shape[:2], *output_size))
    for at in np.ndindex(*output_size):
        region: Any = tuple(
            slice(math.floor(i * s / o), math.ceil((i + 1) * s / o))
            for i, s, o in zip(at, x.shape[2:], output_size, strict=True)
        )
        y[(..., *at)] = x[(..., *region)].mean(axis=tuple(range(2, x.ndim)))
    return y


@adaptive_avg_pool_backward.oracle
def _(dy: Any, size: Any) -> Any:
    dx = np.zeros((*dy.shape[:2], *size))
    for at in np.ndindex(*dy.shape[2:]):
        region: Any = tuple(
            slice(math.floor(i * s / o), math.ceil((i + 1) * s / o))
            for i, s, o in zip(at, size, dy.shape[2:], strict=True)
        )
        target = dx[(..., *region)]
        count = math.prod(target.shape[2:])
        target += (dy[(..., *at)] / count).reshape(*dy.shape[:2], *_ones(size))
    return dx


_ADAPTIVE: Any = (
    ((2, 3, 4, 6), (1, 1)), ((2, 2, 6, 4), (3, 2)), ((1, 2, 7, 5), (3, 4)),
    ((1, 2, 3, 4), (5, 4)), ((2, 2, 7), (2,)), ((1, 1, 2, 3, 4), (1, 2, 3)),
    ((0, 2, 4, 4), (2, 2)),
)  # fmt: skip


@adaptive_avg_pool.cases
def _(make: Any) -> Iterator[Any]:
    for x, output_size in _ADAPTIVE:
        yield case(make(*x), output_size)


@adaptive_avg_pool_backward.cases
def _(make: Any) -> Iterator[Any]:
    for x, output_size in _ADAPTIVE:
        yield case(make(*x[:2], *output_size), x[2:])
