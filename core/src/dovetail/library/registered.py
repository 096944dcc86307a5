"""What is registered for an op of a user's, by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dovetail.dtypes import DType

from .custom_ops import found


def register_kernel(
    op: Any, device_types: str | Iterable[str] | None,
    func: Callable[..., Any] | None = None, /, *, lib: Any = None,
) -> Any:  # fmt: skip
    """Let a function compute an op on devices of some types, None for all.

    Args:
        op: an op of a user's, or its name.
        func: the function; without it, a decorator is given.

    Raises:
        ValueError: there is no op of that name.
    """
    return found(op).register_kernel(device_types, func)


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None,
    allow_override: bool = True,
) -> Any:  # fmt: skip
    """Let a function give an op's results without values, for device "meta".

    Raises:
        ValueError: there is no op of that name.
    """
    its = found(op)
    return its.register_fake if func is None else its.register_fake(func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *,
    setup_context: Callable[..., Any] | None = None, lib: Any = None,
) -> None:  # fmt: skip
    """Give an op a gradient; see `CustomOpDef.register_autograd`.

    Raises:
        ValueError: there is no op of that name.
        RuntimeError: it writes into its arguments.
    """
    found(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Say what `vmap` does with an op; see `CustomOpDef.register_vmap`.

    Raises:
        ValueError: there is no op of that name.
    """
    return found(op).register_vmap(func)


def register_autocast(
    op: Any, device_type: str, cast_inputs: DType, /, *, lib: Any = None
) -> None:
    """Let autocast of a type of device cast an op's arguments to a dtype.

    Raises:
        ValueError: there is no op of that name.
    """
    found(op).register_autocast(device_type, cast_inputs)
