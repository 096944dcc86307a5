"""The device that is not the CPU, and memory of devices in figures.

The figures are of every device that counts its memory, the CPU too. There, counting
begins with the first question and takes some time of each call from then on; what is
counted is the memory of tensors and graphs, not what a kernel has for itself while it
runs.
Devices are named as everywhere; a number stands for one of the default type.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from dovetail.device import device as Device
from dovetail.device import named
from dovetail.device_api import Backend, Pool, Workspaces, current, registry
from dovetail.engine import modes
from dovetail.engine.missing_names import missing_name
from dovetail.errors import ArgumentError, NotSupported
from dovetail.tensor_api import streams
from dovetail.tensor_api.graphs import Graph

DeviceLike = Device | str | int | None


def _place(device: DeviceLike) -> tuple[Backend, int]:
    """A device: by its name, its index among the default type's, or the default one."""
    wanted = modes.default_device() if device is None else device
    if isinstance(wanted, int):
        default, _ = registry.resolve(modes.default_device())
        wanted = f"{default.type}:{wanted}"
    return registry.resolve(wanted)


def _pool(name: str, device: DeviceLike) -> tuple[Pool, int]:
    """What counts the memory of a device, and the device's index."""
    backend, index = _place(device)
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


def set_device_index(device: DeviceLike, /) -> None:
    """Let a device be the current one of the accelerator's type, in this context."""
    backend, index = _accelerator(device)
    current.choose(backend.type, index)


@contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """A block of code in which a device is the current one; None changes nothing."""
    before = current.choice.get()
    if device is not None:
        set_device_index(device)
    try:
        yield
    finally:
        current.choice.set(before)


current_device_idx, set_device_idx = current_device_index, set_device_index


def get_device_capability(device: DeviceLike = None, /) -> dict[str, Any]:
    """What a device (the accelerator) can do: `supported_dtypes`.

    >>> torch.float32 in torch.accelerator.get_device_capability("cpu")[
    ...     "supported_dtypes"]
    True
    """
    backend, _ = _accelerator(device)
    return {"supported_dtypes": set(backend.dtypes)}


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
    """All that a device counts, by torch's names, sorted.

    Beside these, `workspace_bytes.all.current` is what is kept for kernels to work in.
    """
    pool, index = _pool("memory_stats", device_index)
    since = _since.get(pool, {}).get(index, {})
    counts = {name: n - since.get(name, 0) for name, n in pool.counts(index).items()}
    kept = _workspaces(device_index)
    if kept is not None:
        counts["workspace_bytes.all.current"] = kept.workspace_bytes(index)
    return OrderedDict(sorted(counts.items()))


def _workspaces(device_index: DeviceLike) -> Workspaces | None:
    return _place(device_index)[0].capability(Workspaces)


# What had been counted when it was asked to be counted anew.
_since: Final[WeakKeyDictionary[Pool, dict[int, dict[str, int]]]] = WeakKeyDictionary()
_ACCUMULATED: Final = (".allocated", ".freed", "num_ooms", "num_alloc_retries")


def reset_accumulated_memory_stats(device_index: DeviceLike = None, /) -> None:
    """Let what is counted from the start on be counted from now on."""
    pool, index = _pool("reset_accumulated_memory_stats", device_index)
    _since.setdefault(pool, {})[index] = {
        name: n for name, n in pool.counts(index).items() if name.endswith(_ACCUMULATED)
    }


def reset_peak_memory_stats(device_index: DeviceLike = None, /) -> None:
    """Let the peak be what is in use now."""
    pool, index = _pool("reset_peak_memory_stats", device_index)
    pool.reset_peak(index)


def memory_reserved(device_index: DeviceLike = None, /) -> int:
    """Bytes in use by tensors, and those that are kept for tensors to come."""
    pool, index = _pool("memory_reserved", device_index)
    counts = pool.counts(index)
    return counts.get("reserved_bytes.all.current", pool.live_bytes(index))


def max_memory_reserved(device_index: DeviceLike = None, /) -> int:
    """The most bytes that tensors had or that were kept for them.

    Where a device does not count those that it keeps, the most that tensors had.
    """
    pool, index = _pool("max_memory_reserved", device_index)
    most = pool.counts(index).get("reserved_bytes.all.peak", 0)
    return max(most, pool.peak_bytes(index), memory_reserved(device_index))


def get_memory_info(device_index: DeviceLike = None, /) -> tuple[int, int]:
    """Bytes of a device (the default one) that no tensor has, and bytes in all.

    Raises: NotSupported if the device does not say how much it has.
    """
    backend, index = _place(device_index)
    info = next(found for found in backend.devices() if found.index == index)
    if info.memory_bytes is None:
        raise NotSupported(
            "get_memory_info", "device", was=f"{named(backend.type, index)}, which "
            "does not say how much memory it has", needed="one that does",
        )  # fmt: skip
    return info.memory_bytes - memory_reserved(device_index), info.memory_bytes


def empty_host_cache() -> None:
    """Give pinned memory of the host back that nobody uses: none is kept."""


def empty_cache(device_index: DeviceLike = None, /) -> None:
    """Give memory back to the system that no tensor uses, nor a kernel at work.

    torch takes no device here: it means the accelerator.
    """
    pool, index = _pool("empty_cache", device_index)
    kept = _workspaces(device_index)
    if kept is not None:
        kept.release_workspaces(index)
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
    "Graph",
    "current_accelerator", "current_device_idx", "current_device_index",
    "current_stream", "device_count", "device_index", "empty_cache",
    "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats", "set_device_idx", "set_device_index",
    "set_memory_limit", "set_stream", "synchronize",
]  # fmt: skip


__path__: list[str] = []  # torch has modules below
if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
