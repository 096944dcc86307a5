"""Pooling by strided slices, one axis after the other.

A window's maximum (or sum) is that of its rows', so a kernel of k·k takes 2k passes.
Which offset won is one byte an element and axis, and gradients go back the same way,
axis by axis and without scatter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dovetail.dtypes import FLOAT, HALF, REAL, Sizes, from_numpy
from dovetail.limits import least
from dovetail.xp import pool_mean, pool_pairs
from dovetail.xp.kernels import Kernels, on_device
from dovetail.xp.windows import Windows, along, grown, reduced

BLOCK: Final = 1 << 18  # elements of input at a time, so that temporaries stay in cache
kernels: Final = Kernels()


def install(table: Any, xp: Any) -> None:
    """Add poolings to a table."""
    kernels.install(table, xp)
    pool_mean.kernels.install(table, xp)


def _windowed(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that takes its attributes as windows, bound once."""

    def bind(kernel_size: Sizes, **steps: Any) -> Callable[..., Any]:
        return partial(kernel, Windows(kernel_size, **steps))

    return bind


def _blockwise(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The same, which takes some images at a time; each image is by itself."""
    xp = kernel.args[0]  # type: ignore[attr-defined]

    def call(w: Windows, *arrays: Any) -> Any:
        lead = arrays[-1]
        step = max(1, BLOCK // max(1, lead.size // max(1, len(lead))))
        if step >= len(lead) or on_device(xp):
            return kernel(w, *arrays)
        y = None
        for n in range(0, len(lead), step):
            part = kernel(w, *(a[n : n + step] for a in arrays))
            if y is None:
                y = xp.empty((len(lead), *part.shape[1:]), part.dtype)
            y[n : n + step] = part
        return y

    return _windowed(call)


def _below(xp: Any, x: Any, w: Windows, places: Sizes) -> Any:
    """`x` with less than any element around it."""
    return grown(xp, x, w, places, least(from_numpy(x.dtype)))


@kernels("max_pool", REAL - HALF, binds=True, through=_windowed)
def _max_pool(xp: Any, w: Windows, x: Any) -> Any:
    return reduced(xp, xp.maximum, x, w, least(from_numpy(x.dtype)))[0]


def _may_have_nan(xp: Any, x: Any) -> bool:
    if x.dtype.kind != "f":
        return False
    return on_device(xp) or bool(xp.isnan(xp.max(x, initial=0)))


def _winners(xp: Any, x: Any, w: Windows, places: Sizes) -> list[Any]:
    """For each axis, from the last: which offset along it wins, where the axes behind
    have been reduced already.

    An offset is replaced only by a greater element or a NaN, so the first among equals
    stays along every axis, and thus in the window. Padding never wins: an offset starts
    as the first that is inside.
    """
    found = []
    nans = _may_have_nan(xp, x)
    for axis in reversed(range(2, x.ndim)):
        n, k, t, p, d = w.along(axis, places)
        at = along(axis, 0, n, t, 1)
        best, slot = _leading(xp, x, axis, k, p, d, nans, axis > 2)
        found.append(slot[at].copy("C"))
        x = best[at]
    return found


def _leading(
    xp: Any, x: Any, axis: int, k: int, p: int, d: int, nans: bool, wanted: bool
) -> tuple[Any, Any]:
    """Windows from every place along one axis: their maxima if `wanted`, and which.

    One pass over memory without a gap, windows that no stride asks for included, is
    faster than many short rows. What lies behind the end of a row is never read.
    """
    flat = xp.ascontiguousarray(x).reshape(-1)
    behind = math.prod(x.shape[axis + 1 :])
    count = max(0, flat.size - (k - 1) * d * behind)
    slots = xp.empty(x.shape, _small(k))
    slot, best = slots.reshape(-1)[:count], flat[:count]
    started = bool(p) or k == 1 or slots.itemsize > 1
    if started:
        outside = xp.maximum(p - xp.arange(x.shape[axis]), 0)
        slots[...] = (-(-outside // d)).reshape(-1, *(1,) * (x.ndim - axis - 1))
    whole = xp.empty(flat.shape, x.dtype) if k > 1 else flat
    for i in range(1, k):
        part = flat[i * d * behind : i * d * behind + count]
        better = slot.view(bool) if i == 1 and not started else None
        better = xp.greater(part, best, out=better)
        if nans:
            better |= xp.isnan(part)
        if i > 1 or started:
            _replace(xp, slot, xp.asarray(i, slot.dtype), better)
        if wanted or i < k - 1:
            best = xp.maximum(best, part, out=whole[:count])
    return whole.reshape(x.shape), slots


def _small(count: int) -> str:
    """A dtype for numbers below `count`, as small as possible."""
    return "uint8" if count <= 256 else "int32"


def _replace(xp: Any, kept: Any, new: Any, better: Any) -> None:
    """`kept <- new` where better, by wrapping integers: masked copies are slow."""
    change = xp.subtract(new, kept)
    xp.multiply(change, better.view("uint8"), out=change)
    xp.add(kept, change, out=kept)


@kernels("max_pool_slots", REAL - HALF, binds=True, through=_windowed)
def _max_pool_slots(xp: Any, w: Windows, x: Any) -> Any:
    places = w.places(x.shape[2:])
    whole, below, size = None, None, 1
    for back, slot in enumerate(_winners(xp, _below(xp, x, w, places), w, places)):
        axis = x.ndim - 1 - back
        n, k, t, _, d = w.along(axis, places)
        whole = slot.astype("int32") * size
        if below is not None:
            for i in range(k):
                part = below[along(axis, i, n, t, d)]
                whole += part * (slot == i)
        below, size = whole, size * k
    return whole


@kernels(
    "adaptive_max_positions", REAL - HALF, when=pool_mean.divides,
    reads=("shape", "output_size"),
)  # fmt: skip
def _adaptive_positions(xp: Any, x: Any, output_size: Sizes) -> Any:
    size, n = x.shape[2:], len(output_size)
    steps = pool_mean.steps(size, output_size)
    slots = _max_pool_slots(xp, Windows(steps, steps, (0,) * n, (1,) * n), x)
    flat = xp.arange(math.prod(size), dtype="int32").reshape(size)
    within = flat[tuple(slice(0, k) for k in steps)].reshape(-1)
    begins = flat[tuple(slice(None, None, k) for k in steps)]
    found = xp.take(within, slots)
    return xp.add(found, begins, found)


@kernels("max_pool_backward", FLOAT - HALF, binds=True, through=_blockwise)
def _max_pool_backward(xp: Any, w: Windows, dy: Any, x: Any) -> Any:
    if pool_pairs.serves(w, x) and not _may_have_nan(xp, x):
        return pool_pairs.sent_to_pairs(xp, dy, x)
    places, spatial = dy.shape[2:], x.shape[2:]
    wide = _below(xp, x, w, places)
    dx = dy
    for axis, slot in enumerate(reversed(_winners(xp, wide, w, places)), 2):
        dx = _sent_back(xp, dx, slot, axis, w, wide.shape[axis])
    return dx if dx.shape[2:] == spatial else dx[w.inner(spatial)].copy("C")


def _sent_back(xp: Any, dy: Any, slot: Any, axis: int, w: Windows, wide: int) -> Any:
    """Each element of `dy` added to the offset along one axis that its slot names.

    Elements are selected by and-ing their bits: a product with 0 would make a NaN of
    an infinity, and masked copies take ten times as long.
    """
    (n, k, t, _, d), bits = w.along(axis, dy.shape[2:]), f"int{8 * dy.itemsize}"
    source = xp.ascontiguousarray(dy).view(bits)
    if t == k and d == 1 and wide == n * k and axis < dy.ndim - 1:
        chosen = xp.repeat(slot, k, axis)
        numbers = xp.tile(xp.arange(k, dtype=slot.dtype), n)
        numbers = numbers.reshape(-1, *(1,) * (dy.ndim - axis - 1))
        numbers = xp.broadcast_to(numbers, chosen.shape[axis:]).copy()
        mask = xp.negative(xp.equal(chosen, numbers).view("int8")).astype(bits)
        xp.bitwise_and(xp.repeat(source, k, axis), mask, out=mask)
        return mask.view(dy.dtype)
    make = xp.empty if t == k and d == 1 and wide == n * k else xp.zeros
    y = make((*dy.shape[:axis], wide, *dy.shape[axis + 1 :]), dy.dtype)
    for i in range(k):
        mask = xp.negative(xp.equal(slot, i).view("int8")).astype(bits)
        region = y[along(axis, i, n, t, d)]
        if t > d * (k - 1):
            xp.bitwise_and(source, mask, out=region.view(bits))
        else:
            xp.bitwise_and(source, mask, out=mask)
            xp.add(region, mask.view(dy.dtype), out=region)
    return y
