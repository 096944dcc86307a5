"""The inverse of the error function, corrected once by the C library's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.xp.normal_quantile import QUANTILE

Array = np.ndarray[Any, Any]
_PER_SLOPE: Final = math.sqrt(math.pi) / 2  # 1 / slope is this times exp(y²)


def inverse(
    erf: Callable[[Array], Array], erfc: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """The kernel, given the functions that it inverts in double precision."""

    def erfinv(a: Array) -> Array:
        wide = a.astype(np.float64)
        y = _quantile(np.minimum(np.abs(wide), 1))
        if a.dtype == np.float64:
            y = _corrected(np.abs(wide), y)
        y[np.abs(wide) == 1] = np.inf
        y[~(np.abs(wide) <= 1)] = np.nan
        return np.copysign(y, wide).astype(a.dtype)

    def _corrected(size: Array, y: Array) -> Array:
        """One step of Newton's; from 0.5 on, by what is exactly left to 1."""
        near = size < 0.5
        missing = np.empty_like(y)
        missing[near] = size[near] - erf(y[near])
        missing[~near] = erfc(y[~near]) - (1 - size[~near])
        return np.asarray(y + missing * _PER_SLOPE * np.exp(y * y))

    return erfinv


def _quantile(size: Array) -> Array:
    """As the op's body, piece by piece, within a few units in the last place."""
    y = np.empty_like(size)
    middle = size < 0.85
    q = size[middle] * 0.5
    y[middle] = q * _ratio("middle", 0.180625 - q * q)
    r = np.sqrt(-np.log(np.maximum(1 - size[~middle], 1e-300) * 0.5))
    y[~middle] = np.where(r < 5, _ratio("near", r - 1.6), _ratio("far", r - 5))
    return np.asarray(y * math.sqrt(0.5))


def _ratio(piece: str, x: Array) -> Array:
    above, below = (np.polyval(c[::-1], x) for c in QUANTILE[piece])
    return np.asarray(above / below)


__all__ = ["inverse"]
