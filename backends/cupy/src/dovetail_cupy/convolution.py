"""Convolution and its adjoints on a device: windows as matrices, and their products.

One launch lays out the windows of all images, or of as many as there is room for; the
adjoint in the input adds up, for each of its elements, what the windows that have it
were given. Of 16-bit floats, sums are float32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from dovetail.codegen.formats import computed_in
from dovetail.codegen.window_forms import Axes, add_up, lay_out
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bfloat16, by_name, float16, float32, float64
from dovetail.xp.windows import Windows
from dovetail_cupy.launch import Forms, Machine, steps
from dovetail_cupy.products import Products

Dims = tuple[int, ...]
OPS: Final = ("convolution", "convolution_transpose", "convolution_weight")
DTYPES: Final = (float16, bfloat16, float32, float64)
_MOST: Final = 1 << 30  # bytes of windows that are laid out at a time


def install(table: KernelTable, machine: Machine, products: Products) -> None:
    """Put them before those of a table."""
    for dtype in DTYPES:
        made = Convolutions(machine, products, dtype)
        for op in OPS:
            table.add(op, getattr(made, op), dtypes=[dtype], binds=True, rank=1)


class _Sizes(NamedTuple):
    """A convolution of [batch, inside, *spatial] to [batch, out, *places]."""

    inside: int
    spatial: Dims
    places: Dims
    windows: Windows

    @property
    def each(self) -> int:
        """How many windows there are in an image."""
        return math.prod(self.places)

    @property
    def is_plain(self) -> bool:
        """Whether a window is one element, and each element is one."""
        w = self.windows
        return {*w.kernel} == {1} and not any(w.padding) and self.spatial == self.places

    def axes(self) -> Axes:
        """The numbers of windows."""
        return Axes(self.spatial, self.places, *self.windows[:4])


class Convolutions:
    """Convolutions in one dtype."""

    def __init__(self, machine: Machine, products: Products, dtype: DType) -> None:
        self._machine = machine
        self._products = products
        self._dtype = dtype.numpy
        self._wide = by_name(computed_in(dtype.name))
        self._name = dtype.name
        self._forms = Forms(machine)

    def convolution(
        self, *, stride: Dims, padding: Dims, dilation: Dims, groups: int
    ) -> Callable[..., Any]:
        """The kernel for these choices."""

        def call(x: Any, w: Any, bias: Any) -> Any:
            windows = Windows(w.shape[2:], stride, padding, dilation)
            spatial = x.shape[2:]
            sizes = _Sizes(x.shape[1], spatial, windows.places(spatial), windows)
            y = self._forward(x, w, sizes, groups)
            if bias is not None:
                wide = self._rounded(y)
                y = wide + bias.reshape(-1, *(1 for _ in spatial)).astype(wide.dtype)
            return y.astype(self._dtype, copy=False)

        return call

    def _rounded(self, y: Any) -> Any:
        """What a bias is added to: in more digits, of 16-bit floats."""
        return y.astype(self._wide.numpy, copy=False)

    def convolution_transpose(
        self, *, size: Dims, stride: Dims, padding: Dims, dilation: Dims, groups: int
    ) -> Callable[..., Any]:
        """The kernel for these choices."""

        def call(dy: Any, w: Any) -> Any:
            windows = Windows(w.shape[2:], stride, padding, dilation)
            inside = w.shape[1] * groups
            sizes = _Sizes(inside, tuple(size), dy.shape[2:], windows)
            return self._transposed(self._machine.in_rows(dy), w, sizes, groups)

        return call

    def convolution_weight(
        self, *, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims, groups: int
    ) -> Callable[..., Any]:
        """The kernel for these choices."""

        def call(x: Any, dy: Any) -> Any:
            windows = Windows(tuple(kernel), stride, padding, dilation)
            sizes = _Sizes(x.shape[1], x.shape[2:], dy.shape[2:], windows)
            return self._weight(x, dy, sizes, groups)

        return call

    def _forward(self, x: Any, w: Any, sizes: _Sizes, groups: int) -> Any:
        batch, out = x.shape[0], w.shape[0]
        shape = (batch, out, *sizes.places)
        inner, each = math.prod(w.shape[1:]), sizes.each
        y = self._machine.empty(shape, self._wide.numpy)
        if not y.size:
            return y
        taps = w.reshape(groups, out // groups, inner)
        whole = y.reshape(batch, groups, out // groups, each)
        for at in self._parts(batch, groups * inner * each):
            windows = self._laid_out(x[at], sizes).reshape(-1, groups, inner, each)
            made = self._products.wide(taps, windows)
            if len(made) == batch:
                return made.reshape(shape)
            whole[at] = made
        return y

    def _transposed(self, dy: Any, w: Any, sizes: _Sizes, groups: int) -> Any:
        batch, out = dy.shape[0], w.shape[0]
        shape = (batch, sizes.inside, *sizes.spatial)
        y = self._machine.empty(shape, self._dtype)
        inner, each = math.prod(w.shape[1:]), sizes.each
        if not y.size:
            return y
        if not dy.size:
            y[...] = 0
            return y
        taps = w.reshape(groups, out // groups, inner).swapaxes(-2, -1)
        for at in self._parts(batch, groups * inner * each):
            given = dy[at].reshape(-1, groups, out // groups, each)
            self._added_up(self._products.wide(taps, given), y[at], sizes)
        return y

    def _weight(self, x: Any, dy: Any, sizes: _Sizes, groups: int) -> Any:
        batch, out = dy.shape[:2]
        inside = sizes.inside // groups
        inner = inside * math.prod(sizes.windows.kernel)
        total: Any = None
        for at in self._parts(batch, groups * inner * sizes.each):
            windows = self._laid_out(x[at], sizes, apart=False)
            length = windows.shape[1]
            windows = windows.reshape(groups, inner, length).swapaxes(-2, -1)
            given = self._machine.in_rows(dy[at].swapaxes(0, 1))
            given = given.reshape(groups, out // groups, length)
            total = self._products.wide(given, windows, total)
        if total is None:  # of no images
            total = self._machine.xp.zeros((groups, out // groups, inner), self._dtype)
        shape = (out, inside, *sizes.windows.kernel)
        return total.reshape(shape).astype(self._dtype, copy=False)

    def _parts(self, batch: int, each: int) -> Iterator[slice]:
        """Images whose windows are laid out together."""
        most = max(_MOST // max(each * self._wide.itemsize, 1), 1)
        for first in range(0, batch, most):
            yield slice(first, min(first + most, batch))

    def _laid_out(self, x: Any, sizes: _Sizes, *, apart: bool = True) -> Any:
        """The windows of images: [batch, channels * taps, places], or without `apart`
        [channels * taps, batch * places]."""
        batch, each = x.shape[0], sizes.each
        rows = sizes.inside * math.prod(sizes.windows.kernel)
        if sizes.is_plain:
            x = self._machine.in_rows(x if apart else x.swapaxes(0, 1))
            return x.reshape((batch, rows, each) if apart else (rows, batch * each))
        shape = (batch, rows, each) if apart else (rows, batch * each)
        made = self._machine.empty(shape, self._dtype)
        to = (rows * each, each) if apart else (each, batch * each)
        strides = steps(x)
        words = [*strides[:2], *to, *sizes.axes().words(strides[2:])]
        self._launch((lay_out, x.ndim - 2, self._name), [x, made], words, made.size)
        return made

    def _added_up(self, windows: Any, y: Any, sizes: _Sizes) -> None:
        """What each element of `y` was given in all windows that have it."""
        strides = steps(y)
        words = [*strides[:2], *sizes.axes().words(strides[2:])]
        form = add_up, y.ndim - 2, windows.dtype.name, self._name
        self._launch(form, [windows, y], words, y.size)

    def _launch(
        self, form: tuple[Any, ...], arrays: list[Any], words: list[int], count: int
    ) -> None:
        """Launch a kernel for images."""
        image = arrays[0] if form[0] is lay_out else arrays[1]
        self._forms.run(form, arrays, [*words, image.shape[1]], count)
