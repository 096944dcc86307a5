"""The device that is not the CPU, and memory of devices in figures.

The figures are of every device that counts its memory, the CPU too. There, counting
begins with the first question and takes some time of each call from then on; what is
counted is the memory of tensors and graphs, not what a kernel has for itself while it
runs.
Devices are named as everywhere; a number stands for one of the default type.
"""

from __future__ import annotations

from collections import OrderedDict

from dovetail.device import device as Device
from dovetail.device import named
from dovetail.device_api import Backend, Pool, registry
from dovetail.engine import modes
from dovetail.errors import ArgumentError, NotSupported
from dovetail.tensor_api import streams

DeviceLike = Device | str | int | None


def _pool(name: str, device: DeviceLike) -> tuple[Pool, int]:
    """What counts the memory of a device, and the device's index."""
    wanted = modes.default_device() if device is None else device
    if isinstance(wanted, int):
        default, _ = registry.resolve(modes.default_device())
        wanted = f"{default.type}:{wanted}"
    backend, index = registry.resolve(wanted)
    pool = backend.capability(Pool)
    if pool is None:
        raise NotSupported(
            name, "device", was=f"{named(backend.type, index)}, which does not count "
            "its memory", needed="a device that offers the capability Pool",
        )  # fmt: skip
    return pool, index


def current_accelerator(check_available: bool = False) -> Device | None:
    """The type of the device that `"auto"` stands for, or None if that is the CPU.

    Args:
        check_available: for torch's sake; what is found is there.
    """
    backend, _ = registry.resolve("auto")
    return None if backend.type == "cpu" else Device(backend.type)


def is_available() -> bool:
    """Whether there is a device beside the CPU that `"auto"` would take."""
    return current_accelerator() is not None


def device_count() -> int:
    """How many devices of the accelerator's type there are."""
    found = current_accelerator()
    return 0 if found is None else len(registry.load(found.type).devices())


def current_device_index() -> int:
    """The index of the device that `"auto"` stands for."""
    return registry.resolve("auto")[1]


def synchronize(device: DeviceLike = None, /) -> None:
    """Wait for all work on a device (the accelerator), and raise its errors."""
    backend, index = _accelerator(device)
    backend.synchronize(index)


def current_stream(device: DeviceLike = None, /) -> streams.Stream:
    """The stream that this context's work on a device (the accelerator) goes to."""
    backend, index = _accelerator(device)
    return streams.current_stream(named(backend.type, index))


def set_stream(stream: streams.Stream) -> None:
    """Send the work of this context to `stream` from now on."""
    streams.set_stream(stream)


def _accelerator(device: DeviceLike) -> tuple[Backend, int]:
    """A device: by its name, its index among the accelerators, or the current one."""
    if isinstance(device, int):
        return registry.resolve(f"{registry.resolve('auto')[0].type}:{device}")
    return registry.resolve("auto" if device is None else device)


def memory_allocated(device_index: DeviceLike = None, /) -> int:
    """Bytes in use by tensors on a device (the default one).

    >>> before = torch.accelerator.memory_allocated("cpu")
    >>> x = torch.ones(1000)
    >>> torch.accelerator.memory_allocated("cpu") - before
    4000
    """
    pool, index = _pool("memory_allocated", device_index)
    return pool.live_bytes(index)


def max_memory_allocated(device_index: DeviceLike = None, /) -> int:
    """The most bytes in use at once since the start, or `reset_peak_memory_stats`."""
    pool, index = _pool("max_memory_allocated", device_index)
    return pool.peak_bytes(index)


def memory_stats(device_index: DeviceLike = None, /) -> OrderedDict[str, int]:
    """All that a device counts, by torch's names, sorted."""
    pool, index = _pool("memory_stats", device_index)
    return OrderedDict(sorted(pool.counts(index).items()))


def reset_peak_memory_stats(device_index: DeviceLike = None, /) -> None:
    """Let the peak be what is in use now."""
    pool, index = _pool("reset_peak_memory_stats", device_index)
    pool.reset_peak(index)


def memory_reserved(device_index: DeviceLike = None, /) -> int:
    """Bytes in use by tensors, and those that are kept for tensors to come."""
    pool, index = _pool("memory_reserved", device_index)
    counts = pool.counts(index)
    return counts.get("reserved_bytes.all.current", pool.live_bytes(index))


def empty_cache(device_index: DeviceLike = None, /) -> None:
    """Give memory back to the system that no tensor uses.

    torch takes no device here: it means the accelerator.
    """
    pool, index = _pool("empty_cache", device_index)
    pool.release(index)


def set_memory_limit(size: int | None, device_index: DeviceLike = None, /) -> None:
    """Refuse memory beyond `size` bytes by `OutOfMemoryError`; None for no limit.

    torch has a fraction of the device's memory instead, and of some devices alone. The
    CPU looks at the result of a kernel when it is there, and gives it back if it goes
    beyond.
    """
    name = "set_memory_limit"
    if size is not None and (type(size) is not int or size < 0):
        raise ArgumentError(
            name, "size", was=repr(size), needed="a number of bytes, or None"
        )
    pool, index = _pool(name, device_index)
    pool.set_limit(index, size)


__all__ = [
    "current_accelerator", "current_device_index", "current_stream", "device_count",
    "empty_cache", "is_available", "max_memory_allocated", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_memory_limit",
    "set_stream", "synchronize",
]  # fmt: skip
