"""What dovetail asks of a backend: devices, memory, views, and a table of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.device_api import Backend, DeviceInfo, KernelTable, Pool
from dovetail.dtypes import DType, from_numpy
from dovetail_fake import kernels
from dovetail_fake.memory import Device, FakeArray, Ints


class FakeBackend(Backend, Pool):
    """Two devices whose arrays are no NumPy arrays; `Pool` counts their memory."""

    type = "fake"
    array = FakeArray
    dtypes = kernels.ALL
    automatic = False  # nobody wants it for its speed

    def __init__(self) -> None:
        super().__init__()
        self._devices = (Device(0), Device(1))
        # Kernels run in this context: what NumPy would warn of is no error here.
        self.context.run(np.seterr, all="ignore")

    def devices(self) -> Sequence[DeviceInfo]:
        return [DeviceInfo(d.index, f"Fake {d.index}") for d in self._devices]

    def empty(self, shape: Ints, dtype: DType, index: int) -> FakeArray:
        return FakeArray.empty(self._devices[index], dtype, shape)

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> FakeArray:
        fresh = self.empty(host.shape, from_numpy(host.dtype), index)
        fresh.elements()[...] = host
        return fresh

    def copy_out(self, a: FakeArray) -> np.ndarray[Any, Any]:
        return a.elements().copy()

    def view(self, a: FakeArray, shape: Ints, strides: Ints, offset: int) -> FakeArray:
        return FakeArray(a.block, a.dtype, shape, strides, a.offset + offset)

    def geometry(self, a: FakeArray, root: FakeArray) -> tuple[Ints, int]:
        return a.strides, a.offset - root.offset

    def fill(self, a: FakeArray, value: complex) -> None:
        with np.errstate(all="ignore"):
            a.elements()[...] = value

    def copy(self, target: FakeArray, source: FakeArray) -> None:
        target.elements()[...] = source.elements().copy()

    def synchronize(self, index: int) -> None:
        """Nothing: a kernel has finished when it returns."""

    def kernels(self, table: KernelTable) -> None:
        kernels.install(table, self._devices)

    def live_bytes(self, index: int) -> int:
        return self._devices[index].live_bytes

    def peak_bytes(self, index: int) -> int:
        return self._devices[index].peak_bytes
