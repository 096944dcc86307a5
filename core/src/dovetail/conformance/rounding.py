"""What rounding does to a result: the figures that every tolerance is made of.

The kit, which knows the truth, and `lockstep`, which compares two devices, add to them
what a call's conditioning makes of rounded inputs, each by its own means.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np

from dovetail.conformance.formats import limits
from dovetail.dtypes import HALF, Array, DType, float32
from dovetail.engine.op import Op
from dovetail.float8 import values_in

# Of ops that declare none: a composition of a few correctly rounded ones.
DEFAULT_ULP: Final = 8.0


@cache
def roundoff(dtype: DType) -> float:
    """Half the distance from 1 to the next number; 0 where nothing is rounded."""
    return float(limits(dtype.real).eps) / 2 if dtype.is_inexact else 0.0


def accumulates_in(dtype: DType) -> DType:
    """The narrowest format in which an op may compute for that result."""
    return float32 if dtype in HALF else dtype.real


def own_error(op: Op, dtype: DType) -> float:
    """How far an op's result may be off in a format, relative to the result."""
    ulp = DEFAULT_ULP if op.ulp is None else op.ulp
    return max(ulp, 0.5) * 2 * roundoff(dtype)


def of_terms(count: float, repeated: float = 0.0) -> float:
    """How many roundoffs of its terms' absolute sum a sum may be off by.

    A few of the terms themselves, and a random walk of the roundings of partial sums.

    Args:
        repeated: how much of the terms are the same: the chance that two places hold
            equal ones. Their roundings go the same way, but never beyond `count`
            (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 4.2).
    """
    walk = 2 * math.sqrt(count)
    return 8 + max(walk, min(2 * count * math.sqrt(repeated), count))


def rounded_to(want: Array, dtype: DType) -> Array:
    """The truth in the result's format."""
    with np.errstate(all="ignore"):
        return values_in(want, dtype.numpy)


__all__ = [
    "DEFAULT_ULP",
    "accumulates_in",
    "of_terms",
    "own_error",
    "rounded_to",
    "roundoff",
]
