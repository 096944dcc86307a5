"""CuPy arrays as native arrays: devices, memory, and which device a kernel runs on.

Nothing here differs between CUDA and ROCm but what `platform` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from dovetail.device_api import (
    Backend,
    CallersContext,
    DeviceInfo,
    KernelTable,
    LateErrors,
    Pool,
)
from dovetail.device_api.capabilities import chosen_streams
from dovetail.device_api.graphs import hold, refuse_to_wait
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import DType, bfloat16, float32
from dovetail.errors import BackendError, DovetailError
from dovetail_cupy import (
    attention,
    convolution,
    generated,
    probe,
    products,
    shared_kernels,
)
from dovetail_cupy.completed import keeping_sign
from dovetail_cupy.cublas import Cublas
from dovetail_cupy.exchange import CupyExchange
from dovetail_cupy.faults import explained, guarded
from dovetail_cupy.graphs import CupyGraphs
from dovetail_cupy.host_copies import CupyCopies
from dovetail_cupy.launch import CupyMachine
from dovetail_cupy.memory import Memory
from dovetail_cupy.products import Products
from dovetail_cupy.streams import CupyStreams, Queue

Ints = tuple[int, ...]
Host = np.ndarray[Any, Any]


class CupyBackend(
    Backend, Pool, LateErrors, CupyStreams, CupyCopies, CupyGraphs, CupyExchange
):
    """Devices of one platform, by the CuPy that is made for it."""

    platform: ClassVar[probe.Platform]
    dtypes = shared_kernels.DTYPES
    fork_safe = False
    launch_boundaries = (512,)
    flushes_subnormals = frozenset({float32, bfloat16})  # CuPy compiles with -ftz=true

    def __init__(self) -> None:
        super().__init__()
        self.xp = probe.library(self.platform)
        self.array = self.xp.ndarray  # type: ignore[misc]
        self.context = CallersContext()
        count = probe.count(self.xp, self.platform)
        if self.platform.hip:  # a product of it ends the process there
            self.dtypes = self.dtypes - {bfloat16}
        self.memory = Memory(self.type, self.xp, count)
        self.xp.cuda.set_allocator(self.memory.allocate)
        self._starts()
        null = self.xp.cuda.Stream.null
        self.queues = [Queue(index, null) for index in range(count)]
        self.runners = [self.runner(index) for index in range(count)]

    def devices(self) -> Sequence[DeviceInfo]:
        return [self._info(queue.index) for queue in self.queues]

    def _info(self, index: int) -> DeviceInfo:
        runtime = self.xp.cuda.runtime
        found = runtime.getDeviceProperties(index)
        driver = f"{self.platform.name} {runtime.driverGetVersion()}"
        name = [found["name"].decode(), self.platform.unproven]
        return DeviceInfo(
            index, "; ".join(filter(None, name)),
            int(found["totalGlobalMem"]), f"{driver}, CuPy {self.xp.__version__}",
            multi_processor_count=int(found["multiProcessorCount"]),
            warp_size=int(found["warpSize"]),
            capability=(int(found["major"]), int(found["minor"])),
            arch=self._arch(found),
        )  # fmt: skip

    def _arch(self, found: Mapping[str, Any]) -> str:
        """What the platform's compiler calls a device with these properties."""
        if not self.platform.hip:
            return f"sm_{found['major']}{found['minor']}"
        name: str = found.get("gcnArchName", b"").decode()
        return name.partition(":")[0]  # features follow, such as "gfx90a:xnack-"

    def runner(self, index: int) -> Callable[..., Any]:
        """Calls kernels on the device and on the stream that the caller chose there.

        CuPy knows a current device and a current stream in each thread; what the
        caller's own CuPy code chose is there again after a kernel.
        """
        chosen, default = chosen_streams.get, self.queues[index].stream
        place, get_device = (self, index), self.xp.cuda.runtime.getDevice
        current, on = self.xp.cuda.get_current_stream, self.xp.cuda.Device(index)
        device = self.type

        def run(kernel: Callable[..., Any], /, *natives: Any, **attrs: Any) -> Any:
            queue = chosen().get(place)
            stream = default if queue is None else queue.stream
            if get_device() != index or current().ptr != stream.ptr:
                with on, stream:
                    return guarded(device, kernel, *natives, **attrs)
            try:
                return kernel(*natives, **attrs)
            except DovetailError:
                raise
            except Exception as error:
                told = explained(device, error)
                if told is None:
                    raise
                raise told from error

        return run

    def inside(
        self, index: int, function: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """Call a function on a device and on the stream that the caller chose there."""
        return self.runners[index](function, *args, **options)

    def empty(self, shape: Ints, dtype: DType, index: int) -> Any:
        return self.inside(index, self.xp.ndarray, shape, dtype.numpy)

    def copy_in(self, host: Host, index: int) -> Any:
        refuse_to_wait(self, "copy_in")
        # What is pageable is copied to pinned memory of CuPy's before this returns.
        if not host.ndim:  # among the words of a launch, which waits for no transfer
            return self.inside(index, self._number, host)
        return self.inside(index, self.xp.array, host, order="C")

    def _number(self, host: Host) -> Any:
        a = self.xp.ndarray((), host.dtype)
        self._fill(a, host[()])
        return a

    def copy_out(self, a: Any) -> Host:
        refuse_to_wait(self, "copy_out")
        found: Host = self.inside(a.device.id, self.xp.asnumpy, a, order="C")
        self.tell(a.device.id)
        return found

    def view(self, a: Any, shape: Ints, strides: Ints, offset: int) -> Any:
        size = a.dtype.itemsize
        steps = tuple(s * size for s in strides)
        return self.xp.ndarray(shape, a.dtype, a.data + offset * size, steps)

    def geometry(self, a: Any, root: Any) -> tuple[Ints, int]:
        size = a.dtype.itemsize
        offset = 0 if a is root else (a.data.ptr - root.data.ptr) // size
        if not a.size:
            return contiguous_strides(a.shape), offset
        return tuple(s // size for s in a.strides), offset

    def fill(self, a: Any, value: complex) -> None:
        with np.errstate(all="ignore"):
            number = np.array(value).astype(a.dtype)[()]
        hold(self, a)
        self.inside(a.device.id, self._fill, a, number)

    def _fill(self, a: Any, number: Any) -> None:
        signed = keeping_sign(number)
        if signed is None:
            a.fill(number)
        else:
            self.xp.copyto(a, self.xp.array(signed))

    def copy(self, target: Any, source: Any) -> None:
        hold(self, target, source)
        self.inside(target.device.id, self._copy, target, source)

    def _copy(self, target: Any, source: Any) -> None:
        if target.data.mem is source.data.mem:  # they may overlap
            source = source.copy()
        self.xp.copyto(target, source)

    def synchronize(self, index: int) -> None:
        refuse_to_wait(self, "synchronize")
        with self.on(index) as device:
            guarded(self.type, device.synchronize)
        self.in_flight.settle()
        self.tell(index)

    def kernels(self, table: KernelTable) -> None:
        shared, own = KernelTable(self.type), None
        if not self.platform.hip:
            with suppress(BackendError):  # else CuPy's serve
                own = Products(self.xp, Cublas(self.xp, self.memory.is_parted))
        shared_kernels.install(shared, self.xp, own)
        if own is not None:
            products.install(shared, own)
        if generated.are_wanted():
            machine = CupyMachine(self.xp)
            generated.install(table, shared, machine)
            if own is not None:
                xp = shared_kernels.interface(self.xp, own)
                attention.install(table, machine, xp, own)
                convolution.install(table, machine, own)
        else:
            shared_kernels.add_all(table, shared)

    def live_bytes(self, index: int) -> int:
        return self.memory.counts[index].live

    def peak_bytes(self, index: int) -> int:
        return self.memory.counts[index].peak

    def reset_peak(self, index: int) -> None:
        counts = self.memory.counts[index]
        counts.peak = counts.live

    def set_limit(self, index: int, size: int | None) -> None:
        self.memory.counts[index].limit = size

    def counts(self, index: int) -> Mapping[str, int]:
        with self.on(index):
            return self.memory.named(index)

    def release(self, index: int) -> None:
        with self.on(index):
            self.memory.release()
