"""The numbers in the law of random numbers, for bodies and for kernels alike.

The law itself is written in `dovetail.ops.philox`.
"""

from __future__ import annotations

import math
from typing import Final

from dovetail.dtypes import DType, bfloat16, float16, float32, float64
from dovetail.limits import finfo

SIGN: Final = 1 << 31

# How many bits of randomness a float of each dtype has.
UNIT_BITS: Final = {float16: 11, bfloat16: 8, float32: 24, float64: 53}


def words_each(dtype: DType) -> int:
    """How many words an element of a float dtype takes."""
    return 2 if dtype is float64 else 1


def greatest_below(low: float, high: float, dtype: DType) -> float:
    """The greatest float of `dtype` below `high`, but not below `low`."""
    info = finfo(dtype)
    if not info.tiny * 2 <= abs(high) < math.inf:
        return max(low, high - info.tiny)
    _, e = math.frexp(high)
    unit = 2.0 ** (e - 1) * info.eps
    nearest = round(high / unit) * unit  # `high` as the dtype has it
    m, e = math.frexp(nearest)
    step = 2.0 ** (e - 2 if m == 0.5 else e - 1) * info.eps
    return max(low, nearest - step)


def threshold(p: float) -> int:
    """The number of words, of 2^32, for which a mask with probability p is true."""
    return max(0, min(1 << 32, round(p * (1 << 32))))


def kept_scale(p: float) -> float:
    """What is kept is multiplied by this, so that the mean stays."""
    return 1 / (1 - p) if p < 1 else 0.0


def integer_words(low: int, high: int) -> int:
    """How many words an integer in [low, high) takes."""
    return 1 if high - low <= 1 << 32 else 2
