"""Classes of values: what a kernel has to get right beside ordinary numbers.

Each class says how its values are made of ordinary ones, and how to tell whether an
array in fact holds any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.conformance import value_makers as makers
from dovetail.conformance import value_marks as marks
from dovetail.conformance.formats import BOOL, COMPLEX, FLOAT, INT, limits
from dovetail.conformance.rounding import accumulates_in
from dovetail.dtypes import Array, DType

ORDINARY: Final = "ordinary"
SPECIAL: Final = "special"
EQUAL: Final = "equal"
PAIRS: Final = "pairs"
FEW: Final = "few"
SWEEP: Final = "sweep"
MASKED: Final = "masked"
BALANCED: Final = "balanced"
ZEROS: Final = "zeros"
_REAL: Final = (INT, FLOAT)
_ALL: Final = (BOOL, INT, FLOAT, COMPLEX)
_INEXACT: Final = (FLOAT, COMPLEX)
_NUMBERS: Final = (INT, *_INEXACT)


@dataclass(frozen=True, slots=True)
class ValueClass:
    """A class of values.

    Attributes:
        make: the values, in the place of some or all of the ordinary ones.
        holds: whether an array is of the class.
        categories: of the dtypes in which the class means something.
        like: classes with the same kind of values: undefined on one, undefined here.
        edge: whether results, or what is on the way to them, may leave the format.
        finite: whether there are neither infinities nor NaN.
        needs: what a format must have for the class to be.
        regions: the numbers that all of what an op takes together holds, in some calls,
            the first of them in one region at least.
    """

    name: str
    make: Callable[[Array, makers.Generator, DType], Array]
    holds: Callable[[Array, DType], bool]
    categories: tuple[int, ...] = (FLOAT,)
    like: tuple[str, ...] = ()
    edge: bool = False
    finite: bool = True
    needs: Callable[[DType], bool] = lambda dtype: True
    regions: tuple[float, ...] = ()


def classes_for(dtype: DType) -> tuple[str, ...]:
    """The classes that mean something in a dtype."""
    return tuple(
        c.name for c in TABLE.values()
        if dtype.category in c.categories and c.needs(dtype)
    )  # fmt: skip


def _has_two_zeros(dtype: DType) -> bool:
    """Whether a format of floats has -0; others need none."""
    if dtype.category not in _INEXACT:
        return True
    zero = np.asarray(-0.0).astype(dtype.real.numpy).astype(np.float32)
    return bool(zero == 0 and np.signbit(zero))


def _has_digits(dtype: DType) -> bool:
    """Whether a format has more numbers than powers of two, and some below those."""
    return bool(limits(dtype.real).nmant > 0)


def _is_dense(dtype: DType) -> bool:
    """Whether there is a next number, such as another format loses."""
    return dtype.category == INT or _has_digits(dtype)


def _has_wider_sums(dtype: DType) -> bool:
    """Whether a format's sums are kept in one that reaches further."""
    return float(limits(accumulates_in(dtype)).max) > 2 * float(limits(dtype).max)


def undefined(name: str, undefined_on: tuple[str, ...]) -> bool:
    """Whether an op that declares what it leaves undefined leaves a class so."""
    return not {name, *TABLE[name].like}.isdisjoint(undefined_on)


def varied(ordinary: Array, name: str, random: makers.Generator, dtype: DType) -> Array:
    """Values of the class, in the place of some or all of the ordinary ones."""
    if name == ORDINARY or not ordinary.size:
        return ordinary
    if dtype.is_complex:
        return _complex(ordinary, name, random, dtype)
    with np.errstate(all="ignore"):
        made = np.asarray(TABLE[name].make(ordinary, random, dtype))
        return made.astype(ordinary.dtype)


def holds(a: Array, name: str, dtype: DType) -> bool:
    """Whether an array is of a class; one of a single element is of no other."""
    if a.size < 2:
        return False
    if dtype.is_floating_point and dtype.itemsize < 4:
        a = a.astype(np.float32)  # not all of NumPy takes the others
    with np.errstate(all="ignore"):
        return bool(TABLE[name].holds(a, dtype))


def _complex(a: Array, name: str, random: makers.Generator, dtype: DType) -> Array:
    """Complex numbers vary by their parts, where that has a standard meaning.

    C99's annex G leaves much of infinities open, and libraries differ; parts that are
    0 lie on branch cuts, where the sign of the zero decides. An op's domain is one of
    real numbers: complex ones lie on all sides of 0.
    """
    if name == "nan":  # of both parts, so that nothing finite is made of it
        return makers.mixed(a, [complex(np.nan, np.nan)], random, makers.SPARSE)
    if name in ("ties", "flat", EQUAL):
        return np.asarray(TABLE[name].make(a, random, dtype)).astype(a.dtype)
    # Not added up, which would lose signs of zeros.
    made = np.empty_like(a)
    made.real = varied(_on_both_sides(a.real, random), name, random, dtype.real)
    made.imag = varied(_on_both_sides(a.imag, random), name, random, dtype.real)
    return made


def _on_both_sides(a: Array, random: makers.Generator) -> Array:
    return np.where(random.random(a.shape) < 0.5, a, -a)


TABLE: Final = {
    c.name: c
    for c in (
        ValueClass(ORDINARY, makers.as_drawn, marks.anything, _ALL),
        ValueClass(SPECIAL, makers.special, marks.any_special, edge=True, finite=False),
        ValueClass("subnormal", makers.subnormal, marks.any_subnormal, edge=True,
                   needs=_has_digits),
        ValueClass("extreme", makers.extreme, marks.any_extreme, _REAL, edge=True),
        ValueClass("ties", makers.ties, marks.any_tie, _NUMBERS),
        ValueClass("exact", makers.exact, marks.all_exact, _INEXACT),
        ValueClass("wide", makers.wide, marks.over_powers, _NUMBERS, edge=True),
        ValueClass(ZEROS, makers.zeros, marks.any_zero, _NUMBERS,
                   needs=_has_two_zeros),
        ValueClass("nan", makers.nan, marks.any_nan, _INEXACT, finite=False),
        ValueClass("rare", makers.rare, marks.but_one, (BOOL, INT)),
        ValueClass(FEW, makers.few, marks.mostly_ordinary, (FLOAT,), (SPECIAL,),
                   edge=True, finite=False),
        ValueClass("lone", makers.lone, marks.one_in_each_row, (FLOAT,), (SPECIAL,),
                   edge=True, finite=False),
        ValueClass(MASKED, makers.masked, marks.a_slice_is_masked, (FLOAT,),
                   (SPECIAL,), edge=True, finite=False, regions=makers.MASKS),
        ValueClass(PAIRS, makers.pairs, marks.anything, _REAL, (SPECIAL, "extreme"),
                   edge=True, finite=False),
        ValueClass(SWEEP, makers.sweep, marks.beyond_ten, edge=True),
        ValueClass("borders", makers.borders, marks.far, _REAL, like=("extreme",),
                   edge=True),
        ValueClass("beside", makers.beside, marks.next_to_another, _REAL, ("ties",),
                   needs=_is_dense),
        ValueClass(BALANCED, makers.balanced, marks.halves_leave, edge=True,
                   needs=_has_wider_sums),
        ValueClass("great", makers.great, marks.squares_leave, _INEXACT,
                   like=("extreme",), edge=True),
        ValueClass("flat", makers.flat, marks.a_slice_is_flat, _ALL),
        ValueClass("shifted", makers.shifted, marks.small_spread, needs=_has_digits),
        ValueClass(EQUAL, makers.paired, marks.anything, _ALL, needs=_has_two_zeros),
    )
}  # fmt: skip
CLASSES: Final = tuple(TABLE)
EDGE: Final = frozenset(c.name for c in TABLE.values() if c.edge)
NOT_FINITE: Final = frozenset(c.name for c in TABLE.values() if not c.finite)
