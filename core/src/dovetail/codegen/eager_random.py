"""Random NumPy arrays by generated kernels, drawn from a place in a seed's stream."""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.codegen import random_kernels, runtime
from dovetail.codegen.eager import Array, address, target, words_of
from dovetail.codegen.llvm_text import render

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time, whole blocks
Shape = tuple[int, ...]


class Place:
    """Where in a seed's stream an array begins.

    Args:
        offset: in words.
        each: how many words an element takes.
    """

    def __init__(self, seed: int, offset: int, each: int = 1) -> None:
        first, words = divmod(offset, 4)
        self.skip = words // each
        self.words = [first % 2**64, seed % 2**64, 0, self.skip]

    @property
    def aligned(self) -> bool:
        """Whether a block begins there."""
        return not self.skip


@cache
def _kernel(name: str, *given: Any) -> runtime.Kernel:
    form = getattr(random_kernels, name)(*given)
    return runtime.kernel(form.name, render(form, target()))


def _run(
    kernel: runtime.Kernel, arrays: list[Array], place: Place, *numbers: int,
    count: int | None = None, grain: int = _GRAIN,
) -> None:  # fmt: skip
    table = [*map(address, arrays), *place.words, *numbers]
    held = (ctypes.c_uint64 * len(table))(*[w % 2**64 for w in table])
    kernel.run(
        ctypes.addressof(held), arrays[-1].size if count is None else count, grain
    )


def words(n: int, seed: int, offset: int) -> Array:
    """Words from `offset` on, as int32."""
    place = Place(seed, offset)
    y = np.empty(n, np.int32)
    _run(_kernel("words", place.aligned), [y], place)
    return y


def uniform(
    shape: Shape, dtype: str, seed: int, offset: int,
    scaled: tuple[float, float, float] | None,
) -> Array:  # fmt: skip
    """Fractions in [0, 1), or those times a span, plus the least, at most the greatest.

    Args:
        scaled: span, least and greatest.
    """
    place = Place(seed, offset, _each(dtype))
    y = np.empty(shape, dtype)
    kernel = _kernel("uniform", place.aligned, dtype, scaled is not None)
    _run(kernel, [y], place, *_numbers(dtype, scaled))
    return y


def normal(
    shape: Shape, dtype: str, seed: int, offset: int, scaled: tuple[float, float] | None
) -> Array:
    """Normal numbers, or those times the one number plus the other."""
    numbers = _numbers(dtype, scaled)
    count = math.prod(shape)
    if dtype == "float32" and offset % 2 == count % 2 == 0:
        place = Place(seed, offset, 2)
        kernel = _kernel("normal_pairs", place.aligned, scaled is not None)
        y = np.empty(shape, dtype)
        _run(kernel, [y.reshape(-1).view(np.uint64)], place, *numbers)
        return y
    place = Place(seed, offset, _each(dtype))
    kernel = _kernel("normal", place.aligned, dtype, scaled is not None)
    y = np.empty(shape, dtype)
    _run(kernel, [y], place, *numbers)
    return y


def mask(shape: Shape, limit: int, seed: int, offset: int) -> Array:
    """Whether words are below `limit`."""
    place = Place(seed, offset)
    y = np.empty(shape, np.bool_)
    _run(_kernel("mask", place.aligned), [y], place, limit)
    return y


def dropout(
    x: Array, limit: int, scale: float, seed: int, offset: int
) -> tuple[Array, Array]:
    """A row-major array times `scale` or 0, and where it is not 0."""
    place = Place(seed, offset)
    y, kept = np.empty_like(x), np.empty(x.shape, np.bool_)
    kernel = _kernel("dropout", place.aligned, x.dtype.name)
    _run(kernel, [x, y, kept], place, limit, *_numbers(x.dtype.name, (scale,)))
    return y, kept


def trials(p: Array, seed: int, offset: int) -> Array:
    """1 with the probability that each element of a row-major array has, else 0."""
    dtype = p.dtype.name
    place = Place(seed, offset, _each(dtype))
    y = np.empty_like(p)
    _run(_kernel("trials", place.aligned, dtype), [p, y], place)
    return y


def integers(
    shape: Shape, dtype: str, low: int, span: int, seed: int, offset: int
) -> tuple[Array, list[slice]]:
    """Integers from `low` on, as many as `span` (at most 2**32), a word each.

    Returns:
        The numbers, and parts of them, all in a row, with some to be drawn again.
    """
    place = Place(seed, offset)
    y = np.empty(shape, dtype)
    part = random_kernels.PART
    parts = -(-y.size // part)
    least = np.empty(parts, np.uint32)
    _run(
        _kernel("integers", place.aligned, dtype), [y, least], place, y.size, span, low,
        count=parts, grain=max(_GRAIN // part, 1),
    )  # fmt: skip
    again = np.flatnonzero(least < (1 << 32) % span).tolist()
    return y, [slice(i * part, min((i + 1) * part, y.size)) for i in again]


def _each(dtype: str) -> int:
    return 2 if dtype == "float64" else 1


def _numbers(dtype: str, numbers: tuple[float, ...] | None) -> list[int]:
    return words_of([dtype] * len(numbers), numbers) if numbers else []
