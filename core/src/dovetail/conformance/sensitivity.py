"""How far a result moves when what it is computed from is rounded: its conditioning.

For sums of products the sum of the terms' absolute values, for other ops how the truth
moves when the inputs do (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
chapters 1 and 3).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any, Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.oracle import ask, truth, wide
from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

# Of a probe; not a power of two: moves by whole periods show nothing.
_STEP: Final = 1.37 * 2.0**-31
_MOST: Final = float(np.finfo(np.float64).max)
# What sensitivities are given in: those of large results are beyond float64.
UNIT: Final = 2.0**34


def _is_simple(op: Op, dtype: DType) -> bool:
    """Whether a result has one term; complex ones are made of sums of their parts."""
    return op.is_elementwise and not dtype.is_complex


def sensitivity(
    op: Op, example: Example, dtype: DType, at: int, size: Array, rounding: float
) -> Array:
    """Σ|terms| where the op sums, else how far rounded inputs move the truth.

    In `UNIT`. What moves bits, and adds up none of them, has one term, the result.
    """
    known = example.known.setdefault("moved", {})
    if at not in known:
        if op.sums:
            known[at] = _absolute_terms(op, example, dtype, at, size) / UNIT
        elif op.unrounded:
            known[at] = size / UNIT
        elif _is_simple(op, dtype):
            known[at] = _one_by_one(op, example, dtype, at, size / UNIT)
        else:
            known[at] = _probed(op, example, dtype, at, size / UNIT, rounding)
        if op.cancels:
            known[at] = np.maximum(known[at], _largest_input(example, size) / UNIT)
    found: Array = known[at]
    return found


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
    case = mapped(op, example, _magnitude)
    terms = _again(op, case, dtype, at, size)
    return size if terms is None else np.where(np.isnan(terms), size, np.abs(terms))


def _probed(
    op: Op, example: Example, dtype: DType, at: int, size: Array, rounding: float
) -> Array:
    """The largest of a few random moves, scaled to one roundoff of the inputs.

    Two are as large as all roundings together, and a part of that: where the slope is
    0, as that of a variance among equal numbers, they show the curvature, and what has
    periods is not moved by whole ones twice. One moves all of a row alike, and where
    numbers come again, one moves equal ones alike: a sum in the midst of an op is then
    moved as its roundings move it, by a part of all its terms together.
    """
    random = np.random.default_rng(7)
    if not example.arrays():
        return size
    want = wide(truth(op, example, dtype)[at])
    moved = size.copy()
    apart = partial(_nudged, random)
    moves = [(apart, _STEP, _STEP)] * 2
    moves += [(apart, rounding, rounding), (apart, rounding / 4, rounding)]
    moves.append((partial(_nudged_by_row, random), _STEP, _STEP))
    if any(_comes_again(a) for a in example.arrays()):
        moves.append((partial(_nudged_alike, random), _STEP, _STEP))
    for move, by, step in moves:
        nudged = mapped(op, example, partial(move, by))
        again = _again(op, nudged, dtype, at, size)
        if again is None or again.shape != want.shape:
            return moved
        moved = np.maximum(moved, _slope(again, want, step))
    return moved


def _slope(again: Array, want: Array, step: float) -> Array:
    """How far finite results moved for a step of 1, in `UNIT`.

    A difference of large products moves by more than it is, and that is when it rounds
    most.
    """
    with np.errstate(all="ignore"):
        change = np.abs(again - want) * (1 / step / UNIT)
    held = np.isfinite(again) & np.isfinite(want)
    return np.where(held, np.minimum(change, _MOST), 0.0)


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


def _nudged_by_row(random: np.random.Generator, step: float, a: Array) -> Array:
    """As `_nudged`, and all elements along the last dim by the same part."""
    rows = (*a.shape[:-1], 1) if a.ndim else ()
    move = random.choice([-1.0, 1.0], rows) * random.uniform(0.5, 1.0, rows)
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
    mapped(op, example, lambda a: _with_one(a, numbers, -1))
    total = np.zeros(size.shape)
    for chosen in range(next(numbers)):
        moved = mapped(op, example, partial(_with_one, numbers=count(), chosen=chosen))
        again = _again(op, moved, dtype, at, size)
        if again is None or again.shape != want.shape:
            continue
        with np.errstate(all="ignore"):
            total = np.minimum(total + _slope(again, want, _STEP), _MOST)
    return np.maximum(size, total)


def partial_products_leave(
    op: Op, example: Example, dtype: DType, at: int, got: Array, out: DType
) -> Array:
    """Where some of an op's factors alone leave the format, and a result shows that.

    The largest partial product is that of all factors above 1; an infinity stays one,
    or makes NaN with a 0. The least is that of all below 1; one that is subnormal, or
    lost, leaves its digits open, but makes nothing larger than twice what is true.
    """
    info, size = limits(out.real), np.zeros(got.shape)
    want = np.abs(truth(op, example, dtype)[at])
    most = _again(op, mapped(op, example, _above_one), dtype, at, size)
    least = _again(op, mapped(op, example, _below_one), dtype, at, size)
    if most is None or least is None:
        return np.zeros(got.shape, bool)
    with np.errstate(all="ignore"):
        # A product of complex numbers is made of products of their parts.
        over = ~(np.abs(most) * 2 < float(info.max)) & ~np.isfinite(got)
        tiny = np.abs(least) < float(info.smallest_normal)
        return np.asarray(over | tiny & (np.abs(wide(got)) <= 2 * want))


def _above_one(a: Array) -> Array:
    """Sizes, with 1 for what does not make a product larger, or is no number."""
    size = np.abs(a)
    return np.where(np.isfinite(size) & (size > 1), size, 1).astype(a.dtype)


def _below_one(a: Array) -> Array:
    """Sizes, with 1 for what does not make a product smaller, and for 0."""
    size = np.abs(a)
    return np.where((size > 0) & (size < 1), size, 1).astype(a.dtype)


def _with_one(a: Array, numbers: Iterator[int], chosen: int) -> Array:
    """The array, moved where its number is the chosen one."""
    return _moved(a, _STEP) if next(numbers) == chosen else a


def _magnitude(a: Array) -> Array:
    return np.asarray(np.abs(a), a.dtype)  # of no dims too, where NumPy gives a number


def mapped(op: Op, example: Example, change: Any) -> Case:
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
