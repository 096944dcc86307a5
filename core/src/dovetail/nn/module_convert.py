"""Moving a module to another device or dtype, keeping its parameters' identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.device import device as Device
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, DTypeError

from .module_tree import ModuleTree

_OPTIONS_OF_TO = {"device", "dtype", "non_blocking", "memory_format"}


class ModuleConvert(ModuleTree):
    """The part of `Module` that changes where and how its tensors are kept."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, gradient and buffer by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for param in self._parameters.values():
                if param is not None:
                    _replace(param, fn)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, a floating point dtype, or where a tensor is.

        Called as `to(device, dtype, non_blocking)`, `to(dtype, non_blocking)` or
        `to(tensor, non_blocking)`; integer tensors keep their dtype.

        Raises: DTypeError if the dtype is neither floating point nor complex.
        """
        options = _options_of_to(*args, **kwargs)
        for_integers = {k: v for k, v in options.items() if k != "dtype"}

        def convert(tensor: Tensor) -> Tensor:
            inexact = tensor.is_floating_point() or tensor.is_complex()
            chosen = options if inexact else for_integers
            return tensor.to(**chosen) if chosen else tensor

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying: the values are arbitrary there."""
        return self._apply(lambda t: ft.empty_like(t, device=device), recurse)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self.to("cpu")

    def cuda(self, device: int | Device | None = None) -> Self:
        """Move to the CUDA device of that index, or to the current one."""
        return self.to(_of_type("cuda", device))

    def xpu(self, device: int | Device | None = None) -> Self:
        """Move to the XPU device of that index, or to the current one."""
        return self.to(_of_type("xpu", device))

    def type(self, dst_type: Any) -> Self:
        """Cast every parameter and buffer, integers too."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self) -> Self:
        """Cast floating point tensors to float32."""
        return self._cast_floats(dtypes.float32)

    def double(self) -> Self:
        """Cast floating point tensors to float64."""
        return self._cast_floats(dtypes.float64)

    def half(self) -> Self:
        """Cast floating point tensors to float16."""
        return self._cast_floats(dtypes.float16)

    def bfloat16(self) -> Self:
        """Cast floating point tensors to bfloat16."""
        return self._cast_floats(dtypes.bfloat16)

    def _cast_floats(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)


def _replace(param: Tensor, fn: Callable[[Tensor], Tensor]) -> None:
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


def _of_type(kind: str, device: int | Device | None) -> Device:
    if isinstance(device, int):
        return Device(kind, device)
    return Device(kind) if device is None else Device(device)


def _options_of_to(*args: Any, **kwargs: Any) -> dict[str, Any]:
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
