"""Means over windows, axis by axis."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

from dovetail.dtypes import FLOAT, HALF, Sizes
from dovetail.xp.kernels import Kernels
from dovetail.xp.windows import Windows, along, reduced

kernels: Final = Kernels()


def _divisors(
    xp: Any, size: Sizes, places: Sizes, w: Windows, include: bool,
    override: int | None, dtype: Any,
) -> Any:  # fmt: skip
    """What each window's sum is divided by; a number if it is one for all."""
    if override is not None:
        return override
    count = _count(size, places, w, include)
    if count:
        return count
    counts: Any = 1
    for behind, s in enumerate(reversed(size)):
        n, k, t, p, _ = w.along(len(size) + 1 - behind, places)
        margin = p if include else 0
        if margin == p and (n - 1) * t + k <= s + 2 * p:
            counts = counts * k
            continue
        start = xp.arange(n) * t - p
        count = xp.minimum(start + k, s + margin) - xp.maximum(start, -margin)
        counts = counts * count.reshape(n, *(1,) * behind)
    return counts.astype(dtype)


@lru_cache(256)
def _count(size: Sizes, places: Sizes, w: Windows, include: bool) -> int:
    """How many elements each window has; 0 where some have fewer than others."""
    for at, s in enumerate(size):
        n, k, t, p, _ = w.along(at + 2, places)
        if (p and not include) or (n - 1) * t + k > s + 2 * p:
            return 0
    return math.prod(w.kernel)


@kernels("avg_pool", FLOAT - HALF)
def _avg_pool(
    xp: Any, x: Any, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    w = Windows(kernel_size, stride, padding, (1,) * len(kernel_size), ceil_mode)
    y, places = reduced(xp, xp.add, x, w, 0)
    how = (w, count_include_pad, divisor_override)
    return xp.divide(y, _divisors(xp, x.shape[2:], places, *how, x.dtype), y)


@kernels("avg_pool_backward", FLOAT - HALF)
def _avg_pool_backward(
    xp: Any, dy: Any, size: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes,
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    w = Windows(kernel_size, stride, padding, (1,) * len(kernel_size), ceil_mode)
    places = dy.shape[2:]
    how = (w, count_include_pad, divisor_override)
    share = dy / _divisors(xp, size, places, *how, dy.dtype)
    for axis, wide in enumerate(w.wide(size, places), 2):
        n, k, t, *_ = w.along(axis, places)
        share = _spread(xp, share, axis, n, k, t, wide)
    if share.shape[2:] != size:
        share = share[w.inner(size)]
    return share if share.flags.c_contiguous else share.copy("C")


def _spread(xp: Any, x: Any, axis: int, n: int, k: int, t: int, wide: int) -> Any:
    """Each element added to the `k` places of its window along one axis."""
    y = xp.zeros((*x.shape[:axis], wide, *x.shape[axis + 1 :]), x.dtype)
    for i in range(k):
        region = y[along(axis, i, n, t, 1)]
        if t >= k:
            region[...] = x
        else:
            xp.add(region, x, region)
    return y


def divides(facts: Any) -> bool:
    """Whether windows lie side by side, all of one size."""
    sizes = zip(facts.shape[0][2:], facts.output_size, strict=False)
    return all(out > 0 and size % out == 0 for size, out in sizes)


def _divides_back(facts: Any) -> bool:
    sizes = zip(facts.size, facts.shape[0][2:], strict=False)
    return all(out > 0 and size % out == 0 for size, out in sizes)


def steps(size: Sizes, places: Sizes) -> Sizes:
    """The size of windows that lie side by side."""
    return tuple(s // out for s, out in zip(size, places, strict=True))


@kernels(
    "adaptive_avg_pool", FLOAT - HALF, when=divides, reads=("shape", "output_size")
)
def _adaptive(xp: Any, x: Any, output_size: Sizes) -> Any:
    size = x.shape[2:]
    if any(out != 1 for out in output_size):
        step = steps(size, output_size)
        return _avg_pool(xp, x, step, step, (0,) * len(size), False, True, None)
    lead, count = x.shape[:2], math.prod(size)
    # a product with ones sums short rows several times as fast as a reduction
    total = xp.matmul(x.reshape(*lead, count), xp.ones(count, x.dtype))
    return xp.divide(total, count, total).reshape(*lead, *output_size)


@kernels(
    "adaptive_avg_pool_backward", FLOAT - HALF, when=_divides_back,
    reads=("shape", "size"),
)  # fmt: skip
def _adaptive_backward(xp: Any, dy: Any, size: Sizes) -> Any:
    places = dy.shape[2:]
    if any(out != 1 for out in places):
        step, none = steps(size, places), (0,) * len(size)
        return _avg_pool_backward(xp, dy, size, step, step, none, False, True, None)
    share = dy / math.prod(size)
    return xp.broadcast_to(share, (*dy.shape[:2], *size)).copy("C")
