"""Streams and events, as torch has them: queues of work, and places in them."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, Final, cast

from dovetail.device import device as Device
from dovetail.device import named
from dovetail.device_api import Backend, CallersContext, Streams, current, registry
from dovetail.device_api.capabilities import chosen_streams
from dovetail.engine import modes
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, KernelError, NotSupported

DeviceLike = Device | str | None
# What was chosen outside of each `with stream:` that this context is in.
_outer: Final[contextvars.ContextVar[tuple[Any, ...]]] = contextvars.ContextVar(
    "outer_streams", default=()
)


def _resolved(device: DeviceLike) -> tuple[Backend, int]:
    return registry.resolve(modes.default_device() if device is None else device)


def _streams(name: str, backend: Backend, index: int) -> Streams:
    """The capability of a device.

    Raises:
        NotSupported: it has none.
        KernelError: it has, but its kernels could not see the caller's choice.
    """
    found = backend.capability(Streams)
    if found is None:
        raise NotSupported(
            name, "device", was=f"{named(backend.type, index)}, which has no streams "
            "but its default one", needed="a device that offers streams",
            remedy="use current_stream(device), or dovetail.synchronize(device)",
        )  # fmt: skip
    if not isinstance(backend.context, CallersContext):
        raise KernelError(
            backend.type, "context", needed="a CallersContext",
            was=f"a {type(backend.context).__name__}, in which kernels do not see the "
            "caller's stream",
        )  # fmt: skip
    return found


class Stream:
    """A queue of work on a device: done in order, beside that of other streams.

    Work on what another stream makes has to wait for it, by an event. `with stream:`
    sends the work of this context (thread or task) to the stream, and makes its device
    the current one of the type.

    Args:
        device: whose queue it is; the default device if not given.
        priority: lower numbers are more urgent.

    Attributes:
        device: where the work is done.
        handle: the backend's own stream; None for the only one of a device without.

    Raises:
        NotSupported: the device has no streams but its default one.
    """

    __slots__ = ("_backend", "_index", "_streams", "device", "handle")

    def __init__(self, device: DeviceLike = None, *, priority: int = 0) -> None:
        backend, index = _resolved(device)
        streams = _streams("Stream", backend, index)
        handle = streams.new_stream(index, priority)
        streams.joined(handle, index)
        self._set(backend, index, streams, handle)

    def _set(
        self, backend: Backend, index: int, streams: Streams | None, handle: Any
    ) -> None:
        self._backend, self._index, self._streams = backend, index, streams
        self.device = named(backend.type, index)
        self.handle = handle

    def _needs(self, name: str) -> Streams:
        return self._streams or _streams(f"Stream.{name}", self._backend, self._index)

    @property
    def device_index(self) -> int:
        """The index of the device."""
        return self._index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return self.handle is other.handle and self.device == other.device

    def __hash__(self) -> int:
        return hash((id(self.handle), self.device))

    def __repr__(self) -> str:
        default = self._streams is None or self.handle is self._streams.default_stream(
            self._index
        )
        return f"dovetail.Stream({self.device}{', default' if default else ''})"

    def query(self) -> bool:
        """Whether all work of the stream is done; does not wait."""
        return self._needs("query").stream_idle(self.handle)

    def synchronize(self) -> None:
        """Wait for all work of the stream, and raise its errors."""
        if self._streams is None:
            self._backend.synchronize(self._index)
        else:
            self._streams.synchronize_stream(self.handle)

    def record_event(self, event: Event | None = None) -> Event:
        """An event (a new one, or this) that stands for the work given so far."""
        self._needs("record_event")
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work of this stream wait for what `event` stands for now."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work of this stream wait for the work given to `stream` so far."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        outer = chosen_streams.get(), current.choice.get()
        self._choose()
        _outer.set((*_outer.get(), outer))
        return self

    def _choose(self) -> None:
        """Send work of this context here; the device becomes the current one."""
        if self._streams is not None:
            place = self._streams, self._index
            others = {k: v for k, v in chosen_streams.get().items() if k != place}
            chosen_streams.set({**others, place: self.handle})  # the last comes last
            current.choose(self._backend.type, self._index)

    def __exit__(self, *_: object) -> None:
        *before, (outer, choice) = _outer.get()
        _outer.set(tuple(before))
        chosen_streams.set(outer)
        current.choice.set(choice)


class Event:
    """A place in a stream's work: to ask for, wait for, and measure the time between.

    Args:
        device: on whose streams it is recorded; the default device if not given.
        enable_timing: whether `elapsed_time` may be asked.
        blocking, interprocess: taken as torch takes them, and without effect.

    Raises:
        NotSupported: the device has no streams.
    """

    __slots__ = ("_index", "_recorded", "_streams", "_timing", "device", "handle")

    def __init__(
        self, device: DeviceLike = None, *, enable_timing: bool = False,
        blocking: bool = False, interprocess: bool = False,
    ) -> None:  # fmt: skip
        backend, index = _resolved(device)
        self._streams = _streams("Event", backend, index)
        self._index = index
        self._timing = enable_timing
        self._recorded = False
        self.device = named(backend.type, index)
        self.handle = self._streams.new_event(index, enable_timing)

    def __repr__(self) -> str:
        return f"dovetail.Event({self.device})"

    def record(self, stream: Stream | None = None) -> None:
        """Stand for the work given so far to `stream`, the current one if not given."""
        stream = self._stream("record", stream)
        self._streams.record_event(self.handle, stream.handle)
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of `stream` (the current one) wait; the caller does not."""
        stream = self._stream("wait", stream)
        if self._recorded:
            self._streams.wait_event(stream.handle, self.handle)

    def query(self) -> bool:
        """Whether the work is done; true too where no stream recorded the event."""
        return not self._recorded or self._streams.event_done(self.handle)

    def synchronize(self) -> None:
        """Wait for the work, and raise its errors."""
        if self._recorded:
            self._streams.synchronize_event(self.handle)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`.

        Raises:
            ArgumentError: one of them has no timing, or is not recorded and done.
        """
        for name, event in (("event", self), ("end_event", end_event)):
            why = None
            if not event._timing:
                why = "made without enable_timing=True"
            elif not event._recorded:
                why = "not recorded"
            elif not event.query():
                why = "not done yet"
            if why is not None:
                raise ArgumentError(
                    "Event.elapsed_time", name, was=why,
                    needed="two events with timing, both recorded and done",
                    remedy="call synchronize() on the later one first",
                )  # fmt: skip
        return self._streams.elapsed_ms(self.handle, end_event.handle)

    def _stream(self, name: str, stream: Stream | None) -> Stream:
        if stream is None:
            return current_stream(self.device)
        if not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"Event.{name}", "stream", was=repr(stream), needed="a Stream"
            )
        if stream._streams is not self._streams:
            raise ArgumentError(
                f"Event.{name}", "stream", was=f"on {stream.device}",
                needed=f"one on {self.device}, as the event",
            )  # fmt: skip
        return stream


def _existing(backend: Backend, index: int, choose: Callable[[Streams], Any]) -> Stream:
    made = Stream.__new__(Stream)
    streams = backend.capability(Streams)
    handle = None if streams is None else choose(streams)
    made._set(backend, index, streams, handle)
    return made


def last_chosen() -> Device | None:
    """The device of the stream that this context chose last, if it chose one."""
    chosen = list(chosen_streams.get())
    if not chosen:
        return None
    backend, index = chosen[-1]
    return named(cast(Backend, backend).type, index)


@public("torch.current_stream")
def current_stream(device: DeviceLike = None) -> Stream:
    """The stream that this context's work on a device (the default one) goes to."""
    backend, index = _resolved(device)
    return _existing(backend, index, lambda s: s.current_stream(index))


@public("torch.default_stream")
def default_stream(device: DeviceLike = None) -> Stream:
    """The stream that work on a device goes to where none is chosen."""
    backend, index = _resolved(device)
    return _existing(backend, index, lambda s: s.default_stream(index))


@public("torch.stream")
def stream(stream: Stream) -> Stream:
    """The stream itself: `with stream(s):` reads as in torch."""
    return stream


@public("torch.set_stream")
def set_stream(stream: Stream) -> None:
    """Send the work of this context to `stream` from now on; its device is current."""
    stream._choose()


@public("Tensor.record_stream")
def record_stream(self: Tensor, s: Stream) -> None:
    """Tell that `s`, not the stream it was made on, uses the memory of this tensor."""
    kind = self._kind
    if s.device != named(kind.backend.type, kind.index):
        raise ArgumentError(
            "record_stream", "s", was=f"on {s.device}", needed=f"one on {self.device}"
        )
    if s._streams is not None:
        s._streams.keep(self._a, s.handle)


NAMESPACES["torch"]["Stream"] = Stream
NAMESPACES["torch"]["Event"] = Event
