"""Arguments that are given while a function is traced, and those that are traced."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from dovetail.func.trees import Tree, put_together, taken_apart

if TYPE_CHECKING:
    from .tracer_base import TracerBase

Form = tuple[list[str], Tree]


class PHBase:
    """What stands for a value that is traced, inside of one that is given."""

    def __repr__(self) -> str:
        return "PH"


PH: Final = PHBase()


def given(
    parameters: list[inspect.Parameter],
    concrete_args: dict[str, Any] | tuple[Any, ...] | None,
) -> dict[str, Any]:
    """What is given, by the parameters' names.

    Raises: RuntimeError for more or fewer than there are parameters.
    """
    if concrete_args is None:
        return {}
    names = [p.name for p in parameters]
    if isinstance(concrete_args, tuple):
        if len(concrete_args) != len(names):
            raise RuntimeError(
                f"Tracing expected {len(names)} arguments but got "
                f"{len(concrete_args)} concrete arguments"
            )
        return dict(zip(names, concrete_args, strict=True))
    return concrete_args


def proxies_of(
    tracer: TracerBase, parameters: list[inspect.Parameter], values: dict[str, Any]
) -> tuple[dict[str, Any], Form | None]:
    """What a function is called with, and the form of what its code will be.

    Returns: values by the parameters' names, and the form if one of them holds
        several inputs of the graph.
    """
    made: dict[str, Any] = {}
    whole: list[Any] = []
    for parameter in parameters:
        stars: dict[Any, str] = {
            parameter.VAR_POSITIONAL: "*",
            parameter.VAR_KEYWORD: "**",
        }
        star = stars.get(parameter.kind, "")
        if parameter.name in values and not star:
            made[parameter.name] = _given(tracer, parameter, values[parameter.name])
            whole.append(values[parameter.name])
        else:
            made[parameter.name] = _proxy(tracer, parameter, star + parameter.name)
            whole.append(PH)
    form = taken_apart(whole)[1]
    nested = form.size != len(whole) or any(part.cls for part in form.parts)
    return made, ((list(made), form) if nested else None)


def _proxy(tracer: TracerBase, parameter: inspect.Parameter, name: str) -> Any:
    empty = inspect.Parameter.empty
    default = () if parameter.default is empty else (parameter.default,)
    kind = None if parameter.annotation is empty else parameter.annotation
    return tracer.create_proxy("placeholder", name, default, {}, type_expr=kind)


def _given(tracer: TracerBase, parameter: inspect.Parameter, value: Any) -> Any:
    """A given value; the code takes it, too, and says where it is another one."""
    leaves, form = taken_apart(value)
    made = []
    for number, leaf in enumerate(leaves, 1):
        name = f"{parameter.name}_{number}"
        empty = inspect.Parameter.empty
        default = () if parameter.default is empty else (parameter.default,)
        proxy = tracer.create_proxy("placeholder", name, default, {})
        if isinstance(leaf, PHBase):
            made.append(proxy)
            continue
        made.append(leaf)
        said = f"{parameter.name} has been specialized to have value {leaf} but got "
        if isinstance(leaf, bool | int | float | str):
            check = (proxy == leaf, f"{said}another value")
            tracer.create_proxy("call_function", _assert, check, {})
        elif leaf is None:
            check = (proxy, f"{said}another value")
            tracer.create_proxy("call_function", _assert_is_none, check, {})
    return put_together(made, form)


def called_with(
    function: Any, parameters: list[inspect.Parameter], values: dict[str, Any]
) -> Any:
    """What calls a function with one value for each parameter, `*args` among them."""
    starred = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    if any(p.kind in starred for p in parameters) and isinstance(
        function, FunctionType
    ):
        plain = _without_stars(function)
        names = plain.__code__.co_varnames
        return lambda *own: plain(*own, *[values[n] for n in names if n in values])
    by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    named = {name: values[name] for name in by_name}
    rest = [value for name, value in values.items() if name not in named]
    return lambda *own: function(*own, *rest, **named)


def _without_stars(function: FunctionType) -> FunctionType:
    """A function whose `*args` and `**kwargs` are parameters like all others."""
    code = function.__code__
    stars = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    count = code.co_argcount + code.co_kwonlyargcount
    count += sum(bool(code.co_flags & star) for star in (4, 8))
    plain = code.replace(
        co_flags=code.co_flags & ~stars, co_argcount=count, co_kwonlyargcount=0,
        co_posonlyargcount=0,
    )  # fmt: skip
    return FunctionType(
        plain, function.__globals__, function.__name__, None, function.__closure__
    )


def _assert(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _assert_is_none(value: Any, message: str) -> None:
    if value is not None:
        raise AssertionError(message)
