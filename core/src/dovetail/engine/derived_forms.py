"""Forms that derive from a function: in place, `inplace=`, and sizes one by one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from inspect import Parameter
from typing import Any, Final

from dovetail.engine.annotations import conforms, described
from dovetail.engine.arguments import Shown, explained
from dovetail.engine.calls import over
from dovetail.engine.homes import home_of
from dovetail.engine.inplace import inplace
from dovetail.engine.op import Op
from dovetail.engine.overrides import ask, overridden
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, DovetailError

_ABSENT: Final = object()


def opened(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose argument is a sequence of which it may be given the items.

    Where the argument has a default it may be left out, and one number be given by its
    name.
    """

    def method(self: Any, *items: Any, **named: Any) -> Any:
        if named:
            _check_whole(function, named)
            return function(self, *items, **named)
        if len(items) == 1 and not hasattr(items[0], "__index__"):
            return function(self, *items)
        if not items and _sequence_of(function).default is not Parameter.empty:
            return function(self)
        if not items:
            raise ArgumentTypeError(
                function.__name__, "call", was="without sizes or dims",
                needed="integers, or one sequence of them",
            )  # fmt: skip
        return function(self, items)

    method.takes_items = True  # type: ignore[attr-defined]
    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    method.__module__ = home_of(function)
    method.__wrapped__ = getattr(function, "__wrapped__", function)  # type: ignore[attr-defined]
    return method


def _check_whole(function: Callable[..., Any], named: dict[str, Any]) -> None:
    """Raise for an item given by the sequence's name, by which torch takes it whole."""
    sequence = _sequence_of(function)
    name, value = sequence.name, named.get(sequence.name, ())
    if sequence.default is not Parameter.empty and hasattr(value, "__index__"):
        return
    if not isinstance(value, Iterable):
        raise ArgumentTypeError(
            function.__name__, name, was=described(value),
            needed="a sequence of integers where it is given by name",
        )  # fmt: skip


def _sequence_of(function: Callable[..., Any]) -> Parameter:
    """The parameter whose items may be given one by one."""
    return list(inspect.signature(function).parameters.values())[1]


def in_place_form(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`x.name(…)`: the functional form written into `x`."""

    def written(input: Any = _ABSENT, *args: Any, **kwargs: Any) -> Any:
        given = () if input is _ABSENT else (input, *args)
        if (
            type(input) is not Tensor
            or kwargs
            or (args and type(args[0]) is not Tensor)
        ):
            classes = overridden((*given, *kwargs.values()))
            if classes:
                return ask(offered, name, classes, given, kwargs)
        if "out" in kwargs:  # what it writes is the tensor itself
            raise ArgumentTypeError(name, "out", was="given", needed="no out=")
        try:
            return inplace(name, function, *given, **kwargs)
        except DovetailError:
            raise
        except Exception as error:
            ours = explained(name, function, given, kwargs, error)
            if ours is None:
                raise
            raise ours from error

    written.__name__ = written.__qualname__ = name
    written.__doc__ = f"`{name[:-1]}` written into the tensor, which is returned."
    written.__module__ = home_of(function)
    written.__wrapped__ = Shown(function)  # type: ignore[attr-defined]
    op = getattr(function, "op", None)
    offered = written if op is None else over(op, name, written)
    return offered


def overwriting(name: str, op: Op, call: Any) -> Callable[..., Any]:
    """`name(input, …, inplace=False)`: an op that may write over its input."""

    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        overwrite = kwargs.pop("inplace", False) if kwargs else False
        if type(input) is not Tensor:
            classes = overridden((input, *args, *kwargs.values()))
            if classes:
                given = {**kwargs, "inplace": True} if overwrite else kwargs
                return ask(function, name, classes, (input, *args), given)
        if len(args) == len(op.names):
            *args, overwrite = args  # type: ignore[assignment]
        if overwrite is not False and not conforms("bool", overwrite):
            raise ArgumentTypeError(
                name, "inplace", was=described(overwrite), needed="True or False"
            )
        if overwrite:
            return inplace(f"{name}_", call, input, *args, **kwargs)
        return call(input, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__, function.__module__ = call.__doc__, home_of(call)
    function.__wrapped__ = Shown(op.body, inplace=True)  # type: ignore[attr-defined]
    return function
