"""What a public function takes: its signature as shown, and why a call did not fit.

A function's annotations are read only after a call has failed, so that they cost a
call that fits nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dovetail.engine.annotations import Check, conforms, described, wanted
from dovetail.engine.attributes import SPELLINGS
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    NumberOutOfRange,
    OutOfMemory,
)


class Shown:
    """What `inspect` unwraps a public callable to: the signature, made when asked for.

    Attributes:
        function: has the parameters, annotations and defaults.
        out: `out=` comes after them.
        inplace: `inplace=` comes after them.
    """

    __slots__ = ("function", "inplace", "out")

    def __init__(
        self, function: Callable[..., Any], out: bool = False, inplace: bool = False
    ) -> None:
        self.function = function
        self.out = out
        self.inplace = inplace

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.function)
        if self.inplace:
            last = inspect.Parameter(
                "inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False,
                annotation="bool",
            )  # fmt: skip
            parameters = [*signature.parameters.values(), last]
            signature = signature.replace(parameters=parameters)
        if not self.out or "out" in signature.parameters:
            return signature
        last = inspect.Parameter(
            "out", inspect.Parameter.KEYWORD_ONLY, default=None,
            annotation="Tensor | tuple[Tensor, ...] | None",
        )  # fmt: skip
        return signature.replace(parameters=[*signature.parameters.values(), last])


def explained(
    name: str, function: Callable[..., Any], args: tuple[Any, ...],
    kwargs: dict[str, Any], error: Exception,
) -> Exception | None:  # fmt: skip
    """The error that says which argument of a failed call does not fit, if one."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as complaint:
        return ArgumentTypeError(
            name, "call", was=f"wrong: {complaint}", needed=_shown(name, signature)
        )
    for key, value in bound.arguments.items():
        parameter = signature.parameters[key]
        annotation = str(parameter.annotation)
        for one in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
            if not conforms(annotation, one):
                return ArgumentTypeError(
                    name, key, was=described(one), needed=wanted(annotation)
                )
    return _beyond(name, bound.arguments, error)


def _beyond(name: str, arguments: dict[str, Any], error: Exception) -> Exception | None:
    """The error for arguments of the right types that nothing can be made of."""
    if isinstance(error, MemoryError) or "array is too big" in str(error):
        return OutOfMemory.within(name, error)
    if isinstance(error, RecursionError):
        return ArgumentError(
            name, "call", was="nested too deeply", needed="fewer levels"
        )
    if isinstance(error, ZeroDivisionError):
        key = _first(arguments, lambda v: not isinstance(v, Tensor) and v == 0)
        return ArgumentError(name, key or "call", was=0, needed="a number other than 0")
    if isinstance(error, OverflowError):
        key = _first(arguments, lambda v: type(v) is int and abs(v) >= 1 << 31)
        return NumberOutOfRange(
            name, key or "call", was=f"too large: {error}", needed="a smaller number"
        )
    return None


def _first(arguments: dict[str, Any], fits: Check) -> str | None:
    """The first argument that holds a value, also within sequences."""
    for key, value in arguments.items():
        parts = value if isinstance(value, list | tuple) else (value,)
        if any(map(fits, parts)):
            return key
    return None


def respelled(function: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keywords with NumPy's names replaced where the function has torch's."""
    names = inspect.signature(function).parameters
    return {
        SPELLINGS[k] if k in SPELLINGS and k not in names else k: v
        for k, v in kwargs.items()
    }


def _shown(name: str, signature: inspect.Signature) -> str:
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return f"{name}{inspect.Signature(plain)}"
