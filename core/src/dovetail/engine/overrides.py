"""Letting the arguments of a call handle it: `__torch_function__`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.errors import NotSupported


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
