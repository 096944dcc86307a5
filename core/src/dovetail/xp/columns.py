"""Patches of images as columns of a matrix (im2col), a tile of them at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from dovetail.dtypes import Sizes
from dovetail.xp.kernels import on_device
from dovetail.xp.scratch import scratch
from dovetail.xp.windows import Windows

TILE_BYTES: Final = 4 << 20  # of columns; smaller ones leave the matrix product starved
DEVICE_BYTES: Final = 256 << 20  # where few large products beat many small ones
Tile = tuple[int, int, int, int]  # images from, to; rows of results from, to


def tiles(
    xp: Any, batch: int, rows: int, places: Sizes, itemsize: int
) -> Iterator[Tile]:
    """Whole images while they fit, else some of an image's first axis."""
    room = DEVICE_BYTES if on_device(xp) else TILE_BYTES
    line = max(1, rows * math.prod(places[1:]) * itemsize)
    if line * places[0] <= room:
        step = max(1, room // (line * places[0]))
        for n in range(0, batch, step):
            yield n, min(n + step, batch), 0, places[0]
        return
    step = max(1, room // line)
    for n in range(batch):
        for r in range(0, places[0], step):
            yield n, n + 1, r, min(r + step, places[0])


def in_lines(w: Windows, places: Sizes, spatial: Sizes) -> bool:
    """Whether rows of results follow one another as rows of the input do.

    Then an image is one line for each kernel offset, but for what a shift takes over
    the end of a row; it pays for rows that are short.
    """
    plain = len(places) == 2 and w.stride == (1, 1) and w.kernel[1] > 1
    return plain and places[1] == spatial[1] < 256


def clear_ends(columns: Any, w: Windows) -> None:
    """Zeros where a kernel offset reaches beyond its row, into the one beside it."""
    width = columns.shape[-1]
    for k in range(w.kernel[1]):
        shift = k * w.dilation[1] - w.padding[1]
        if shift < 0:
            columns[:, :, :, k, :, : min(-shift, width)] = 0
        elif shift > 0:
            columns[:, :, :, k, :, max(width - shift, 0) :] = 0


class Columns:
    """The patches of a batch, copied tile by tile."""

    def __init__(self, xp: Any, x: Any, w: Windows, places: Sizes) -> None:
        self.xp, self.x, self.windows, self.places = xp, x, w, places
        self.runs = in_lines(w, places, x.shape[2:])
        self.images: tuple[int, int] = (0, 0)
        self.wide: Any = None

    def fill(self, out: Any, tile: Tile) -> None:
        """Copy a tile's patches to [images, in, *kernel, rows, *other places]."""
        first, last, start, stop = tile
        if self.wide is None or (first, last) != self.images:
            self._load(first, last)
        if self.runs:
            self._fill_runs(out, start, stop)
        else:
            view = self._patches()
            at = (slice(None),) * (2 + len(self.places))
            self.xp.copyto(out, view[(*at, slice(start, stop))])

    def _load(self, first: int, last: int) -> None:
        """Some images with zeros around them."""
        x, spatial, xp = self.x[first:last], self.x.shape[2:], self.xp
        self.images = (first, last)
        if self.runs:
            self._load_runs(x)
            return
        if not any(self.windows.padding):
            self.wide = x
            return
        shape = (*x.shape[:2], *self.windows.wide(spatial, self.places))
        whole = scratch(xp, x, "padded", math.prod(shape), x.dtype).reshape(shape)
        whole.fill(0)
        whole[self.windows.inner(spatial)] = x
        self.wide = whole

    def _patches(self) -> Any:
        x, w = self.wide, self.windows
        steps = x.strides[2:]
        taps = (s * d for s, d in zip(steps, w.dilation, strict=True))
        moves = (s * t for s, t in zip(steps, w.stride, strict=True))
        shape = (*x.shape[:2], *w.kernel, *self.places)
        strides = (*x.strides[:2], *taps, *moves)
        return self.xp.lib.stride_tricks.as_strided(x, shape, strides)

    def _load_runs(self, x: Any) -> None:
        """Images as one line a channel, with zeros before and after."""
        height, width = x.shape[2:]
        above, margin = self.windows.padding[0] * width, self.windows.padding[1]
        length = height * width + 2 * (above + margin)
        shape = (*x.shape[:2], length)
        whole = scratch(self.xp, x, "padded", math.prod(shape), x.dtype).reshape(shape)
        start = above + margin
        whole[..., :start] = 0
        whole[..., start + height * width :] = 0
        lines = x.reshape(*x.shape[:2], height * width)
        whole[..., start : start + height * width] = lines
        self.wide = whole

    def _fill_runs(self, out: Any, start: int, stop: int) -> None:
        """Copy whole runs, then clear what a shift brought in from the next row."""
        xp, wide, w = self.xp, self.wide, self.windows
        width = self.places[1]
        down, right = w.dilation
        step = wide.strides[2]
        shape = (*wide.shape[:2], *w.kernel, stop - start, width)
        steps = (down * width * step, right * step, width * step, step)
        strides = (*wide.strides[:2], *steps)
        view = wide[..., start * width :]
        xp.copyto(out, xp.lib.stride_tricks.as_strided(view, shape, strides))
        clear_ends(out, w)
