"""Whether two results agree: element by element, in the units of their format."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dovetail import dtypes
from dovetail.conformance.formats import limits
from dovetail.conformance.rounding import roundoff
from dovetail.dtypes import HALF, Array, DType
from dovetail.engine.op import Op


@dataclass(frozen=True, slots=True)
class Difference:
    """How two results differ, and where most.

    Attributes:
        what: which result, e.g. `result` or `exp_avg, written in place`.
        index: the worst element.
        got, want: its values on the device and on the reference.
        error: its distance.
        relative: the same over the value wanted.
        ulp: the same in units in the last place of the value wanted.
        count: how many elements are beyond tolerance.
        size: how many there are.
    """

    what: str
    index: tuple[int, ...]
    got: str
    want: str
    error: float
    relative: float
    ulp: float
    count: int
    size: int

    def __str__(self) -> str:
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        by = f"off by {self.error:.3g}"
        if math.isfinite(self.relative):
            by = f"{self.ulp:.3g} ulp, relative {self.relative:.1e}"
        return (
            f"{self.what}{at} is {self.got}, wanted {self.want} ({by}); "
            f"{self.count} of {self.size} elements"
        )


def is_exact(op: Op, dtype: DType) -> bool:
    """Whether a result admits no rounding: bits are moved, or values are whole.

    Sums and differences are rounded even where a body needs no wider 16-bit
    arithmetic for them, and ops that draw transform words.
    """
    if not dtype.is_inexact:
        return True
    rounds = op.sums or op.cancels or op.draws
    return bool(op.unrounded and op.tensors and not rounds)


def smallest(dtype: DType) -> float:
    """The smallest normal number: below it a device may flush to zero."""
    return float(limits(dtype.real).smallest_normal)


def coarser(a: DType, b: DType) -> DType:
    """The format that rounds more."""
    return a if roundoff(a) >= roundoff(b) else b


def widened(host: Array) -> Array:
    """16-bit values in float32, float32 and wider as they are."""
    dtype = dtypes.from_numpy(host.dtype)
    return host.astype(np.float32) if dtype in HALF else host


def errors(got: Array, want: Array) -> Array:
    """The distance of each element, infinite where one is NaN or infinite alone."""
    wide = np.complex128 if "c" in (got.dtype.kind, want.dtype.kind) else np.float64
    a, b = got.astype(wide), want.astype(wide)
    error = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    odd = ~(np.isfinite(a) & np.isfinite(b))
    return np.where(same, 0.0, np.where(odd, np.inf, error))


def unequal(got: Array, want: Array) -> Array:
    """The distance of integers or bools, in the narrower of the two formats."""
    if got.dtype != want.dtype:
        narrow = min(got.dtype, want.dtype, key=lambda d: d.itemsize)
        got, want = got.astype(narrow), want.astype(narrow)
    distance = np.abs(got.astype(np.float64) - want.astype(np.float64))
    return np.where(got == want, 0.0, np.maximum(distance, 1.0))


def sizes_of(values: Array) -> Array:
    """Absolute values, with zero for what is not finite."""
    wide = np.abs(values.astype(np.complex128))
    return np.where(np.isfinite(wide), wide, 0.0)


Allowed = Callable[[], Array]


def difference(
    what: str, got: Array, want: Array, base: Array | float, allowed: Allowed
) -> tuple[Difference | None, float]:
    """The worst element beyond tolerance, if any, and the largest relative error.

    Args:
        what: the name of the result.
        got, want: two host arrays of one shape.
        base: what is allowed without asking any further.
        allowed: what is allowed in all; asked where `base` does not suffice.
    """
    got, want = widened(got), widened(want)
    exact = got.dtype.kind in "biu" and want.dtype.kind in "biu"
    error = (unequal if exact else errors)(got, want)
    if not error.size or not error.any():
        return None, 0.0
    worst = _worst(error, want)
    if (error <= base).all():
        return None, worst
    limit = np.maximum(allowed(), base)
    beyond = error > limit
    if not beyond.any():
        return None, worst
    excess = np.where(beyond, error / np.maximum(limit, 1e-300), 0.0)
    at = tuple(map(int, np.unravel_index(int(np.argmax(excess)), excess.shape)))
    return _described(what, at, got, want, error, beyond), worst


def _worst(error: Array, want: Array) -> float:
    """The largest error over its value, over the largest where the value is zero."""
    size = sizes_of(want)
    size = np.where(size > 0, size, size.max())
    relative = np.where(size > 0, error / size, error)
    finite = relative[np.isfinite(relative)]
    return float(finite.max()) if finite.size else float("inf")


def _described(
    what: str, at: tuple[int, ...], got: Array, want: Array, error: Array, beyond: Array
) -> Difference:
    a, b, e = got[at], want[at], float(error[at])
    ulp = relative = math.inf
    if b != 0 and np.isfinite(b):
        relative = e / abs(complex(b))
        ulp = e / float(np.spacing(np.abs(b))) if want.dtype.kind in "fc" else e
    return Difference(
        what, at, str(a), str(b), e, relative, ulp, int(beyond.sum()), beyond.size
    )
