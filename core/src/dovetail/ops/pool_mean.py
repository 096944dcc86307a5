"""Means over windows: of a fixed size, and adaptive to a size of the result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, int64
from dovetail.engine.adjoints import adjoint_of
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.primitive import cast, div, idiv, maximum
from dovetail.ops.view import contiguous
from dovetail.ops.windows import (
    POOLS,
    added_back,
    columns_of,
    counted,
    gathered_back,
    pooled_shape,
    windows,
)
from dovetail.xp.windows import places_of

Sizes = Sequence[int]


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
    parts = windows(input, places, kernel_size, stride, padding, once)
    total = next(parts)
    for part in parts:
        total = total + part
    how = (kernel_size, stride, padding, count_include_pad, divisor_override)
    counts = divisors(input, size, places, *how)
    divide = div if input._kind.dtype.is_floating_point else idiv
    return divide(contiguous(total), counts)


@adjoint_of(avg_pool, "input", averages=True, accepts=FLOAT,
            shape=lambda dy, *, size, **_: (*dy[:2], *size))  # fmt: skip
def avg_pool_backward(
    dy: Tensor, size: Ints, kernel_size: Ints, stride: Ints, padding: Ints,
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """`dy`, divided as the mean of its window was, added to all of the window."""
    places = tuple(dy._a.shape[2:])
    how = (kernel_size, stride, padding, count_include_pad, divisor_override)
    share = dy / divisors(dy, tuple(size), places, *how)
    parts = (share for _ in range(math.prod(kernel_size)))
    return gathered_back(parts, size, kernel_size, stride, padding, _ones(kernel_size))


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
    steps = (kernel, stride, padding, _ones(kernel))
    places = places_of(x.shape[2:], *steps, ceil_mode)
    y = columns_of(x, places, *steps).sum(-1, dtype=x.dtype)
    counts = _counts(x.shape[2:], places, kernel, stride, padding, *how)
    if x.dtype.kind == "f":
        return y / counts
    size = np.abs(y.astype(object)) // np.asarray(counts).astype(int).astype(object)
    return (np.sign(y).astype(object) * size).astype(x.dtype)


@avg_pool_backward.oracle
def _(
    dy: Any, size: Any, kernel: Any, stride: Any, padding: Any, _: bool, *how: Any
) -> Any:
    share = dy / _counts(size, dy.shape[2:], kernel, stride, padding, *how)
    columns = np.repeat(share[..., None], math.prod(kernel), -1)
    return added_back(columns, size, kernel, stride, padding, _ones(kernel))


_HOW: Any = ((True, None), (False, None), (True, 3), (False, None))


@avg_pool.cases
def _(make: Any) -> Iterator[Any]:
    for i, (x, kernel, stride, padding, _, ceil_mode) in enumerate(POOLS):
        yield case(make(*x), kernel, stride, padding, ceil_mode, *_HOW[i % len(_HOW)])
