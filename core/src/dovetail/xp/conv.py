"""Convolutions as matrix products with columns, one tile of places after the other.

Columns of a tile are [images, groups, in·kernel, places], so that the product writes
its result where it belongs. Depthwise ones are sums of shifted products instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import HALF, NUMERIC, Sizes
from dovetail.xp.columns import Columns, in_lines, tiles
from dovetail.xp.columns_back import scattered_lines
from dovetail.xp.depthwise import depthwise
from dovetail.xp.kernels import Kernels, on_device
from dovetail.xp.scratch import scratch
from dovetail.xp.windows import Windows

kernels: Final = Kernels()
install = kernels.install


def _in_float32(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """16-bit floats compute in float32 and round once."""

    def call(*arrays: Any, **attrs: Any) -> Any:
        wide = [None if a is None else a.astype("float32") for a in arrays]
        return kernel(*wide, **attrs).astype(arrays[0].dtype)

    return call


def _pointwise(w: Windows) -> bool:
    """Whether the columns are the input itself."""
    return set(w.kernel) == set(w.stride) == {1} and not any(w.padding)


@kernels("convolution", NUMERIC - HALF)
@kernels("convolution", HALF, through=_in_float32)
def _convolution(
    xp: Any, x: Any, weight: Any, b: Any, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Any:  # fmt: skip
    w = Windows(weight.shape[2:], stride, padding, dilation)
    kernel, batch, out_channels = w.kernel, x.shape[0], weight.shape[0]
    places = w.places(x.shape[2:])
    y = xp.empty((batch, out_channels, *places), x.dtype)
    bias = None if b is None else b.reshape(groups, out_channels // groups, 1)
    if weight.shape[1] == 1 and out_channels == groups > 1 and set(stride) == {1}:
        depthwise(xp, x, weight, y, w)
        shift = (out_channels, *(1 for _ in places))
        return y if b is None else xp.add(y, b.reshape(shift), y)
    rows = weight.shape[1] * math.prod(kernel)
    taps = weight.reshape(groups, out_channels // groups, rows)
    out = y.reshape(batch, groups, taps.shape[1], math.prod(places))
    if _pointwise(w):
        xp.matmul(taps, x.reshape(batch, groups, rows, out.shape[3]), out)
        return y if b is None else xp.add(out, bias, out).reshape(y.shape)
    columns = Columns(xp, x, w, places)
    line, tapped = math.prod(places[1:]), bias is not None and groups == 1
    if tapped:  # as one more tap, on a row of ones: no pass of its own
        taps = xp.concatenate((taps, bias), 2)
    for tile in tiles(xp, batch, groups * rows, places, x.itemsize):
        first, last, start, stop = tile
        n, count = last - first, (stop - start) * line
        flat = scratch(xp, x, "columns", n * (groups * rows + tapped) * count, x.dtype)
        flat = flat.reshape(n, groups, rows + tapped, count)
        if tapped:
            flat[:, :, rows] = 1
        shape = (n, x.shape[1], *kernel, stop - start, *places[1:])
        columns.fill(flat[:, :, :rows].reshape(shape), tile)
        target = out[first:last, :, :, start * line : stop * line]
        xp.matmul(taps, flat, target)
        if bias is not None and not tapped:
            xp.add(target, bias, target)
    return y


@kernels("convolution_transpose", NUMERIC - HALF)
@kernels("convolution_transpose", HALF, through=_in_float32)
def _transpose(
    xp: Any, x: Any, weight: Any, size: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Any:  # fmt: skip
    w = Windows(weight.shape[2:], stride, padding, dilation)
    axes = zip(w.kernel, padding, dilation, strict=True)
    around = tuple(d * (k - 1) - p for k, p, d in axes)
    one = set(stride) == {1} and min(around) >= 0
    lines = in_lines(w, x.shape[2:], size)
    if one and not _few(weight, groups, padding, lines) and _finite(xp, weight):
        turned = _turned(weight, groups)
        return _convolution(xp, x, turned, None, stride, around, dilation, groups)
    scattered = scattered_lines if lines else _scattered
    return scattered(xp, x, weight, size, w, groups)


def _finite(xp: Any, w: Any) -> bool:
    """Whether the zeros around what is convolved stay zeros under all weights.

    Where the sum of finite ones overflows, the other way is taken in vain, and so it is
    where the host would have to wait for the sum.
    """
    if on_device(xp):
        return False
    total = w.sum()
    return bool(total - total == 0)


def _few(w: Any, groups: int, padding: Sizes, lines: bool) -> bool:
    """Whether columns of the result are much smaller than columns of the input.

    The more so where adding them up takes one pass a row after the other.
    """
    if set(w.shape[2:]) == {1} and not any(padding):
        return True
    return bool((2 if lines else 4) * w.shape[1] <= w.shape[0] // groups)


def _turned(w: Any, groups: int) -> Any:
    """The weight of the convolution that is the adjoint of one with stride 1."""
    out, inside, *kernel = w.shape
    split = w.reshape(groups, out // groups, inside, *kernel).swapaxes(1, 2)
    turned = split[(..., *(slice(None, None, -1) for _ in kernel))]
    return turned.reshape(groups * inside, out // groups, *kernel)


def _scattered(
    xp: Any, x: Any, weight: Any, size: Sizes, w: Windows, groups: int
) -> Any:
    """Products with the weight, each added to where its patch was (col2im)."""
    batch, kernel, places = x.shape[0], w.kernel, x.shape[2:]
    rows, channels = weight.shape[1] * math.prod(kernel), groups * weight.shape[1]
    taps = weight.reshape(groups, weight.shape[0] // groups, rows).swapaxes(1, 2)
    source = x.reshape(batch, groups, taps.shape[2], math.prod(places))
    if _pointwise(w) and size == places:
        return xp.matmul(taps, source).reshape(batch, channels, *size)
    y = xp.zeros((batch, channels, *w.wide(size, places)), x.dtype)
    line = math.prod(places[1:])
    for first, last, start, stop in tiles(xp, batch, groups * rows, places, x.itemsize):
        n, count = last - first, (stop - start) * line
        flat = scratch(xp, x, "columns", n * groups * rows * count, x.dtype)
        part = source[first:last, :, :, start * line : stop * line]
        xp.matmul(taps, part, flat.reshape(n, groups, rows, count))
        found = (stop - start, *places[1:])
        columns = flat.reshape(n, channels, *kernel, *found)
        below = y[first:last, :, start * w.stride[0] :]
        for at in itertools.product(*map(range, kernel)):
            target = below[w.region(at, found)]
            xp.add(target, columns[(slice(None), slice(None), *at)], target)
    return y if not any(w.padding) else y[w.inner(size)].copy("C")


@kernels("convolution_weight", NUMERIC - HALF)
@kernels("convolution_weight", HALF, through=_in_float32)
def _weight(
    xp: Any, x: Any, dy: Any, kernel: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Any:  # fmt: skip
    batch, places = x.shape[0], dy.shape[2:]
    inside, out = x.shape[1] // groups, dy.shape[1] // groups
    rows, line = inside * math.prod(kernel), math.prod(places[1:])
    dw = xp.zeros((groups, out, rows), x.dtype)
    if not (x.size and dy.size):
        return dw.reshape(groups * out, inside, *kernel)
    grouped = dy.reshape(batch, groups, out, math.prod(places))
    columns = Columns(xp, x, Windows(kernel, stride, padding, dilation), places)
    for tile in tiles(xp, batch, groups * rows, places, x.itemsize):
        first, last, start, stop = tile
        part = grouped[first:last, :, :, start * line : stop * line]
        product = _by_image if rows <= (stop - start) * line else _at_once
        xp.add(dw, product(xp, part, columns, tile, groups, rows), dw)
    return dw.reshape(groups * out, inside, *kernel)


def _by_image(
    xp: Any, dy: Any, columns: Columns, tile: Any, groups: int, rows: int
) -> Any:
    """A product for each image of a tile, added up: where they are large."""
    n, count = dy.shape[0], dy.shape[3]
    flat = scratch(xp, dy, "columns", n * groups * rows * count, dy.dtype)
    found = (tile[3] - tile[2], *columns.places[1:])
    channels = groups * rows // math.prod(columns.windows.kernel)
    columns.fill(flat.reshape(n, channels, *columns.windows.kernel, *found), tile)
    met = flat.reshape(n, groups, rows, count).swapaxes(2, 3)
    products = xp.matmul(dy, met)
    return products[0] if n == 1 else products.sum(axis=0, dtype=dy.dtype)


def _at_once(
    xp: Any, dy: Any, columns: Columns, tile: Any, groups: int, rows: int
) -> Any:
    """One product for all images of a tile, side by side: where they are small."""
    n, count = dy.shape[0], dy.shape[3]
    flat = scratch(xp, dy, "columns", n * groups * rows * count, dy.dtype)
    kernel, found = columns.windows.kernel, (tile[3] - tile[2], *columns.places[1:])
    target = flat.reshape(groups * rows // math.prod(kernel), *kernel, n, *found)
    columns.fill(xp.moveaxis(target, len(kernel) + 1, 0), tile)
    part = dy.transpose(1, 2, 0, 3).reshape(groups, dy.shape[2], n * count)
    return xp.matmul(part, flat.reshape(groups, rows, n * count).swapaxes(1, 2))
