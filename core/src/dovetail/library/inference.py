"""The schema of an op of a user's, from the annotations of its function."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

# The names of types, by Python's own.
_NAMES: Final[dict[Any, str]] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
    complex: "Scalar", DType: "ScalarType", device: "Device",
    int | float | bool: "Scalar", int | float: "Scalar",
    int | float | complex: "Scalar",
}  # fmt: skip
_LISTS: Final = (list, Sequence, typing.Sequence)


def infer_schema(
    prototype_function: Callable[..., Any], /, *,
    mutates_args: str | Iterable[str] = (), op_name: str | None = None, tags: Any = (),
) -> str:  # fmt: skip
    """What a function takes and gives, as its annotations say, in torch's notation.

    Args:
        mutates_args: the arguments that it writes into, or "unknown", which are all
            tensors.
        op_name: written before the brackets.

    Raises:
        ValueError: an annotation is missing, or of no type that an op takes.
    """
    signature = inspect.signature(prototype_function)
    hints = _hints(prototype_function)
    written = set(() if mutates_args == "unknown" else mutates_args)
    unknown = written - set(signature.parameters)
    if unknown:
        raise ArgumentError(
            "infer_schema", "mutates_args", was=f"{sorted(unknown)}",
            needed=f"names of its parameters, {list(signature.parameters)}",
        )  # fmt: skip
    parts: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        everything = mutates_args == "unknown"
        parts.append(_parameter(parameter, hints, written, everything))
    out = _result(hints.get("return", inspect.Parameter.empty))
    return f"{op_name or ''}({', '.join(parts)}) -> {out}"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError) as error:
        raise ArgumentError(
            "infer_schema", "function", was=f"annotated by what is not there: {error}",
            needed="annotations that can be evaluated",
        ) from error  # fmt: skip


def _parameter(
    parameter: inspect.Parameter, hints: dict[str, Any], written: set[str],
    everything: bool,
) -> str:  # fmt: skip
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise ArgumentError(
            "infer_schema", name, was="of any number", needed="parameters with names"
        )
    if name not in hints:
        raise ArgumentError(
            "infer_schema", name, was="not annotated", needed="a type, e.g. Tensor"
        )
    text = _text(name, hints[name])
    tensor = text.startswith("Tensor")
    if name in written or (everything and tensor):
        if not tensor:
            raise ArgumentError(
                "infer_schema", "mutates_args", was=f"{name}, a {text}",
                needed="names of tensors",
            )  # fmt: skip
        text = text.replace("Tensor", f"Tensor(a_{name}!)", 1)
    default = parameter.default
    if default is parameter.empty:
        return f"{text} {name}"
    if not isinstance(default, int | float | bool | str | type(None)):
        raise ArgumentError(
            "infer_schema", name, was=f"by default {default!r}",
            needed="a number, a text, True, False or None",
        )  # fmt: skip
    return f"{text} {name}={default!r}"


def _text(name: str, hint: Any) -> str:
    """The name of a type, with its marks.

    Raises:
        ArgumentError: no op takes it.
    """
    if hint in _NAMES:
        return _NAMES[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType) and type(None) in args:
        rest = [a for a in args if a is not type(None)]
        return f"{_text(name, _either(rest))}?"
    if origin in _LISTS and len(args) == 1:
        return f"{_text(name, args[0])}[]"
    known = ", ".join(getattr(t, "__name__", str(t)) for t in _NAMES)
    raise ArgumentError(
        "infer_schema", name, was=f"a {hint}, which is no type of an op's",
        needed=f"one of {known}, a list of them, or one of them or None",
    )  # fmt: skip


def _either(hints: Sequence[Any]) -> Any:
    found = hints[0]
    for hint in hints[1:]:
        found = found | hint
    return found


def _result(hint: Any) -> str:
    if hint is inspect.Parameter.empty:
        raise ArgumentError(
            "infer_schema", "result", was="not annotated",
            needed="a type, e.g. Tensor, or None",
        )  # fmt: skip
    if hint is type(None) or hint is None:
        return "()"
    if typing.get_origin(hint) is tuple:
        parts = [_text("result", part) for part in typing.get_args(hint)]
        return f"({', '.join(parts)})"
    return _text("result", hint)
