"""Errors in units in the last place, and the figures made of them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from dovetail.conformance.accuracy.truth import Rounded
from dovetail.conformance.formats import limits
from dovetail.dtypes import Array, DType

_DOUBLES: Final = 1024  # the exponent at which they end


@dataclass(frozen=True, slots=True)
class Figures:
    """How far results are from the truth, in ulp.

    Attributes:
        worst: infinite where a number is missing: a NaN that should be none.
        count: results that have a finite truth.
        at: the call with the worst result, in words.
    """

    worst: float
    median: float
    count: int
    at: str

    def to_json(self) -> dict[str, Any]:
        """As plain data; an infinite error is the word for it."""
        found = asdict(self)
        found["worst"] = self.worst if np.isfinite(self.worst) else "NaN"
        return found


def ulps(got: Array, want: Rounded, dtype: DType, size: Array | None = None) -> Array:
    """The error of each result; NaN where the truth is no number.

    A result that is infinite where the truth is not, or the reverse, counts as the
    number after the largest.

    Args:
        size: magnitudes whose unit counts, if not the truth's; where they leave the
            format, nothing can be said.
    """
    info = limits(dtype.real)
    most = float(info.max)
    exponent = math.frexp(most)[1]
    beyond = math.ldexp(1.0, exponent) if exponent < _DOUBLES else most
    with np.errstate(all="ignore"):
        if dtype.is_complex:
            have, high, low = got.astype(np.complex128), want.high, want.low
            magnitude = np.abs(high.astype(dtype.numpy)).astype(np.float64)
        else:
            have, high, low = got.astype(np.float64), want.high.real, want.low.real
            rounded = high.astype(dtype.numpy).astype(np.float64)
            over, known = np.isinf(rounded), ~np.isnan(high)
            low = np.where(over, 0.0, low)
            high = np.where(over & known, np.copysign(beyond, high), high)
            have = np.where(np.isinf(have), np.copysign(beyond, have), have)
            magnitude = np.abs(high)
        error = np.abs((have - high) - low)
        scale = magnitude if size is None else np.maximum(magnitude, size)
        error = error / unit(scale, dtype)
        error = np.where(np.isnan(have), np.inf, error)
        unknown = np.isnan(high) | ~np.isfinite(magnitude)
        if size is not None:
            unknown = unknown | (size > most)
        return np.where(unknown, np.nan, error)


def unit(size: Array, dtype: DType) -> Array:
    """One unit in the last place of numbers of that magnitude."""
    info = limits(dtype.real)
    _, exponent = np.frexp(np.minimum(size, float(info.max)))
    smallest = float(info.smallest_subnormal)
    found: Array = np.maximum(np.ldexp(float(info.eps), exponent - 1), smallest)
    return np.where(size > 0, found, smallest)


def figures(errors: list[Array], tell: Any) -> Figures | None:
    """Worst and median of all; None if there is nothing to count.

    Args:
        tell: words the call that result `at` of array `number` comes from.
    """
    flat = [e.reshape(-1) for e in errors]
    known = np.concatenate(flat) if flat else np.zeros(0)
    known = known[~np.isnan(known)]
    if not known.size:
        return None
    number, at = max(
        (
            (i, int(np.nanargmax(e)))
            for i, e in enumerate(flat)
            if not np.isnan(e).all()
        ),
        key=lambda place: flat[place[0]][place[1]],
    )
    worst = float(flat[number][at])
    return Figures(worst, float(np.median(known)), known.size, tell(number, at))


__all__ = ["Figures", "figures", "ulps", "unit"]
