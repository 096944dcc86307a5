"""Means over windows that cover axes, and their shares back: one axis at a time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from dovetail.dtypes import FLOAT, HALF, Sizes
from dovetail.xp.kernels import Kernels

kernels: Final = Kernels()


@lru_cache(256)
def _spans(xp: Any, size: int, out: int) -> tuple[Any, Any]:
    """Where each window begins and ends, in turns; and how long each is."""
    number = xp.arange(out)
    start, stop = number * size // out, -(-(number + 1) * size // out)
    return xp.stack([start, stop], 1).reshape(-1)[:-1], stop - start


def _sums(xp: Any, x: Any, axis: int, size: int, out: int) -> Any:
    """The sums of `out` windows that cover an axis."""
    shape = x.shape
    if size % out == 0:
        whole = (*shape[:axis], out, size // out, *shape[axis + 1 :])
        return xp.add.reduce(x.reshape(whole), axis + 1)
    ends, lengths = _spans(xp, size, out)
    every_other = (*(slice(None),) * axis, slice(None, None, 2))
    if out < size:
        return xp.add.reduceat(x, ends, axis)[every_other]
    # Windows of one element or two.
    starts = ends[::2]
    second = lengths.reshape(-1, *(1,) * (x.ndim - axis - 1)) > 1
    last = x.take(starts + lengths - 1, axis)
    return x.take(starts, axis) + xp.where(second, last, x.dtype.type(0))


def _lengths(xp: Any, x: Any, axis: int, size: int, out: int) -> Any:
    """What sums are divided by."""
    if size % out == 0:
        return x.dtype.type(size // out)
    _, lengths = _spans(xp, size, out)
    return lengths.astype(x.dtype).reshape(-1, *(1,) * (x.ndim - axis - 1))


def _means(xp: Any, x: Any, output_size: Sizes) -> Any:
    y = x
    for axis, out in enumerate(output_size, 2):
        size = x.shape[axis]
        if out == 0:
            return xp.empty((*x.shape[:2], *output_size), x.dtype)
        if out != size:
            y = _sums(xp, y, axis, size, out) / _lengths(xp, x, axis, size, out)
    return y.copy() if y is x else xp.ascontiguousarray(y)


def _shares(xp: Any, dy: Any, size: Sizes) -> Any:
    y = dy
    if not dy.size:
        return xp.zeros((*dy.shape[:2], *size), dy.dtype)
    for axis, whole in enumerate(size, 2):
        out = dy.shape[axis]
        if out == whole:
            continue
        y = y / _lengths(xp, dy, axis, whole, out)
        if whole % out == 0:
            y = xp.repeat(y, whole // out, axis)
        else:  # the windows over a place are as many as places in a window, turned
            y = _sums(xp, y, axis, out, whole)
    return y.copy() if y is dy else xp.ascontiguousarray(y)


@kernels("adaptive_avg_pool", FLOAT - HALF)
def _adaptive_avg_pool(xp: Any, x: Any, output_size: Sizes) -> Any:
    return _means(xp, x, output_size)


@kernels("adaptive_avg_pool", HALF)
def _adaptive_avg_pool_half(xp: Any, x: Any, output_size: Sizes) -> Any:
    return _means(xp, x.astype("float32"), output_size).astype(x.dtype)


@kernels("adaptive_avg_pool_backward", FLOAT - HALF)
def _adaptive_avg_pool_backward(xp: Any, dy: Any, size: Sizes) -> Any:
    return _shares(xp, dy, size)


@kernels("adaptive_avg_pool_backward", HALF)
def _adaptive_avg_pool_backward_half(xp: Any, dy: Any, size: Sizes) -> Any:
    return _shares(xp, dy.astype("float32"), size).astype(dy.dtype)
