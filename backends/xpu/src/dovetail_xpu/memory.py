"""Memory of devices, used again in the order of their queues; arrays that look in."""

from __future__ import annotations

import gc
import math
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from dovetail.dtypes import DType
from dovetail.errors import OutOfMemory

if TYPE_CHECKING:
    from dovetail_xpu.graphs import Work

Ints = tuple[int, ...]
_LEAST: Final = 9  # log2 of the bytes of the smallest block


class Device:
    """A SYCL device, the queue that work goes to, and the memory that is in use.

    Attributes:
        live, peak, reserved: bytes in use now and at most, and taken from the driver.
        retries, refused: how often memory had to be looked for, and was not found.
        limit: bytes that may be in use; None for what the device has.
    """

    def __init__(self, index: int, sycl: Any) -> None:
        import dpctl

        self.index = index
        self.sycl = sycl
        self.context = dpctl.SyclContext(sycl)
        self.lock = threading.RLock()  # a block may die while another one is made
        self.live = self.peak = self.reserved = self.retries = self.refused = 0
        self.limit: int | None = None
        self.streams: list[Stream] = []
        self.stream = Stream(self)

    def count(self, size: int) -> None:
        """Add to what is in use."""
        with self.lock:
            self.live += size
            self.peak = max(self.peak, self.live)

    def wait(self) -> None:
        """Wait for the work of all streams."""
        for stream in tuple(self.streams):
            stream.queue.wait()

    def release(self) -> None:
        """Give memory that nothing uses back to the driver."""
        gc.collect()
        self.wait()
        with self.lock:
            for stream in self.streams:
                stream.settle()
                for bucket, kept in stream.free.items():
                    self.reserved -= len(kept) << bucket
                    kept.clear()


class Stream:
    """A queue whose work is done in order, and the blocks that it may use again.

    Work in order may use memory again at once, while earlier work on it is still due.
    """

    def __init__(self, device: Device) -> None:
        import dpctl

        self.device = device
        self.queue = dpctl.SyclQueue(
            device.context, device.sycl, property=["in_order", "enable_profiling"]
        )
        self.free: dict[int, list[Any]] = {}
        self.lent: list[tuple[Any, int, list[Any]]] = []
        self.work: Work | None = None  # a graph that records what is given
        device.streams.append(self)

    def settle(self) -> None:
        """Take back the blocks that other streams have done with."""
        with self.device.lock:
            lent, self.lent = self.lent, []
            for memory, bucket, events in lent:
                if all(e.execution_status.name == "complete" for e in events):
                    self.free.setdefault(bucket, []).append(memory)
                else:
                    self.lent.append((memory, bucket, events))


class Block:
    """Bytes on a device, free again when the last array that looks into them dies.

    Attributes:
        events: work of other streams that has to be done before.
    """

    __slots__ = ("address", "bucket", "events", "memory", "size", "stream")

    def __init__(self, stream: Stream, size: int) -> None:
        self.stream = stream
        self.size = size
        self.events: list[Any] | None = None
        self.memory = None
        self.bucket = bucket = least_bucket(size)
        if stream.lent:
            stream.settle()
        device = stream.device
        if device.limit is not None and device.live + size > device.limit:
            make_room(device, size, device.limit)
        kept = stream.free.get(bucket)
        try:
            memory = kept.pop() if kept else fresh_memory(stream, bucket)
        except IndexError:  # another thread was faster
            memory = fresh_memory(stream, bucket)
        self.memory = memory
        self.address: int = memory._pointer
        device.count(size)

    def __del__(self) -> None:
        memory = self.memory
        if memory is None:
            return
        stream = self.stream
        stream.device.count(-self.size)
        if self.events:
            stream.lent.append((memory, self.bucket, self.events))
        else:
            stream.free.setdefault(self.bucket, []).append(memory)


def fresh_memory(stream: Stream, bucket: int) -> Any:
    """Memory from the driver; once more where the first answer is that it is full."""
    from dpctl import memory

    size, device = 1 << bucket, stream.device
    try:
        found = asked_twice(device, memory.MemoryUSMDevice, size, stream.queue)
    except refusals() as error:
        remedy = "free tensors, or use less at a time"
        raise _full(device, size, device.sycl.global_mem_size, remedy) from error
    with device.lock:
        device.reserved += size
    return found


def asked_twice(device: Device, kind: Any, size: int, queue: Any) -> Any:
    """Memory of a class of dpctl's; once more when what nobody uses was given back."""
    try:
        return kind(size, queue=queue)
    except refusals():
        device.retries += 1
        device.release()
        return kind(size, queue=queue)


def refusals() -> tuple[type[Exception], ...]:
    """What dpctl raises where there is no memory."""
    from dpctl import memory

    return memory.USMAllocationError, MemoryError, OverflowError, ValueError


def make_room(device: Device, size: int, limit: int) -> None:
    """Let garbage go that counts towards the limit.

    Raises:
        OutOfMemory: what is in use leaves no room for so many bytes.
    """
    device.retries += 1
    device.release()
    if device.live + size > limit:
        remedy = "free tensors, or raise the limit that was set"
        raise _full(device, size, limit, remedy)


def _full(device: Device, size: int, limit: int, remedy: str) -> OutOfMemory:
    device.refused += 1
    return OutOfMemory(
        f"xpu:{device.index}", "memory",
        was=f"{size:,} bytes more, with {device.live:,} in use",
        needed=f"at most {limit:,} in all", remedy=remedy,
    )  # fmt: skip


def least_bucket(size: int) -> int:
    """The power of 2 whose bytes a block of so many takes."""
    return max(_LEAST, (size - 1).bit_length())


class XpuArray:
    """The native array: a block, and where in it elements are; strides count them.

    Attributes:
        address: of the first element.
        dense: whether elements lie side by side in row-major order.
    """

    __slots__ = ("address", "block", "dense", "dtype", "shape", "strides")

    def __init__(
        self, block: Block, dtype: DType, shape: Ints, strides: Ints, address: int,
        dense: bool,
    ) -> None:  # fmt: skip
        self.block = block
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.address = address
        self.dense = dense

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def device(self) -> Device:
        """Where they are."""
        return self.block.stream.device

    def seen_as(self, shape: Ints, strides: Ints, offset: int = 0) -> XpuArray:
        """Other elements of the same memory; `offset` counts them from the first."""
        address = self.address + offset * self.dtype.itemsize
        dense = strides == row_major(shape) or is_dense(shape, strides)
        return XpuArray(self.block, self.dtype, shape, strides, address, dense)

    def read_as(self, dtype: DType) -> XpuArray:
        """The same bits in another dtype of the same width."""
        return XpuArray(
            self.block, dtype, self.shape, self.strides, self.address, self.dense
        )


@lru_cache(1 << 12)
def row_major(shape: Ints) -> Ints:
    """Element strides of an array without gaps."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    strides.reverse()
    return tuple(strides)


def is_dense(shape: Ints, strides: Ints) -> bool:
    """Whether elements lie side by side in row-major order."""
    if 0 in shape:
        return True
    needed = row_major(shape)
    return all(n == 1 or s == w for n, s, w in zip(shape, strides, needed, strict=True))


def fresh(stream: Stream, shape: Ints, dtype: DType) -> XpuArray:
    """A new array without values."""
    block = Block(stream, math.prod(shape) * dtype.itemsize)
    made = XpuArray(block, dtype, shape, row_major(shape), block.address, True)
    if stream.work is not None:
        stream.work.kept.append(made)
    return made
