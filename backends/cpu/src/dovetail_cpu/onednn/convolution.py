"""Convolution and its two adjoints by oneDNN, some images at a time.

Each part of a batch is brought into the format that the primitive likes, convolved and
brought back while it is in the cache; weights are brought there once a call.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Sizes
from dovetail.xp.windows import Windows
from dovetail_cpu.onednn.parts import Run, runs
from dovetail_cpu.onednn.primitives import (
    Argument,
    Description,
    Format,
    Primitive,
    any_format,
    numbers,
    strided,
)
from dovetail_cpu.onednn.programs import Place, Program, Reordered

Array = np.ndarray[Any, Any]

_TRAINING: Final = 64  # propagation kinds and algorithms of oneDNN
_DIRECT: Final = 1
_DTYPE: Final = "float32"
_ITEM: Final = 4
_X, _W, _Y, _BIAS = range(4)  # operands of programs


class Convolution:
    """Sizes of a convolution, and what oneDNN is told of it.

    Args:
        x: sizes of the input, [batch, in, *spatial].
        w: sizes of the weight, [out, in / groups, *kernel].
        y: sizes of the result, [batch, out, *places].
        windows: where the kernel falls.
        groups: of channels.
    """

    def __init__(
        self, x: Sizes, w: Sizes, y: Sizes, windows: Windows, groups: int
    ) -> None:
        self.x, self.y = tuple(x), tuple(y)
        self.weight_shape = tuple(w)
        self.w = (groups, w[0] // groups, *w[1:]) if groups > 1 else tuple(w)
        self.image = _ITEM * math.prod(x[1:])  # bytes
        self.found = _ITEM * math.prod(y[1:])
        self.steps = _steps(windows, x[2:], y[2:])
        self.padded = any(windows.padding)
        # of windows that meet the input, all that is not finite shows in the result
        reaches = zip(windows.padding, windows.kernel, windows.dilation, strict=True)
        self.meets = all(p < k and d == 1 for p, k, d in reaches)

    def runs(self, most: int) -> list[Run]:
        """The batch in parts, `most` of them where they are small."""
        return runs(self.x[0], self.image + self.found, most)

    def formats(self, images: int) -> tuple[Format, Format, Format]:
        """Input, weight and result of so many images, as primitives like them."""
        sizes = (images, *self.x[1:]), self.w, (images, *self.y[1:])
        x, w, y = (any_format(size, _DTYPE) for size in sizes)
        return x, w, y

    def source(self, images: int) -> Place:
        """Where a part of the input lies."""
        shape = (images, *self.x[1:])
        return Place(strided(shape, _DTYPE), _X, self.image * images)

    def result(self, images: int) -> Place:
        """Where a part of the result lies."""
        shape = (images, *self.y[1:])
        return Place(strided(shape, _DTYPE), _Y, self.found * images)

    @property
    def bias(self) -> Format:
        """How a bias lies."""
        return strided((self.y[1],), _DTYPE)

    @property
    def weight(self) -> Format:
        """How a weight lies."""
        return strided(self.w, _DTYPE)

    def forward(self, images: int, bias: bool) -> Description:
        """What convolves so many images."""
        x, w, y = self.formats(images)
        b = self.bias if bias else None
        kind = "convolution_forward"
        return Description(kind, _TRAINING, _DIRECT, x, w, b, y, *self.steps)


def finite(a: Array) -> bool:
    """Whether the zeros around an input stay zeros under such factors.

    oneDNN leaves them out. Where the sum of finite ones overflows, what serves others
    is asked in vain.
    """
    return bool(np.isfinite(a.sum()))


def _steps(w: Windows, spatial: Sizes, places: Sizes) -> list[Any]:
    """Strides, dilations and padding as oneDNN takes them.

    It wants to know as much padding behind as windows reach.
    """
    margins = zip(w.reach(places), spatial, w.padding, strict=True)
    behind = [max(0, reach - size - before) for reach, size, before in margins]
    dilation = [d - 1 for d in w.dilation]
    return [numbers(v) for v in (w.stride, dilation, w.padding, behind)]


class Forward:
    """The convolution.

    Args:
        sizes: of all arrays.
        bias: whether there is one.
    """

    def __init__(self, sizes: Convolution, bias: bool) -> None:
        self.sizes, self.with_bias = sizes, bias
        self.runs = [(run.start, *self._made(run)) for run in sizes.runs(8)]

    def _made(self, run: Run) -> tuple[Reordered, Program]:
        sizes, images = self.sizes, run.images
        does = sizes.forward(images, self.with_bias)
        weight = Reordered(sizes.weight, does.format(Argument.WEIGHT))
        program = Program(run.parts, 4)
        result = sizes.result(images)
        inner = program.inner(result, does.format(Argument.RESULT))
        arguments = {
            Argument.SOURCE: program.read(
                sizes.source(images), does.format(Argument.SOURCE)
            ),
            Argument.WEIGHT: Place(weight.format, _W),
            Argument.RESULT: inner,
        }
        if self.with_bias:
            arguments[Argument.BIAS] = Place(sizes.bias, _BIAS)
        program.add(Primitive(does), arguments)
        program.write(inner, result)
        return weight, program

    def __call__(self, x: Array, w: Array, b: Array | None) -> Array | None:
        """The result, row-major, of row-major arrays; None where others know it."""
        if self.sizes.padded and not finite(w):
            return None
        y = np.empty(self.sizes.y, x.dtype)
        for start, weight, program in self.runs:
            taps = weight(w)
            program.run(x[start:], taps, y[start:], taps if b is None else b)
        return y


class Transposed:
    """The adjoint in the input.

    Args:
        sizes: of all arrays.
    """

    def __init__(self, sizes: Convolution) -> None:
        self.sizes = sizes
        self.runs = [(run.start, *self._made(run)) for run in sizes.runs(8)]

    def _made(self, run: Run) -> tuple[Reordered, Program]:
        sizes, images = self.sizes, run.images
        x, w, y = sizes.formats(images)
        kind, hint = "convolution_backward_data", sizes.forward(images, bias=False)
        does = Description(kind, _DIRECT, x, w, y, *sizes.steps, hint)
        weight = Reordered(sizes.weight, does.format(Argument.WEIGHT))
        program = Program(run.parts, 3)
        source = sizes.source(images)
        inner = program.inner(source, does.format(Argument.SOURCE_GRADIENT))
        arguments = {
            Argument.RESULT_GRADIENT: program.read(
                sizes.result(images), does.format(Argument.RESULT_GRADIENT)
            ),
            Argument.WEIGHT: Place(weight.format, _W),
            Argument.SOURCE_GRADIENT: inner,
        }
        program.add(Primitive(does), arguments)
        program.write(inner, source)
        return weight, program

    def __call__(self, dy: Array, w: Array) -> Array:
        """The gradient of the input, row-major, of row-major arrays."""
        dx = np.empty(self.sizes.x, dy.dtype)
        for start, weight, program in self.runs:
            program.run(dx[start:], weight(w), dy[start:])
        return dx


class WeightGradient:
    """The adjoint in the weight: one of each part, added up.

    Args:
        sizes: of all arrays.
    """

    def __init__(self, sizes: Convolution) -> None:
        self.sizes = sizes
        batch = sizes.x[0] * (sizes.image + sizes.found)
        weight = _ITEM * math.prod(sizes.w)
        # sums of many large gradients would take longer than what makes them
        most = min(8, max(2, batch // (4 * weight)))
        self.runs = [(run, self._made(run)) for run in sizes.runs(most)]
        self.parts = sum(run.parts for run, _ in self.runs)

    def _made(self, run: Run) -> Program:
        sizes, images = self.sizes, run.images
        x, w, y = sizes.formats(images)
        kind, hint = "convolution_backward_weights", sizes.forward(images, bias=False)
        does = Description(kind, _DIRECT, x, w, None, y, *sizes.steps, hint)
        program = Program(run.parts, 3)
        weight = Place(sizes.weight, _W, _ITEM * math.prod(sizes.w))
        inner = program.inner(weight, does.format(Argument.WEIGHT_GRADIENT))
        arguments = {
            Argument.SOURCE: program.read(
                sizes.source(images), does.format(Argument.SOURCE)
            ),
            Argument.RESULT_GRADIENT: program.read(
                sizes.result(images), does.format(Argument.RESULT_GRADIENT)
            ),
            Argument.WEIGHT_GRADIENT: inner,
        }
        program.add(Primitive(does), arguments)
        program.write(inner, weight)
        return program

    def __call__(self, x: Array, dy: Array) -> Array | None:
        """The gradient of the weight; None where others know it."""
        if self.sizes.padded and not self.sizes.meets and not finite(dy):
            return None
        out = self.sizes.y[1]
        each = np.empty((self.parts, out, math.prod(self.sizes.w) // out), x.dtype)
        done = 0
        for run, program in self.runs:
            program.run(x[run.start :], each[done:], dy[run.start :])
            done += run.parts
        dw = each[0] if self.parts == 1 else each.sum(axis=0)
        if self.sizes.padded and not finite(dw):
            return None
        return dw.reshape(self.sizes.weight_shape)
