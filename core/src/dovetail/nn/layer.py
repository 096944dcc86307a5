"""Layers that add nothing to a function but to keep its arguments.

    @layer(F.leaky_relu)
    class LeakyReLU(FunctionLayer):
        "`x`, times `negative_slope` below zero."

        negative_slope: float = 0.01
        inplace: bool = False

The annotations are the function's arguments after the input, in its order. They are
the constructor's too, are attributes that may be changed, and are what `repr` shows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError

from .module import Module

_EMPTY: Any = inspect.Parameter.empty


class FunctionLayer(Module):
    """A module whose forward pass is one function of its input and its attributes.

    Raises:
        ArgumentTypeError: an argument is missing, unknown or given twice.
    """

    _function: Any = None
    _arguments: dict[str, Any] = {}  # noqa: RUF012  with their defaults
    _named = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        known = self._arguments
        given = dict(zip(known, args, strict=False))
        unknown = [n for n in kwargs if n not in known or n in given]
        values = {**known, **given, **kwargs}
        missing = [n for n, value in values.items() if value is _EMPTY]
        if unknown or missing or len(args) > len(known):
            name = type(self).__name__
            raise ArgumentTypeError(
                name, (missing or unknown or ["number of arguments"])[0],
                was="missing" if missing else "unknown, given twice or too many",
                needed=f"{name}{inspect.signature(type(self))}",
            )  # fmt: skip
        for argument, value in values.items():
            setattr(self, argument, value)

    def extra_repr(self) -> str:
        shown = []
        for name in self._arguments:
            value = getattr(self, name)
            if name != "inplace":
                shown.append(f"{name}={value!r}" if self._named else repr(value))
            elif value:
                shown.append("inplace=True")
        return ", ".join(shown)


Layer = TypeVar("Layer", bound=type[FunctionLayer])


@dataclass_transform()
def layer(
    function: Callable[..., Any], *, named: bool = True
) -> Callable[[Layer], Layer]:
    """Make a class the layer of `function`.

    Args:
        named: `repr` shows the names of arguments, not only what they are.
    """

    def complete(cls: Layer) -> Layer:
        annotations = inspect.get_annotations(cls)
        cls._function = staticmethod(function)
        setattr(cls, "forward", _forward(function, tuple(annotations)))  # noqa: B010
        cls._arguments = {name: vars(cls).get(name, _EMPTY) for name in annotations}
        cls._named = named
        if annotations:  # as torch's, the others show what `Module` takes
            cls.__signature__ = _signature(cls, annotations)  # type: ignore[attr-defined]
        return cls

    return complete


def _forward(function: Callable[..., Any], names: tuple[str, ...]) -> Any:
    """The forward pass, which asks any object for the layer's attributes."""

    def forward(self: Any, input: Tensor) -> Tensor:
        y: Tensor = function(input, *[getattr(self, name) for name in names])
        return y

    return forward


def _signature(cls: type[FunctionLayer], annotations: Any) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([
        inspect.Parameter(name, kind, default=default, annotation=annotations[name])
        for name, default in cls._arguments.items()
    ])  # fmt: skip
