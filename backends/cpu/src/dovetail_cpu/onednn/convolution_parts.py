"""Sizes of a convolution, the parts that it is done in, and what oneDNN has to know."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from dovetail.dtypes import Sizes
from dovetail.xp.windows import Windows
from dovetail_cpu.onednn.parts import blocks, runs
from dovetail_cpu.onednn.primitives import (
    Description,
    Format,
    any_format,
    channels_last,
    numbers,
    padding_behind,
    row_major,
    strided,
)
from dovetail_cpu.onednn.programs import Place

Shape = tuple[int, ...]

INPUT, WEIGHT, RESULT, BIAS = range(4)  # operands of programs
SUMS: Final = "float32"  # that gradients of weights are computed in
_SUM_ITEM: Final = 4  # bytes

_TRAINING: Final = 64  # propagation kinds and algorithms of oneDNN
_DIRECT: Final = 1
_FEW: Final = 4  # images: fewer than these are not shared among threads


class Part(NamedTuple):
    """What a program does at a time.

    Attributes:
        start: the first image.
        count: how many such parts there are.
        x, w, y: sizes of input, weight and result.
        paces: for each of them, bytes from one part to the next; 0 for what all share.
    """

    start: int
    count: int
    x: Shape
    w: Shape
    y: Shape
    paces: tuple[int, int, int]


class Convolution:
    """Sizes of a convolution.

    Args:
        x: of the input, [batch, in, *spatial].
        w: of the weight, [out, in / groups, *kernel].
        y: of the result, [batch, out, *places].
        windows: where the kernel falls.
        groups: of channels.
        dtype: of all arrays.
    """

    def __init__(
        self, x: Sizes, w: Sizes, y: Sizes, windows: Windows, groups: int,
        dtype: str = "float32",
    ) -> None:  # fmt: skip
        self.x, self.y, self.weight_shape = tuple(x), tuple(y), tuple(w)
        self.groups, self.dtype = groups, dtype
        self.item = 4 if dtype == "float32" else 2
        self.w = (groups, w[0] // groups, *w[1:]) if groups > 1 else tuple(w)
        self.image = self.item * math.prod(x[1:])  # bytes
        self.found = self.item * math.prod(y[1:])
        self.weights = self.item * math.prod(w)
        self.steps = _steps(windows, x[2:], y[2:])
        self.padded = any(windows.padding)
        # of windows that meet the input, all that is not finite shows in the result
        reaches = zip(windows.padding, windows.kernel, windows.dilation, strict=True)
        self.meets = all(p < k and d == 1 for p, k, d in reaches)

        self.work = math.prod(self.y) * math.prod(w[1:])  # products

    def heavy(self, share: float = 1) -> bool:
        """Whether there are few images, or a share of them is less than the weights."""
        batch = self.x[0] * (self.image + self.found)
        return self.groups == 1 and (self.x[0] < _FEW or self.weights > share * batch)

    def by_images(self) -> list[Part]:
        """Some images at a time."""
        return [
            Part(
                run.start, run.parts,
                (run.images, *self.x[1:]), self.w, (run.images, *self.y[1:]),
                (self.image * run.images, 0, self.found * run.images),
            )
            for run in runs(self.x[0], self.image + self.found)
        ]  # fmt: skip

    def by_result_channels(self) -> list[Part]:
        """All images, some channels of the result at a time."""
        batch, channels, *places = self.y
        count = blocks(channels, self.x[0] * self.image, self.work)
        w = (channels // count, *self.w[1:])
        y = (batch, channels // count, *places)
        paces = (0, self.weights // count, self.found // count)
        return [Part(0, count, self.x, w, y, paces)]

    def by_input_channels(self) -> list[Part]:
        """All images, some channels of the input at a time."""
        batch, channels, *spatial = self.x
        count = blocks(channels, self.x[0] * self.found, self.work)
        x = (batch, channels // count, *spatial)
        w = (self.w[0], channels // count, *self.w[2:])
        pace = self.weights // (self.w[0] * count)
        return [Part(0, count, x, w, self.y, (self.image // count, pace, 0))]

    def gradient(self, part: Part) -> Place:
        """Where the gradient of the weight of a part lies, or of its channels."""
        lies = strided(part.w, SUMS, row_major(self.w))
        pace = (part.paces[WEIGHT] or self.weights) * _SUM_ITEM // self.item
        return Place(lies, WEIGHT, pace)

    def place(self, part: Part, operand: int) -> Place:
        """Where a part of an operand lies."""
        whole = (self.x, self.w, self.y)[operand]
        shape = (part.x, part.w, part.y)[operand]
        lies = strided(shape, self.dtype, row_major(whole))
        return Place(lies, operand, part.paces[operand])

    def bias(self, part: Part) -> Place:
        """Where the bias of a part lies."""
        count = part.y[1]
        shared = count == self.y[1]
        return Place(
            strided((count,), self.dtype), BIAS, 0 if shared else self.item * count
        )

    def formats(self, part: Part, last: bool) -> tuple[Format, Format, Format]:
        """Input, weight and result as primitives like them, or with channels last."""
        make = channels_last if last else any_format
        w = any_format(part.w, self.dtype)
        return make(part.x, self.dtype), w, make(part.y, self.dtype)

    def forward(self, part: Part, last: bool, bias: bool = False) -> Description:
        """What convolves a part."""
        x, w, y = self.formats(part, last)
        b = self.bias(part).format if bias else None
        kind = "convolution_forward"
        return Description(kind, _TRAINING, _DIRECT, x, w, b, y, *self.steps)

    def backward_data(self, part: Part, last: bool) -> Description:
        """What gives the gradient of the input of a part."""
        x, w, y = self.formats(part, last)
        kind, hint = "convolution_backward_data", self.forward(part, last)
        return Description(kind, _DIRECT, x, w, y, *self.steps, hint)

    def backward_weights(self, part: Part, last: bool) -> Description:
        """What gives the gradient of the weight of a part, in float32."""
        x, _, y = self.formats(part, last)
        w = any_format(part.w, SUMS)
        kind, hint = "convolution_backward_weights", self.forward(part, last)
        return Description(kind, _DIRECT, x, w, None, y, *self.steps, hint)


def _steps(w: Windows, spatial: Sizes, places: Sizes) -> list[Any]:
    """Strides, dilations and padding as oneDNN takes them."""
    dilation = [d - 1 for d in w.dilation]
    behind = padding_behind(w, spatial, places)
    return [numbers(v) for v in (w.stride, dilation, w.padding, behind)]
