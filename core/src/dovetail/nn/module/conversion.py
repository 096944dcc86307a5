"""What conversions of modules are asked for, and new data for what a module holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, DTypeError

_OPTIONS_OF_TO: Final = {"device", "dtype", "non_blocking", "memory_format"}


def renew(param: Tensor, fn: Callable[[Tensor], Tensor]) -> None:
    """Give a parameter and its gradient new data; both stay the objects they are."""
    grad = param.grad
    data, moved = fn(param), None if grad is None else fn(grad)
    if data is param and moved is grad:
        return
    param.grad = None  # a gradient has to match: out, while the two differ
    param.data = data
    if grad is not None and moved is not None:
        grad.data = moved
        param.grad = grad


def of_type(kind: str, device: int | Device | None) -> Device:
    """The device of a type, by its index; without one, the current one."""
    if isinstance(device, int):
        return Device(kind, device)
    return Device(kind) if device is None else Device(device)


def options_of_to(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of a call of `Module.to`, by the names `Tensor.to` has for them."""
    named = dict(kwargs)
    given = list(args)
    tensor = named.pop("tensor", None)
    if given and isinstance(given[0], Tensor):
        tensor = given.pop(0)
    if tensor is not None:
        named |= {"device": tensor.device, "dtype": tensor.dtype}
    elif given and (given[0] is None or isinstance(given[0], str | int | Device)):
        named["device"] = given.pop(0)
    if given and (given[0] is None or isinstance(given[0], dtypes.DType)):
        named["dtype"] = given.pop(0)
    if given:
        named["non_blocking"] = given.pop(0)
    if given or not named.keys() <= _OPTIONS_OF_TO:
        raise ArgumentTypeError(
            "Module.to", "the argument list", was=f"{args} {kwargs}",
            needed="a device, a dtype, both, or a tensor",
        )  # fmt: skip
    dtype = named.get("dtype")
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise DTypeError(
            "Module.to", "dtype", was=dtype, needed="a floating point or complex dtype",
            remedy="Module.type casts every tensor",
        )  # fmt: skip
    return {k: v for k, v in named.items() if v is not None}


def converted(tensor: Tensor, options: dict[str, Any]) -> Tensor:
    """A parameter or buffer with those of the options that are for one like it."""
    inexact = tensor.is_floating_point() or tensor.is_complex()
    left_out = set() if inexact else {"dtype"}
    if tensor.ndim not in (4, 5):  # images, of two axes or three
        left_out.add("memory_format")
    chosen = {k: v for k, v in options.items() if k not in left_out}
    return tensor.to(**chosen) if chosen else tensor
