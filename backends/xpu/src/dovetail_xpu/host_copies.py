"""Copies that the host does not wait for, by its memory that SYCL knows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dovetail.device_api.host_copies import (
    InFlight,
    PeerCopies,
    PinnedBlock,
    PinnedMemory,
    pinned_array,
)
from dovetail.dtypes import Array, from_numpy
from dovetail.errors import OutOfMemory
from dovetail_xpu.memory import (
    Device,
    Stream,
    XpuArray,
    asked_twice,
    least_bucket,
    refusals,
)


class HostPool:
    """Host memory of a device's context, kept to be used again.

    Attributes:
        live: bytes in use.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.live = 0
        self._free: dict[int, list[Any]] = {}
        self._lock = threading.RLock()  # a block may die while another one is made

    def block(self, size: int) -> PinnedBlock:
        """So many bytes."""
        bucket = least_bucket(size)
        with self._lock:
            kept = self._free.get(bucket)
            memory = kept.pop() if kept else None
        if memory is None:
            memory = self._fresh(bucket)
        with self._lock:
            self.live += size
        give_back = partial(self._give_back, memory, bucket, size)
        return PinnedBlock("xpu", memory._pointer, size, give_back)

    def _fresh(self, bucket: int) -> Any:
        from dpctl import memory

        size, device = 1 << bucket, self.device
        try:
            return asked_twice(device, memory.MemoryUSMHost, size, device.stream.queue)
        except refusals() as error:
            raise OutOfMemory(
                "pin_memory", "memory", was=f"{size:,} bytes more, with "
                f"{self.live:,} in use", needed="what the host can pin",
                remedy="pin less at a time",
            ) from error  # fmt: skip

    def _give_back(self, memory: Any, bucket: int, size: int) -> None:
        with self._lock:
            self.live -= size
            self._free.setdefault(bucket, []).append(memory)

    def release(self) -> None:
        """Let the driver have back what nothing uses."""
        with self._lock:
            self._free.clear()


class XpuCopies(PinnedMemory, PeerCopies):
    """Copies by host memory in the context of a device; also those among devices.

    Queues of parts of one CPU do not copy into each other's memory: that hung.
    """

    present: list[Device]
    launcher: Any
    in_flight: InFlight
    hosts: list[HostPool]
    tell: Callable[[int], None]
    _copied: Any

    def pinned(self, size: int, index: int) -> PinnedBlock:
        self.in_flight.settle()
        return self.hosts[index].block(size)

    def pinned_bytes(self) -> int:
        self.in_flight.settle()
        return sum(host.live for host in self.hosts)

    def copy_in_later(self, host: Array, index: int) -> XpuArray:
        made: XpuArray = self.launcher.fresh(host.shape, from_numpy(host.dtype), index)
        if host.size:
            flat = host.reshape(-1).view(np.uint8)
            block = made.block
            self._give(block.stream, block.memory, flat, host)
        return made

    def copy_out_later(self, a: XpuArray, host: Array) -> None:
        if not host.size:
            return
        if not a.dense or a.address != a.block.address:
            a = self._copied(a)
        flat = host.reshape(-1).view(np.uint8)
        stream = self.launcher.stream(a.device.index)
        self._give(stream, flat, a.block.memory, (a, host))

    def _give(self, stream: Stream, to: Any, source: Any, held: Any) -> None:
        """Let a queue copy all bytes of host memory, or record that it has to."""
        if stream.work is None:
            self._copy(to, source, held, stream)
        else:
            stream.work.calls.append(partial(self._copy, to, source, held))

    def _copy(self, to: Any, source: Any, held: Any, stream: Stream) -> None:
        size = (to if isinstance(to, np.ndarray) else source).nbytes
        event = stream.queue.memcpy_async(to, source, size)
        self.in_flight.keep(held, partial(is_done, event))

    def copy_peer(self, a: XpuArray, index: int) -> XpuArray:
        source = a.device.index
        host = pinned_array(self, a.shape, a.dtype, source)
        self.copy_out_later(a, host)
        self.launcher.stream(source).queue.wait()
        self.tell(source)
        return self.copy_in_later(host, index)


def is_done(event: Any) -> bool:
    """Whether the work of an event is done; does not wait."""
    return bool(event.execution_status.name == "complete")
