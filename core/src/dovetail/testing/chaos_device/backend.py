"""The chaos device: another device that uses every right a device has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail import dtypes
from dovetail.device_api.capabilities import CallersContext, Pool
from dovetail.device_api.contract import Backend, DeviceInfo, Ints
from dovetail.device_api.graphs import refuse_to_wait
from dovetail.device_api.host_copies import PinnedBlock, PinnedMemory
from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import DType
from dovetail.engine.kinds import forget_scalars
from dovetail.errors import DeviceError, OutOfMemory
from dovetail.testing.chaos_device.graphs import give
from dovetail.testing.chaos_device.kernels import ChaosTable
from dovetail.testing.chaos_device.memory import Cell, ChaosArray, Owner
from dovetail.testing.chaos_device.settings import current
from dovetail.testing.chaos_device.streams import ChaosStreams
from dovetail.testing.chaos_device.work import Device, Stream, again


class ChaosBackend(ChaosStreams, Backend, Pool, PinnedMemory):
    """Wraps a backend: its dtypes and kernels, and memory and order of our own."""

    array = ChaosArray
    automatic = False  # nobody wants it for its speed

    def __init__(self, wrapped: Backend) -> None:
        super().__init__()
        self.wrapped = wrapped
        self.table = ChaosTable(self)
        self._pinned = 0
        self.context = CallersContext()  # kernels ask for the current stream
        self._devices = {d.index: Device(self.type, d.index) for d in wrapped.devices()}

    def all(self) -> list[Device]:
        """Every device."""
        return list(self._devices.values())

    def stream(self, index: int) -> Stream:
        """The stream that work goes to now."""
        found: Stream = self.current_stream(index)
        return found

    # ---- what Backend asks for

    def devices(self) -> Sequence[DeviceInfo]:
        return [
            DeviceInfo(d.index, f"Chaos on {d.name}", d.memory_bytes)
            for d in self.wrapped.devices()
        ]

    def kernels(self, table: KernelTable) -> None:
        """None of its own."""

    def allocate(self, shape: Ints, dtype: DType, index: int, op: str) -> ChaosArray:
        """Fresh memory for an op.

        Raises:
            OutOfMemory: where the plan in force says so.
        """
        device = self.device(index)
        device.refuse_if_lost()
        number = current().allocate()
        if number:
            size = dtype.itemsize * int(np.prod(shape, dtype=int))
            raise OutOfMemory(
                op, "memory", was=f"refused by {self.type}:{index} at allocation "
                f"{number}, with {device.meter.live} bytes in use",
                needed=f"{size} bytes",
                remedy="free tensors that are not needed, or use smaller ones",
            )  # fmt: skip
        how = current().settings
        cell = Cell(self.wrapped, shape, dtype, index, op, how.poison, how.guard)
        device.cells.add(cell)
        made = ChaosArray(Owner(cell, device.meter), cell.body)
        graph = self.stream(index).graph
        if graph is not None:
            graph.kept.append(made)
        return made

    def empty(self, shape: Ints, dtype: DType, index: int) -> ChaosArray:
        return self.allocate(shape, dtype, index, "empty")

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> ChaosArray:
        refuse_to_wait(self, "copy_in")
        dtype = dtypes.from_numpy(host.dtype)
        made = self.allocate(host.shape, dtype, index, "copy_in")
        source = self.wrapped.copy_in(host, index)
        self._submit("copy_in", partial(self.wrapped.copy, made.inner, source), made)
        return made

    def copy_out(self, a: ChaosArray) -> np.ndarray[Any, Any]:
        refuse_to_wait(self, "copy_out")
        device = self.device(a.cell.index)
        with device.lock:
            device.refuse_if_lost()
            stream = self.stream(device.index)
            stream.place.check("copy_out", [a.cell])
            stream.synchronize()
            if a.cell.failure is not None:
                raise again(a.cell.failure)
            a.cell.check()
            return self.wrapped.copy_out(a.inner)

    # ---- PinnedMemory

    def pinned(self, size: int, index: int) -> PinnedBlock:
        self.device(index).refuse_if_lost()
        memory = np.frombuffer(bytearray(b"\xcb" * size), np.uint8)
        self._pinned += size

        def free(memory: Any = memory) -> None:  # which it keeps until then
            self._pinned -= size

        return PinnedBlock(self.type, memory.ctypes.data, size, free)

    def pinned_bytes(self) -> int:
        return self._pinned

    def copy_in_later(self, host: np.ndarray[Any, Any], index: int) -> ChaosArray:
        dtype = dtypes.from_numpy(host.dtype)
        made = self.allocate(host.shape, dtype, index, "copy_in_later")

        def action() -> None:
            self.wrapped.copy(made.inner, self.wrapped.copy_in(host, index))

        self._submit("copy_in_later", action, made)
        return made

    def copy_out_later(self, a: ChaosArray, host: np.ndarray[Any, Any]) -> None:
        device = self.device(a.cell.index)

        def action() -> None:
            host[...] = self.wrapped.copy_out(a.inner)

        with device.lock:
            device.refuse_if_lost()
            stream = self.stream(device.index)
            give(device, "copy_out_later", action, stream, reads=[a.cell])

    def view(
        self, a: ChaosArray, shape: Ints, strides: Ints, offset: int
    ) -> ChaosArray:
        return self.look(a, self.wrapped.view(a.inner, shape, strides, offset), "view")

    def look(self, a: ChaosArray, inner: Any, op: str) -> ChaosArray:
        """A view of `a` over the same memory, which it must not leave."""
        if type(inner) is not self.wrapped.array:
            inner = self.wrapped.lift(inner)
        a.cell.holds(inner, op)
        return ChaosArray(a.owner, inner)

    def geometry(self, a: ChaosArray, root: ChaosArray) -> tuple[Ints, int]:
        return self.wrapped.geometry(a.inner, root.inner)

    def fill(self, a: ChaosArray, value: complex) -> None:
        self._submit("fill", partial(self.wrapped.fill, a.inner, value), a)

    def copy(self, target: ChaosArray, source: ChaosArray) -> None:
        action = partial(self.wrapped.copy, target.inner, source.inner)
        self._submit("copy", action, target, source.cell)

    def synchronize(self, index: int) -> None:
        refuse_to_wait(self, "synchronize")
        device = self.device(index)
        with device.lock:
            device.synchronize()
        self.wrapped.synchronize(index)

    def _submit(self, op: str, action: Any, target: ChaosArray, *reads: Cell) -> None:
        cell = target.cell
        device = self.device(cell.index)
        with device.lock:
            device.refuse_if_lost()
            beside = [c for c in reads if c is not cell]
            stream = self.stream(cell.index)
            give(device, op, action, stream, reads=beside, writes=[cell])

    def replace_lost(self) -> None:
        """Put new devices in the places of lost ones; old arrays stay unusable."""
        for device in self.all():
            if device.lost is not None:
                device.replace()
                forget_scalars(self)

    # ---- Pool

    def live_bytes(self, index: int) -> int:
        return self.device(index).meter.live

    def peak_bytes(self, index: int) -> int:
        return self.device(index).meter.peak

    def reset_peak(self, index: int) -> None:
        meter = self.device(index).meter
        meter.peak = meter.live


def wrap(wrapped: Backend) -> ChaosBackend:
    """The chaos device around a backend.

    Raises:
        DeviceError: the backend has no memory to disturb.
    """
    if wrapped.rules_only:
        raise DeviceError(
            "device", "type", was=f"chaos:{wrapped.type}, and {wrapped.type} holds no "
            "data", needed="a device with data",
        )  # fmt: skip
    own = {
        "type": f"chaos:{wrapped.type}", "dtypes": wrapped.dtypes,
        "fork_safe": wrapped.fork_safe,
        "flushes_subnormals": wrapped.flushes_subnormals,
        "launch_boundaries": wrapped.launch_boundaries,
        "compiles_per_shape": wrapped.compiles_per_shape,
    }  # fmt: skip
    cls: type[ChaosBackend] = type("ChaosBackend", (ChaosBackend,), own)
    return cls(wrapped)
