"""Memory of CuPy devices: CuPy's pools, with counts and limits of each device."""

from __future__ import annotations

import gc
import threading
from collections.abc import Mapping
from typing import Any

from dovetail.errors import OutOfMemory


class Counts:
    """Bytes of one device that arrays hold."""

    def __init__(self) -> None:
        self.live = self.peak = self.blocks = 0
        self.allocated = self.allocations = self.refused = self.retries = 0
        self.limit: int | None = None
        self.lock = threading.RLock()  # a block may die anywhere, in any thread

    def fits(self, size: int) -> bool:
        """Whether so many bytes more are within the limit."""
        return self.limit is None or self.live + size <= self.limit

    def by_name(self) -> dict[str, int]:
        """All of them by torch's names."""
        return {
            "allocated_bytes.all.current": self.live,
            "allocated_bytes.all.peak": self.peak,
            "allocated_bytes.all.allocated": self.allocated,
            "allocated_bytes.all.freed": self.allocated - self.live,
            "allocation.all.current": self.blocks,
            "allocation.all.allocated": self.allocations,
            "allocation.all.freed": self.allocations - self.blocks,
            "num_ooms": self.refused,
            "num_alloc_retries": self.retries,
        }


class Memory:
    """The allocator that CuPy asks for every array of this process.

    A block that is given back belongs to the stream that it was taken on; where
    another stream still works on it, `keep` holds it back until that has come so far.
    """

    def __init__(self, device: str, cupy: Any, count: int) -> None:
        self.counts = [Counts() for _ in range(count)]
        self._device = device
        self._current = cupy.cuda.runtime.getDevice
        self._failure = cupy.cuda.memory.OutOfMemoryError
        self._pool = cupy.cuda.MemoryPool()
        self._stream = cupy.cuda.get_current_stream
        self._parted: dict[int, Any] = {}  # pools of streams that record, by pointer
        self._pointer = cupy.cuda.MemoryPointer
        self._block = _block_class(cupy.cuda.BaseMemory)
        self._kept: list[tuple[Any, Any]] = []  # memory, and an event that frees it
        self._lock = threading.Lock()

    def allocate(self, size: int) -> Any:
        """Memory on the current device, as CuPy wants it; tried twice.

        Raises:
            OutOfMemory: there is none, also after what nobody uses was given back.
        """
        if self._kept:
            self._settle()
        index = self._current()
        counts = self.counts[index]
        if counts.limit is None or counts.fits(size):
            try:
                return self._counted(size, index)
            except self._failure:
                pass
        counts.retries += 1
        gc.collect()
        self._pool.free_all_blocks()
        if not counts.fits(size):
            counts.refused += 1
            raise self._beyond(counts, size)
        try:
            return self._counted(size, index)
        except self._failure as error:
            counts.refused += 1
            raise self._none_left(counts, size) from error

    def _counted(self, size: int, index: int) -> Any:
        pool = self._pool
        if self._parted:
            pool = self._parted.get(self._stream().ptr, pool)
        block = self._block(pool.malloc(size), size, index, self.counts[index])
        return self._pointer(block, 0)

    def part(self, stream: int, pool: Any) -> None:
        """Let memory that is made on a stream be of a pool of its own."""
        self._parted[stream] = pool

    def is_parted(self, stream: int) -> bool:
        """Whether memory that is made on a stream is of a pool of its own."""
        return stream in self._parted

    def join(self, stream: int) -> Any:
        """Let it be of the shared pool again; gives the other one."""
        return self._parted.pop(stream)

    def _beyond(self, counts: Counts, size: int) -> OutOfMemory:
        return OutOfMemory(
            self._device, "memory",
            was=f"{counts.live:,} bytes in use and {size:,} more",
            needed=f"at most {counts.limit:,}, the limit set",
            remedy="free tensors, or raise the limit",
        )  # fmt: skip

    def _none_left(self, counts: Counts, size: int) -> OutOfMemory:
        return OutOfMemory(
            self._device, "memory",
            was=f"not enough for {size:,} bytes beside {counts.live:,} in use",
            needed="that much in one piece",
            remedy="free tensors, or use less at a time",
        )  # fmt: skip

    def keep(self, memory: Any, event: Any) -> None:
        """Hold memory until an event of another stream has come."""
        with self._lock:
            self._kept.append((memory, event))

    def _settle(self) -> None:
        with self._lock:
            self._kept = [(m, e) for m, e in self._kept if not e.done]

    def reserved(self) -> int:
        """Bytes that the pool has of the current device, used or not."""
        return int(self._pool.total_bytes())

    def release(self) -> None:
        """Give back what nobody uses."""
        self._settle()
        self._pool.free_all_blocks()

    def named(self, index: int) -> Mapping[str, int]:
        """The counts of a device, by torch's names; it has to be the current one."""
        return self.counts[index].by_name() | {
            "reserved_bytes.all.current": self.reserved()
        }


def _block_class(base: type[Any]) -> type[Any]:
    """Memory that tells when it dies; CuPy, whose class it has to be of, comes late."""

    class Block(base):  # type: ignore[misc]
        __slots__ = ("counts", "taken")

        def __init__(self, taken: Any, size: int, index: int, counts: Counts) -> None:
            self.taken = taken  # a pointer into the pool, whose memory it holds
            self.ptr, self.size, self.device_id = taken.ptr, size, index
            self.counts = counts
            with counts.lock:
                counts.live = live = counts.live + size
                counts.blocks += 1
                counts.allocated += size
                counts.allocations += 1
                counts.peak = max(counts.peak, live)

        def __del__(self) -> None:
            counts = self.counts
            with counts.lock:
                counts.live -= self.size
                counts.blocks -= 1

    return Block
