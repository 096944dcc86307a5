"""What dovetail asks of a backend, on SYCL devices."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dovetail.device_api import (
    Backend,
    CallersContext,
    DeviceInfo,
    KernelTable,
    LateErrors,
    Pool,
    Streams,
)
from dovetail.device_api.graphs import hold, refuse_to_wait
from dovetail.device_api.host_copies import InFlight
from dovetail.dtypes import DType, float64, from_numpy
from dovetail_xpu import (
    attention,
    bodies,
    class_loss,
    convolution,
    layers,
    moving,
    order,
    pooling,
    primitives,
    products,
    random,
    ranges,
    reductions,
    rows,
    scans,
    slices,
    steps,
)
from dovetail_xpu.exchange import XpuExchange
from dovetail_xpu.faults import lost
from dovetail_xpu.graphs import XpuGraphs
from dovetail_xpu.host_copies import HostPool, XpuCopies, is_done
from dovetail_xpu.launch import THREADS, Launcher
from dovetail_xpu.memory import Device, Ints, Stream, XpuArray
from dovetail_xpu.numbers import XpuNumbers, word_of
from dovetail_xpu.runtime import end_without_sycl, sycl_devices

_FAMILIES: Final = (
    primitives, moving, reductions, products, convolution, pooling, random, steps,
    rows, order, scans, layers, class_loss, attention, bodies, slices, ranges,
)  # fmt: skip


class Event:
    """A place in the work of a queue."""

    __slots__ = ("index", "sycl")

    def __init__(self, index: int) -> None:
        self.index = index
        self.sycl: Any = None


class XpuBackend(
    XpuExchange, XpuCopies, XpuGraphs, XpuNumbers, Backend, Pool, LateErrors, Streams
):
    """Strided arrays in unified shared memory, and kernels that are generated."""

    type = "xpu"
    array = XpuArray
    dtypes = primitives.CLAIMED
    fork_safe = False
    launch_boundaries = (THREADS,)

    def __init__(self) -> None:
        super().__init__()
        self.context = CallersContext()
        self.present = [Device(i, d) for i, d in enumerate(sycl_devices())]
        if not all(d.sycl.has_aspect_fp64 for d in self.present):
            self.dtypes = self.dtypes - {float64}  # type: ignore[misc]
        self.launcher = Launcher(self, self.present)
        self.in_flight = InFlight()
        self.hosts = [HostPool(device) for device in self.present]
        self._copied = primitives.copier(self.launcher)
        self._move = primitives.mover(self.launcher)
        self._fill = primitives.filler(self.launcher)
        self._process = os.getpid()
        os.register_at_fork(after_in_child=end_without_sycl)
        atexit.register(self._settle)  # memory must outlive the work on it

    def _settle(self) -> None:
        # In a forked child nobody does the work that was due in its parent.
        for device in self.present if os.getpid() == self._process else ():
            device.wait()

    # ---- memory

    def devices(self) -> Sequence[DeviceInfo]:
        return [
            DeviceInfo(
                d.index, d.sycl.name.strip(), d.sycl.global_mem_size,
                f"{d.sycl.backend.name} {d.sycl.driver_version}",
                multi_processor_count=d.sycl.max_compute_units,
                warp_size=max(d.sycl.sub_group_sizes, default=None),
            )
            for d in self.present
        ]  # fmt: skip

    def empty(self, shape: Ints, dtype: DType, index: int) -> XpuArray:
        return self.launcher.fresh(tuple(shape), dtype, index)

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> XpuArray:
        refuse_to_wait(self, "copy_in")
        made = self.empty(host.shape, from_numpy(host.dtype), index)
        if host.size:
            flat = np.ascontiguousarray(host).reshape(-1).view(np.uint8)
            stream = made.block.stream
            try:
                stream.queue.memcpy(made.block.memory, flat, flat.size)
            except RuntimeError as error:  # which dpctl raises of it alone
                raise lost(index, "copy_in", error) from error
        return made

    def copy_out(self, a: XpuArray) -> np.ndarray[Any, Any]:
        refuse_to_wait(self, "copy_out")
        out = np.empty(a.shape, a.dtype.numpy)
        if out.size:
            if not a.dense or a.address != a.block.address:
                a = self._copied(a)
            flat = out.reshape(-1).view(np.uint8)
            stream = self.launcher.stream(a.device.index)
            try:
                stream.queue.memcpy(flat, a.block.memory, flat.size)
            except RuntimeError as error:
                raise lost(a.device.index, "copy_out", error) from error
        self.tell(a.device.index)
        return out

    def view(self, a: XpuArray, shape: Ints, strides: Ints, offset: int) -> XpuArray:
        return a.seen_as(tuple(shape), tuple(strides), offset)

    def geometry(self, a: XpuArray, root: XpuArray) -> tuple[Ints, int]:
        return a.strides, (a.address - root.address) // a.dtype.itemsize

    def fill(self, a: XpuArray, value: complex) -> None:
        hold(self, a)
        self._fill(a, word_of(value, a.dtype))

    def copy(self, target: XpuArray, source: XpuArray) -> None:
        hold(self, target, source)
        if target.block is source.block:
            source = self._copied(source)
        self._move(target, source)

    def synchronize(self, index: int) -> None:
        refuse_to_wait(self, "synchronize")
        self.present[index].wait()
        self.in_flight.settle()
        self.tell(index)

    def kernels(self, table: KernelTable) -> None:
        for family in _FAMILIES:
            family.install(table, self.launcher, self.dtypes)

    # ---- what is in use

    def live_bytes(self, index: int) -> int:
        return self.present[index].live

    def peak_bytes(self, index: int) -> int:
        return self.present[index].peak

    def reset_peak(self, index: int) -> None:
        device = self.present[index]
        with device.lock:
            device.peak = device.live

    def counts(self, index: int) -> Mapping[str, int]:
        device = self.present[index]
        return {
            **super().counts(index),
            "reserved_bytes.all.current": device.reserved,
            "num_alloc_retries": device.retries,
            "num_ooms": device.refused,
        }

    def set_limit(self, index: int, size: int | None) -> None:
        self.present[index].limit = size

    def release(self, index: int) -> None:
        self.present[index].release()
        self.hosts[index].release()

    # ---- streams

    def default_stream(self, index: int) -> Stream:
        return self.present[index].stream

    def new_stream(self, index: int, priority: int) -> Stream:
        return Stream(self.present[index])

    def share(self, array: XpuArray, index: int) -> None:
        """Nothing while there is one stream; `joined` lets the second wait for it."""
        if len(self.present[index].streams) > 1:
            super().share(array, index)

    def joined(self, stream: Stream, index: int) -> None:
        self.wait_event(stream, self._now(self.present[index].stream))
        super().joined(stream, index)

    def _now(self, stream: Stream) -> Event:
        event = self.new_event(stream.device.index, False)
        self.record_event(event, stream)
        return event

    def keep(self, array: XpuArray, stream: Stream) -> None:
        block = array.block
        if stream is not block.stream:
            if block.events is None:
                block.events = []
            block.events.append(stream.queue.submit_barrier())

    def stream_idle(self, stream: Stream) -> bool:
        return is_done(stream.queue.submit_barrier())

    def synchronize_stream(self, stream: Stream) -> None:
        refuse_to_wait(self, "synchronize_stream")
        stream.queue.wait()
        self.in_flight.settle()
        self.tell(stream.device.index)

    def new_event(self, index: int, timing: bool) -> Event:
        return Event(index)

    def record_event(self, event: Event, stream: Stream) -> None:
        refuse_to_wait(self, "record_event")
        event.sycl = stream.queue.submit_barrier()

    def wait_event(self, stream: Stream, event: Event) -> None:
        refuse_to_wait(self, "wait_event")
        stream.queue.submit_barrier([event.sycl])

    def event_done(self, event: Event) -> bool:
        return is_done(event.sycl)

    def synchronize_event(self, event: Event) -> None:
        refuse_to_wait(self, "synchronize_event")
        event.sycl.wait()
        self.in_flight.settle()
        self.tell(event.index)

    def elapsed_ms(self, start: Event, end: Event) -> float:
        before = start.sycl.profiling_info_end
        return float((end.sycl.profiling_info_end - before) / 1e6)
