"""Means over windows, axis by axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF
from dovetail.xp.windows import along, grown, inner_of, places_of, reach_of, reduced

Sizes = tuple[int, ...]


def install(table: KernelTable, xp: Any) -> None:
    """Add poolings by mean to a table."""
    dtypes = FLOAT - HALF
    table.add("avg_pool", _avg_pool(xp), dtypes=dtypes, binds=True)
    table.add("avg_pool_backward", _avg_pool_backward(xp), dtypes=dtypes, binds=True)
    table.add("adaptive_avg_pool", _adaptive(xp), dtypes=dtypes, binds=True,
              when=_to_one, reads=("output_size",))  # fmt: skip
    back = _adaptive_grad(xp)
    table.add("adaptive_avg_pool_backward", back, dtypes=dtypes, binds=True,
              when=_from_one, reads=("shape",))  # fmt: skip


def _divisors(
    xp: Any, size: Sizes, places: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
    include: bool, override: int | None, dtype: Any,
) -> Any:  # fmt: skip
    """What each window's sum is divided by; a number if it is one for all."""
    if override is not None:
        return override
    counts: Any = 1
    geometry = list(zip(size, places, kernel, stride, padding, strict=True))
    for behind, (s, n, k, t, p) in enumerate(reversed(geometry)):
        margin = p if include else 0
        if margin == p and (n - 1) * t + k <= s + 2 * p:
            counts = counts * k
            continue
        start = xp.arange(n) * t - p
        count = xp.minimum(start + k, s + margin) - xp.maximum(start, -margin)
        counts = counts * count.reshape(n, *(1,) * behind)
    return counts if isinstance(counts, int) else counts.astype(dtype)


def _avg_pool(xp: Any) -> Callable[..., Any]:
    def bind(
        kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None,
    ) -> Callable[..., Any]:  # fmt: skip
        once = (1,) * len(kernel_size)
        how = (kernel_size, stride, padding, count_include_pad, divisor_override)

        def avg_pool(x: Any) -> Any:
            size = x.shape[2:]
            places = places_of(size, kernel_size, stride, padding, once, ceil_mode)
            wide = grown(xp, x, padding, reach_of(places, kernel_size, stride, once), 0)
            y = reduced(xp, xp.add, wide, places, kernel_size, stride, once)
            return xp.divide(y, _divisors(xp, size, places, *how, x.dtype), y)

        return avg_pool

    return bind


def _avg_pool_backward(xp: Any) -> Callable[..., Any]:
    def bind(
        size: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes,
        ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
    ) -> Callable[..., Any]:  # fmt: skip
        once = (1,) * len(kernel_size)
        how = (kernel_size, stride, padding, count_include_pad, divisor_override)

        def avg_pool_backward(dy: Any) -> Any:
            places = dy.shape[2:]
            share = dy / _divisors(xp, size, places, *how, dy.dtype)
            reach = reach_of(places, kernel_size, stride, once)
            wide = [
                max(s + 2 * p, r) for s, p, r in zip(size, padding, reach, strict=True)
            ]
            for axis, (n, k, t, w) in enumerate(
                zip(places, kernel_size, stride, wide, strict=True), 2
            ):
                share = _spread(xp, share, axis, n, k, t, w)
            if share.shape[2:] != size:
                share = share[inner_of(size, padding)]
            return share if share.flags.c_contiguous else share.copy("C")

        return avg_pool_backward

    return bind


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


def _to_one(facts: Any) -> bool:
    return all(s == 1 for s in facts.output_size)


def _from_one(facts: Any) -> bool:
    return all(s == 1 for s in facts.shape[0][2:])


def _adaptive(xp: Any) -> Callable[..., Any]:
    def bind(output_size: Sizes) -> Callable[..., Any]:
        def adaptive_avg_pool(x: Any) -> Any:
            lead = x.shape[:2]
            count = math.prod(x.shape[2:])
            # a product with ones sums short rows several times as fast as a reduction
            total = xp.matmul(x.reshape(*lead, count), xp.ones(count, x.dtype))
            return xp.divide(total, count, total).reshape(*lead, *output_size)

        return adaptive_avg_pool

    return bind


def _adaptive_grad(xp: Any) -> Callable[..., Any]:
    def bind(size: Sizes) -> Callable[..., Any]:
        def adaptive_avg_pool_backward(dy: Any) -> Any:
            share = dy / math.prod(size)
            return xp.broadcast_to(share, (*dy.shape[:2], *size)).copy("C")

        return adaptive_avg_pool_backward

    return bind
