"""How far a result may be from the truth: one rule for all ops and dtypes.

    |got - want| <= a(op) · u_out · |want| + (8 + 2√n) · u_acc · S

`u_out` is half a unit in the last place of the result's format, `u_acc` that of the
format the op accumulates in (float32 at least), n the number of terms. S is what the
op's conditioning makes of it: for sums of products the sum of the terms' absolute
values, for the others how the truth moves when the inputs move by rounding (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, chapters 1 and 3). Ops that move
bits, and results that are exact in every order of summation, have no tolerance.
Where an op's definition cancels (`cancels`), S is as large as its largest input.

2√n is a random walk, which roundings of equal terms are not: those of one term to sums
of one magnitude all go the same way. Of n terms that are values repeated m₁, m₂ …
times the walk has steps of that many roundings and comes to 2√(m₁² + m₂² + …), but
never beyond n, which no order of summation passes (Higham, 4.2).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.oracle import ask, truth, wide
from dovetail.conformance.repeats import concentration
from dovetail.conformance.rounding import (
    accumulates_in,
    of_terms,
    own_error,
    roundoff,
)
from dovetail.dtypes import Array, DType, float32, float64, from_numpy
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

# The oracle computes float64 in float64: its own error is as large as the op's.
_ORACLE: Final = 16.0
# Of a probe; not a power of two: moves by whole periods show nothing.
_STEP: Final = 1.37 * 2.0**-31
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
        error = own_error(op, out) * size + rounding * moved
        error = error + factor / 8 * smallest
        return error * _ORACLE if float64 in (out.real, dtype.real) else error

    def error() -> Array:
        factor = of_terms(count, _repeated(op, example, count))
        rounding = factor * roundoff(accumulates_in(out))
        moved = _sensitivity(op, example, dtype, at, size, rounding)
        return allowed(factor, moved)

    # Conditioning asks the oracle again, and makes results no smaller than they are,
    # beside those that are said to be sums.
    return Bound(error, unit, allowed(of_terms(count), 0.0 if op.sums else size))


def _power_below(size: Array) -> Array:
    """The power of two at or below each number; 0 for 0."""
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(size)
        found: Array = np.where(size > 0, np.ldexp(1.0, exponent - 1), 0.0)
    return found


def _is_simple(op: Op, dtype: DType) -> bool:
    """Whether a result has one term; complex ones are made of sums of their parts."""
    return op.is_elementwise and not dtype.is_complex


def _terms(op: Op, example: Example, dtype: DType, size: Array) -> int:
    """About how many terms a result is made of: elements read for one written."""
    if _is_simple(op, dtype):
        return 1
    read = sum(a.size for a in example.arrays())
    return max(
        read // max(size.size, 1),
        max((max(a.shape, default=1) for a in example.arrays()), default=1),
    )


def _repeated(op: Op, example: Example, count: int) -> float:
    """How much of the terms are the same, from 1 / `count` to all of them."""
    if count < _FEW:
        return 0.0
    known = example.known.get("repeated")
    if known is None:
        given: list[Array] = []
        _mapped(op, example, given.append)
        # Zeros are added without rounding; functions see what is tiny as 0.
        sums = op.sums or op.averages
        each = (concentration(a, 0.0 if sums else _TINY, sums) for a in given)
        known = example.known["repeated"] = max(each, default=0.0)
    found: float = known
    return found


def _sensitivity(
    op: Op, example: Example, dtype: DType, at: int, size: Array, rounding: float
) -> Array:
    """Σ|terms| where the op sums; else how far rounded inputs move the truth.

    What moves bits, and adds up none of them, has one term, the result.
    """
    known = example.known.setdefault("moved", {})
    if at not in known:
        if op.sums:
            known[at] = _absolute_terms(op, example, dtype, at, size)
        elif op.unrounded:
            known[at] = size
        elif _is_simple(op, dtype):
            known[at] = _one_by_one(op, example, dtype, at, size)
        else:
            known[at] = _probed(op, example, dtype, at, size, rounding)
        if op.cancels:
            known[at] = np.maximum(known[at], _largest_input(example, size))
    found: Array = known[at]
    return found


def terms(op: Op, example: Example, dtype: DType, at: int, out: DType) -> Array:
    """How large sums may become on the way to each element of a result."""
    size = np.abs(truth(op, example, dtype)[at])
    count = _terms(op, example, dtype, size)
    rounding = of_terms(count) * roundoff(accumulates_in(out))
    total = _sensitivity(op, example, dtype, at, size, rounding)
    return total * count if op.averages or op.cancels else total


def _largest_input(example: Example, size: Array) -> float:
    """What results may be differences of: the largest input, or result."""
    floats = [a for a in example.arrays() if from_numpy(a.dtype).is_inexact]
    found = 0.0
    for a in (*floats, size):
        finite = np.abs(wide(a))
        found = max(found, float(np.max(finite, where=np.isfinite(finite), initial=0)))
    return found


def _absolute_terms(
    op: Op, example: Example, dtype: DType, at: int, size: Array
) -> Array:
    case = _mapped(op, example, _magnitude)
    terms = _again(op, case, dtype, at, size)
    return size if terms is None else np.where(np.isnan(terms), size, np.abs(terms))


def _probed(
    op: Op, example: Example, dtype: DType, at: int, size: Array, rounding: float
) -> Array:
    """The largest of a few random moves, scaled to one roundoff of the inputs.

    One is as large as all roundings together: where the slope is 0, as that of a
    variance among equal numbers, it shows the curvature. Where numbers come again, one
    moves equal ones alike, as roundings of equal terms go: what a sum in the midst of
    an op comes to is then as sensitive as the sum alone, by all of its terms.
    """
    random = np.random.default_rng(7)
    if not example.arrays():
        return size
    want = wide(truth(op, example, dtype)[at])
    moved = size.copy()
    apart = partial(_nudged, random)
    moves = [(apart, _STEP), (apart, _STEP), (apart, rounding)]
    if any(_comes_again(a) for a in example.arrays()):
        moves.append((partial(_nudged_alike, random), _STEP))
    for move, step in moves:
        nudged = _mapped(op, example, partial(move, step))
        again = _again(op, nudged, dtype, at, size)
        if again is None or again.shape != want.shape:
            return moved
        with np.errstate(all="ignore"):
            change = np.abs(again - want) / step
        moved = np.maximum(moved, np.where(np.isfinite(change), change, 0.0))
    return moved


def _nudged(random: np.random.Generator, step: float, a: Array) -> Array:
    """Each element moved by up to a part of itself; of complex ones each component."""
    if a.dtype.kind == "c":
        made = np.empty(a.shape, a.dtype)
        made.real = _nudged(random, step, a.real)
        made.imag = _nudged(random, step, a.imag)
        return made
    # Of different sizes: equal ones cancel where products are subtracted.
    move = random.choice([-1.0, 1.0], a.shape) * random.uniform(0.5, 1.0, a.shape)
    return _moved(a, step * move)


def _comes_again(a: Array) -> bool:
    """Whether an array holds a number twice, beside 0, which no move changes."""
    if not from_numpy(a.dtype).is_inexact:
        return False
    values = wide(a[a != 0])
    return bool(np.unique(values).size < values.size)


def _nudged_alike(random: np.random.Generator, step: float, a: Array) -> Array:
    """As `_nudged`, and equal elements by the same."""
    values, places = np.unique(a, return_inverse=True)
    return _nudged(random, step, values)[places.reshape(a.shape)]


def _moved(a: Array, by: Array | float) -> Array:
    """Numbers changed by a part of themselves; the largest can only become less."""
    with np.errstate(all="ignore"):
        moved = a * (1 + by)
        left = np.isinf(moved) & np.isfinite(a)
        return np.asarray(np.where(left, a * (1 - by), moved))


def _one_by_one(op: Op, example: Example, dtype: DType, at: int, size: Array) -> Array:
    """The moves by each input of an elementwise op, added up.

    No two of them can cancel, as they may where all inputs move at once.
    """
    want = wide(truth(op, example, dtype)[at])
    numbers = count()
    _mapped(op, example, lambda a: _with_one(a, numbers, -1))
    total = np.zeros(size.shape)
    for chosen in range(next(numbers)):
        moved = _mapped(op, example, partial(_with_one, numbers=count(), chosen=chosen))
        again = _again(op, moved, dtype, at, size)
        if again is None or again.shape != want.shape:
            continue
        with np.errstate(all="ignore"):
            change = np.abs(again - want) / _STEP
        total += np.where(np.isfinite(change), change, 0.0)
    return np.maximum(size, total)


def _with_one(a: Array, numbers: Iterator[int], chosen: int) -> Array:
    """The array, moved where its number is the chosen one."""
    return _moved(a, _STEP) if next(numbers) == chosen else a


def _magnitude(a: Array) -> Array:
    return np.abs(a).astype(a.dtype)


def _mapped(op: Op, example: Example, change: Any) -> Case:
    """The call with every array that is rounded changed, in float64."""

    def of(value: Any, name: str) -> Any:
        if isinstance(value, list):
            return [of(v, name) for v in value]
        if isinstance(value, np.ndarray):
            # Whole numbers whose float mean or sum is asked for are rounded first.
            summed = op.sums and name == op.tensors[op.lead_at].name
            counted = op.promote == "float" or summed
            counted = counted and name not in op.indices | op.masks
            if from_numpy(value.dtype).is_inexact:
                return change(wide(value))
            return change(value.astype(np.float64)) if counted else value
        factor = change is _magnitude and name in op.scalars
        return abs(value) if factor else value

    assert example.case is not None
    args = zip(example.case.args, op.names, strict=False)
    kwargs = {k: of(v, k) for k, v in example.case.kwargs.items()}
    return Case(tuple(of(v, name) for v, name in args), kwargs)


def _again(op: Op, case: Case, dtype: DType, at: int, size: Array) -> Array | None:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ask(op, Example(case), dtype)[at]
    except Exception:  # the oracle refuses what rounding made of the inputs
        return None
    return found if found.shape == size.shape else None
