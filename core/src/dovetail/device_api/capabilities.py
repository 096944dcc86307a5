"""Optional capabilities of a backend: typed objects, asked for by their class.

`backend.capability(Pool)` gives the object or None; there are no booleans to set
and no `hasattr` to guess from.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import cached_property
from operator import call
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from dovetail.dtypes import DType
from dovetail.errors import NotSupported

# The streams that the caller chose, where they are not the default ones.
chosen_streams: Final[ContextVar[Mapping[tuple[Streams, int], Any]]] = ContextVar(
    "chosen_streams", default=MappingProxyType({})
)


class HostMemory(ABC):
    """Native arrays that share memory with NumPy's: `from_numpy` copies nothing."""

    @abstractmethod
    def adopt(self, array: np.ndarray[Any, Any]) -> Any:
        """A native array over the memory of `array`, which it keeps alive."""

    @abstractmethod
    def expose(self, native: Any) -> np.ndarray[Any, Any]:
        """A NumPy array over the memory of `native`, which it keeps alive."""

    @abstractmethod
    def address(self, native: Any) -> int:
        """The address of the first element of `native`, in bytes."""


class Pool(ABC):
    """An allocator that counts what it hands out."""

    @abstractmethod
    def live_bytes(self, index: int) -> int:
        """Bytes in use by native arrays on device `index`."""

    @abstractmethod
    def peak_bytes(self, index: int) -> int:
        """The most bytes in use at once since the start, or since `reset_peak`."""

    def reset_peak(self, index: int) -> None:
        """Let the peak be what is in use now.

        Raises:
            NotSupported: this allocator cannot.
        """
        raise _cannot("reset_peak", index, "begin the peak anew")

    def counts(self, index: int) -> Mapping[str, int]:
        """All that is counted, by torch's names of `memory_stats`."""
        return {
            "allocated_bytes.all.current": self.live_bytes(index),
            "allocated_bytes.all.peak": self.peak_bytes(index),
        }

    def set_limit(self, index: int, size: int | None) -> None:
        """Refuse memory beyond so many bytes by `OutOfMemory`; None for no limit.

        Raises:
            NotSupported: this allocator cannot.
        """
        raise _cannot("set_limit", index, "limit what is in use")

    def release(self, index: int) -> None:  # noqa: B027  most allocators keep nothing
        """Give memory back to the system that is kept for later arrays."""


def _cannot(name: str, index: int, what: str) -> NotSupported:
    return NotSupported(
        name, "device", was=f"number {index} of a type whose allocator cannot",
        needed=f"one that can {what}",
    )  # fmt: skip


arrays_in_use: Final[list[Callable[[Any], Iterable[Any]]]] = []
"""Each finds native arrays of a backend that are in use; core adds those of tensors."""


class ViewCopies(ABC):
    """Arrays without strides: counts the copies that stand in for views."""

    @abstractmethod
    def view_copies(self) -> tuple[int, int]:
        """How many views were gathered and how many scattered since the start."""


class CallersContext:
    """Where kernels run that have to see the caller's context variables.

    Takes the place of `Backend.context`; what a kernel sets there, the caller sees.
    """

    run: Final[Callable[..., Any]] = staticmethod(call)  # type: ignore[arg-type]

    def copy(self) -> CallersContext:
        """Itself: unlike a Context it may be entered by several threads."""
        return self


class SharingOrder:
    """Lets the streams of a device wait for what one of them wrote for all.

    Streams are known by weak references, where their class allows them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: dict[int, list[Callable[[], Any]]] = {}
        self._events: dict[int, list[Any]] = {}

    def share(self, streams: Streams, index: int) -> None:
        """Let every stream but the current one wait for its work so far."""
        writer = streams.current_stream(index)
        written = streams.new_event(index, False)
        streams.record_event(written, writer)
        with self._lock:
            self._undone(streams, index).append(written)
            for stream in (streams.default_stream(index), *self._known(index)):
                if stream is not writer:
                    streams.wait_event(stream, written)

    def join(self, streams: Streams, stream: Any, index: int) -> None:
        """Let a new stream wait for what was shared before it was there."""
        with self._lock:
            for written in self._undone(streams, index):
                streams.wait_event(stream, written)
            self._streams.setdefault(index, []).append(_reference(stream))

    def _undone(self, streams: Streams, index: int) -> list[Any]:
        found = [e for e in self._events.get(index, ()) if not streams.event_done(e)]
        self._events[index] = found
        return found

    def _known(self, index: int) -> list[Any]:
        kept = [r for r in self._streams.get(index, ()) if r() is not None]
        self._streams[index] = kept
        return [stream for r in kept if (stream := r()) is not None]


def _reference(stream: Any) -> Callable[[], Any]:
    """A weak reference where the class allows one, else a strong one."""
    try:
        return weakref.ref(stream)
    except TypeError:
        return lambda: stream


class Streams(ABC):
    """Queues of work, one after the other within a stream, and events to order them.

    Streams and events are objects of the backend's own. Every device has a default
    stream. Kernels and memory functions use `current_stream`, which only they can ask
    for whose backend sets `self.context = CallersContext()`. `copy_out` waits for what
    the array depends on in the current stream, `synchronize` for every stream.
    """

    def current_stream(self, index: int) -> Any:
        """The stream that the caller chose on device `index`, else the default one."""
        found = chosen_streams.get().get((self, index))
        return self.default_stream(index) if found is None else found

    def share(self, array: Any, index: int) -> None:
        """Make an array that the current stream has written fit for every stream.

        Core calls it for the numbers that it keeps on a device. The host does not wait:
        the device's other streams wait for an event, and so does one that is made
        before the event is done. A backend may know a cheaper way.
        """
        self._order.share(self, index)

    def joined(self, stream: Any, index: int) -> None:
        """Count `stream` among those that wait for what is shared; called by core."""
        self._order.join(self, stream, index)

    @cached_property
    def _order(self) -> SharingOrder:
        return SharingOrder()

    def keep(self, array: Any, stream: Any) -> None:  # noqa: B027  not needed by all
        """Let memory not be given out again before `stream` has done its work so far.

        Needed where the allocator reuses memory that work is still due on; nothing is
        done for other backends.
        """

    @abstractmethod
    def default_stream(self, index: int) -> Any:
        """The stream of device `index` that work goes to where none is chosen."""

    @abstractmethod
    def new_stream(self, index: int, priority: int) -> Any:
        """A further stream; lower numbers are more urgent, 0 is usual."""

    @abstractmethod
    def stream_idle(self, stream: Any) -> bool:
        """Whether all work of a stream has been done; does not wait."""

    @abstractmethod
    def synchronize_stream(self, stream: Any) -> None:
        """Wait for all work of a stream, and raise its errors."""

    @abstractmethod
    def new_event(self, index: int, timing: bool) -> Any:
        """An event that no stream has recorded yet."""

    @abstractmethod
    def record_event(self, event: Any, stream: Any) -> None:
        """Let `event` stand for the work given to `stream` so far, and no other."""

    @abstractmethod
    def wait_event(self, stream: Any, event: Any) -> None:
        """Let later work of `stream` wait for what `event` stands for now."""

    @abstractmethod
    def event_done(self, event: Any) -> bool:
        """Whether the work that a recorded event stands for is done; no waiting."""

    @abstractmethod
    def synchronize_event(self, event: Any) -> None:
        """Wait for the work that a recorded event stands for, and raise its errors."""

    @abstractmethod
    def elapsed_ms(self, start: Any, end: Any) -> float:
        """Milliseconds between two events that were made with `timing` and are done."""


class Borrowed:
    """Another library's memory as a native array, which keeps it alive."""

    __slots__ = ("dtype", "native", "readonly")

    def __init__(self, native: Any, dtype: DType, readonly: bool) -> None:
        self.native = native
        self.dtype = dtype
        self.readonly = readonly


class DLPack(ABC):
    """Native arrays that share memory with other libraries' through DLPack.

    `dovetail.device_api.dlpack` has what an implementation needs.
    """

    @abstractmethod
    def dlpack_device(self, native: Any) -> tuple[int, int]:
        """The device of `native` as DLPack numbers it: type and id."""

    @abstractmethod
    def dlpack_index(self, device: tuple[int, int]) -> int | None:
        """The index of the device that DLPack numbers so, None where it is no such."""

    @abstractmethod
    def dlpack_export(
        self,
        native: Any,
        *,
        stream: int | None,
        max_version: tuple[int, int] | None,
        copy: bool | None,
        readonly: bool,
    ) -> Any:
        """A capsule over the memory of `native`, which the capsule keeps alive.

        Args:
            stream: the consumer's, on which the values must be ready.
            max_version: the newest DLPack the consumer understands; from (1, 0) on,
                the capsule is a `dltensor_versioned`, else a `dltensor`.
            copy: True for memory of its own, False to raise where that is needed.
            readonly: whether the consumer must not write; only versioned capsules say.

        Raises:
            BufferError: it cannot be exported so.
        """

    @abstractmethod
    def dlpack_import(self, source: Any, index: int, *, copy: bool | None) -> Borrowed:
        """The memory that `source.__dlpack__(...)` lends, without a copy of it.

        Args:
            copy: what `source` is asked for: False, or None to let it copy if it must.

        Raises:
            BufferError: the format is none of this device.
        """
