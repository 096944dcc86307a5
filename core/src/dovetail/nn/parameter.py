"""Parameters and buffers, where PyTorch's programs look for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.public import constructor
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentTypeError, AutogradError

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter",
    "clear_grad", "is_lazy",
]  # fmt: skip


class Buffer(Tensor):
    """A tensor that modules register as a buffer when it is assigned to them.

    Args:
        persistent: whether it is part of the module's `state_dict`.
    """

    __slots__ = ()
    # What is computed of it is no buffer.
    __torch_function__ = None  # type: ignore[assignment]
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        base: Any = cls
        given = ft.empty(0) if data is None else data
        if not isinstance(given, Tensor):
            raise ArgumentTypeError(
                "Buffer", "data", was=f"a {type(data).__name__}", needed="a Tensor"
            )
        made = Parameter.__new__(base, given, requires_grad=given.requires_grad)
        made.persistent = persistent
        return made

    __new__ = constructor(__new__, "Buffer")

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        """See the class."""


class _Shapeless(Tensor):
    """A tensor that has a device and a dtype, but no shape until it is materialised."""

    __slots__ = ()

    @property
    def shape(self) -> NoReturn:
        raise AutogradError(
            type(self).__name__, "shape", was="asked for before it is there",
            needed="a first call of the lazy module, or materialize(shape)",
        )  # fmt: skip

    def materialize(
        self, shape: Sequence[int], device: Any = None, dtype: Any = None
    ) -> None:
        """Become an ordinary tensor of that shape; its values are arbitrary."""
        whole: Any = Parameter if isinstance(self, Parameter) else Tensor
        kind = {"device": device or self.device, "dtype": dtype or self.dtype}
        self.__class__ = whole
        with no_grad():
            self.data = ft.empty(tuple(shape), **kind)

    def __repr__(self) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Shapeless, Parameter):
    """A parameter whose shape is not known yet; lazy modules have them."""

    __slots__ = ()

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> Any:
        data = ft.empty(0, device=device, dtype=dtype)
        return Parameter.__new__(cls, data, requires_grad)

    __new__ = constructor(__new__, "UninitializedParameter")

    def __init__(
        self, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        """See the class."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(_Shapeless):
    """A buffer whose shape is not known yet; lazy modules have them."""

    __slots__ = ()
    persistent: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        base: Any = cls
        data = ft.empty(0, device=device, dtype=dtype)
        made = Parameter.__new__(base, data, requires_grad)
        made.persistent = persistent
        return made

    __new__ = constructor(__new__, "UninitializedBuffer")

    def __init__(
        self,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> None:
        """See the class."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(False, self.device, self.dtype, self.persistent)
        return memo[id(self)]


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, _Shapeless)


def clear_grad(param: Tensor, set_to_none: bool) -> None:
    """Drop a gradient, or cut it from its graph and fill it with zeros in place."""
    grad = param.grad
    if grad is None or set_to_none:
        param.grad = None
        return
    if grad.grad_fn is not None:
        grad = param.grad = grad.detach()
    grad.requires_grad_(False).zero_()
