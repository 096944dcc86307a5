"""Calls in which each number at the end of some format meets each small one.

Whether a power is odd, how far to shift, and what is left of a quotient are decided on
the way through an integer or a narrower float. Beside a number drawn like it, an end
overflows or is lost: what is wrong there shows beside 1, -1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.formats import FLOAT, INT, limits
from dovetail.conformance.meaning import means_something
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import case
from dovetail.engine.op import Op

_BORDERS: Final = "borders"
_SMALL: Final = (0, 1, -1, 2, -2, 3, 0.5, -0.5)
_POWERS: Final = (7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64)
_BESIDE: Final = (-1, 0, 1)


def ends_met(op: Op, dtype: DType, values: Sequence[str]) -> Iterator[Example]:
    """Of two operands each is small in one call, and at an end in the other."""
    plain = op.cases is None and op.is_elementwise and not op.rest
    two = len(op.tensors) == 2 and not op.indices | op.masks
    if not plain or not two or _BORDERS not in values:
        return
    small, ends = _small(dtype), _ends(dtype)
    rows, columns = np.repeat(small, len(ends)), np.tile(ends, len(small))
    for pair in ((rows, columns), (columns, rows)):
        example = Example(case(*pair), PLAIN, _BORDERS)
        if means_something(op, example, dtype):
            yield example


def _small(dtype: DType) -> Array:
    found = np.array(_SMALL)
    if dtype.category == INT:
        found = found[found == np.trunc(found)]
        found = found if dtype.is_signed else found[found >= 0]
    return found.astype(dtype.numpy)


def _ends(dtype: DType) -> Array:
    """Numbers about powers of two, odd ones among them, as far as a format goes."""
    near = [(1 << power) + by for power in _POWERS for by in _BESIDE]
    found = [*near, *(-n for n in near)]
    low, high = float(limits(dtype).min), float(limits(dtype).max)
    if dtype.category == FLOAT:
        wide = np.array(found, np.float64)
        made = wide[(wide >= low) & (wide <= high)].astype(dtype.numpy)
        return np.unique(made.astype(np.float64)).astype(dtype.numpy)
    held = [n for n in found if int(low) <= n < int(high)]
    return np.array(held, dtype.numpy)  # without, those of 64 bits would be floats


__all__ = ["ends_met"]
