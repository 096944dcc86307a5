"""Convolution and its two adjoints by oneDNN, a part of the work at a time.

Each part is brought into the format that the primitive likes, convolved and brought
back while it is in the cache. A part is some images, for which weights are brought into
their format once a call; or, where images are few or weights many, some channels.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail_cpu.onednn.convolution_parts import (
    INPUT,
    RESULT,
    SUMS,
    WEIGHT,
    Convolution,
    Part,
)
from dovetail_cpu.onednn.finite import is_finite, is_known
from dovetail_cpu.onednn.primitives import Argument, Format, Primitive
from dovetail_cpu.onednn.programs import Place, Program, Reordered

Array = np.ndarray[Any, Any]

_BLOCK: Final = 16  # channels of oneDNN's own format
_WIDE: Final = 1 << 14  # pairs of channels
_LIGHT: Final = 0.25  # of the bytes of a batch: weights of less are added up


def _last(sizes: Convolution) -> bool:
    """Whether images are convolved faster with channels last, as measured.

    In its own format oneDNN fills blocks of channels up with zeros.
    """
    inside, out = sizes.x[1], sizes.y[1]
    if sizes.groups > 1:
        return False
    if inside < _BLOCK // 2 and out <= _BLOCK // 2:
        return True
    ragged = inside > _BLOCK and inside % _BLOCK != 0 and out % _BLOCK != 0
    return ragged or inside * out >= _WIDE


def _last_for_weights(sizes: Convolution) -> bool:
    """The same for the gradient of weights, for which it fills up more."""
    inside, out = sizes.x[1], sizes.y[1]
    ragged = inside % _BLOCK != 0 or out % _BLOCK != 0
    return sizes.groups == 1 and inside > 3 and ragged


class _Taps:
    """The weights of all parts that share them, in the format that is wanted."""

    def __init__(
        self, sizes: Convolution, part: Part, program: Program, wanted: Format
    ) -> None:
        plain = sizes.place(part, WEIGHT)
        if plain.pace:  # a part has its own, and reads them as all else
            self.place = program.read(plain, wanted)
            self.reordered = Reordered(plain.format, plain.format)
        else:
            self.place = Place(wanted, WEIGHT)
            self.reordered = Reordered(plain.format, wanted)


class Forward:
    """The convolution.

    Args:
        sizes: of all arrays.
        bias: whether there is one.
    """

    def __init__(self, sizes: Convolution, bias: bool) -> None:
        self.sizes, self.with_bias = sizes, bias
        parts = sizes.by_result_channels() if sizes.heavy() else sizes.by_images()
        self.runs = [(part.start, *self._made(part)) for part in parts]

    def _made(self, part: Part) -> tuple[Reordered, Program]:
        sizes = self.sizes
        does = sizes.forward(part, _last(sizes), self.with_bias)
        program = Program(part.count, 4)
        taps = _Taps(sizes, part, program, does.format(Argument.WEIGHT))
        source, result = sizes.place(part, INPUT), sizes.place(part, RESULT)
        inner = program.inner(result, does.format(Argument.RESULT))
        arguments = {
            Argument.SOURCE: program.read(source, does.format(Argument.SOURCE)),
            Argument.WEIGHT: taps.place,
            Argument.RESULT: inner,
        }
        if self.with_bias:
            arguments[Argument.BIAS] = sizes.bias(part)
        program.add(Primitive(does), arguments)
        program.write(inner, result)
        return taps.reordered, program

    def __call__(self, x: Array, w: Array, b: Array | None) -> Array | None:
        """The result, row-major; None where others know it."""
        x, w = np.ascontiguousarray(x), np.ascontiguousarray(w)
        if self.sizes.padded and not is_finite(w):
            return None
        bias = None if b is None else np.ascontiguousarray(b)
        y = np.empty(self.sizes.y, x.dtype)
        for start, weight, program in self.runs:
            taps = weight(w)
            program.run(x[start:], taps, y[start:], taps if bias is None else bias)
        return y if is_known(y) else None


class Transposed:
    """The adjoint in the input.

    Args:
        sizes: of all arrays.
    """

    def __init__(self, sizes: Convolution) -> None:
        self.sizes = sizes
        parts = sizes.by_input_channels() if sizes.heavy() else sizes.by_images()
        self.runs = [(part.start, *self._made(part)) for part in parts]

    def _made(self, part: Part) -> tuple[Reordered, Program]:
        sizes = self.sizes
        does = sizes.backward_data(part, _last(sizes))
        program = Program(part.count, 3)
        taps = _Taps(sizes, part, program, does.format(Argument.WEIGHT))
        source, result = sizes.place(part, INPUT), sizes.place(part, RESULT)
        inner = program.inner(source, does.format(Argument.SOURCE_GRADIENT))
        wanted = does.format(Argument.RESULT_GRADIENT)
        arguments = {
            Argument.RESULT_GRADIENT: program.read(result, wanted),
            Argument.WEIGHT: taps.place,
            Argument.SOURCE_GRADIENT: inner,
        }
        program.add(Primitive(does), arguments)
        program.write(inner, source)
        return taps.reordered, program

    def __call__(self, dy: Array, w: Array) -> Array | None:
        """The gradient of the input, row-major; None where others know it."""
        dy, w = np.ascontiguousarray(dy), np.ascontiguousarray(w)
        dx = np.empty(self.sizes.x, dy.dtype)
        for start, weight, program in self.runs:
            program.run(dx[start:], weight(w), dy[start:])
        return dx if is_known(dx) else None


# Places of an image whose products are added one by one: more would lose digits.
_LONGEST: Final = 1 << 13


class WeightGradient:
    """The adjoint in the weight: some channels of it, or one of each part, added up.

    Args:
        sizes: of all arrays.
    """

    def __init__(self, sizes: Convolution) -> None:
        self.sizes = sizes
        # sums of many large gradients take as long as what makes them
        heavy = sizes.heavy(share=_LIGHT)
        parts = sizes.by_result_channels() if heavy else sizes.by_images()
        self.runs = [(part, self._made(part)) for part in parts]
        self.added = 0 if heavy else sum(part.count for part in parts)

    def _made(self, part: Part) -> Program:
        sizes = self.sizes
        does = sizes.backward_weights(part, _last_for_weights(sizes))
        program = Program(part.count, 3)
        source, result = sizes.place(part, INPUT), sizes.place(part, RESULT)
        weight = sizes.gradient(part)
        inner = program.inner(weight, does.format(Argument.WEIGHT_GRADIENT))
        wanted = does.format(Argument.RESULT_GRADIENT)
        arguments = {
            Argument.SOURCE: program.read(source, does.format(Argument.SOURCE)),
            Argument.RESULT_GRADIENT: program.read(result, wanted),
            Argument.WEIGHT_GRADIENT: inner,
        }
        program.add(Primitive(does), arguments)
        program.write(inner, weight)
        return program

    def __call__(self, x: Array, dy: Array) -> Array | None:
        """The gradient of the weight; None where others know it."""
        if math.prod(dy.shape[2:]) > _LONGEST:
            return None
        x, dy = np.ascontiguousarray(x), np.ascontiguousarray(dy)
        if self.sizes.padded and not self.sizes.meets and not is_finite(dy):
            return None
        count = max(self.added, 1)
        each = np.empty((count, math.prod(self.sizes.weight_shape)), SUMS)
        done = 0
        for part, program in self.runs:
            program.run(x[part.start :], each[done:], dy[part.start :])
            done += part.count
        dw = each[0] if count == 1 else each.sum(axis=0)
        if (self.sizes.padded or x.dtype != SUMS) and not is_finite(dw):
            return None
        return dw.reshape(self.sizes.weight_shape).astype(x.dtype, copy=False)
