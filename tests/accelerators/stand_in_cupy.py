"""What the allocator, the streams and the error mapping ask of CuPy, without CuPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class CUDARuntimeError(RuntimeError):
    """CuPy's error, by its name."""


class OutOfMemoryError(Exception):
    """CuPy's error, by its name."""


class BaseMemory:
    """CuPy's memory, of which an allocator derives its own."""

    ptr = size = device_id = 0


class MemoryPool:
    """A pool of so many bytes; blocks are free when the last reference dies."""

    def __init__(self, size: int) -> None:
        self.size = self.left = size
        self.cached = 0

    def malloc(self, size: int) -> Any:
        if size > self.left - self.cached:
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes")
        self.left -= size
        return _Taken(self, size)

    def free_all_blocks(self) -> None:
        self.cached = 0

    def total_bytes(self) -> int:
        return self.size - self.left + self.cached


class _Taken:
    def __init__(self, pool: MemoryPool, size: int) -> None:
        self.pool, self.size, self.ptr = pool, size, 4096

    def __del__(self) -> None:
        self.pool.left += self.size


def library(size: int, *, hip: bool = False, devices: Any = 1) -> Any:
    """A module with a pool of `size` bytes.

    Args:
        devices: how many there are, or the error that says why there is none.
    """

    def count() -> int:
        if isinstance(devices, Exception):
            raise devices
        return int(devices)

    runtime = SimpleNamespace(is_hip=hip, getDevice=lambda: 0, getDeviceCount=count)
    cuda = SimpleNamespace(
        runtime=runtime, BaseMemory=BaseMemory, MemoryPool=lambda: MemoryPool(size),
        MemoryPointer=lambda block, offset: SimpleNamespace(mem=block, offset=offset),
        get_current_stream=lambda: SimpleNamespace(ptr=0),
        memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    )  # fmt: skip
    return SimpleNamespace(cuda=cuda, __version__="14.2.0", __name__="cupy")
