"""Pooling and its gradients by oneDNN, some images at a time."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Sizes
from dovetail.xp.windows import Windows
from dovetail_cpu.onednn.finite import is_finite
from dovetail_cpu.onednn.parts import Run, runs
from dovetail_cpu.onednn.primitives import (
    Argument,
    Description,
    Primitive,
    numbers,
    padding_behind,
    strided,
)
from dovetail_cpu.onednn.programs import Place, Program

Array = np.ndarray[Any, Any]

MAXIMUM, MEAN, MEAN_OF_INPUT = 0x1FF, 0x2FF, 0x3FF  # algorithms of oneDNN

_TRAINING: Final = 64  # a propagation kind
_DTYPE: Final = "float32"
_ITEM: Final = 4
_LOWEST: Final = np.finfo(np.float32).min
_INPUT, _RESULT, _GRADIENT = range(3)  # operands of programs


class Pooling:
    """Sizes of a pooling.

    Args:
        x: of the input, [batch, channels, *spatial].
        y: of the result.
        windows: where they lie.
        algorithm: what becomes of a window.
    """

    def __init__(self, x: Sizes, y: Sizes, windows: Windows, algorithm: int) -> None:
        self.x, self.y, self.algorithm = tuple(x), tuple(y), algorithm
        self.padded = any(windows.padding)
        w = windows
        behind = padding_behind(w, x[2:], y[2:])
        dilation = [d - 1 for d in w.dilation]
        steps = w.stride, w.kernel, dilation, w.padding, behind
        self.steps = [numbers(v) for v in steps]
        self.runs = runs(x[0], _ITEM * (math.prod(x[1:]) + math.prod(y[1:])))

    def source(self, images: int, operand: int = _INPUT) -> Place:
        """Where a part of the input, or of its gradient, lies."""
        return _place((images, *self.x[1:]), operand)

    def result(self, images: int) -> Place:
        """Where a part of the result, or of its gradient, lies."""
        return _place((images, *self.y[1:]), _RESULT)

    def forward(self, images: int) -> Description:
        """What pools so many images."""
        x, y = self.source(images).format, self.result(images).format
        kind = "pooling_forward"
        return Description(kind, _TRAINING, self.algorithm, x, y, *self.steps)

    def backward(self, images: int) -> Description:
        """What gives the gradient of the input of so many images."""
        x, y = self.source(images).format, self.result(images).format
        kind, hint = "pooling_backward", self.forward(images)
        return Description(kind, self.algorithm, x, y, *self.steps, hint)


def _place(shape: tuple[int, ...], operand: int) -> Place:
    return Place(strided(shape, _DTYPE), operand, _ITEM * math.prod(shape))


def _pooled(
    sizes: Pooling, images: int, program: Program, result: Place
) -> dict[Argument, Place]:
    """Add the pooling to a program; gives what tells where each maximum was."""
    does = sizes.forward(images)
    noted = {}
    if sizes.algorithm == MAXIMUM:
        noted[Argument.WORKSPACE] = Place(does.format(Argument.WORKSPACE))
    arguments = {Argument.SOURCE: sizes.source(images), Argument.RESULT: result}
    program.add(Primitive(does), arguments | noted)
    return noted


class _Runs:
    """Programs for all runs of a pooling.

    Args:
        sizes: of all arrays.
    """

    def __init__(self, sizes: Pooling) -> None:
        self.sizes = sizes
        self.runs = [(run.start, self._made(run)) for run in sizes.runs]

    def _made(self, run: Run) -> Program:
        """What computes one run."""
        raise NotImplementedError


class Forward(_Runs):
    """The pooling."""

    def _made(self, run: Run) -> Program:
        program = Program(run.parts, 2)
        _pooled(self.sizes, run.images, program, self.sizes.result(run.images))
        return program

    def __call__(self, x: Array) -> Array | None:
        """The result, row-major; None where others know it.

        Maxima of oneDNN pass over NaN, and are finite.
        """
        x = np.ascontiguousarray(x)
        if self.sizes.algorithm == MAXIMUM and not is_finite(x):
            return None
        y = np.empty(self.sizes.y, x.dtype)
        for start, program in self.runs:
            program.run(x[start:], y[start:])
        return y


class Backward(_Runs):
    """The gradient of the input; maxima are looked for again."""

    def _made(self, run: Run) -> Program:
        sizes, images = self.sizes, run.images
        program = Program(run.parts, 3)
        noted: dict[Argument, Place] = {}
        if sizes.algorithm == MAXIMUM:
            result = sizes.result(images)._replace(operand=None, pace=0)
            noted = _pooled(sizes, images, program, result)
        does = sizes.backward(images)
        arguments = {
            Argument.RESULT_GRADIENT: sizes.result(images),
            Argument.SOURCE_GRADIENT: sizes.source(images, _GRADIENT),
        }
        program.add(Primitive(does), arguments | noted)
        return program

    def __call__(self, dy: Array, x: Array | None = None) -> Array | None:
        """The gradient, row-major; None where others know it.

        Args:
            dy: the gradient of the result.
            x: the input, for maxima.
        """
        dy = np.ascontiguousarray(dy)
        x = dy if x is None else np.ascontiguousarray(x)
        if self.sizes.algorithm == MAXIMUM:
            # A maximum no greater than the padding would be taken to lie there.
            lost = self.sizes.padded and x.min() <= _LOWEST
            if lost or not is_finite(x):
                return None
        dx = np.empty(self.sizes.x, dy.dtype)
        for start, program in self.runs:
            program.run(x[start:], dy[start:], dx[start:])
        return dx
