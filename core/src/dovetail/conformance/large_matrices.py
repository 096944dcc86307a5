"""Calls of matrices with more columns than a word has bits.

What takes a step for each column is proven of small matrices, for the time that its
body takes. Kernels keep a bit for each column in a word, go over to blocks of 32 or 64
columns, and treat the last of these apart: one call each of sizes past these tells.
So do small matrices that meet as many right-hand sides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import Crossing, Options
from dovetail.conformance.sizes import Sizing, named_shapes
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import ALL, DType
from dovetail.engine.op import Op

Ints = tuple[int, ...]
# Past a word and two, so that of rows exchanged beyond it there are one, or more.
_SIZES: Final = (34, 47, 66)
_LONG: Final = (35, 67)  # right-hand sides, past a block of them
_SMALL: Final = 16  # of matrices no larger than that, each pair of columns is a step


def large_matrices(op: Op, dtype: DType, seed: int) -> Iterator[Example]:
    """The op's first case of one square matrix, for each size with other options."""
    if not of_matrices(op):
        return
    named = named_shapes(op, dtype)
    square = (
        (at, s[0][0]) for at, s in enumerate(named)
        if s and len(s[0]) == 2 and s[0][0] == s[0][1] > 1
    )  # fmt: skip
    number, size = next(square, (0, 0))
    for turn, n in enumerate(_SIZES if size else ()):
        for options in _options(op, dtype, seed, turn, number):
            make = Varied(op, dtype, ORDINARY, _of(size, n), seed + turn)
            make.options = options
            call = chosen_case(op, make, number)
            example = Example(call, PLAIN, ORDINARY, str(n * n))
            if call is not None and means_something(op, example, dtype):
                yield example
                break
    if size:
        yield from _beside(op, dtype, seed, number, size, named[number])


def _beside(
    op: Op, dtype: DType, seed: int, number: int, size: int, shapes: Sequence[Ints]
) -> Iterator[Example]:
    """A small matrix, and many of what it meets: each other size of the case long.

    Options are others from dtype to dtype.
    """
    others = sorted({n for shape in shapes for n in shape} - {size, 1, 0})
    for turn, (other, length) in enumerate(itertools.product(others, _LONG)):
        first = len(_LONG) * ALL.index(dtype) + turn
        for options in _options(op, dtype, seed, first, number):
            make = Varied(op, dtype, ORDINARY, _of(other, length), seed + first)
            make.options = options
            call = chosen_case(op, make, number)
            example = Example(call, PLAIN, ORDINARY, str(length))
            if call is not None and means_something(op, example, dtype):
                yield example
                break


def of_matrices(op: Op) -> bool:
    """Whether an op takes a step for each column of a matrix."""
    if op.cases is None or op.is_elementwise or op.layout_matters or op.sums:
        return False
    return op.largest is not None and _SMALL < op.largest < _SIZES[0] ** 2


def _options(
    op: Op, dtype: DType, seed: int, turn: int, number: int
) -> Iterator[Options | None]:
    """Others than the case's from call to call; its own where these are refused."""
    crossing = Crossing(op, dtype, seed)
    if crossing.levels:
        yield crossing.turned(turn, number)
    yield None


def _of(size: int, length: int) -> Sizing:
    return Sizing(lambda n: length if n == size else n)


__all__ = ["large_matrices", "of_matrices"]
