"""`torch.overrides`: functions of programs whose arguments may handle the call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from dovetail.engine.function_modes import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    innermost,
    pop,
    push,
    stack_of_modes,
    without_innermost,
)
from dovetail.engine.overrides import ask, overridden
from dovetail.engine.tensor import Tensor, asked, without_overrides


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments wants to handle the call."""
    return bool(overridden(list(relevant_args)))


def has_torch_function_unary(obj: Any) -> bool:
    """Whether an argument wants to handle the call."""
    return has_torch_function([obj])


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether one of the arguments wants to handle the call."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """What the arguments make of a call.

    Raises: NotSupported if all of them answer NotImplemented.
    """
    classes = overridden(list(relevant_args))
    return ask(public_api, public_api.__name__, classes, args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or handles calls as one."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is one of Tensor's."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


def _disabled_torch_function_impl(
    func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """A class's `__torch_function__` that is not asked: what the call gives."""
    return without_overrides(func, args, kwargs or {})


class DisableTorchFunctionSubclass:
    """A block of code in which no argument is asked to handle a call."""

    def __enter__(self) -> None:
        self._before, asked.nobody = asked.nobody, True

    def __exit__(self, *_error: object) -> None:
        asked.nobody = self._before


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The mode that was opened last, if one is open."""
    return innermost()


_get_current_function_mode_stack = stack_of_modes
_push_mode, _pop_mode = push, pop
_pop_mode_temporarily = without_innermost
__all__ = [
    "BaseTorchFunctionMode", "DisableTorchFunctionSubclass", "TorchFunctionMode",
    "handle_torch_function", "has_torch_function", "is_tensor_like",
    "is_tensor_method_or_property", "wrap_torch_function",
]  # fmt: skip
DisableTorchFunction = DisableTorchFunctionSubclass


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions whose arguments may handle the call.

    Args:
        dispatcher: gives these, of all arguments.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate
