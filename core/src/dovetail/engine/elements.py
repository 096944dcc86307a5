"""Python numbers as elements of a dtype: what must fit, and what wraps.

As in torch, a number that is stored must fit, while an operand of arithmetic is
converted as C does, and its result wraps and overflows like any other.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.dtypes import HALF, DType, float32
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    NumberOutOfRange,
)
from dovetail.limits import finfo, iinfo

_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 64) - 1
# Of the numbers that are elements as they are, if they fit.
_OWN_CATEGORY: Final = {int: 1, float: 2}


def stored(op: str, dtype: DType, value: Any, name: str = "value") -> Any:
    """`value` as an element of `dtype`, which it must fit.

    Unsigned dtypes take negative integers down to minus their greatest, as torch
    does: -1 is all ones. Infinities and NaN are no integers, fractions are cut off.

    Args:
        op: who stores it, and under which `name`, for the error.

    Raises:
        NumberOutOfRange: it does not fit.
        DTypeError: it has an imaginary part, which the dtype has not.
    """
    category = dtype.category
    if (type(value) is int and category == 1) or (
        type(value) is float and category == 2
    ):
        least, most = sure(dtype)
        if least <= value <= most:
            return value
    number = _number(op, name, value)
    if isinstance(number, complex) and dtype.category and not dtype.is_complex:
        if number.imag:
            raise DTypeError(
                op, name, was=repr(value), needed=f"a real number for {dtype.name}"
            )
        number = number.real
    _check_bits(op, name, number)
    if not _fits(dtype, number):
        raise _beyond(op, name, value, dtype)
    return operand(op, dtype, number)


def scalar(op: str, dtype: DType, value: Any, name: str = "value") -> Any:
    """`value` where torch makes a 0-d tensor of it before it is stored.

    That lets 16-bit floats overflow to infinity; all else is `stored`.
    """
    if dtype not in HALF or not isinstance(value, int | float):
        return stored(op, dtype, value, name)
    number = operand(op, dtype, value, name)
    with np.errstate(over="ignore"):
        return float(np.float64(number).astype(dtype.numpy))


def factor(op: str, dtype: DType, value: Any, name: str = "value") -> Any:
    """`value` as what an op computes in, which for 16-bit floats has 32 bits."""
    return stored(op, float32 if dtype in HALF else dtype, value, name)


def check_factor(op: str, name: str, dtype: DType, value: Any) -> None:
    """Raise for a factor of what has `dtype` that belongs to a higher category.

    Raises:
        ArgumentError: it is complex, or a fraction, or a bool where the results are
            not.
        NumberOutOfRange: it does not fit.
    """
    number = _number(op, name, value)
    for cls, category, words in _CATEGORIES:
        wrong = dtype.category != 0 if cls is bool else dtype.category < category
        if isinstance(number, cls) and wrong:
            raise ArgumentError(op, name, was=repr(number), needed=words)
    stored(op, dtype, number, name)


@cache
def sure(dtype: DType) -> tuple[Any, Any]:
    """The least and the greatest of the numbers that need not be asked to fit."""
    if not dtype.category:
        return 0, 0
    least, most = _range(dtype.real if dtype.is_complex else dtype)
    return max(least, _LEAST), min(most, -_LEAST - 1)


def operand(op: str, dtype: DType, value: Any, name: str = "number") -> Any:
    """`value` as C converts it to `dtype`: integers wrap, floats overflow to inf.

    Raises:
        NumberOutOfRange: an integer of more than 64 bits.
    """
    category = dtype.category
    if type(value) is int:
        _check_bits(op, name, value)
    if category == 0:
        return bool(value)
    if category == 1:
        bits = dtype.itemsize * 8
        whole = int(value) & ((1 << bits) - 1)
        negative = dtype.is_signed and whole >> (bits - 1)
        return whole - (1 << bits) if negative else whole
    return float(value) if category == 2 else complex(value)


def _number(op: str, name: str, value: Any) -> Any:
    """A Python number: bool, int, float or complex."""
    if isinstance(value, int | float | complex):
        return value
    try:
        found = value.item()
    except (AttributeError, ValueError):
        found = None
    if not isinstance(found, int | float | complex):
        raise ArgumentTypeError(
            op, name, was=f"a {type(value).__name__}", needed="a number"
        )
    return found


def _check_bits(op: str, name: str, value: Any) -> None:
    if type(value) is int and not _LEAST <= value <= _MOST:
        raise NumberOutOfRange(
            op, name, was=f"{value:.3e}" if _printable(value) else "a huge integer",
            needed="an integer of 64 bits", remedy="pass a float",
        )  # fmt: skip


def _printable(value: int) -> bool:
    return abs(value) < 1 << 1000


def _fits(dtype: DType, number: Any) -> bool:
    if isinstance(number, complex):
        return _fits(dtype.real, number.real) and _fits(dtype.real, number.imag)
    if not dtype.category or isinstance(number, bool):
        return True
    least, most = _range(dtype.real if dtype.is_complex else dtype)
    if dtype.category > 1:
        return not math.isfinite(number) or least <= number <= most
    if isinstance(number, int) and not dtype.is_signed:
        least = -most
    return bool(least <= number <= most)  # never of NaN


@cache
def _range(dtype: DType) -> tuple[Any, Any]:
    """The least and the greatest number of a dtype."""
    limits: Any = iinfo(dtype) if dtype.category == 1 else finfo(dtype)
    return min(limits.min, 0), limits.max  # 0 is in all, if only by rounding


def _beyond(op: str, name: str, value: Any, dtype: DType) -> NumberOutOfRange:
    least, most = _range(dtype.real if dtype.is_complex else dtype)
    return NumberOutOfRange(
        op, name, was=repr(value),
        needed=f"from {least} to {most}, the range of {dtype.name}",
        remedy="use a dtype that holds it",
    )  # fmt: skip


# (type of a number, category of dtypes that take it, what they take instead).
_CATEGORIES: Final[tuple[tuple[type, int, str], ...]] = (
    (bool, 0, "a number: Boolean alpha only supported for Boolean results"),
    (float, 2, "an integer: For integral input tensors, argument alpha must not be a "
     "floating point number"),
    (complex, 3, "a real number: For non-complex input tensors, argument alpha must "
     "not be a complex number"),
)  # fmt: skip
