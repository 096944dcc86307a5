"""Calls of ops with indices in which two sizes are long, and neither is a whole tile.

What is added at one place by many is added in vectors, in halves of a word, or by
atomics that have none of these: the last element of an odd row is a case of its own,
and it shows where rows are long and places come again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Final

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.meaning import means_something
from dovetail.conformance.sizes import Sizing, named_shapes
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import DType
from dovetail.engine.op import Op

_LENGTHS: Final = (35, 67)
_MOST: Final = 6  # calls of an op


def odd_pairs(op: Op, dtype: DType, largest: int, seed: int) -> Iterator[Example]:
    """With each two sizes of the cases that long, one way round and the other."""
    if op.cases is None or not op.indices or op.layout_matters or op.has_list:
        return
    found = 0
    most = min(largest, op.largest or largest)
    for number, shapes in enumerate(named_shapes(op, dtype)):
        sizes = sorted({n for shape in shapes for n in shape if n > 1})
        for turn, pair in enumerate(itertools.permutations(sizes, 2)):
            sizing = _of(dict(zip(pair, _LENGTHS, strict=True)))
            whole = max(math.prod(map(sizing, shape)) for shape in shapes)
            if found == _MOST or whole > most:
                continue
            make = Varied(op, dtype, ORDINARY, sizing, seed + 31 * number + turn)
            call = chosen_case(op, make, number)
            example = Example(call, PLAIN, ORDINARY, str(_LENGTHS[-1]))
            if call is not None and means_something(op, example, dtype):
                found += 1
                yield example


def _of(sizes: dict[int, int]) -> Sizing:
    return Sizing(lambda n: sizes.get(n, n))


__all__ = ["odd_pairs"]
