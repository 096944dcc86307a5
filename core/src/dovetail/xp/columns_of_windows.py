"""Windows as columns, and back: an offset within the window at a time."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.dtypes import HALF, NUMERIC, Sizes
from dovetail.xp.kernels import Kernels
from dovetail.xp.windows import Windows

kernels: Final = Kernels()
_ALL: Final = slice(None)


def _offsets(w: Windows, places: Sizes) -> list[tuple[slice, ...]]:
    """Where the element at each offset of all windows lies, margins included."""
    found: list[tuple[slice, ...]] = [()]
    for k, t, d, n in zip(w.kernel, w.stride, w.dilation, places, strict=True):
        steps = [slice(i * d, i * d + (n - 1) * t + 1, t) for i in range(k)]
        found = [(*before, step) for before in found for step in steps]
    return [(_ALL, _ALL, *offset) for offset in found]


def _inner(size: Sizes, padding: Sizes) -> tuple[slice, ...]:
    """Where the elements lie within margins."""
    sides = zip(size, padding, strict=True)
    return (_ALL, _ALL, *(slice(p, p + s) for s, p in sides))


@kernels("im2col", NUMERIC)
def _im2col(
    xp: Any, x: Any, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Any:
    w = Windows(kernel_size, stride, padding, dilation)
    n, channels, *size = x.shape
    places = w.places(size)
    if any(padding):
        wide = [s + 2 * p for s, p in zip(size, padding, strict=True)]
        held = xp.zeros((n, channels, *wide), x.dtype)
        held[_inner(size, padding)] = x
        x = held
    rows = math.prod(kernel_size)
    y = xp.empty((n, channels, rows, *places), x.dtype)
    for i, offset in enumerate(_offsets(w, places)):
        y[:, :, i] = x[offset]
    return y.reshape(n, channels * rows, math.prod(places))


def _added(
    xp: Any, columns: Any, output_size: Sizes, kernel_size: Sizes, dilation: Sizes,
    padding: Sizes, stride: Sizes,
) -> Any:  # fmt: skip
    w = Windows(kernel_size, stride, padding, dilation)
    places, rows = w.places(output_size), math.prod(kernel_size)
    n, channels = columns.shape[0], columns.shape[1] // rows
    wide = [s + 2 * p for s, p in zip(output_size, padding, strict=True)]
    y = xp.zeros((n, channels, *wide), columns.dtype)
    parts = columns.reshape(n, channels, rows, *places)
    for i, offset in enumerate(_offsets(w, places)):
        y[offset] += parts[:, :, i]
    return xp.ascontiguousarray(y[_inner(output_size, padding)]) if any(padding) else y


@kernels("col2im", NUMERIC - HALF)
def _col2im(xp: Any, columns: Any, **how: Any) -> Any:
    return _added(xp, columns, **how)


@kernels("col2im", HALF)
def _col2im_of_halves(xp: Any, columns: Any, **how: Any) -> Any:
    return _added(xp, columns.astype("float32"), **how).astype(columns.dtype)
