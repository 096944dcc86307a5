"""Convolution and its adjoints: windows laid out as matrices, and their products.

One launch lays out the windows of all images, or of as many as fit; the adjoint in the
input adds up, for each of its elements, what the windows that have it were given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from dovetail.codegen.values import Term
from dovetail.codegen.window_forms import Axes, add_up, lay_out
from dovetail.device_api import KernelTable
from dovetail.dtypes import HALF, DType, float32
from dovetail.xp.windows import Windows
from dovetail_xpu.elementwise import ByDtypes, Elementwise
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import Ints, XpuArray, row_major
from dovetail_xpu.primitives import FLOATS, converter, copier, filler, mover
from dovetail_xpu.products import product_of

_MOST: Final = 1 << 28  # bytes of windows that are laid out at a time


class Sizes(NamedTuple):
    """A convolution of [batch, inside, *spatial] to [batch, out, *places]."""

    inside: int
    spatial: Ints
    places: Ints
    windows: Windows

    @property
    def taps(self) -> int:
        """Elements of a window, in one channel."""
        return math.prod(self.windows.kernel)

    @property
    def axes(self) -> Axes:
        """The numbers of windows."""
        return Axes(self.spatial, self.places, *self.windows[:4])


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    for dtype in sorted(claimed & FLOATS, key=str):
        made = Convolutions(launcher, float32 if dtype in HALF else dtype)
        for op in ("convolution", "convolution_transpose", "convolution_weight"):
            bind = getattr(made, op)
            if dtype in HALF:
                bind = _widened(launcher, bind, dtype)
            table.add(op, bind, dtypes=[dtype], binds=True)


def _widened(launcher: Launcher, bind: Any, dtype: DType) -> Callable[..., Any]:
    """The same for floats of 16 bits, which are rounded once, at the end."""
    widen, narrow = converter(launcher, float32), converter(launcher, dtype)

    def bound(**choices: Any) -> Callable[..., XpuArray]:
        call = bind(**choices)

        def convolve(*arrays: XpuArray | None) -> XpuArray:
            return narrow(call(*[None if a is None else widen(a) for a in arrays]))

        return convolve

    return bound


class Convolutions:
    """Convolutions in one dtype."""

    def __init__(self, launcher: Launcher, dtype: DType) -> None:
        self.launcher = launcher
        self.dtype = dtype
        self.copy = copier(launcher)
        self.multiply = product_of(launcher, dtype)
        self.move = mover(launcher)
        self.fill = filler(launcher)
        self.add = ByDtypes(lambda given: Elementwise(launcher, _sum, given, given[0]))
        self._kernels: dict[Any, Launchable] = {}

    def convolution(
        self, *, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Callable[..., XpuArray]:
        """The kernel for these choices."""

        def call(x: XpuArray, w: XpuArray, bias: XpuArray | None) -> XpuArray:
            windows = Windows(w.shape[2:], stride, padding, dilation)
            spatial = x.shape[2:]
            sizes = Sizes(x.shape[1], spatial, windows.places(spatial), windows)
            y = self._forward(x, self._dense(w), sizes, groups)
            if bias is None:
                return y
            wide = (bias.shape[0], *(1 for _ in spatial))
            steps = (bias.strides[0], *(0 for _ in spatial))
            return self.add(y, bias.seen_as(wide, steps))

        return call

    def convolution_transpose(
        self, *, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Callable[..., XpuArray]:
        """The kernel for these choices."""

        def call(dy: XpuArray, w: XpuArray) -> XpuArray:
            windows = Windows(w.shape[2:], stride, padding, dilation)
            inside = w.shape[1] * groups
            sizes = Sizes(inside, tuple(size), dy.shape[2:], windows)
            return self._transposed(self._dense(dy), self._dense(w), sizes, groups)

        return call

    def convolution_weight(
        self, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Callable[..., XpuArray]:
        """The kernel for these choices."""

        def call(x: XpuArray, dy: XpuArray) -> XpuArray:
            windows = Windows(tuple(kernel), stride, padding, dilation)
            sizes = Sizes(x.shape[1], x.shape[2:], dy.shape[2:], windows)
            return self._weight(x, dy, sizes, groups)

        return call

    def _forward(self, x: XpuArray, w: XpuArray, sizes: Sizes, groups: int) -> XpuArray:
        batch, out = x.shape[0], w.shape[0]
        shape = (batch, out, *sizes.places)
        y = self.launcher.fresh(shape, self.dtype, x.device.index)
        inner, each = math.prod(w.shape[1:]), math.prod(sizes.places)
        if not y.size:
            return y
        for images in self._parts(batch, groups * inner * each):
            count = len(images)
            columns = self._laid_out(_images(x, images), sizes, apart=True)
            columns = _matrices(columns, count * groups, inner, each)
            taps = self._repeated(w, count, groups, out // groups, inner)
            made = self.multiply(taps, columns)
            if count == batch:
                return made.seen_as(shape, row_major(shape))
            self.move(
                _images(y, images),
                made.seen_as((count, *shape[1:]), row_major((count, *shape[1:]))),
            )
        return y

    def _transposed(
        self, dy: XpuArray, w: XpuArray, sizes: Sizes, groups: int
    ) -> XpuArray:
        batch, out = dy.shape[0], w.shape[0]
        shape = (batch, sizes.inside, *sizes.spatial)
        y = self.launcher.fresh(shape, self.dtype, dy.device.index)
        inner, each = math.prod(w.shape[1:]), math.prod(sizes.places)
        if not y.size:
            return y
        for images in self._parts(batch, groups * inner * each):
            count = len(images)
            given = _matrices(_images(dy, images), count * groups, out // groups, each)
            taps = self._repeated(w, count, groups, out // groups, inner)
            step, rows, columns = taps.strides
            turned = taps.seen_as(
                (count * groups, inner, out // groups), (step, columns, rows)
            )
            self._added_up(self.multiply(turned, given), _images(y, images), sizes)
        return y

    def _weight(self, x: XpuArray, dy: XpuArray, sizes: Sizes, groups: int) -> XpuArray:
        batch, out = dy.shape[:2]
        inside, each = sizes.inside // groups, math.prod(sizes.places)
        inner = inside * sizes.taps
        shape = (out, inside, *sizes.windows.kernel)
        total: XpuArray | None = None
        for images in self._parts(batch, groups * inner * each):
            length = len(images) * each
            columns = self._laid_out(_images(x, images), sizes, apart=False)
            columns = columns.seen_as(
                (groups, length, inner), (inner * length, 1, length)
            )
            part = _images(dy, images)
            order = (1, 0, *range(2, len(dy.shape)))
            given = self.copy(part.seen_as(
                tuple([part.shape[d] for d in order]),
                tuple([part.strides[d] for d in order]),
            ))  # fmt: skip
            given = _matrices(given, groups, out // groups, length)
            made = self.multiply(given, columns)
            total = made if total is None else self.add(total, made)
        if total is None:  # of no images
            total = self.launcher.fresh(shape, self.dtype, x.device.index)
            self.fill(total, 0)
        return total.seen_as(shape, row_major(shape))

    def _dense(self, a: XpuArray) -> XpuArray:
        return a if a.dense else self.copy(a)

    def _repeated(
        self, w: XpuArray, count: int, groups: int, rows: int, inner: int
    ) -> XpuArray:
        """Weights as matrices, a batch of them for each image."""
        if groups == 1:
            return w.seen_as((count, rows, inner), (0, inner, 1))
        wide = w.seen_as((count, groups, rows, inner), (0, rows * inner, inner, 1))
        return _matrices(self.copy(wide), count * groups, rows, inner)

    def _parts(self, batch: int, each: int) -> Iterator[range]:
        """Images whose windows are laid out together."""
        most = max(_MOST // max(each * self.dtype.itemsize, 1), 1)
        for first in range(0, batch, most):
            yield range(first, min(first + most, batch))

    def _laid_out(self, x: XpuArray, sizes: Sizes, *, apart: bool) -> XpuArray:
        """The windows of images: [batch, channels * taps, places], or without `apart`
        [channels * taps, batch * places]."""
        batch, each = x.shape[0], math.prod(sizes.places)
        rows = sizes.inside * sizes.taps
        shape = (batch, rows, each) if apart else (rows, batch, each)
        made = self.launcher.fresh(shape, self.dtype, x.device.index)
        steps = made.strides if apart else (each, batch * each, 1)
        words = [x.address, made.address, *x.strides[:2], *steps[:2]]
        words += sizes.axes.words(x.strides[2:])
        self._launch(lay_out, x, words, made.size, self.dtype.name)
        return made

    def _added_up(self, columns: XpuArray, y: XpuArray, sizes: Sizes) -> None:
        """What each element of `y` was given in all windows that have it."""
        words = [columns.address, y.address, *y.strides[:2]]
        words += sizes.axes.words(y.strides[2:])
        names = (self.dtype.name,) * 2
        self._launch(add_up, y, words, y.size, *names)

    def _launch(
        self, form: Any, a: XpuArray, words: list[int], count: int, *dtypes: str
    ) -> None:
        """Launch a kernel for so many spatial dims, unless there is nothing to do."""
        if not count:
            return
        key = form, len(a.shape) - 2
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = Launchable(lambda: form(key[1], *dtypes))
        stream = self.launcher.stream(a.device.index)
        channels = a.shape[1]
        found.launch(stream, [*words, channels, 0, count], -(-count // THREADS))


def _images(a: XpuArray, images: range) -> XpuArray:
    shape = (len(images), *a.shape[1:])
    return a.seen_as(shape, a.strides, images.start * a.strides[0])


def _matrices(a: XpuArray, count: int, rows: int, columns: int) -> XpuArray:
    """Dense elements as a batch of matrices."""
    return a.seen_as((count, rows, columns), (rows * columns, columns, 1))


def _sum(a: Term, b: Term) -> Term:
    return a + b
