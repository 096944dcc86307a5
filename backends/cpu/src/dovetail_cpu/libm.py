"""Special functions by the C library, one number after the other.

For many numbers that takes as long as the polynomials of the ops' bodies, array by
array, and for few a small part of it; and it is exact to the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.device_api import KernelTable
from dovetail.dtypes import HALF, float32, float64
from dovetail.xp.orders import elementwise
from dovetail_cpu.inverse_erf import inverse

Array = np.ndarray[Any, Any]

_OVERFLOWS: Final = 2.5e305  # of lgamma, where Python would raise


def install(table: KernelTable) -> None:
    """Add these kernels to the CPU's table."""
    table.add("erfc", _each(math.erfc), dtypes={float32, float64} | HALF)
    table.add("erf", _each(math.erf), dtypes={float64})
    erfinv = inverse(_each(math.erf), _each(math.erfc))
    table.add("erfinv", elementwise(np, erfinv), dtypes={float32, float64} | HALF)
    # In double precision its zeros among the negative numbers lose as many digits as
    # they do in the body; in narrower formats that is not seen.
    table.add("lgamma", elementwise(np, _lgamma), dtypes={float32} | HALF)


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    def kernel(a: Array) -> Array:
        numbers = a.astype(np.float64).ravel().tolist()
        found = np.fromiter(map(function, numbers), np.float64, a.size)
        return found.reshape(a.shape).astype(a.dtype)

    return elementwise(np, kernel)


_lgamma_inside: Final = _each(math.lgamma)


def _lgamma(a: Array) -> Array:
    wide = a.astype(np.float64)
    infinite = ((wide <= 0) & (wide == np.floor(wide))) | (wide > _OVERFLOWS)
    found = np.where(infinite, np.inf, _lgamma_inside(np.where(infinite, 1.0, wide)))
    return found.astype(a.dtype)


__all__ = ["install"]
