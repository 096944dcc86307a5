"""Random NumPy arrays by generated kernels, drawn from a place in a seed's stream."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

import numpy as np

from dovetail.codegen import random_kernels, runtime
from dovetail.codegen.eager import Array, address, target, words_of
from dovetail.codegen.formats import computed_in
from dovetail.codegen.llvm_text import render

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time, whole blocks
_REMEMBERED: Final = 256  # scales
Shape = tuple[int, ...]
DType = np.dtype[Any]
_Law = tuple[int, Sequence[int]]  # a seed, and numbers
_LOW64: Final = 2**64 - 1


@cache
def _kernel(name: str, *given: Any) -> runtime.Kernel:
    form = getattr(random_kernels, name)(*given)
    return runtime.kernel(
        form.name, lambda: render(form, target()), runtime.key_of(name, given, target())
    )


@cache
def _packed(words: int) -> Any:
    """What makes so many words one run of bytes."""
    return struct.Struct(f"={words}Q").pack


def _run(
    kernel: runtime.Kernel, arrays: list[Array], seed: int, block: int,
    numbers: Sequence[int], count: int, grain: int = _GRAIN,
) -> None:  # fmt: skip
    """Run a kernel on arrays that begin where a block does."""
    table = [*map(address, arrays), block & _LOW64, seed & _LOW64, 0]
    table += [n & _LOW64 for n in numbers]
    if count <= grain:  # bytes are their own address
        kernel.entry(_packed(len(table))(*table), 0, count)
        return
    held = (ctypes.c_uint64 * len(table))(*table)
    kernel.run(ctypes.addressof(held), count, grain)


class _Draw:
    """A kernel on arrays of so many elements, wherever in a block they begin.

    What lies in a block's midst at either end is drawn with the whole block, beside.

    Args:
        given: what the kernel is made for.
        each: how many words an element takes.
        lane: how many elements a lane has.
    """

    def __init__(self, name: str, *given: Any, each: int = 1, lane: int = 1) -> None:
        self.kernel = _kernel(name, *given)
        self.block, self.each, self.lane = 4 // each, each, lane

    def into(
        self, results: list[Array], seed: int, offset: int, numbers: Sequence[int] = (),
        sources: Sequence[Array] = (),
    ) -> None:  # fmt: skip
        """Draw from a place of the stream on, in words.

        Args:
            results: row-major arrays to be written.
            numbers: words that the kernel gets.
            sources: what the kernel reads, as large.
        """
        first, words = divmod(offset, 4)
        size = results[0].size
        law = seed, numbers
        if not words and not size % self.lane:
            self._whole([*sources, *results], first, size, law)
            return
        read, written = ([a.reshape(-1) for a in some] for some in (sources, results))
        skip = words // self.each
        head = min(-skip % self.block, size)
        if head:
            ends = slice(0, head)
            into = [a[ends] for a in written]
            self._part([a[ends] for a in read], into, first, skip, law)
            first += 1
        rest = (size - head) % self.lane
        body = [a[head:] for a in (*read, *written)]
        self._whole(body, first, size - head - rest, law)
        if rest:
            blocks, skip = divmod(size - head - rest, self.block)
            ends, first = slice(size - rest, size), first + blocks
            into = [a[ends] for a in written]
            self._part([a[ends] for a in read], into, first, skip, law)

    def _whole(self, arrays: list[Array], block: int, size: int, law: _Law) -> None:
        seed, numbers = law
        _run(self.kernel, arrays, seed, block, numbers, size // self.lane)

    def _part(
        self, read: list[Array], written: list[Array], block: int, skip: int, law: _Law
    ) -> None:
        """Draw a few elements of one block."""
        beside = [np.zeros(self.block, a.dtype) for a in (*read, *written)]
        here = slice(skip, skip + written[0].size)
        for a, whole in zip(read, beside, strict=False):
            whole[here] = a
        self._whole(beside, block, self.block, law)
        for a, whole in zip(written, beside[len(read) :], strict=True):
            a[...] = whole[here]


@cache
def _draw(name: str, *given: Any) -> _Draw:
    """The kernel of one number a word."""
    return _Draw(name, *given)


@cache
def _draw_of(name: str, dtype: DType, *given: Any) -> _Draw:
    """The kernel of floats, which takes as many words as their dtype has it."""
    each = _each(dtype.name)
    lane = 3 - each if name == "normal" else 1
    return _Draw(name, dtype.name, *given, each=each, lane=lane)


def words(n: int, seed: int, offset: int) -> Array:
    """Words from `offset` on, as int32."""
    y = np.empty(n, np.int32)
    _draw("words").into([y], seed, offset)
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
    draw = _draw_of("uniform", dtype, scaled is not None)
    draw.into([y], seed, offset, _numbers(dtype, scaled))
    return y


def normal(
    shape: Shape, dtype: DType, seed: int, offset: int,
    scaled: tuple[float, float] | None,
) -> Array:  # fmt: skip
    """Normal numbers, or those times the one number plus the other."""
    y = np.empty(shape, dtype)
    draw = _draw_of("normal", dtype, scaled is not None)
    draw.into([y], seed, offset, _numbers(dtype, scaled))
    return y


def exponential(
    shape: Shape, dtype: DType, seed: int, offset: int, scale: float
) -> Array:
    """Exponential numbers times a number."""
    y = np.empty(shape, dtype)
    draw = _draw_of("exponential", dtype)
    draw.into([y], seed, offset, _numbers(dtype, (scale,)))
    return y


def mask(shape: Shape, limit: int, seed: int, offset: int) -> Array:
    """Whether words are below `limit`."""
    y = np.empty(shape, np.bool_)
    _draw("mask").into([y], seed, offset, (limit,))
    return y


def dropout(
    x: Array, limit: int, scale: float, seed: int, offset: int
) -> tuple[Array, Array]:
    """A row-major array times `scale` or 0, and where it is not 0."""
    y, kept = np.empty_like(x), np.empty(x.shape, np.bool_)
    draw, numbers = _dropping(x.dtype, scale)
    draw.into([y, kept], seed, offset, (limit, *numbers), (x,))
    return y, kept


def trials(p: Array, seed: int, offset: int) -> Array:
    """1 with the probability that each element of a row-major array has, else 0."""
    y = np.empty_like(p)
    _draw_of("trials", p.dtype).into([y], seed, offset, (), (p,))
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


def _numbers(dtype: DType, numbers: tuple[float, ...] | None) -> Sequence[int]:
    """Numbers as words, in the dtype that a kernel computes in."""
    if not numbers:
        return ()
    return words_of([computed_in(dtype.name)] * len(numbers), numbers)


@lru_cache(_REMEMBERED)
def _dropping(dtype: DType, scale: float) -> tuple[_Draw, Sequence[int]]:
    """The kernel of dropout, which takes a word each, and the scale as a word."""
    return _draw("dropout", dtype.name), _numbers(dtype, (scale,))
