"""How far a result may be from the truth: one rule for all ops and dtypes.

    |got - want| <= a(op) · u_out · |want| + (8 + 2√n) · u_acc · S

`u_out` is half a unit in the last place of the result's format, `u_acc` that of the
format the op accumulates in (float32 at least), n the number of terms. S is what the
op's conditioning makes of it: for sums of products the sum of the terms' absolute
values, for the others how the truth moves when the inputs move by rounding (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, chapters 1 and 3). Ops that move
bits, and results that are exact in every order of summation, have no tolerance.
Where an op's definition cancels (`cancels`), S is as large as its largest input, or as
what the declaration says that it is a difference of.

2√n is a random walk, which roundings of equal terms are not: those of one term to sums
of one magnitude all go the same way. Of n terms that are values repeated m₁, m₂ …
times the walk has steps of that many roundings and comes to 2√(m₁² + m₂² + …), but
never beyond n, which no order of summation passes (Higham, 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.oracle import truth
from dovetail.conformance.repeats import concentration
from dovetail.conformance.rounding import (
    accumulates_in,
    of_terms,
    own_error,
    roundoff,
)
from dovetail.conformance.sensitivity import (
    UNIT,
    allowed_moves,
    asked_again,
    largest_input,
    mapped,
    sensitivity,
)
from dovetail.dtypes import Array, DType, float32, float64
from dovetail.engine.op import Op

# The oracle computes float64 in float64: its own error is as large as the op's.
_ORACLE: Final = 16.0
# Sums of fewer terms are within the bound whatever repeats.
_FEW: Final = 5
_TINY: Final = roundoff(float32)


class Bound:
    """What is allowed for each element of one result.

    Args:
        error: largest allowed absolute difference, by element; or what finds it, which
            takes a while and is asked only where `least` does not do.
        unit: one unit in the last place of the truth in the result's format.
        least: what is allowed whatever `error` comes to.
    """

    __slots__ = ("_error", "_find", "least", "unit")

    def __init__(
        self, error: Array | Callable[[], Array], unit: Array, least: Array | float = 0
    ) -> None:
        self._error = None if callable(error) else error
        self._find = error if callable(error) else None
        self.unit = unit
        self.least = least

    @property
    def error(self) -> Array:
        """The largest allowed absolute difference, by element."""
        if self._error is None:
            assert self._find is not None
            self._error = self._find()
        return self._error

    def times(self, share: float) -> Bound:
        """That share of what is allowed."""
        return Bound(lambda: self.error * share, self.unit, self.least * share)


def bound(op: Op, example: Example, dtype: DType, at: int, out: DType) -> Bound:
    """What is allowed for result number `at`, of dtype `out`."""
    want = truth(op, example, dtype)[at]
    size = np.abs(want.astype(np.complex128 if out.is_complex else np.float64))
    # The absolute value of a finite complex number may leave the format.
    size = np.where(np.isfinite(want), np.minimum(size, np.finfo(np.float64).max), 0.0)
    smallest = float(limits(out.real).smallest_subnormal)
    unit = np.maximum(2 * roundoff(out) * _power_below(size), smallest)
    count = _terms(op, example, dtype, size)

    def allowed(factor: float, moved: Array | float) -> Array:
        rounding = factor * roundoff(accumulates_in(out))
        error = own_error(op, out) * size + rounding * UNIT * moved
        error = error + factor / 8 * smallest
        return error * _ORACLE if float64 in (out.real, dtype.real) else error

    def error() -> Array:
        whole = max(count, _counted(op, example, dtype, at))
        factor = of_terms(whole, _repeated(op, example, whole))
        rounding = factor * roundoff(accumulates_in(out))
        moved = allowed_moves(op, example, dtype, at, size, rounding)
        return allowed(factor, moved)

    # Conditioning asks the oracle again, and makes results no smaller than they are,
    # beside those that are said to be sums.
    return Bound(error, unit, allowed(of_terms(count), 0.0 if op.sums else size / UNIT))


def _power_below(size: Array) -> Array:
    """The power of two at or below each number; 0 for 0."""
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(size)
        found: Array = np.where(size > 0, np.ldexp(1.0, exponent - 1), 0.0)
    return found


def _terms(op: Op, example: Example, dtype: DType, size: Array) -> int:
    """About how many terms a result is made of: elements read for one written."""
    if op.is_elementwise:
        return 2 if dtype.is_complex else 1
    read = sum(a.size for a in example.arrays())
    return max(
        read // max(size.size, 1),
        max((max(a.shape, default=1) for a in example.arrays()), default=1),
    )


def _counted(op: Op, example: Example, dtype: DType, at: int) -> int:
    """How many products are summed: what an op says of ones, where it sums.

    Sums over several dims at once read the same numbers for many results.
    """
    known = example.known.setdefault("counted", {})
    if op.is_elementwise or op.averages or not op.sums:
        return 0
    if at not in known:
        found = asked_again(op, mapped(op, example, np.ones_like), dtype, at)
        number = 0.0 if found is None else float(np.max(np.abs(found), initial=0))
        # Factors beside the tensors count nothing, as large as they may be.
        most = math.prod(max(a.size, 1) for a in example.arrays())
        known[at] = int(min(number, most)) if math.isfinite(number) else 0
    count: int = known[at]
    return count


def _repeated(op: Op, example: Example, count: int) -> float:
    """How much of the terms are the same, from 1 / `count` to all of them."""
    if count < _FEW:
        return 0.0
    known = example.known.setdefault("repeated", {})
    if count not in known:
        given: list[Array] = []
        mapped(op, example, given.append)
        # Zeros are added without rounding; functions see what is tiny as 0.
        sums = op.sums or op.averages
        tiny = 0.0 if sums else _TINY
        spread = bool(op.indices)  # a number goes to all places that are named for it
        each = (concentration(a, count, tiny, sums, spread=spread) for a in given)
        known[count] = max(each, default=0.0)
    found: float = known[count]
    return found


def terms(op: Op, example: Example, dtype: DType, at: int, out: DType) -> Array:
    """How large sums may become on the way to each element of a result."""
    size = np.abs(truth(op, example, dtype)[at])
    count = _terms(op, example, dtype, size)
    rounding = of_terms(count) * roundoff(accumulates_in(out))
    total = sensitivity(op, example, dtype, at, size, rounding)
    with np.errstate(over="ignore"):
        total = total * UNIT
        return total * count if op.averages or op.cancels else total


def sums_may_leave(op: Op, example: Example, dtype: DType, at: int, out: DType) -> bool:
    """Whether as many of the largest input as an op reads leave a result's format.

    Such a sum may be a step of it, in whichever order: of a variance, its mean.
    """
    if op.is_elementwise:
        return False
    size = np.abs(truth(op, example, dtype)[at])
    largest = largest_input(example, np.zeros(()))
    return _terms(op, example, dtype, size) * largest >= float(limits(out.real).max)
