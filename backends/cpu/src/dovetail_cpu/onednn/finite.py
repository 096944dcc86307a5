"""Results that others have to compute again: where numbers are not finite."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail.dtypes import bfloat16

Array = np.ndarray[Any, Any]

_EXPONENT: Final = np.uint16(0x7F80)  # of a bfloat16: all bits are set in inf and NaN


def is_finite(a: Array) -> bool:
    """Whether zeros around an input stay zeros under such factors.

    oneDNN leaves them out. Where the sum of finite ones overflows, what serves others
    is asked in vain.
    """
    if a.dtype == bfloat16.numpy:
        bits = np.bitwise_and(a.view(np.uint16), _EXPONENT)
        return bool((bits != _EXPONENT).all())
    return bool(np.isfinite(a.sum()))


def is_known(y: Array) -> bool:
    """Whether a result is what its factors say.

    Instructions of the CPU take subnormal factors of bfloat16 for 0. That is allowed,
    but not the NaN that they make of them and an infinity.
    """
    return y.dtype != bfloat16.numpy or is_finite(y)
