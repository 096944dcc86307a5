"""Convolutions as matrix products with columns, one tile of places after the other.

Columns of a tile are [images, groups, in·kernel, places], so that the product writes
its result where it belongs. Depthwise ones are sums of shifted products instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import HALF, NUMERIC
from dovetail.xp.columns import Columns, inner, region, tiles
from dovetail.xp.depthwise import depthwise
from dovetail.xp.scratch import scratch
from dovetail.xp.windows import places_of

Sizes = tuple[int, ...]


def install(table: KernelTable, xp: Any) -> None:
    """Add convolution and its adjoints to a table."""
    for name, bind in (
        ("convolution", _convolution(xp)),
        ("convolution_transpose", _transpose(xp)),
        ("convolution_weight", _weight(xp)),
    ):
        table.add(name, bind, dtypes=NUMERIC - HALF, binds=True)
        table.add(name, _in_float32(bind), dtypes=HALF, binds=True)


def _in_float32(bind: Callable[..., Any]) -> Callable[..., Any]:
    """16-bit floats compute in float32 and round once."""

    def bind_wide(**attrs: Any) -> Callable[..., Any]:
        run = bind(**attrs)

        def call(*arrays: Any) -> Any:
            wide = [None if a is None else a.astype("float32") for a in arrays]
            return run(*wide).astype(arrays[0].dtype)

        return call

    return bind_wide


def _pointwise(kernel: Sizes, stride: Sizes, padding: Sizes) -> bool:
    """Whether the columns are the input itself."""
    return set(kernel) == set(stride) == {1} and not any(padding)


def _convolution(xp: Any) -> Callable[..., Any]:
    def bind(
        stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Callable[..., Any]:
        def convolution(x: Any, w: Any, b: Any) -> Any:
            return forward(xp, x, w, b, stride, padding, dilation, groups)

        return convolution

    return bind


def forward(
    xp: Any, x: Any, w: Any, b: Any, stride: Sizes, padding: Sizes, dilation: Sizes,
    groups: int,
) -> Any:  # fmt: skip
    """Cross-correlation of `x` with `w`, plus `b`."""
    kernel, batch = w.shape[2:], x.shape[0]
    places = places_of(x.shape[2:], kernel, stride, padding, dilation)
    y = xp.empty((batch, w.shape[0], *places), x.dtype)
    bias = None if b is None else b.reshape(groups, w.shape[0] // groups, 1)
    if w.shape[1] == 1 and w.shape[0] == groups > 1 and set(stride) == {1}:
        depthwise(xp, x, w, y, padding, dilation)
        shift = (w.shape[0], *(1 for _ in places))
        return y if b is None else xp.add(y, b.reshape(shift), y)
    rows = w.shape[1] * math.prod(kernel)
    taps = w.reshape(groups, w.shape[0] // groups, rows)
    out = y.reshape(batch, groups, taps.shape[1], math.prod(places))
    if _pointwise(kernel, stride, padding):
        xp.matmul(taps, x.reshape(batch, groups, rows, out.shape[3]), out)
        return y if b is None else xp.add(out, bias, out).reshape(y.shape)
    columns = Columns(xp, x, kernel, places, stride, padding, dilation)
    line = math.prod(places[1:])
    for tile in tiles(batch, groups * rows, places, x.itemsize):
        first, last, start, stop = tile
        n, count = last - first, (stop - start) * line
        flat = scratch(xp, "columns", n * groups * rows * count, x.dtype)
        shape = (n, x.shape[1], *kernel, stop - start, *places[1:])
        columns.fill(flat.reshape(shape), tile)
        target = out[first:last, :, :, start * line : stop * line]
        xp.matmul(taps, flat.reshape(n, groups, rows, count), target)
        if bias is not None:
            xp.add(target, bias, target)
    return y


def _transpose(xp: Any) -> Callable[..., Any]:
    def bind(
        size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Callable[..., Any]:
        def convolution_transpose(x: Any, w: Any) -> Any:
            around = tuple(
                d * (k - 1) - p
                for k, p, d in zip(w.shape[2:], padding, dilation, strict=True)
            )
            one = set(stride) == {1} and min(around) >= 0
            if one and not _few(w, groups, padding):
                turned = _turned(w, groups)
                return forward(xp, x, turned, None, stride, around, dilation, groups)
            return _scattered(xp, x, w, size, stride, padding, dilation, groups)

        return convolution_transpose

    return bind


def _few(w: Any, groups: int, padding: Sizes) -> bool:
    """Whether columns of the result are much smaller than columns of the input."""
    if set(w.shape[2:]) == {1} and not any(padding):
        return True
    return bool(4 * w.shape[1] <= w.shape[0] // groups)


def _turned(w: Any, groups: int) -> Any:
    """The weight of the convolution that is the adjoint of one with stride 1."""
    out, inside, *kernel = w.shape
    split = w.reshape(groups, out // groups, inside, *kernel).swapaxes(1, 2)
    turned = split[(..., *(slice(None, None, -1) for _ in kernel))]
    return turned.reshape(groups * inside, out // groups, *kernel)


def _scattered(
    xp: Any, x: Any, w: Any, size: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Any:  # fmt: skip
    """Products with the weight, each added to where its patch was (col2im)."""
    batch, kernel, places = x.shape[0], w.shape[2:], x.shape[2:]
    rows, channels = w.shape[1] * math.prod(kernel), groups * w.shape[1]
    taps = w.reshape(groups, w.shape[0] // groups, rows).swapaxes(1, 2)
    source = x.reshape(batch, groups, taps.shape[2], math.prod(places))
    if _pointwise(kernel, stride, padding) and size == places:
        return xp.matmul(taps, source).reshape(batch, channels, *size)
    wide = [s + 2 * p for s, p in zip(size, padding, strict=True)]
    y = xp.zeros((batch, channels, *wide), x.dtype)
    line = math.prod(places[1:])
    for first, last, start, stop in tiles(batch, groups * rows, places, x.itemsize):
        n, count = last - first, (stop - start) * line
        flat = scratch(xp, "columns", n * groups * rows * count, x.dtype)
        part = source[first:last, :, :, start * line : stop * line]
        xp.matmul(taps, part, flat.reshape(n, groups, rows, count))
        found = (stop - start, *places[1:])
        columns = flat.reshape(n, channels, *kernel, *found)
        below = y[first:last, :, start * stride[0] :]
        for at in itertools.product(*map(range, kernel)):
            target = below[region(at, found, stride, dilation)]
            xp.add(target, columns[(slice(None), slice(None), *at)], target)
    return y if not any(padding) else y[inner(size, padding)].copy("C")


def _weight(xp: Any) -> Callable[..., Any]:
    def bind(
        kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Callable[..., Any]:
        def convolution_weight(x: Any, dy: Any) -> Any:
            batch, places = x.shape[0], dy.shape[2:]
            inside, out = x.shape[1] // groups, dy.shape[1] // groups
            rows, line = inside * math.prod(kernel), math.prod(places[1:])
            dw = xp.zeros((groups, out, rows), x.dtype)
            if not (x.size and dy.size):
                return dw.reshape(groups * out, inside, *kernel)
            grouped = dy.reshape(batch, groups, out, math.prod(places))
            columns = Columns(xp, x, kernel, places, stride, padding, dilation)
            for tile in tiles(batch, groups * rows, places, x.itemsize):
                first, last, start, stop = tile
                part = grouped[first:last, :, :, start * line : stop * line]
                product = _by_image if rows <= (stop - start) * line else _at_once
                xp.add(dw, product(xp, part, columns, tile, groups, rows), dw)
            return dw.reshape(groups * out, inside, *kernel)

        return convolution_weight

    return bind


def _by_image(
    xp: Any, dy: Any, columns: Columns, tile: Any, groups: int, rows: int
) -> Any:
    """A product for each image of a tile, added up: where they are large."""
    n, count = dy.shape[0], dy.shape[3]
    flat = scratch(xp, "columns", n * groups * rows * count, dy.dtype)
    found = (tile[3] - tile[2], *columns.places[1:])
    channels = groups * rows // math.prod(columns.kernel)
    columns.fill(flat.reshape(n, channels, *columns.kernel, *found), tile)
    met = flat.reshape(n, groups, rows, count).swapaxes(2, 3)
    products = xp.matmul(dy, met)
    return products[0] if n == 1 else products.sum(axis=0, dtype=dy.dtype)


def _at_once(
    xp: Any, dy: Any, columns: Columns, tile: Any, groups: int, rows: int
) -> Any:
    """One product for all images of a tile, side by side: where they are small."""
    n, count = dy.shape[0], dy.shape[3]
    flat = scratch(xp, "columns", n * groups * rows * count, dy.dtype)
    kernel, found = columns.kernel, (tile[3] - tile[2], *columns.places[1:])
    target = flat.reshape(groups * rows // math.prod(kernel), *kernel, n, *found)
    columns.fill(xp.moveaxis(target, len(kernel) + 1, 0), tile)
    part = dy.transpose(1, 2, 0, 3).reshape(groups, dy.shape[2], n * count)
    return xp.matmul(part, flat.reshape(groups, rows, n * count).swapaxes(1, 2))
