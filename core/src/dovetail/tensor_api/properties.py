"""Tensor's properties: shape, strides, memory, device."""

from __future__ import annotations

import math
from typing import Any

from dovetail.device_api import HostMemory
from dovetail.engine.integers import axis
from dovetail.engine.level_hooks import written_later
from dovetail.engine.public import public
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, extend
from dovetail.errors import (
    ArgumentError,
    DimError,
    NotSupported,
)
from dovetail.frontend import memory_order
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
    made = memory_order.copied("clone", input, memory_format)
    return written_later[0](made) if written_later else made


def _is_cpu(self: Tensor) -> bool:
    """Whether the tensor is on the CPU."""
    return self._kind.backend.type == "cpu"


def _is_meta(self: Tensor) -> bool:
    """Whether the tensor has a shape and a dtype, and no values."""
    return self._kind.backend.rules_only


extend(
    is_cpu=property(_is_cpu), is_meta=property(_is_meta),
    itemsize=property(element_size),
    # What tells one tensor from another, as in PyTorch.
    _cdata=property(id),
)  # fmt: skip
