"""The chaos device: another device that uses every right a device has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail import dtypes
from dovetail.device_api.capabilities import CallersContext, Pool, Streams
from dovetail.device_api.contract import Backend, DeviceInfo, Ints
from dovetail.device_api.host_copies import PinnedBlock, PinnedMemory
from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import DType
from dovetail.engine.kinds import forget_scalars
from dovetail.errors import DeviceError, OutOfMemory
from dovetail.testing.chaos_device.kernels import ChaosTable
from dovetail.testing.chaos_device.memory import Cell, ChaosArray, Owner
from dovetail.testing.chaos_device.settings import current
from dovetail.testing.chaos_device.work import Device, Event, Job, Stream, again


class ChaosBackend(Backend, Pool, Streams, PinnedMemory):
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

    def device(self, index: int) -> Device:
        return self._devices[index]

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
        return ChaosArray(Owner(cell, device.meter), cell.body)

    def empty(self, shape: Ints, dtype: DType, index: int) -> ChaosArray:
        return self.allocate(shape, dtype, index, "empty")

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> ChaosArray:
        dtype = dtypes.from_numpy(host.dtype)
        made = self.allocate(host.shape, dtype, index, "copy_in")
        source = self.wrapped.copy_in(host, index)
        self._submit("copy_in", partial(self.wrapped.copy, made.inner, source), made)
        return made

    def copy_out(self, a: ChaosArray) -> np.ndarray[Any, Any]:
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
            device.submit(Job("copy_out_later", action, stream, reads=[a.cell]))

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
            device.submit(Job(op, action, stream, reads=beside, writes=[cell]))

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

    # ---- Streams

    def share(self, array: ChaosArray, index: int) -> None:
        array.cell.wrote = None  # whoever reads it waits for its writer

    def default_stream(self, index: int) -> Stream:
        return self.device(index).default

    def new_stream(self, index: int, priority: int) -> Stream:
        return Stream(self.device(index), priority)

    def stream_idle(self, stream: Stream) -> bool:
        with stream.device.lock:
            return stream.idle()

    def synchronize_stream(self, stream: Stream) -> None:
        with stream.device.lock:
            stream.synchronize()

    def new_event(self, index: int, timing: bool) -> Event:
        return Event(self.device(index))

    def record_event(self, event: Event, stream: Stream) -> None:
        with stream.device.lock:
            stream.device.refuse_if_lost()
            event.record(stream)

    def wait_event(self, stream: Stream, event: Event) -> None:
        with stream.device.lock:
            stream.wait_for(event)

    def event_done(self, event: Event) -> bool:
        with event.device.lock:
            return event.done()

    def synchronize_event(self, event: Event) -> None:
        with event.device.lock:
            event.synchronize()

    def elapsed_ms(self, start: Event, end: Event) -> float:
        return (end.seconds - start.seconds) * 1e3


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
