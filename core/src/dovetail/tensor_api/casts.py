"""Tensors in another dtype, on another device, or read under another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.device_api import HostMemory
from dovetail.dtypes import DType, as_dtype
from dovetail.engine.annotations import described
from dovetail.engine.kinds import Kind, kind_of
from dovetail.engine.public import public
from dovetail.engine.scopes import outside
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, extend, wrap
from dovetail.errors import (
    ArgumentTypeError,
    NotSupported,
    ShapeError,
)
from dovetail.frontend import memory_order
from dovetail.frontend.create import _moved
from dovetail.frontend.memory_order import MemoryFormat
from dovetail.memory_formats import preserve_format
from dovetail.ops import view as v


@public("Tensor.to")
def to(
    self: Tensor, *args: Any, copy: bool = False, non_blocking: bool = False, **kw: Any
) -> Tensor:
    """This tensor in another dtype, on another device, or like another tensor.

    Args:
        non_blocking: let the host go on while values travel, where the host's memory is
            pinned (that of a result on the CPU is). Wait for the device before this
            tensor is written, and before a result on the CPU is read.

    Returns: itself where nothing changes.

    Raises: DeviceError for a device that is not there.

    Examples:
        >>> import dovetail as torch
        >>> torch.tensor([1.5, -2.5]).to(torch.int64)
        tensor([ 1, -2])
        >>> torch.ones(2).to("cpu", torch.float64)
        tensor([1., 1.], dtype=dovetail.float64)
    """
    if len(args) == 1 and not (kw or copy or non_blocking):  # most calls
        kind = _kind_of(self, args[0])
        if kind is not None:
            return _moved(self, kind)
    dtype, device = kw.pop("dtype", None), kw.pop("device", None)
    lying = kw.pop("memory_format", None)
    if kw:
        raise ArgumentTypeError(
            "to", next(iter(kw)), was="unknown", needed="dtype, device or memory_format"
        )
    if args:
        dtype, device, goes_on, copies = _positional(args, dtype, device)
        copy, non_blocking = copy or copies, non_blocking or goes_on
    dtype = None if dtype is None else as_dtype(dtype, "to")
    target = (
        self._kind
        if device is None
        else kind_of(device, self._kind.dtype if dtype is None else dtype)
    )
    wait = not non_blocking or lying not in (None, preserve_format)
    moved = _moved(self, target.with_dtype(dtype or self._kind.dtype), wait)
    if lying is not None and not isinstance(lying, MemoryFormat):
        raise _not_to(lying, "a memory format such as dovetail.channels_last")
    if copy and moved is self:
        return memory_order.copied("to", moved, lying)
    if lying is None or lying is preserve_format:
        return moved
    if lying is memory_order.suggested(moved):
        return moved
    return memory_order.copied("to", moved, lying)


def _kind_of(x: Tensor, wanted: Any) -> Kind | None:
    """What a dtype, a device or a tensor makes of a tensor's kind; None for others."""
    if type(wanted) is DType:
        return x._kind.with_dtype(wanted)
    if isinstance(wanted, Tensor):
        return kind_of(wanted._kind.device, wanted._kind.dtype)
    if isinstance(wanted, str | Device):
        return kind_of(wanted, x._kind.dtype)
    return None


def _positional(
    args: tuple[Any, ...], dtype: Any, device: Any
) -> tuple[Any, Any, bool, bool]:
    """What `to` is given by position: a dtype, a device, `non_blocking`, `copy`."""
    first, *flags = args
    if isinstance(first, Tensor):
        dtype, device = first.dtype, first.device
    elif isinstance(first, DType | type):
        dtype = first
    elif first is None or isinstance(first, str | Device):
        device = device if first is None else first
        if flags and (flags[0] is None or isinstance(flags[0], DType | type)):
            dtype = flags.pop(0)
        elif flags:
            raise _not_to(flags[0], "a dtype after a device")
    else:
        raise _not_to(first, "a dtype, a device or a tensor")
    if len(flags) > 2 or not all(isinstance(f, bool) for f in flags):
        raise _not_to(flags, "non_blocking and copy, True or False, after these")
    return dtype, device, flags[:1] == [True], flags[1:] == [True]


def _not_to(given: Any, needed: str) -> ArgumentTypeError:
    return ArgumentTypeError("to", "argument", was=described(given), needed=needed)


@public("Tensor.cpu")
def cpu(self: Tensor) -> Tensor:
    """This tensor on the CPU."""
    return to(self, "cpu")


@public("Tensor.type_as")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype and on the device of another."""
    return _moved(self, kind_of(other._kind.device, other._kind.dtype))


def caster(name: str, dtype: DType) -> Any:
    def cast(self: Tensor, *, memory_format: MemoryFormat = preserve_format) -> Tensor:
        made = _moved(self, self._kind.with_dtype(dtype))
        if memory_format is preserve_format:
            return made
        if memory_order.lies_in(made, memory_order.checked(name, memory_format)):
            return made
        return memory_order.copied(name, made, memory_format)

    cast.__name__ = cast.__qualname__ = name  # which Python's own errors show
    cast.__doc__ = f"This tensor as {dtype.name}; itself if it is."
    return cast


for _name, _dtype in {
    **dtypes.ALIASES,
    "bool": dtypes.bool_,
    "bfloat16": dtypes.bfloat16,
}.items():
    extend(**{_name: caster(_name, _dtype)})


@public("Tensor.view*", plain=v.view)
def view(
    self: Tensor, size: int | Sequence[int] | DType | None = None, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The same elements under another shape or dtype; never copies.

    Under another dtype, they have no gradient, whatever the tensor has.

    Args:
        size: the shape, one size of which may be -1; a dtype may stand here too.

    Raises:
        ShapeError: the strides do not allow it without a copy.
        ArgumentTypeError: neither a shape nor a dtype is given, or both are.

    >>> torch.arange(6).view(2, -1).shape
    dovetail.Size([2, 3])
    """
    asked = size if isinstance(size, DType | type) else dtype
    if dtype is not None and size is not None:
        raise ArgumentTypeError(
            "view", "size", was="given beside dtype", needed="one of them"
        )
    if asked is not None:
        return _reinterpreted(self, as_dtype(asked, "view"))
    if size is None:
        raise ArgumentTypeError(
            "view", "call", was="without sizes or a dtype", needed="one of them"
        )
    return v.view(self, size)


def _reinterpreted(x: Tensor, dtype: DType) -> Tensor:
    """The memory of `x` read as another dtype, outside the graph, as in torch."""
    if dtype is x.dtype:
        return v.view(x, tuple(x._a.shape))
    kind = x._kind
    memory = kind.backend.capability(HostMemory)
    if memory is None:
        raise NotSupported(
            "view", "dtype", was=f"{dtype.name} of a {x.dtype.name} tensor on "
            f"{kind.device}", needed="the memory of the host",
            remedy="copy it with .to(dtype)",
        )  # fmt: skip
    if not _reads_as(x, dtype):
        raise ShapeError(
            "view", "tensor", was=f"of shape {tuple(x.shape)}, strides {x.stride()}",
            needed=f"a last dim of neighbours that are whole {dtype.name} elements, "
            "which start on such ones", remedy="take contiguous() first, or .to(dtype)",
        )  # fmt: skip
    native = memory.expose(x._a).view(dtype.numpy)
    outside("view as another dtype")
    made = wrap(memory.adopt(native), kind.with_dtype(dtype))
    made._storage = storage_of(x)
    return made


def _reads_as(x: Tensor, dtype: DType) -> bool:
    """Whether elements of another size lie where those of `x` do, as torch asks."""
    old, new = x._kind.dtype.itemsize, dtype.itemsize
    if old == new:
        return True
    sizes = tuple(x._a.shape)
    strides, offset = x._kind.backend.geometry(x._a, storage_of(x).root)
    nearest = (0, 1) if sizes[-1:] == (1,) else (1,)  # 0 for a dim that was put in
    if not sizes or strides[-1] not in nearest:
        return False
    whole = (sizes[-1], offset, *strides[:-1])
    return old > new or not any(n % (new // old) for n in whole)
