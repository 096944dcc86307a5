"""What a call's results are, in mpmath's numbers, by the op's own oracle.

Oracles are functions of NumPy's arrays. They are given arrays of mpmath's numbers,
which sums, products and choices of elements go through; formulas are evaluated in
mpmath's arithmetic where they would be in long double's.
"""

from __future__ import annotations

import inspect
import math
import warnings
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine.cases import Case
from dovetail.engine.exact import ByMpmath, unrounded
from dovetail.engine.op import Op

# A product of two doubles has 106 bits; the rest is for what cancels.
PRECISION: Final = 256
_FAILS: Final = (
    TypeError, AttributeError, ValueError, NotImplementedError, ZeroDivisionError,
    OverflowError,
)  # fmt: skip


class NoTruth(Exception):
    """The oracle cannot be asked in mpmath's arithmetic."""


@cache
def numbers() -> ByMpmath:
    """mpmath's arithmetic, exact enough for float64."""
    return ByMpmath(PRECISION)


def precise(op: Op, case: Case, dtype: DType) -> list[Array]:
    """The results of a call, as arrays of mpmath's numbers.

    Zeros, infinities and NaN are NumPy's.

    Raises:
        NoTruth: the oracle rounds on its way, or takes other numbers only.
    """
    oracle = op.oracle
    if oracle is None:
        raise NoTruth
    values = [_widened(_inexact(v)) for v in case.args]
    kwargs = {k: _widened(_inexact(v)) for k, v in case.kwargs.items()}
    if "kind" in inspect.signature(oracle).parameters:
        kwargs.setdefault("kind", dtype)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with unrounded(numbers()):
                found = oracle(*values, **kwargs)
    except _FAILS as error:
        raise NoTruth from error
    many = list(found) if isinstance(found, tuple | list) else [found]
    return [np.asarray(y) for y in many]


def _inexact(value: Any) -> Any:
    """Arrays of the narrow formats as float64, which has all their values."""
    if isinstance(value, list):
        return [_inexact(v) for v in value]
    if isinstance(value, np.ndarray) and from_numpy(value.dtype).is_inexact:
        wide = np.complex128 if value.dtype.kind == "c" else np.float64
        return value.astype(wide)
    return value


def _widened(value: Any) -> Any:
    if isinstance(value, list):
        return [_widened(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return numbers().widened(value)
    return value


class Rounded:
    """A truth as the sum of two doubles (complex ones by their parts).

    Args:
        is_complex: of real numbers a complex result is NaN.

    Raises:
        NoTruth: an element is a double that was rounded before.
    """

    high: Array
    low: Array

    def __init__(self, truth: Array, is_complex: bool) -> None:
        if truth.dtype != object:
            raise NoTruth
        flat = [_parts(v, is_complex) for v in truth.reshape(-1)]
        pairs = np.array(flat, np.float64).reshape(*truth.shape, 2, 2)
        self.high, self.low = (
            np.ascontiguousarray(pairs[..., i, :]).view(np.complex128)[..., 0]
            for i in (0, 1)
        )

    def where(self, known: Array) -> Rounded:
        """The same, and NaN elsewhere: numbers as objects lose it in comparisons."""
        self.high = np.where(known, self.high, np.nan)
        return self

    @classmethod
    def of_doubles(cls, truth: Array) -> Rounded:
        """A truth that is known in doubles, for formats that are narrower."""
        found = cls.__new__(cls)
        found.high = truth.astype(np.complex128)
        found.low = np.zeros_like(found.high)
        return found


def _parts(value: Any, is_complex: bool) -> tuple[float, float, float, float]:
    if not is_complex and value.imag:
        return math.nan, 0.0, 0.0, 0.0
    (high, low), (up, down) = _split(value.real), _split(value.imag)
    return high, up, low, down


def _split(value: Any) -> tuple[float, float]:
    if isinstance(value, int):
        return float(value), 0.0
    high = float(value)
    if isinstance(value, float):  # of NumPy's none but whole numbers and specials
        own = isinstance(value, np.float64)
        if own and np.isfinite(high) and high != int(high):
            raise NoTruth
        return high, 0.0
    return high, float(value - high) if np.isfinite(high) else 0.0


__all__ = ["NoTruth", "Rounded", "precise"]
