"""Looks into memory, drawn at random, with the index map that says what each sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import Array

Ints = tuple[int, ...]
Random = np.random.Generator

_MOST_DIMS: Final = 4
_LONGEST: Final = 5
_PLANES: Final = ((33, 70), (70, 33), (65, 65))


@dataclass(frozen=True, slots=True)
class Look:
    """A view's shape, element strides, and first element within some memory."""

    shape: Ints
    strides: Ints
    offset: int

    def index(self) -> Array:
        """For every element, its place in the memory."""
        places = np.full(self.shape, self.offset, np.int64)
        for dim, (size, step) in enumerate(zip(self.shape, self.strides, strict=True)):
            line = [1] * len(self.shape)
            line[dim] = size
            places = places + np.arange(size).reshape(line) * step
        return places

    def __str__(self) -> str:
        return f"view(shape={self.shape}, strides={self.strides}, offset={self.offset})"


def any_look(random: Random, size: int) -> Look:
    """Any look into memory of `size` elements: strides of 0 and more, in any order."""
    if random.random() < 0.5:
        return _rows_apart(random, size)
    while True:
        shape = _shape(random)
        steps = tuple(int(s) for s in random.integers(0, 9, len(shape)))
        found = _placed(random, shape, steps, size)
        if found is not None:
            return found


def _rows_apart(random: Random, size: int) -> Look:
    """Rows that are contiguous, and lie apart."""
    while True:
        shape = _shape(random)
        wide = (*shape[:-1], shape[-1] + 2) if shape else shape
        found = _placed(random, shape, contiguous_strides(wide), size)
        if found is not None:
            return found


def single_look(random: Random, size: int) -> Look:
    """A look in which no two elements share memory: dims in any order, with gaps."""
    while True:
        shape = _shape(random)
        steps = [0] * len(shape)
        step = int(random.integers(1, 4))
        for dim in random.permutation(len(shape)):
            steps[dim] = step
            step *= shape[dim] + int(random.integers(0, 2))
        found = _placed(random, shape, tuple(steps), size)
        if found is not None:
            return found


def alike(random: Random, shape: Ints, size: int) -> Look:
    """A look of that shape into memory of `size` elements."""
    rows = _steps(shape, random)
    for _ in range(20):
        times = random.choice([0, 1, 1, 2], len(shape))
        steps = tuple(int(s) * int(r) for s, r in zip(times, rows, strict=True))
        found = _placed(random, shape, steps, size)
        if found is not None:
            return found
    return Look(shape, (0,) * len(shape), 0)


def _steps(shape: Ints, random: Random) -> Ints:
    """Strides without gaps: row by row, or with the dims in another order."""
    order = range(len(shape))
    if random.random() < 0.5:
        order = random.permutation(len(shape)).tolist()
    steps, step = [0] * len(shape), 1
    for dim in reversed(order):
        steps[dim] = step
        step *= shape[dim]
    return tuple(steps)


def planes() -> Iterator[Look]:
    """Matrices that are no whole tiles, row by row and transposed."""
    for rows, columns in _PLANES:
        yield Look((rows, columns), (columns, 1), 0)
        yield Look((rows, columns), (1, rows), 0)


def row(count: int, step: int) -> Look:
    """One dim of `count` elements, `step` apart, from the first place."""
    return Look((count,), (step,), 0)


def _shape(random: Random) -> Ints:
    dims = int(random.integers(0, _MOST_DIMS + 1))
    shape = tuple(int(n) for n in random.integers(1, _LONGEST + 1, dims))
    if dims and random.random() < 0.1:  # of no elements
        at = int(random.integers(dims))
        shape = (*shape[:at], 0, *shape[at + 1 :])
    return shape


def _placed(random: Random, shape: Ints, steps: Ints, size: int) -> Look | None:
    """The look somewhere within the memory, None where it does not fit."""
    if not all(shape):
        return Look(shape, steps, 0)
    reach = sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    if reach >= size:
        return None
    return Look(shape, steps, int(random.integers(0, size - reach)))
