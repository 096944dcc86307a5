"""Tensor's properties and conversions: shape, strides, dtype, device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.device_api import HostMemory
from dovetail.dtypes import DType, as_dtype
from dovetail.engine.annotations import described
from dovetail.engine.integers import axis
from dovetail.engine.kinds import kind_of
from dovetail.engine.public import public
from dovetail.engine.scopes import outside
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, extend, wrap
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DimError,
    NotSupported,
    ShapeError,
)
from dovetail.frontend import memory_order
from dovetail.frontend.create import _moved
from dovetail.frontend.memory_order import MemoryFormat
from dovetail.memory_formats import contiguous_format, preserve_format
from dovetail.ops import view as v


def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dim.

    Raises: DimError for a dim that is not there.

    >>> torch.ones(2, 3).size(), torch.ones(2, 3).size(1)
    (dovetail.Size([2, 3]), 3)
    """
    return self.shape if dim is None else _of_dim("size", self, self.shape, dim)


def _of_dim(name: str, x: Tensor, values: Any, dim: Any) -> Any:
    """What a tuple has for one dim."""
    if type(dim) is int and -len(values) <= dim < len(values):
        return values[dim]
    number = axis(name, "dim", dim, x.ndim)
    if not x.ndim:
        raise DimError(name, "dim", was=dim, needed="none: the tensor is 0-d")
    return values[number]


def dim(self: Tensor) -> int:
    """The number of dims."""
    return self.ndim


extend(size=size, dim=dim, ndimension=dim)  # often called: without more ado


@public("numel")
def numel(input: Tensor) -> int:
    """The number of elements."""
    return math.prod(input._a.shape)


extend(nelement=numel)


@public("Tensor.stride")
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Element strides, or that of one dim."""
    strides, _ = self._kind.backend.geometry(self._a, self._a)
    return strides if dim is None else _of_dim("stride", self, strides, dim)


@public("Tensor.storage_offset")
def storage_offset(self: Tensor) -> int:
    """Where the first element lies in the storage, in elements."""
    return self._kind.backend.geometry(self._a, storage_of(self).root)[1]


@public("Tensor.is_contiguous")
def is_contiguous(
    self: Tensor, memory_format: MemoryFormat = contiguous_format
) -> bool:
    """Whether the elements lie in row-major order, or as a memory format says."""
    return memory_order.lies_in(self, memory_format)


@public("Tensor.contiguous")
def contiguous(self: Tensor, memory_format: MemoryFormat = contiguous_format) -> Tensor:
    """This tensor if it is contiguous, else a copy.

    Returns: row-major strides, or those of another memory format.

    Raises: ArgumentError for a format that is not for so many dims.

    >>> torch.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    preserves = memory_format is preserve_format and v.is_contiguous(self)
    if memory_format is contiguous_format or preserves:
        return v.contiguous(self)
    if memory_format is preserve_format:
        raise ArgumentError(
            "contiguous", "memory_format", was=memory_format, needed="one that says "
            "an order: preserve memory format is unsupported by the contiguous operator"
        )  # fmt: skip
    if memory_order.lies_in(self, memory_format):
        return self
    return memory_order.copied("contiguous", self, memory_format)


@public("Tensor.data_ptr")
def data_ptr(self: Tensor) -> int:
    """The address of the first element, in bytes."""
    memory = self._kind.backend.capability(HostMemory)
    if memory is None:
        raise NotSupported(
            "data_ptr", "device", was=self._kind.device, needed="one with addresses"
        )
    storage_of(self)
    return memory.address(self._a)


@public("Tensor.element_size")
def element_size(self: Tensor) -> int:
    """Bytes an element."""
    return self._kind.dtype.itemsize


@public("clone")
def clone(
    input: Tensor, *, memory_format: MemoryFormat | None = preserve_format
) -> Tensor:
    """A copy in memory of its own.

    Args:
        memory_format: how it lies there; by default the dims keep their order.

    Returns: the same values, dtype and device; gradients go through it.

    Raises: ArgumentError for a format that is not for so many dims.

    >>> x = torch.zeros(2)
    >>> y = x.clone().fill_(1)
    >>> x
    tensor([0., 0.])
    """
    return memory_order.copied("clone", input, memory_format)


@public("Tensor.to")
def to(
    self: Tensor, *args: Any, copy: bool = False, non_blocking: bool = False, **kw: Any
) -> Tensor:
    """This tensor in another dtype, on another device, or like another tensor.

    Returns: itself where nothing changes.

    Raises: DeviceError for a device that is not there.

    Examples:
        >>> import dovetail as torch
        >>> torch.tensor([1.5, -2.5]).to(torch.int64)
        tensor([ 1, -2])
        >>> torch.ones(2).to("cpu", torch.float64)
        tensor([1., 1.], dtype=dovetail.float64)
    """
    dtype, device = kw.pop("dtype", None), kw.pop("device", None)
    lying = kw.pop("memory_format", None)
    if kw:
        raise ArgumentTypeError(
            "to", next(iter(kw)), was="unknown", needed="dtype, device or memory_format"
        )
    if args:
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
        copy = copy or flags[1:] == [True]
    dtype = None if dtype is None else as_dtype(dtype, "to")
    target = (
        self._kind
        if device is None
        else kind_of(device, self._kind.dtype if dtype is None else dtype)
    )
    moved = _moved(self, target.with_dtype(dtype or self._kind.dtype))
    if lying is not None and not isinstance(lying, MemoryFormat):
        raise _not_to(lying, "a memory format such as dovetail.channels_last")
    if copy and moved is self:
        return memory_order.copied("to", moved, lying)
    if lying is None or lying is preserve_format:
        return moved
    if lying is memory_order.suggested(moved):
        return moved
    return memory_order.copied("to", moved, lying)


def _not_to(given: Any, needed: str) -> ArgumentTypeError:
    return ArgumentTypeError("to", "argument", was=described(given), needed=needed)


@public("Tensor.cpu")
def cpu(self: Tensor) -> Tensor:
    """This tensor on the CPU."""
    return to(self, "cpu")


@public("Tensor.type_as")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype and on the device of another."""
    return to(self, other)


def _caster(name: str, dtype: DType) -> Any:
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
    setattr(Tensor, _name, _caster(_name, _dtype))


@public("Tensor.view*", plain=v.view)
def view(
    self: Tensor, size: int | Sequence[int] | DType = (), *, dtype: DType | None = None
) -> Tensor:
    """The same elements under another shape or dtype; never copies.

    Args:
        size: the shape, one size of which may be -1; a dtype may stand here too.

    Raises:
        ShapeError: the strides do not allow it without a copy.

    >>> torch.arange(6).view(2, -1).shape
    dovetail.Size([2, 3])
    """
    asked = size if isinstance(size, DType | type) else dtype
    if dtype is not None and not (isinstance(size, tuple) and size == ()):
        raise ArgumentTypeError(
            "view", "size", was="given beside dtype", needed="one of them"
        )
    if asked is not None:
        return _reinterpreted(self, as_dtype(asked, "view"))
    return v.view(self, size)


def _reinterpreted(x: Tensor, dtype: DType) -> Tensor:
    """The memory of `x` read as another dtype, outside the graph."""
    if dtype is x.dtype:
        return v.view(x, tuple(x._a.shape))
    kind = x._kind
    memory = kind.backend.capability(HostMemory)
    if memory is None or x.requires_grad:
        raise NotSupported(
            "view", "dtype",
            was=f"{dtype.name} of a {x.dtype.name} tensor on {kind.device}"
            f"{' that requires grad' if x.requires_grad else ''}",
            needed="the host's memory, outside the graph",
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


def _is_cpu(self: Tensor) -> bool:
    """Whether the tensor is on the CPU."""
    return self._kind.backend.type == "cpu"


def _is_meta(self: Tensor) -> bool:
    """Whether the tensor has a shape and a dtype, and no values."""
    return self._kind.backend.rules_only


extend(
    is_cpu=property(_is_cpu), is_meta=property(_is_meta),
    itemsize=property(element_size),
)  # fmt: skip
