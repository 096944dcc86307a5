"""What the annotations of public functions ask of arguments, and whether they get it.

A call is looked at once for each combination of types: where types alone decide, the
same types fit again, and only integers are asked for their size.
"""

from __future__ import annotations

import inspect
import operator
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.device import device
from dovetail.dtypes import DType, bool_
from dovetail.engine.generator import Generator
from dovetail.engine.integers import LEAST, MOST
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentTypeError, NumberOutOfRange
from dovetail.memory_formats import layout, memory_format

Check = Callable[[Any], bool]
# Whose values conform, or not, by their types alone.
PLAIN: Final = frozenset({
    int, float, complex, bool, type(None), str, DType, device, Size, slice,
    type(Ellipsis), type, layout, memory_format,
})  # fmt: skip
TENSORS: Final = frozenset({Tensor, Parameter})
# Annotations by which a tensor conforms whatever it holds.
_FOR_TENSORS: Final = frozenset({"Tensor", "Operand", "Any"})


class Expected:
    """What a function's parameters take.

    Attributes:
        name: of the function, for errors.
        places: (name, annotation) of the parameters that are given by position.
        named: the annotations of all parameters that have a name to be given by.
        more: the annotation of what comes after `places`, None if nothing may.
    """

    __slots__ = ("more", "name", "named", "places")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.places: list[tuple[str, str]] = []
        self.named: dict[str, str] = {}
        self.more: tuple[str, str] | None = None
        for p in inspect.signature(function).parameters.values():
            annotation = "Any" if p.annotation is p.empty else str(p.annotation)
            if p.kind is p.VAR_POSITIONAL:
                self.more = p.name, annotation
            elif p.kind is not p.VAR_KEYWORD:
                if p.kind is not p.POSITIONAL_ONLY:
                    self.named[p.name] = annotation
                if p.kind is not p.KEYWORD_ONLY:
                    self.places.append((p.name, annotation))

    def check(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], asks: bool = True
    ) -> Any:
        """Raise for what does not conform; what to ask of calls with the same types.

        Args:
            asks: what is in sequences may handle the call.

        Returns:
            The places and names of integers, whose size is to be asked for; None if
            values decide whether a call with such types conforms.

        Raises:
            ArgumentTypeError: an argument is not what its annotation says.
        """
        integers: list[int | str] = []
        by_type = True
        for at, key, annotation, value in self._given(args, kwargs):
            if not conforms(annotation, value):
                raise ArgumentTypeError(
                    self.name, key, was=described(value), needed=wanted(annotation)
                )
            if type(value) is int and limits(annotation) is not None:
                check_size(self.name, key, annotation, value)
                integers.append(at)
            by_type = by_type and _decided(annotation, value, asks)
        return tuple(integers) if by_type else None

    def _given(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterator[tuple[int | str, str, str, Any]]:
        """Place or name, parameter, annotation and value of each known argument."""
        for at, value in enumerate(args):
            if at < len(self.places):
                yield at, *self.places[at], value
            elif self.more is not None:
                yield at, *self.more, value
        for key, value in kwargs.items():
            if key in self.named:
                yield key, key, self.named[key], value


@cache
def limits(annotation: str) -> tuple[int, int] | None:
    """Between which numbers an integer has to be; None where no size is asked for.

    Integers have 64 bits; numbers, of which kernels know the dtype, too, and those are
    without a sign where they need all of them; the rest is computed in doubles.
    """
    parts = annotation.split(" | ")
    return next((_LIMITS[part] for part in _LIMITS if part in parts), None)


def check_size(name: str, key: str, annotation: str, value: int) -> None:
    """Raise for an integer that is too large for what it stands for.

    Raises:
        NumberOutOfRange: `value` is one.
    """
    least, most = limits(annotation) or (value, value)
    if not least <= value <= most:
        whole = f"from {least} to {most}"
        needed = "what a 64-bit float holds" if most == _LARGEST else whole
        raise NumberOutOfRange(name, key, was="too large", needed=needed)


def types_of(values: Any) -> tuple[Any, ...]:
    """The types of arguments, and of what is in those that are sequences."""
    return tuple([
        (c, frozenset(map(type, v))) if (c := type(v)) is tuple or c is list else c
        for v in values
    ])  # fmt: skip


def described(value: Any) -> str:
    """An argument, for an error."""
    if isinstance(value, Tensor):
        return f"a {value.dtype.name} tensor of shape {tuple(value.shape)}"
    text = repr(value)
    return f"{text if len(text) < 60 else text[:57] + '…'} ({type(value).__name__})"


def wanted(annotation: str) -> str:
    """What an annotation asks for, for an error."""
    parts = [part for part in annotation.split(" | ") if part != "Absent"]
    return " or ".join(map(_in_words, parts))


def _in_words(part: str) -> str:
    if part.startswith("Callable["):
        return "a function"
    return _WORDS.get(part, f"a {part}")


@cache
def asks_nothing(annotation: str) -> bool:
    """Whether every value conforms."""
    return any(_check_of(part) is _anything for part in annotation.split(" | "))


def _decided(annotation: str, value: Any, asks: bool) -> bool:
    """Whether whatever has the type of a conforming value conforms."""
    cls = type(value)
    if cls in PLAIN:
        return True
    if asks_nothing(annotation) and not (asks and (cls is tuple or cls is list)):
        return True
    if cls in TENSORS:
        return not _FOR_TENSORS.isdisjoint(annotation.split(" | "))
    if cls is tuple or cls is list:
        tensors = "Tensor" in annotation or annotation == "Any"
        known = PLAIN | TENSORS if tensors else PLAIN
        return known.issuperset(map(type, value))
    return False


def conforms(annotation: str, value: Any) -> bool:
    """Whether a value may be given for a parameter annotated so.

    Annotations that say nothing to this function, such as `Any`, take everything.
    """
    if annotation.startswith("Literal["):
        plain = annotation.removesuffix(" | None")
        options = literal_eval(plain.removeprefix("Literal"))
        nothing = value is None and plain != annotation
        return nothing or isinstance(value, tuple(map(type, options)))
    return any(_check_of(part)(value) for part in annotation.split(" | "))


def _check_of(part: str) -> Check:
    """What the value of a parameter annotated so, without alternatives, has to be."""
    if part.startswith("Callable["):
        return callable
    return _CHECKS.get(part, _anything)


def _anything(value: Any) -> bool:
    return True


def _is_integer(value: Any) -> bool:
    if isinstance(value, Tensor) and (value.ndim or value.dtype is bool_):
        return False
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except (TypeError, RuntimeError):
        return False
    return True


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.ndim == 0
    return isinstance(value, int | float | complex | np.generic)


def _is_real(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.ndim == 0 and not value.dtype.is_complex
    return isinstance(value, int | float | np.integer | np.floating)


def _all(check: Check) -> Check:
    return lambda value: isinstance(value, list | tuple) and all(map(check, value))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _is_iterable(value: Any) -> bool:
    try:
        iter(value)
    except TypeError:
        return False
    return True


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


_NUMBER: Final = (LEAST, 2 * MOST + 1)
_LARGEST: Final = int(sys.float_info.max)
# By annotation, the first that is met: between which numbers an integer has to be.
_LIMITS: Final = {
    "int": (LEAST, MOST), "Scalar": _NUMBER, "Real": _NUMBER, "Operand": _NUMBER,
    "float": (-_LARGEST, _LARGEST),
}  # fmt: skip
_CHECKS: Final[dict[str, Check]] = {
    "Tensor": _is_tensor, "int": _is_integer, "float": _is_real,
    "Real": _is_real, "complex": _is_number, "Scalar": _is_number,
    "Element": _is_number, "Factor": _is_number, "bool": _is_flag,
    "str": lambda v: isinstance(v, str), "Absent": lambda v: False,
    "None": lambda v: v is None,
    "DType": lambda v: isinstance(v, DType | type),
    "Sequence[int]": _all(_is_integer),
    "tuple[int, ...]": _all(_is_integer), "Sequence[Tensor]": _all(_is_tensor),
    "tuple[float, float]": _all(_is_real), "tuple[float, float, float]": _all(_is_real),
    "Sequence[float]": _all(_is_real),
    "list[Tensor]": _all(_is_tensor), "Axis": _is_integer,
    "Operand": lambda v: _is_tensor(v) or _is_number(v),
    "tuple[float, ...]": lambda v: isinstance(v, tuple) and all(map(_is_real, v)),
    "Sequence[Any]": lambda v: isinstance(v, Sequence),
    "Iterable[Any]": _is_iterable, "Mapping[str, Any]": _is_iterable,
    "Iterable[Module]": _is_iterable,
    "Weight": lambda v: _is_tensor(v) or _is_number(v),
    "Layout": lambda v: isinstance(v, layout),
    "Generator": lambda v: isinstance(v, Generator),
    "MemoryFormat": lambda v: isinstance(v, memory_format),
}  # fmt: skip
_WORDS: Final = {
    "bool": "True or False", "int": "an integer", "Axis": "an integer",
    "float": "a real number", "Real": "a real number", "complex": "a number",
    "Scalar": "a number", "Element": "a number", "Factor": "a number",
    "str": "a string", "Operand": "a Tensor or a number",
    "Weight": "a Tensor or a number", "None": "None",
    "DType": "a dovetail dtype such as dovetail.float32",
    "Layout": "a layout such as dovetail.strided",
    "MemoryFormat": "a memory format such as dovetail.channels_last",
    "Sequence[int]": "a sequence of integers", "Sequence[Any]": "a sequence",
    "Sequence[float]": "a sequence of real numbers",
    "tuple[float, float, float]": "three real numbers",
    "tuple[float, ...]": "a tuple of real numbers",
    "Sequence[Tensor]": "a sequence of tensors",
}  # fmt: skip
