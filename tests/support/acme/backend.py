"""The device beside its kernels: memory, views, waiting; counted in elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.device_api import Backend, DeviceInfo, KernelTable
from dovetail.dtypes import DType

from . import kernels
from .kernels import Array, fresh

Ints = tuple[int, ...]


class AcmeBackend(Backend):
    """The devices of type `acme`."""

    type = "acme"
    array = Array
    dtypes = frozenset(kernels.ALL)
    automatic = False  # True lets the device string "auto" choose it

    def __init__(self) -> None:
        super().__init__()
        self.context.run(np.seterr, all="ignore")  # overflow is no error here

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices present; raises where the hardware or driver is absent."""
        return [DeviceInfo(0, "acme 0")]

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        """A fresh contiguous array with unspecified contents."""
        return fresh(np.empty(shape, dtype.numpy))

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> Array:
        """A fresh array with the values of `host`, never read after returning."""
        return fresh(host)

    def copy_out(self, a: Array) -> np.ndarray[Any, Any]:
        """A fresh NumPy array with the values of `a`; waits for them."""
        return a.values.copy()

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        """An array over the memory of `a`, with element strides that may be 0. `offset`
        counts elements from the first element of `a`; it is 0 where `shape` has no
        elements."""
        return Array(a.memory, shape, strides, a.offset + offset)

    def geometry(self, a: Array, root: Array) -> tuple[Ints, int]:
        """Element strides of `a`, and its first element counted from `root`'s."""
        return a.strides, a.offset - root.offset

    def fill(self, a: Array, value: complex) -> None:
        """Set every element of `a`, in any layout, to a Python number."""
        with np.errstate(all="ignore"):
            a.values[...] = value

    def copy(self, target: Array, source: Array) -> None:
        """Move the bits of `source` (same shape, dtype, device) into `target`. Where
        the two overlap, as if `source` had been copied first."""
        target.values[...] = source.values.copy()

    def synchronize(self, index: int) -> None:
        """Wait for all work on device `index`, and raise its errors."""
        # a kernel has finished when it returns

    def kernels(self, table: KernelTable) -> None:
        """Add the kernels of level 0 to the table."""
        for dtypes, functions in kernels.TABLE:
            for function in functions:
                table.add(function.__name__, function, dtypes=dtypes)
