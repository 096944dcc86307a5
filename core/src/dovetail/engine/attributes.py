"""Attribute types: what an op's static arguments may be, validated at its edge.

An annotation in a declaration names one of these; the value that bodies, rules and
kernels see is normalised: dims counted from the front, shapes as tuples of ints.
"""

from __future__ import annotations

import math
from ast import literal_eval
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dovetail.dtypes import DType, as_dtype
from dovetail.engine.integers import (
    axes,
    axes_given,
    axes_if_any,
    axes_in_order,
    axis,
    axis_list,
    axis_or_all,
    integer,
    integers,
    new_axis,
    one_or_every,
    set_or_every,
    shape,
    sizes,
)
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotSupported,
)

if TYPE_CHECKING:
    from dovetail.engine.tensor import Tensor

# For annotations: the types that a declaration's reader and mypy see.
Axis: TypeAlias = int
NewAxis: TypeAlias = int
Axes: TypeAlias = int | Sequence[int] | None
AxesIfAny: TypeAlias = int | Sequence[int] | None
AxesGiven: TypeAlias = int | Sequence[int]
AxisOrAll: TypeAlias = int | None
AxisOrEvery: TypeAlias = int  # one dim, or all if none is given; with EVERY as default
AxesOrEvery: TypeAlias = int | Sequence[int]  # the same for several
# The default of what torch refuses as None, if it is given.
Absent: TypeAlias = None
AxisSet: TypeAlias = Sequence[int]
Shape: TypeAlias = Sequence[int]
Ints: TypeAlias = Sequence[int]
Sizes: TypeAlias = Sequence[int]  # as Shape, but never none
Index: TypeAlias = tuple[Any, ...]
Scalar: TypeAlias = complex
# Scalars that are no complex numbers.
Real: TypeAlias = float
# Scalars that have to fit the dtype of the tensors, and those that have to fit what
# the op computes in: 32 bits for 16-bit floats.
Element: TypeAlias = complex
Factor: TypeAlias = complex
Static: TypeAlias = Any
# A tensor for which torch takes a number too.
Operand: TypeAlias = "Tensor"
# The same, where a number takes no part in promotion but has to fit.
Weight: TypeAlias = "Tensor"
# Numbers within a range, which belong to the program: kernels are chosen by them.
Positive: TypeAlias = float
NonNegative: TypeAlias = float
NonZero: TypeAlias = float
Probability: TypeAlias = float
Finite: TypeAlias = float
Extent: TypeAlias = float
# Options of torch's that go no further: of no consequence here, or not there yet.
Ignored: TypeAlias = bool
NotYet: TypeAlias = bool

# NumPy's names of attributes, which torch takes too.
SPELLINGS: Final = {"axis": "dim", "keepdims": "keepdim"}

Normalise = Callable[[str, str, Any, int], Any]


def boolean(op: str, name: str, value: Any, ndim: int) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(op, name, was=repr(value), needed="True or False")
    return bool(value)


def not_yet(op: str, name: str, value: Any, ndim: int) -> bool:
    """False, the default of what is not there yet."""
    if boolean(op, name, value, ndim):
        raise NotSupported(op, name, was="given", needed="its default")
    return False


def string(op: str, name: str, value: Any, ndim: int) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(op, name, was=repr(value), needed="a string")
    return value


def dtype(op: str, name: str, value: Any, ndim: int) -> DType:
    return as_dtype(value, op)


def anything(op: str, name: str, value: Any, ndim: int) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _number_where(holds: Callable[[Any], bool], needed: str) -> Normalise:
    """A number for which a condition holds, which NaN never does."""

    def number(op: str, name: str, value: Any, ndim: int) -> Any:
        item = getattr(value, "item", None)  # a 0-d tensor or a NumPy scalar
        number = value if item is None or value.ndim else item()
        if isinstance(number, complex) or not isinstance(number, int | float):
            raise ArgumentTypeError(op, name, was=repr(value), needed="a real number")
        if not holds(number):
            raise ArgumentError(op, name, was=value, needed=needed)
        return number

    return number


def one_of(options: tuple[Any, ...]) -> Normalise:
    """One of a few values, as `Literal["none", "tanh"]` names them."""
    *others, last = map(repr, options)
    needed = f"{', '.join(others)} or {last}" if others else last

    def choice(op: str, name: str, value: Any, ndim: int) -> Any:
        if not any(value is o or value == o for o in options):
            raise ArgumentError(op, name, was=repr(value), needed=needed)
        return value

    return choice


def normaliser_of(annotation: Any) -> Normalise | None:
    """What makes an attribute of an annotation's text valid; None if it names none."""
    text = str(annotation)
    if text.startswith("Literal["):
        plain = text.removesuffix(" | None")
        choice = one_of(tuple(literal_eval(plain.removeprefix("Literal"))))
        return optional(choice) if plain != text else choice
    return NORMALISERS.get(text)


def optional(normalise: Normalise) -> Normalise:
    """The same, with None let through."""

    def wrapped(op: str, name: str, value: Any, ndim: int) -> Any:
        return None if value is None else normalise(op, name, value, ndim)

    return wrapped


_PLAIN: Final[dict[str, Normalise]] = {
    "Axis": axis, "NewAxis": new_axis, "AxisList": axis_list,
    "AxisSet": axes_in_order,
    "int": integer, "Ints": integers, "Shape": shape, "Sizes": sizes,
    "bool": boolean, "str": string, "DType": dtype, "Static": anything,
    "Index": anything, "Kind": anything, "Ignored": boolean, "NotYet": not_yet,
    "Positive": _number_where(lambda v: v > 0, "a number above 0"),
    "NonNegative": _number_where(lambda v: v >= 0, "a number of 0 or more"),
    "NonZero": _number_where(lambda v: v < 0 or v > 0, "a number that is not 0"),
    "Extent": _number_where(lambda v: 0 <= v < math.inf, "finite, 0 or more"),
    "Finite": _number_where(math.isfinite, "a finite number"),
    "Probability": _number_where(lambda v: 0 <= v <= 1, "a probability from 0 to 1"),
}  # fmt: skip
OPTIONS: Final = frozenset({"Ignored", "NotYet"})
NORMALISERS: Final[dict[str, Normalise]] = {
    **_PLAIN,
    **{f"{name} | None": optional(f) for name, f in _PLAIN.items()},
    "Axes": axes,
    "AxesGiven": axes_given,
    "AxesIfAny": axes_if_any,
    "AxisOrAll": axis_or_all,
    "AxisOrEvery": one_or_every,
    "AxesOrEvery": set_or_every,
}
AxisList: TypeAlias = Sequence[int]
