"""How far a result moves when what it is computed from is rounded: its conditioning.

For sums of products the sum of the terms' absolute values, for other ops how the truth
moves when the inputs do (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
chapters 1 and 3).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any, Final

import numpy as np

from dovetail.conformance import moves
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
# A result that roundings move by that part of it has no digits left.
_LOST: Final = 1 / 64
_MORE: Final = 4  # moves, where that is so of any
_MOST_SPREAD: Final = 1 << 16  # elements of an operand that is made to lack no dim


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
            of = _differing(op, example, dtype, at, size)
            known[at] = np.maximum(known[at], of / UNIT)
    found: Array = known[at]
    return found


def allowed_moves(
    op: Op, example: Example, dtype: DType, at: int, size: Array, rounding: float
) -> Array:
    """The sensitivity; more where a rounding of the inputs leaves nothing of a result.

    How far such a result is off is chance, as of a sine of large numbers, and a few
    moves need not have shown the most of it.
    """
    moved = sensitivity(op, example, dtype, at, size, rounding)
    probed = example.known.get("probed", {}).get(at)
    if probed is None:
        return moved
    lost = _lost(probed, size / UNIT, rounding)
    with np.errstate(over="ignore"):
        more = np.minimum(8 * (moved + size / UNIT / rounding), _MOST)
    return np.where(lost, more, moved)


def _lost(moved: Array, size: Array, rounding: float) -> Array:
    return np.asarray(moved * rounding > size * _LOST)


def _differing(
    op: Op, example: Example, dtype: DType, at: int, size: Array
) -> Array | float:
    """What a result is a difference of; where it is not finite, what it is itself."""
    if not callable(op.cancels):
        return largest_input(example, size)
    found = ask(op, example, dtype, op.cancels)[at]
    return np.where(np.isfinite(found), found, size)


def largest_input(example: Example, size: Array) -> float:
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
    each = partial(moves.apart, random)
    tried = [(each, _STEP, _STEP)] * 2
    tried += [(each, rounding, rounding), (each, rounding / 4, rounding)]
    tried.append((partial(moves.by_row, random), _STEP, _STEP))
    if any(moves.comes_again(a) for a in example.arrays()):
        tried.append((partial(moves.alike, random), _STEP, _STEP))
    for move, by, step in tried:
        nudged = mapped(op, example, partial(move, by))
        again = _again(op, nudged, dtype, at, size)
        if again is None or again.shape != want.shape:
            return moved
        moved = np.maximum(moved, _slope(again, want, step))
    for chosen, shape in _lacking_dims(op, example, want, dtype, at):
        for step in (_STEP, rounding):
            move = partial(each, step)
            again = _again(
                op, _spread(op, example, chosen, shape, move), dtype, at, size
            )
            if again is not None:
                moved = np.maximum(moved, _slope(again, want, step))
    for _ in range(_MORE if np.any(_lost(moved, size, rounding)) else 0):
        again = _again(
            op, mapped(op, example, partial(each, rounding)), dtype, at, size
        )
        if again is not None:
            moved = np.maximum(moved, _slope(again, want, rounding))
    example.known.setdefault("probed", {})[at] = moved
    return moved


def _lacking_dims(
    op: Op, example: Example, want: Array, dtype: DType, at: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The operands that broadcast, by number, and shapes that give the same result."""
    if op.is_elementwise:  # each result is made of one number of each operand
        return
    shapes: list[tuple[int, ...]] = []

    def seen(a: Array) -> Array:
        shapes.append(a.shape)
        return a

    mapped(op, example, seen)
    sizes = sorted({n for a in example.arrays() for n in a.shape if n > 1})
    for chosen, shape in enumerate(shapes):
        for dim in (d for d, n in enumerate(shape) if n == 1):
            for n in sizes:
                whole = (*shape[:dim], n, *shape[dim + 1 :])
                if math.prod(whole) > _MOST_SPREAD:
                    continue
                case = _spread(op, example, chosen, whole, lambda a: a)
                same = _again(op, case, dtype, at, want)
                if same is not None and np.allclose(same, want, equal_nan=True):
                    yield chosen, whole


def _spread(
    op: Op, example: Example, chosen: int, shape: tuple[int, ...], move: Any
) -> Case:
    """The call with the operand of that number as large as it broadcasts, and moved."""
    numbers = count()

    def change(a: Array) -> Array:
        whole = next(numbers) == chosen
        return np.asarray(move(np.broadcast_to(a, shape))) if whole else a

    return mapped(op, example, change)


def _slope(again: Array, want: Array, step: float) -> Array:
    """How far finite results moved for a step of 1, in `UNIT`.

    A difference of large products moves by more than it is, and that is when it rounds
    most. What moves beyond the format moves by as much as it is.
    """
    with np.errstate(all="ignore"):
        change = np.abs(np.where(np.isinf(again), want, again - want))
        change = change * (1 / step / UNIT)
    held = (np.isfinite(again) | np.isinf(again)) & np.isfinite(want)
    return np.where(held, np.minimum(change, _MOST), 0.0)


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
    return moves.moved_by(a, _STEP) if next(numbers) == chosen else a


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
    found = asked_again(op, case, dtype, at)
    return None if found is None or found.shape != size.shape else found


def asked_again(op: Op, case: Case, dtype: DType, at: int) -> Array | None:
    """What the oracle says of a call with other numbers; None if it refuses them."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask(op, Example(case), dtype)[at]
    except Exception:  # of what rounding made of the inputs, say
        return None
