"""Calls in which every size is odd, and large enough for what serves many elements.

A kernel has a rest in each dim that it cuts, and options and operands that may be left
out have a say in what becomes of it. Where one size grows, the others are the case's
own; here none is a whole vector, tile or warp, with other options from call to call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.following import followed
from dovetail.conformance.masks import with_rows
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import CROSSED, Crossing, Options
from dovetail.conformance.sizes import DRAWN, Sizing, named_shapes, work
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import ALL, DType
from dovetail.engine.op import Op

Ints = tuple[int, ...]
# The first of which an op has time: for its least size, its next one, and so on. Some
# are one past whole blocks of 8, 16 or 32, some one or more short of these.
_LENGTHS: Final = (
    (33, 37, 41, 43, 45, 51, 53, 55),
    (17, 23, 25, 27, 29, 31, 33, 35),
    (9, 13, 17, 19, 21, 23, 25, 27),
    (5, 7, 9, 11, 13, 15, 17, 19),
)
_CASES: Final = 6
_MOST: Final = 1  # calls in a dtype, each of which begins with another case
_WORK: Final = 1 << 22


def odd_sizes(op: Op, dtype: DType, largest: int, seed: int) -> Iterator[Example]:
    """Some cases of an op, each with other options if it takes these."""
    if op.cases is None or not op.tensors or op.layout_matters or op.has_list:
        return
    crossing = Crossing(op, dtype, seed)
    most = min(largest, op.largest or largest)
    named = named_shapes(op, dtype)[:_CASES]
    found, first = 0, _MOST * ALL.index(dtype)
    for at in range(first, first + len(named)):
        number = at % len(named)
        options = crossing.turned(at, number) if crossing.levels else None
        drawn = (
            _drawn(op, dtype, sizing, number, seed, options)
            for sizing in _sizings(named[number], most)
        )
        example = next(filter(None, drawn), None)
        if example is not None:
            found += 1
            yield example
        if found == _MOST:
            return


def _drawn(
    op: Op, dtype: DType, sizing: Sizing, number: int, seed: int,
    options: Options | None,
) -> Example | None:  # fmt: skip
    """The call with these options, or with its own; None if it is none."""
    for chosen in (options, None) if options is not None else (None,):
        make = Varied(op, dtype, ORDINARY, sizing, seed + 31 * number)
        make.options = chosen
        call = with_rows(followed(op, chosen_case(op, make, number), sizing))
        example = Example(call, PLAIN, ORDINARY, DRAWN, CROSSED)
        if call is not None and means_something(op, example, dtype):
            return example
    return None


def _sizings(shapes: Sequence[Ints], most: int) -> Iterator[Sizing]:
    """Of the greatest lengths there is time for: each size alone, or with multiples."""
    some = [shape for shape in shapes if shape and 0 not in shape]
    sizes = sorted({n for shape in some for n in shape if n > 1})
    if len(sizes) < 2:
        return
    for lengths in _LENGTHS:
        for found in (_alone(sizes, lengths), *_together(sizes, lengths)):
            sizing = _of(found)
            whole = max(math.prod(map(sizing, shape)) for shape in some)
            if whole <= most and work(sizing, some) <= _WORK:
                yield sizing


def _alone(sizes: Sequence[int], lengths: Ints) -> dict[int, int]:
    return dict(zip(sizes, lengths, strict=False))


def _together(sizes: Sequence[int], lengths: Ints) -> Iterator[dict[int, int]]:
    """The same, with what is a multiple of a size as many times what that becomes.

    Gates are three times the units or four, and a size of 4 is seldom twice one of 2.
    """
    for least in (3, 2):
        found: dict[int, int] = {}
        for n, length in zip(sizes, lengths, strict=False):
            bases = (m for m in reversed(list(found)) if m >= least and n % m == 0)
            base = next(bases, None)
            found[n] = length if base is None else n // base * found[base]
        yield found


def _of(sizes: dict[int, int]) -> Sizing:
    return Sizing(lambda n: sizes.get(n, n))


__all__ = ["odd_sizes"]
