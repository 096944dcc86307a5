"""Memory that tensors share with NumPy and with buffers of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import dtypes
from dovetail.device_api import HostMemory, registry
from dovetail.dtypes import FLOAT8, DType
from dovetail.engine.kinds import kind_on
from dovetail.engine.level_hooks import value_at
from dovetail.engine.modes import is_grad_enabled
from dovetail.engine.public import public
from dovetail.engine.scopes import anywhere, outside, tell
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.engine.writable import is_expanded
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DTypeError,
)


@public("torch.from_numpy", asks=False)
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A CPU tensor over the memory of a NumPy array: writes show in both.

    Args:
        ndarray: of a dtype that tensors have; one that is read-only makes a tensor that
            refuses to be written.

    Raises: ArgumentTypeError for another object, ArgumentError for negative strides.

    Examples:
        >>> import numpy as np
        >>> import dovetail as torch
        >>> array = np.array([1.0, 2.0], dtype=np.float32)
        >>> torch.from_numpy(array).mul_(3)
        tensor([3., 6.])
        >>> array
        array([3., 6.], dtype=float32)
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentTypeError(
            "from_numpy", "ndarray", was=f"a {type(ndarray).__name__}",
            needed="a numpy.ndarray", remedy="use dovetail.tensor for other data",
        )  # fmt: skip
    if min(ndarray.strides, default=0) < 0:
        raise ArgumentError(
            "from_numpy", "strides", was=f"negative: {ndarray.strides}",
            needed="positive strides", remedy="pass array.copy()",
        )  # fmt: skip
    dtype = dtypes.from_numpy(ndarray.dtype)
    cpu = registry.load("cpu")
    memory = cpu.capability(HostMemory)
    assert memory is not None
    outside("from_numpy")
    made = wrap(memory.adopt(ndarray), kind_on(cpu, 0, dtype))
    storage = storage_of(made)  # the caller sees this memory
    if not ndarray.flags.writeable:
        storage.readonly = "over a NumPy array that is read-only"
    elif is_expanded(made):
        storage.readonly = "over an array of which several elements are at one place"
    return made


@public("Tensor.numpy")
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """The values as a NumPy array that shares memory with a CPU tensor.

    Args:
        force: detach it and copy it to the host first.

    Raises: AutogradError if it requires gradients while these are recorded, DTypeError
        if it lies on a device.

    Examples:
        >>> import dovetail as torch
        >>> torch.tensor([[1, 2], [3, 4]]).numpy().sum(axis=0)
        array([4, 6])
    """
    if force:
        self = self.detach().cpu()
    if self.requires_grad and is_grad_enabled():
        raise AutogradError(
            "numpy", "tensor", was="one that requires grad", needed="one that does not",
            remedy="use tensor.detach().numpy()",
        )  # fmt: skip
    if self._kind.dtype in FLOAT8:
        raise DTypeError(
            "numpy", "tensor", was=self._kind.dtype.name,
            needed="a dtype that NumPy has",
            remedy="use .float().numpy(), or .view(dovetail.uint8).numpy()",
        )  # fmt: skip
    memory = self._kind.backend.capability(HostMemory)
    if memory is None:
        value = value_at(self, None)
        if value is not self:
            return numpy(value)
        raise DTypeError(
            "numpy", "device", was=self._kind.device, needed="the host's memory",
            remedy="use tensor.cpu().numpy()",
        )  # fmt: skip
    if anywhere[0]:
        tell("read", self, "numpy")
    storage_of(self)  # the caller sees this memory from now on
    return memory.expose(self._a)


@public("torch.frombuffer")
def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A one-dimensional CPU tensor over the memory of a writable buffer.

    Args:
        count: elements, -1 for all that are there.
        offset: bytes to skip.
    """
    try:
        view = memoryview(buffer)
    except TypeError as error:
        raise ArgumentTypeError(
            "frombuffer", "buffer", was=f"a {type(buffer).__name__}",
            needed="an object with the buffer protocol",
        ) from error  # fmt: skip
    if view.readonly:
        raise ArgumentError(
            "frombuffer", "buffer", was="read-only", needed="one that may be written",
            remedy="pass a bytearray, or tensor(list(buffer))",
        )  # fmt: skip
    left = view.nbytes - offset
    if offset < 0 or left <= 0 or (count < 0 and left % dtype.itemsize) or (
        count * dtype.itemsize > left
    ) or count == 0:  # fmt: skip
        raise ArgumentError(
            "frombuffer", "buffer", was=f"{view.nbytes} bytes, from {offset} on",
            needed=f"{'whole' if count < 0 else count} {dtype.name} elements",
        )  # fmt: skip
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    made = from_numpy(array)
    made.requires_grad = requires_grad
    return made
