"""A device whose arrays are CuPy's in everything but where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.device_api import DeviceInfo, KernelTable
from dovetail.device_api.numpy_arrays import NumpyArrays
from dovetail.dtypes import DType
from dovetail_cupy import shared_kernels
from dovetail_strict.array import StrictArray, lift
from dovetail_strict.library import Library
from dovetail_strict.waits import watched

Ints = tuple[int, ...]


class StrictBackend(NumpyArrays):
    """NumPy's memory, arrays without its manners, and the kernels of CuPy devices."""

    type = "strict"
    array = StrictArray  # type: ignore[assignment]
    dtypes = shared_kernels.DTYPES
    automatic = False  # nobody wants it for its speed

    def devices(self) -> Sequence[DeviceInfo]:
        return [DeviceInfo(0, "NumPy with CuPy's restrictions")]

    def empty(self, shape: Ints, dtype: DType, index: int) -> Any:
        return lift(super().empty(shape, dtype, index))

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> Any:
        return lift(super().copy_in(host, index))

    def copy_out(self, a: Any) -> np.ndarray[Any, Any]:
        return super().copy_out(a.numpy)

    def view(self, a: Any, shape: Ints, strides: Ints, offset: int) -> Any:
        return lift(super().view(a.numpy, shape, strides, offset))

    def geometry(self, a: Any, root: Any) -> tuple[Ints, int]:
        return super().geometry(a.numpy, a.numpy if a is root else root.numpy)

    def fill(self, a: Any, value: complex) -> None:
        super().fill(a.numpy, value)

    def copy(self, target: Any, source: Any) -> None:
        super().copy(target.numpy, source.numpy)

    def protect(self, a: Any) -> None:
        super().protect(a.numpy)

    def lift(self, result: Any) -> Any:
        """Nothing is: CuPy's kernels return arrays."""
        return super(NumpyArrays, self).lift(result)

    def kernels(self, table: KernelTable) -> None:
        plain = KernelTable(self.type)
        shared_kernels.install(plain, Library())
        for op in plain.names():
            for kernel in map(watched, plain.rivals(op)):
                shared_kernels.add_again(table, kernel)
