"""Attributes that are integers: counts, sizes, and dims, counted from the front."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

from dovetail.dtypes import bool_
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DimError,
    NumberOutOfRange,
    RepeatedDimError,
    ShapeError,
)


def axis(op: str, name: str, value: Any, ndim: int) -> int:
    """A dim from -ndim to ndim-1, counted from the front (0 for a 0-d tensor)."""
    return _within(op, name, _count(op, name, value, ndim), ndim)


def _one_of(op: str, name: str, value: Any, ndim: int) -> int:
    """As `axis`, where several may be given: a tensor of a bool is 0 or 1."""
    return _within(op, name, integer(op, name, value, ndim), ndim)


def _within(op: str, name: str, number: int, ndim: int) -> int:
    limit = max(ndim, 1)
    if not -limit <= number < limit:
        raise DimError(
            op, name, was=number, needed=f"between {-limit} and {limit - 1}",
            remedy=f"the tensor has {ndim} dimensions",
        )  # fmt: skip
    return number % limit


def new_axis(op: str, name: str, value: Any, ndim: int) -> int:
    """Where a dim is inserted: from -ndim-1 to ndim."""
    return axis(op, name, value, ndim + 1)


def axes(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """One dim, several, or None (and the empty tuple) for all; sorted."""
    if value is None:
        return tuple(range(ndim))
    if not isinstance(value, tuple | list):
        value = (value,)
    if not value:
        return tuple(range(ndim))
    found = [_one_of(op, name, v, ndim) for v in value]
    if len(set(found)) != len(found):
        raise RepeatedDimError(op, name, was=tuple(value), needed="each dim once")
    return tuple(sorted(found)) if ndim else ()


def axes_if_any(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """As `axes`, but the empty tuple is no dims."""
    if isinstance(value, tuple | list):
        return axes(op, name, value, ndim) if value else ()
    return axes(op, name, None if value is None else axis(op, name, value, ndim), ndim)


def axes_given(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """As `axes`, but None is refused."""
    if value is None:
        raise ArgumentTypeError(op, name, was=None, needed="an int or a tuple of ints")
    if ndim and isinstance(value, tuple | list) and not value:
        raise ArgumentError(op, name, was=value, needed="at least one dim")
    return axes(op, name, value, ndim)


class Every(tuple[int, ...]):
    """All dims, where a tuple of dims would not be taken."""

    __slots__ = ()


# The default of a dim that torch refuses as None: all dims.
EVERY: Final[Any] = Every()


def axis_or_all(op: str, name: str, value: Any, ndim: int) -> int | tuple[int, ...]:
    """One dim, or all of them as a tuple for None."""
    if value is None or type(value) is Every:
        return Every(range(ndim))
    return axis(op, name, value, ndim)


def one_or_every(op: str, name: str, value: Any, ndim: int) -> int | tuple[int, ...]:
    """As `axis_or_all`, but None is refused."""
    if value is None:
        raise ArgumentTypeError(op, name, was=None, needed="an integer, or nothing")
    return axis_or_all(op, name, value, ndim)


def set_or_every(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """As `axis_set`, or all dims, but for None."""
    if type(value) is Every:
        return Every(range(ndim))
    if value is None:
        raise ArgumentTypeError(
            op, name, was=None, needed="an integer, several of them, or nothing"
        )
    return axis_set(op, name, value, ndim)


def axis_list(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """Several dims in the order given."""
    if not isinstance(value, tuple | list):
        value = (value,)
    return tuple(_one_of(op, name, v, ndim) for v in value)


def axis_set(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """Dims that all differ, in the order given."""
    found = axis_list(op, name, value, ndim)
    if len(set(found)) != len(found):
        raise RepeatedDimError(op, name, was=value, needed="each dim once")
    return found


def axes_in_order(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """As `axis_set`, but one dim alone is refused."""
    return axis_set(op, name, _several(op, name, value), ndim)


def _several(op: str, name: str, value: Any) -> Sequence[Any]:
    """`value`, if it is a tuple or a list."""
    if not isinstance(value, tuple | list):
        raise ArgumentTypeError(op, name, was=repr(value), needed="a tuple of ints")
    return value


# What integers are that count, or name a dim.
LEAST: Final = -(1 << 63)
MOST: Final = (1 << 63) - 1


def integer(op: str, name: str, value: Any, ndim: int) -> int:
    if isinstance(value, bool) or getattr(value, "ndim", None):
        raise ArgumentTypeError(op, name, was=repr(value), needed="an integer")
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            op, name, was=repr(value), needed="an integer"
        ) from None
    if not LEAST <= number <= MOST:
        raise NumberOutOfRange(
            op, name, was="too large", needed=f"from {LEAST} to {MOST}, 64 bits"
        )
    return number


def integers(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """A tuple of ints, from one int or a sequence of them."""
    found = value if isinstance(value, tuple | list) else (value,)
    return tuple(_count(op, name, v, ndim) for v in found)


def _count(op: str, name: str, value: Any, ndim: int) -> int:
    """An integer, which a tensor of a bool is not."""
    if type(value) is not int and getattr(value, "dtype", None) is bool_:
        raise ArgumentTypeError(op, name, was="a bool tensor", needed="an integer")
    return integer(op, name, value, ndim)


def shape(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """Sizes from a sequence of them; -1 stands for one that follows."""
    found = integers(op, name, _several(op, name, value), ndim)
    if any(size < -1 for size in found):
        raise ShapeError(op, name, was=found, needed="no negative size but -1")
    return found


def sizes(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """A tuple of ints, from a sequence of them."""
    if not _several(op, name, value):
        raise ShapeError(op, name, was=value, needed="at least one size")
    return integers(op, name, value, ndim)
