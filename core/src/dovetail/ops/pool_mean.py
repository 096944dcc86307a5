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
from dovetail.xp.windows import Windows

Sizes = Sequence[int]


def _windows(
    kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool = False
) -> Windows:
    return Windows(kernel, stride, padding, (1,) * len(kernel), ceil_mode)


def _mean_shape(
    x: Sizes, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Sizes:  # fmt: skip
    if divisor_override == 0:
        raise ArgumentError("avg_pool", "divisor_override", was=0, needed="not zero")
    w = _windows(kernel_size, stride, padding, ceil_mode)
    return pooled_shape("avg_pool", x, *w)


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
    w = _windows(kernel_size, stride, padding, ceil_mode)
    parts = windows(input, w)
    total = next(parts)
    for part in parts:
        total = total + part
    size = tuple(input._a.shape[2:])
    counts = divisors(input, size, w, count_include_pad, divisor_override)
    divide = div if input._kind.dtype.is_floating_point else idiv
    return divide(contiguous(total), counts)


@adjoint_of(avg_pool, "input", averages=True, accepts=FLOAT,
            shape=lambda dy, *, size, **_: (*dy[:2], *size))  # fmt: skip
def avg_pool_backward(
    dy: Tensor, size: Ints, kernel_size: Ints, stride: Ints, padding: Ints,
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """`dy`, divided as the mean of its window was, added to all of the window."""
    w = _windows(kernel_size, stride, padding, ceil_mode)
    share = dy / divisors(dy, tuple(size), w, count_include_pad, divisor_override)
    parts = (share for _ in range(math.prod(kernel_size)))
    return gathered_back(parts, size, w)


def divisors(
    x: Tensor, size: Sizes, w: Windows, count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor | int:  # fmt: skip
    """What the sum of each window is divided by: a number if it is one for all."""
    if divisor_override is not None:
        return divisor_override
    counts: Tensor | int = 1
    places = w.places(size)
    for behind, s in enumerate(reversed(size)):
        n, k, t, p, _ = w.along(x.ndim - 1 - behind, places)
        margin = p if count_include_pad else 0
        if (margin == p) and (n - 1) * t + k <= s + 2 * p:
            counts = counts * k
            continue
        start = counted(x, n, behind) * t - p
        # min and max of integers, as level 0 has only one of them
        stop = 0 - maximum(0 - (start + k), -(s + margin))
        counts = (stop - maximum(start, -margin)) * counts
    return cast(counts, x._kind.dtype) if isinstance(counts, Tensor) else counts


def _counts(size: Sizes, w: Windows, include: bool, override: int | None) -> Any:
    places = w.places(size)
    if override is not None:
        return np.full(places, float(override))
    counts = np.ones(places)
    for at in np.ndindex(*places):
        for i, s, k, t, p in zip(at, size, *w[:3], strict=True):
            margin = p if include else 0
            reached = range(i * t - p, i * t - p + k)
            counts[at] *= sum(-margin <= j < s + margin for j in reached)
    return counts


@avg_pool.oracle
def _(x: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, *how: Any) -> Any:
    w = _windows(kernel, stride, padding, ceil)
    y = columns_of(x, w).sum(-1, dtype=x.dtype)
    counts = _counts(x.shape[2:], w, *how)
    if x.dtype.kind == "f":
        return y / counts
    size = np.abs(y.astype(object)) // np.asarray(counts).astype(int).astype(object)
    return (np.sign(y).astype(object) * size).astype(x.dtype)


@avg_pool_backward.oracle
def _(
    dy: Any, size: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, *how: Any
) -> Any:
    w = _windows(kernel, stride, padding, ceil)
    share = (dy / _counts(size, w, *how))[..., None]
    return added_back(np.repeat(share, math.prod(kernel), -1), size, w)


_HOW: Any = ((True, None), (False, None), (True, 3), (False, None))


@avg_pool.cases
def _(make: Any) -> Iterator[Any]:
    for i, (x, kernel, stride, padding, _, ceil_mode) in enumerate(POOLS):
        yield case(make(*x), kernel, stride, padding, ceil_mode, *_HOW[i % len(_HOW)])
