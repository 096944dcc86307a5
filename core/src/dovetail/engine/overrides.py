"""Letting the arguments of a call handle it: `__torch_function__`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from dovetail.engine.function_modes import (
    TorchFunctionMode,
    active,
    handled,
    innermost,
)
from dovetail.engine.tensor import Parameter, Tensor, asked
from dovetail.errors import NotSupported

# What is given most often, and handles no call.
_ORDINARY: Final = frozenset({
    Tensor, Parameter, int, float, bool, complex, str, slice, type(None), type(...)
})  # fmt: skip


def overridden(values: Any) -> list[type]:
    """Classes of arguments that want to handle the call themselves.

    A mode that is open is in front of them, as an object.
    """
    if active[0]:
        return modes() + _overriding(values)
    return _overriding(values)


def modes() -> list[Any]:
    """The mode of this context, if one is open, as a class is that handles calls."""
    mode = innermost() if active[0] else None
    return [] if mode is None else [mode]


def _overriding(values: Any) -> list[type]:
    if _ORDINARY.issuperset(map(type, values)):
        return []
    found: list[type] = []
    for value in _flat(values):
        cls = type(value)
        if cls is Tensor or cls is Parameter:
            continue
        if has_override(cls) and cls not in found:
            found.append(cls)
    return found


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    """What is in sequences however deep, each of which is looked into once."""
    seen: set[int] = set()  # they may hold themselves
    within = [iter(values)]
    while within:
        for value in within[-1]:
            if not isinstance(value, list | tuple):
                yield value
            elif id(value) not in seen:
                seen.add(id(value))
                within.append(iter(value))
                break
        else:
            within.pop()


def has_override(cls: type) -> bool:
    """Whether a class wants to handle calls itself, and is asked now.

    Tensors that are made of others are always asked: no op takes them as they are.
    """
    if asked.nobody and not getattr(cls, "_in_parts", False):
        return False
    handler = getattr(cls, "__torch_function__", None)
    return handler is not None and not issubclass(cls, Parameter)


def ask(
    function: Callable[..., Any], name: str, classes: Sequence[type],
    args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """Ask the arguments' classes, the most derived first, to handle the call.

    Args:
        function: the public callable, which the classes are given.
        classes: those of the arguments that have `__torch_function__`.

    Raises:
        NotSupported: all of them answered NotImplemented.
    """
    if classes and isinstance(classes[0], TorchFunctionMode):
        classes = classes[1:]
        result = handled(function, tuple(classes), args, kwargs)
        if result is not NotImplemented:
            return result
    for cls in sorted(classes, key=lambda c: -len(c.__mro__)):
        result = cls.__torch_function__(  # type: ignore[attr-defined]
            function, tuple(classes), args, kwargs
        )
        if result is not NotImplemented:
            return result
    raise NotSupported(
        name, "arguments", was=", ".join(c.__name__ for c in classes),
        needed="a class whose __torch_function__ handles this function",
    )  # fmt: skip
