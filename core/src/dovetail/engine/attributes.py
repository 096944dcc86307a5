"""Attribute types: what an op's static arguments may be, validated at its edge.

An annotation in a declaration names one of these; the value that bodies, rules and
kernels see is normalised: dims counted from the front, shapes as tuples of ints.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from dovetail.dtypes import DType, as_dtype
from dovetail.errors import ArgumentTypeError, DimError, RepeatedDimError

# For annotations: the types that a declaration's reader and mypy see.
Axis: TypeAlias = int
NewAxis: TypeAlias = int
Axes: TypeAlias = int | Sequence[int] | None
Shape: TypeAlias = Sequence[int]
Ints: TypeAlias = Sequence[int]
Index: TypeAlias = tuple[Any, ...]
Scalar: TypeAlias = complex
Static: TypeAlias = Any

# NumPy's names of attributes, which torch takes too.
SPELLINGS: Final = {"axis": "dim", "keepdims": "keepdim"}

Normalise = Callable[[str, str, Any, int], Any]


def axis(op: str, name: str, value: Any, ndim: int) -> int:
    """A dim from -ndim to ndim-1, counted from the front (0 for a 0-d tensor)."""
    number = integer(op, name, value, ndim)
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
    found = [axis(op, name, v, ndim) for v in value]
    if len(set(found)) != len(found):
        raise RepeatedDimError(op, name, was=tuple(value), needed="each dim once")
    return tuple(sorted(found)) if ndim else ()


def axis_list(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """Several dims in the order given."""
    if not isinstance(value, tuple | list):
        value = (value,)
    return tuple(axis(op, name, v, ndim) for v in value)


def integer(op: str, name: str, value: Any, ndim: int) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            op, name, was=repr(value), needed="an integer"
        ) from None


def integers(op: str, name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """A tuple of ints, from one int or a sequence of them."""
    if isinstance(value, tuple | list):
        return tuple(integer(op, name, v, ndim) for v in value)
    return (integer(op, name, value, ndim),)


def boolean(op: str, name: str, value: Any, ndim: int) -> bool:
    return bool(value)


def string(op: str, name: str, value: Any, ndim: int) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(op, name, was=repr(value), needed="a string")
    return value


def dtype(op: str, name: str, value: Any, ndim: int) -> DType:
    return as_dtype(value, op)


def anything(op: str, name: str, value: Any, ndim: int) -> Any:
    return tuple(value) if isinstance(value, list) else value


def optional(normalise: Normalise) -> Normalise:
    """The same, with None let through."""

    def wrapped(op: str, name: str, value: Any, ndim: int) -> Any:
        return None if value is None else normalise(op, name, value, ndim)

    return wrapped


_PLAIN: Final[dict[str, Normalise]] = {
    "Axis": axis, "NewAxis": new_axis, "AxisList": axis_list,
    "int": integer, "Ints": integers, "Shape": integers, "bool": boolean,
    "str": string, "DType": dtype, "Static": anything, "Index": anything,
    "Kind": anything,
}  # fmt: skip
NORMALISERS: Final[dict[str, Normalise]] = {
    **_PLAIN,
    **{f"{name} | None": optional(f) for name, f in _PLAIN.items()},
    "Axes": axes,
}
AxisList: TypeAlias = Sequence[int]
