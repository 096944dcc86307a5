"""cuDNN's convolutions by NumPy, from what the library is told of shapes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dovetail_cupy.cudnn import Shape


class HostDnn:
    """Convolves as cuDNN defines it: by the shapes it is told, not by the arrays'.

    Attributes:
        known: the dims of space for which it has a way.
        shapes: all that it was told.
    """

    def __init__(self, known: tuple[int, ...] = (2, 3)) -> None:
        self.known = known
        self.shapes: list[Shape] = []

    def forward(self, shape: Shape, x: Any, w: Any, y: Any) -> bool:
        if not self._takes(shape):
            return False
        total = np.zeros(shape.y)
        for source, taps, target in self._meetings(shape, x, w, total):
            np.add(target, np.einsum("ngi...,goi->ngo...", source, taps), target)
        y[...] = total.reshape(y.shape)
        return True

    def data(self, shape: Shape, w: Any, dy: Any, dx: Any) -> bool:
        if not self._takes(shape):
            return False
        total = np.zeros(shape.x)
        wide = self._padded(shape, total)
        for source, taps, target in self._meetings(shape, wide, w, dy, padded=True):
            np.add(source, np.einsum("ngo...,goi->ngi...", target, taps), source)
        dx[...] = self._inner(shape, wide).reshape(dx.shape)
        return True

    def weight(self, shape: Shape, x: Any, dy: Any, dw: Any) -> bool:
        if not self._takes(shape):
            return False
        total = np.zeros(shape.w)
        for source, taps, target in self._meetings(shape, x, total, dy):
            n, g, o, i = *target.shape[:3], source.shape[2]
            flat = target.reshape(n, g, o, -1), source.reshape(n, g, i, -1)
            np.add(taps, np.einsum("ngop,ngip->goi", *flat), taps)
        dw[...] = total.reshape(dw.shape)
        return True

    def _takes(self, shape: Shape) -> bool:
        self.shapes.append(shape)
        return len(shape.stride) in self.known

    @staticmethod
    def _padded(shape: Shape, x: Any) -> Any:
        around = [(0, 0), (0, 0), *((p, p) for p in shape.padding)]
        return np.pad(np.asarray(x, "f8").reshape(shape.x), around)

    @staticmethod
    def _inner(shape: Shape, wide: Any) -> Any:
        cut = [slice(p, p + n) for p, n in zip(shape.padding, shape.x[2:], strict=True)]
        return wide[(slice(None), slice(None), *cut)]

    def _meetings(
        self, shape: Shape, x: Any, w: Any, y: Any, padded: bool = False
    ) -> Any:
        """For each tap: what it meets, itself, and where that goes; by groups."""
        wide = x if padded else self._padded(shape, x)
        groups = shape.groups
        taps = np.asarray(w).reshape(shape.w)
        taps = taps.reshape(groups, shape.w[0] // groups, *shape.w[1:])
        target = np.asarray(y).reshape(shape.y)
        target = target.reshape(shape.y[0], groups, shape.y[1] // groups, *shape.y[2:])
        grouped = wide.reshape(wide.shape[0], groups, -1, *wide.shape[2:])
        for at in itertools.product(*map(range, shape.w[2:])):
            cut = tuple(
                slice(d * k, d * k + (n - 1) * t + 1, t)
                for k, n, t, d in zip(
                    at, shape.y[2:], shape.stride, shape.dilation, strict=True
                )
            )
            yield grouped[(..., *cut)], taps[(..., *at)], target
