"""Random NumPy arrays by generated kernels, drawn from a place in a seed's stream."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.codegen import random_kernels, runtime
from dovetail.codegen.eager import Array, address, target, words_of
from dovetail.codegen.formats import computed_in
from dovetail.codegen.llvm_text import render

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time, whole blocks
Shape = tuple[int, ...]
DType = np.dtype[Any]


@cache
def _kernel(name: str, *given: Any) -> runtime.Kernel:
    form = getattr(random_kernels, name)(*given)
    return runtime.kernel(
        form.name, lambda: render(form, target()), runtime.key_of(name, given, target())
    )


def _run(
    kernel: runtime.Kernel, arrays: list[Array], seed: int, block: int,
    numbers: Sequence[int], count: int, grain: int = _GRAIN,
) -> None:  # fmt: skip
    """Run a kernel on arrays that begin where a block does."""
    table = [*map(address, arrays), block % 2**64, seed % 2**64, 0, *numbers]
    held = (ctypes.c_uint64 * len(table))(*[w % 2**64 for w in table])
    kernel.run(ctypes.addressof(held), count, grain)


class _Draw:
    """A kernel on arrays of so many elements, wherever in a block they begin.

    What lies in a block's midst at either end is drawn with the whole block, beside.

    Args:
        each: how many words an element takes.
        lane: how many elements a lane has.
    """

    def __init__(
        self, kernel: runtime.Kernel, seed: int, *numbers: int,
        each: int = 1, lane: int = 1,
    ) -> None:  # fmt: skip
        self.kernel, self.seed, self.numbers = kernel, seed, numbers
        self.block, self.each, self.lane = 4 // each, each, lane

    def into(self, results: list[Array], offset: int, *sources: Array) -> None:
        """Draw from a place of the stream on, in words.

        Args:
            results: row-major arrays to be written.
            sources: what the kernel reads, as large.
        """
        first, words = divmod(offset, 4)
        size = results[0].size
        if not words and not size % self.lane:
            self._whole([*sources, *results], first, size)
            return
        read, written = ([a.reshape(-1) for a in some] for some in (sources, results))
        skip = words // self.each
        head = min(-skip % self.block, size)
        if head:
            ends = slice(0, head)
            self._part([a[ends] for a in read], [a[ends] for a in written], first, skip)
            first += 1
        rest = (size - head) % self.lane
        self._whole([a[head:] for a in (*read, *written)], first, size - head - rest)
        if rest:
            blocks, skip = divmod(size - head - rest, self.block)
            ends, first = slice(size - rest, size), first + blocks
            self._part([a[ends] for a in read], [a[ends] for a in written], first, skip)

    def _whole(self, arrays: list[Array], block: int, size: int) -> None:
        count = size // self.lane
        _run(self.kernel, arrays, self.seed, block, self.numbers, count)

    def _part(
        self, read: list[Array], written: list[Array], block: int, skip: int
    ) -> None:
        """Draw a few elements of one block."""
        beside = [np.zeros(self.block, a.dtype) for a in (*read, *written)]
        here = slice(skip, skip + written[0].size)
        for a, whole in zip(read, beside, strict=False):
            whole[here] = a
        self._whole(beside, block, self.block)
        for a, whole in zip(written, beside[len(read) :], strict=True):
            a[...] = whole[here]


def words(n: int, seed: int, offset: int) -> Array:
    """Words from `offset` on, as int32."""
    y = np.empty(n, np.int32)
    _Draw(_kernel("words"), seed).into([y], offset)
    return y


def uniform(
    shape: Shape, dtype: DType, seed: int, offset: int,
    scaled: tuple[float, float, float] | None,
) -> Array:  # fmt: skip
    """Fractions in [0, 1), or those times a span, plus the least, at most the greatest.

    Args:
        scaled: span, least and greatest.
    """
    y = np.empty(shape, dtype)
    kernel = _kernel("uniform", dtype.name, scaled is not None)
    numbers = _numbers(dtype.name, scaled)
    _Draw(kernel, seed, *numbers, each=_each(dtype.name)).into([y], offset)
    return y


def normal(
    shape: Shape, dtype: DType, seed: int, offset: int,
    scaled: tuple[float, float] | None,
) -> Array:  # fmt: skip
    """Normal numbers, or those times the one number plus the other."""
    y = np.empty(shape, dtype)
    kernel, each = _kernel("normal", dtype.name, scaled is not None), _each(dtype.name)
    numbers = _numbers(dtype.name, scaled)
    _Draw(kernel, seed, *numbers, each=each, lane=3 - each).into([y], offset)
    return y


def mask(shape: Shape, limit: int, seed: int, offset: int) -> Array:
    """Whether words are below `limit`."""
    y = np.empty(shape, np.bool_)
    _Draw(_kernel("mask"), seed, limit).into([y], offset)
    return y


def dropout(
    x: Array, limit: int, scale: float, seed: int, offset: int
) -> tuple[Array, Array]:
    """A row-major array times `scale` or 0, and where it is not 0."""
    y, kept = np.empty_like(x), np.empty(x.shape, np.bool_)
    dtype = x.dtype.name
    numbers = _numbers(dtype, (scale,))
    draw = _Draw(_kernel("dropout", dtype), seed, limit, *numbers)
    draw.into([y, kept], offset, x)
    return y, kept


def trials(p: Array, seed: int, offset: int) -> Array:
    """1 with the probability that each element of a row-major array has, else 0."""
    dtype = p.dtype.name
    y = np.empty_like(p)
    _Draw(_kernel("trials", dtype), seed, each=_each(dtype)).into([y], offset, p)
    return y


def integers(
    shape: Shape, dtype: DType, low: int, span: int, seed: int, offset: int
) -> tuple[Array, list[slice]]:
    """Integers from `low` on, as many as `span` (at most 2**32), a word each.

    Returns:
        The numbers, and parts of them, all in a row, with some to be drawn again.
    """
    y = np.empty(shape, dtype)
    block, words = divmod(offset, 4)
    head = min(-words % 4, y.size)  # drawn by others
    body = y.reshape(-1)[head:]
    part = random_kernels.PART
    parts = -(-body.size // part)
    least = np.empty(parts, np.uint32)
    _run(
        _kernel("integers", dtype.name), [body, least], seed, block + (words > 0),
        (body.size, span, low), parts, max(_GRAIN // part, 1),
    )  # fmt: skip
    found = np.flatnonzero(least < (1 << 32) % span) * part + head
    again = [slice(i, min(i + part, y.size)) for i in found.tolist()]
    return y, [slice(0, head), *again] if head else again


def _each(dtype: str) -> int:
    return 2 if dtype == "float64" else 1


def _numbers(dtype: str, numbers: tuple[float, ...] | None) -> list[int]:
    """Numbers as words, in the dtype that a kernel computes in."""
    return words_of([computed_in(dtype)] * len(numbers), numbers) if numbers else []
