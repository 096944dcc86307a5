"""Names that torch itself has taken leave of, and what strided tensors have of others.

A removed function raises what torch raises; what asks about other kinds of tensors has
its answer for strided ones.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from dovetail.device import device as Device
from dovetail.dtypes import DType
from dovetail.engine.casts import own_order
from dovetail.engine.public import public
from dovetail.engine.tape import Output
from dovetail.engine.tape_of_views import edge_of
from dovetail.engine.tensor import Tensor, extend
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    NotSupported,
    ShapeError,
)
from dovetail.frontend import memory_order
from dovetail.frontend.create import tensor
from dovetail.frontend.tensor_call import named, of_data
from dovetail.memory_formats import memory_format as MemoryFormat
from dovetail.memory_formats import strided
from dovetail.tensor_api.conversions import mover

# ---- what torch has removed, and what took its place


def _removed(name: str, instead: str) -> NotSupported:
    return NotSupported(
        name, was="removed, as it is from torch, where this function was deprecated "
        "since version 1.9 and is now removed", needed=f"dovetail.linalg.{instead}",
    )  # fmt: skip


@public("Tensor.eig")
def eig(self: Tensor, eigenvectors: bool = False) -> None:
    """Removed, as from torch: see `dovetail.linalg.eig`."""
    raise _removed("eig", "eig")


@public("Tensor.symeig")
def symeig(self: Tensor, eigenvectors: bool = False) -> None:
    """Removed, as from torch: see `dovetail.linalg.eigh`."""
    raise _removed("symeig", "eigh")


@public("Tensor.lstsq")
def lstsq(self: Tensor, other: Tensor) -> None:
    """Removed, as from torch: see `dovetail.linalg.lstsq`."""
    raise _removed("lstsq", "lstsq")


@public("Tensor.solve")
def solve(self: Tensor, other: Tensor) -> None:
    """Removed, as from torch: see `dovetail.linalg.solve`."""
    raise _removed("solve", "solve")


@public("Tensor.reinforce")
def reinforce(self: Tensor, reward: Any) -> None:
    """Removed, as from torch: sample by `log_prob` of a distribution instead."""
    raise NotSupported(
        "reinforce", was="removed, as it is from torch",
        needed="the log_prob of what was drawn, times the reward",
    )  # fmt: skip


@public("Tensor.resize")
def resize(self: Tensor, *sizes: int) -> Tensor:
    """`reshape` under its older name, for as many elements; one number a dim."""
    if not sizes:
        raise ArgumentTypeError("resize", "sizes", was="missing", needed="a shape")
    if min(sizes) < 0:
        raise ShapeError("resize", "sizes", was=sizes, needed="0 or more each")
    warnings.warn("non-inplace resize is deprecated", stacklevel=3)
    return self.reshape(sizes)


@public("Tensor.resize_as")
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`reshape` to the shape of another, under its older name."""
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=3)
    return self.reshape(tensor.shape)


@public("Tensor.new")
def new(self: Tensor, *args: Any, device: Any = None, **by_name: Any) -> Tensor:
    """Sizes, or data, as a tensor of this dtype on this device, as `Tensor(…)` does."""
    args = named("new", args, by_name)
    where = self.device if device is None else Device(device)
    if where.type != self.device.type:
        raise DeviceError(
            "new", "device", was=repr(str(where)),
            needed=f"one of the type {self.device.type}", remedy="use .to(device)",
        )  # fmt: skip
    if device is not None and len(args) == 1 and isinstance(args[0], Tensor):
        raise ArgumentTypeError(
            "new", "device", was="given beside a tensor", needed="none",
            remedy="use dovetail.as_tensor(…, device=…)",
        )  # fmt: skip
    return of_data("new", args, self.dtype, where)


def _volatile(self: Tensor) -> bool:
    """False, as in torch since it was removed."""
    warnings.warn("volatile was removed (it is always False)", stacklevel=2)
    return False


def _long(self: Tensor) -> int:
    return int(self)


def _nonzero(self: Tensor) -> bool:
    return bool(self)


def _delitem(self: Tensor, index: Any) -> None:
    """Refused: a tensor keeps its elements."""
    raise ArgumentTypeError(
        "del", "tensor", was="asked to lose elements", needed="a tensor of others",
        remedy="Tensor does not support deleting items; index those to keep",
    )  # fmt: skip


def _division(name: str) -> Callable[[Tensor, Any], Any]:
    return lambda self, other: getattr(self, name)(other)


# ---- sparse layouts that are not there


def _of_columns(name: str) -> Callable[[Tensor], Any]:
    def refuse(self: Tensor) -> Any:
        raise NotSupported(
            name, "tensor", was=f"of the layout {self.layout}",
            needed=f"a matrix by columns, which dovetail does not have: {name} "
            "expected sparse column compressed tensor layout",
        )  # fmt: skip

    refuse.__name__ = name
    refuse.__doc__ = "Of matrices by columns only, which dovetail does not have."
    return refuse


for _name in ("ccol_indices", "row_indices"):
    setattr(Tensor, _name, _of_columns(_name))


# ---- facts


def _layout(self: Tensor) -> Any:
    """How elements are stored: all of them, by strides."""
    return strided


def _is_other(what: str) -> property:
    def is_there(self: Tensor) -> bool:
        return False

    return property(is_there, doc=f"False: no tensor is {what}.")


for _name, _what in {
    "is_sparse": "sparse", "is_sparse_csr": "sparse", "is_quantized": "quantized",
    "is_mkldnn": "in a layout of oneDNN's own", "is_nested": "nested",
    "is_ipu": "on a device of the type ipu", "is_maia": "on a device of the type maia",
    "is_mtia": "on a device of the type mtia", "is_mps": "on a device of the type mps",
    "is_vulkan": "on a device of the type vulkan",
    "is_xla": "on a device of the type xla",
}.items():  # fmt: skip
    setattr(Tensor, _name, _is_other(_what))


@public("torch.is_inference Tensor.is_inference")
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in `inference_mode`, or looks into one that was."""
    memory = input._storage
    found: bool = input._inference if memory is None else memory.inference
    return found


def _output_nr(self: Tensor) -> int:
    """Which of its op's results this tensor is."""
    node = self._node
    edge = None if node is None else edge_of(node)
    return edge.index if type(edge) is Output else 0


def _name_of(self: Tensor) -> None:
    """None: tensors have no names."""
    return


def _grad_dtype(self: Tensor) -> DType | None:
    """The dtype of gradients: this tensor's."""
    return self.dtype


def _set_grad_dtype(self: Tensor, value: DType | None) -> None:
    if value is not self.dtype:
        raise NotSupported(
            "grad_dtype", "value", was=value, needed=f"{self.dtype}, as the tensor has"
        )


def _cuda_interface(self: Tensor) -> Any:
    """Not there: memory of devices is shared by DLPack."""
    raise AttributeError(
        "__cuda_array_interface__ is not there; memory of devices is shared by "
        "__dlpack__, as by cupy.from_dlpack(tensor)"
    )


@public("torch.is_distributed Tensor.is_distributed")
def is_distributed(input: Tensor) -> bool:
    """False: a tensor lies on one device."""
    return False


@public("torch.get_device")
def get_device(input: Tensor) -> int:
    """The index of the device, -1 where it has none, as on the CPU."""
    found: int = input.get_device()
    return found


@public("Tensor.dim_order")
def dim_order(
    self: Tensor, *, ambiguity_check: bool | list[MemoryFormat] = False
) -> tuple[int, ...]:
    """The dims from the outermost in memory to the innermost.

    Args:
        ambiguity_check: refuse a tensor whose dims may be said to lie in several
            orders, unless it lies in exactly one of these memory formats.
    """
    given: Any = ambiguity_check
    formats = given if isinstance(given, list) else []
    known = isinstance(given, bool | list)
    if not known or not all(isinstance(f, MemoryFormat) for f in formats):
        raise ArgumentTypeError(
            "dim_order", "ambiguity_check", was=repr(ambiguity_check),
            needed="a bool or a list of memory formats",
        )  # fmt: skip
    strides = self.stride()
    several = 1 in self.shape or 0 in strides or len(set(strides)) < len(strides)
    fitting = sum(memory_order.lies_in(self, f) for f in formats)
    if ambiguity_check is not False and several and fitting != 1:
        raise ArgumentError(
            "dim_order", "tensor", was=f"of shape {tuple(self.shape)} and strides "
            f"{strides}", needed="one that has a unique dim order, or lies in "
            "exactly one of the given memory formats",
        )  # fmt: skip
    return own_order(self)


@public("Tensor.module_load")
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What a module keeps of `other` in this tensor's place: its values, or it."""
    if assign:
        return other.detach()
    if math.prod(other._a.shape) > math.prod(self._a.shape):
        raise ShapeError(
            "module_load", "other", was=f"of shape {tuple(other.shape)}",
            needed=f"{tuple(self.shape)}",
        )  # fmt: skip
    return self.copy_(other).detach()


def _array_wrap(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """A tensor over what a function of NumPy made of this one."""
    return tensor(array)


extend(
    ipu=mover("ipu"), mtia=mover("mtia"), layout=property(_layout),
    output_nr=property(_output_nr), name=property(_name_of),
    grad_dtype=property(_grad_dtype, _set_grad_dtype), volatile=property(_volatile),
    __cuda_array_interface__=property(_cuda_interface), __long__=_long,
    __nonzero__=_nonzero, __delitem__=_delitem, __array_wrap__=_array_wrap,
    __div__=_division("__truediv__"), __idiv__=_division("__itruediv__"),
)  # fmt: skip
