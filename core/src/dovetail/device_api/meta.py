"""The meta device: arrays with a shape and no data; ops run their rules alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import dtypes
from dovetail.device_api.contract import Backend, DeviceInfo, Ints
from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import DType
from dovetail.errors import NotSupported, OutOfMemory


def contiguous_strides(shape: Ints) -> Ints:
    """Row-major element strides of `shape`."""
    strides, step = [0] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


class MetaArray:
    """Shape, element strides and offset of an array that holds no data."""

    __slots__ = ("dtype", "offset", "shape", "strides")

    def __init__(self, shape: Ints, dtype: DType, strides: Ints, offset: int = 0):
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self.offset = offset

    @property
    def ndim(self) -> int:
        return len(self.shape)


class MetaBackend(Backend):
    """Shapes and dtypes without memory or arithmetic."""

    type = "meta"
    array = MetaArray
    dtypes = dtypes.STORED
    rules_only = True

    def devices(self) -> Sequence[DeviceInfo]:
        return (DeviceInfo(0, "shapes and dtypes only", 0),)

    def empty(self, shape: Ints, dtype: DType, index: int) -> MetaArray:
        if math.prod(shape) * dtype.itemsize >= 1 << 63:
            raise OutOfMemory(
                "empty", "size", was=f"{shape} of {dtype.name}",
                needed="bytes that 64 bits count",
            )  # fmt: skip
        return MetaArray(shape, dtype, contiguous_strides(shape))

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> MetaArray:
        return self.empty(host.shape, dtypes.from_numpy(host.dtype), index)

    def copy_out(self, a: MetaArray) -> np.ndarray[Any, Any]:
        raise NotSupported(
            "copy_out", "device", was="meta, which holds no data",
            needed="a device with data", remedy="make the tensor on another device",
        )  # fmt: skip

    def view(self, a: MetaArray, shape: Ints, strides: Ints, offset: int) -> MetaArray:
        return MetaArray(shape, a.dtype, strides, a.offset + offset)

    def geometry(self, a: MetaArray, root: MetaArray) -> tuple[Ints, int]:
        return a.strides, a.offset - root.offset

    def fill(self, a: MetaArray, value: complex) -> None:
        """Nothing: there is no data."""

    def copy(self, target: MetaArray, source: MetaArray) -> None:
        """Nothing: there is no data."""

    def synchronize(self, index: int) -> None:
        """Nothing: there is no work."""

    def kernels(self, table: KernelTable) -> None:
        """None: rules run instead."""
