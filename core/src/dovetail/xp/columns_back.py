"""Columns added back to the places of their patches (col2im), image by image a line."""

from __future__ import annotations

import itertools
import math
from typing import Any

from dovetail.dtypes import Sizes
from dovetail.xp.columns import clear_ends, tiles
from dovetail.xp.scratch import scratch
from dovetail.xp.windows import Windows


def scattered_lines(
    xp: Any, x: Any, weight: Any, size: Sizes, w: Windows, groups: int
) -> Any:
    """Products with the weight, each added to where its patch was: of stride 1.

    Rows of results are as long as rows of `x`, as `in_lines` says. A kernel offset is
    then a shift of whole images, with margins for what falls outside of them; only what
    it takes over the end of a row is cleared before.
    """
    batch, places, kernel = x.shape[0], x.shape[2:], w.kernel
    width, (down, right) = places[1], w.dilation
    rows, channels = weight.shape[1] * math.prod(kernel), groups * weight.shape[1]
    taps = weight.reshape(groups, weight.shape[0] // groups, rows).swapaxes(1, 2)
    source = x.reshape(batch, groups, taps.shape[2], math.prod(places))
    margin = (kernel[0] - 1) * down * width + (kernel[1] - 1) * right
    y = xp.zeros((batch, channels, math.prod(places) + margin), x.dtype)
    for first, last, start, stop in tiles(xp, batch, groups * rows, places, x.itemsize):
        n, count = last - first, (stop - start) * width
        flat = scratch(xp, x, "columns", n * groups * rows * count, x.dtype)
        part = source[first:last, :, :, start * width : stop * width]
        xp.matmul(taps, part, flat.reshape(n, groups, rows, count))
        clear_ends(flat.reshape(n, channels, *kernel, stop - start, width), w)
        lines = flat.reshape(n, channels, *kernel, count)
        for i, j in itertools.product(*map(range, kernel)):
            at = (start + i * down) * width + j * right
            target = y[first:last, :, at : at + count]
            xp.add(target, lines[:, :, i, j], target)
    at = w.padding[0] * width + w.padding[1]
    found = y[:, :, at : at + size[0] * width]
    return xp.ascontiguousarray(found).reshape(batch, channels, *size)
