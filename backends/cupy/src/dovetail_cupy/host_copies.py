"""Pinned memory by CuPy's pool of it, and copies by streams that nobody waits for."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from dovetail.device_api.host_copies import (
    InFlight,
    PeerCopies,
    PinnedBlock,
    PinnedMemory,
)
from dovetail.dtypes import Array
from dovetail_cupy.faults import guarded


class CupyCopies(PinnedMemory, PeerCopies):
    """Copies between pinned memory and devices, and from device to device."""

    type: Any
    xp: Any
    memory: Any
    in_flight: InFlight
    on: Any
    inside: Any
    current_stream: Any

    def _starts(self) -> None:
        """Begin without memory; a backend calls it once."""
        self.in_flight = InFlight()
        self._pinned_pool = self.xp.cuda.PinnedMemoryPool()
        self._pinned_live = 0
        self._counting = threading.RLock()  # a block may die anywhere

    def pinned(self, size: int, index: int) -> PinnedBlock:
        self.in_flight.settle()
        with self.on(index):
            memory = guarded(self.type, self._pinned_pool.malloc, size)
        self._count(size)
        give_back = partial(self._count, -size, memory)
        return PinnedBlock(self.type, int(memory.ptr), size, give_back)

    def _count(self, size: int, held: Any = None) -> None:
        """Count bytes; what is held goes back to CuPy's pool with the caller."""
        with self._counting:
            self._pinned_live += size

    def pinned_bytes(self) -> int:
        self.in_flight.settle()
        return self._pinned_live

    def copy_in_later(self, host: Array, index: int) -> Any:
        made = self.inside(index, self.xp.empty, host.shape, host.dtype)
        if host.size:
            stream = self.current_stream(index).stream
            with self.on(index):
                copy = made.data.copy_from_host_async
                guarded(self.type, copy, host.ctypes.data, host.nbytes, stream)
                self._hold(host, stream)
        return made

    def copy_out_later(self, a: Any, host: Array) -> None:
        if not host.size:
            return
        index = a.device.id
        if not a.flags.c_contiguous:
            a = self.inside(index, self.xp.ascontiguousarray, a)
        stream = self.current_stream(index).stream
        with self.on(index):
            copy = a.data.copy_to_host_async
            guarded(self.type, copy, host.ctypes.data, host.nbytes, stream)
            self._hold((a, host), stream)

    def _hold(self, memory: Any, stream: Any) -> None:
        """Keep memory until a stream has come so far."""
        event = stream.record()
        self.in_flight.keep(memory, lambda: bool(event.done))

    def copy_peer(self, a: Any, index: int) -> Any:
        here = a.device.id
        source, target = (self.current_stream(i).stream for i in (here, index))
        if not a.flags.c_contiguous:
            a = self.inside(here, self.xp.ascontiguousarray, a)
        made = self.inside(index, self.xp.empty, a.shape, a.dtype)
        if not a.size:
            return made
        with self.on(here):
            written = source.record()
        with self.on(index):
            target.wait_event(written)
            copy = made.data.copy_from_device_async
            guarded(self.type, copy, a.data, a.nbytes, target)
            self._hold(a, target)
            read = target.record()
        with self.on(here):
            source.wait_event(read)
        return made
