"""Streams and events of CuPy devices, each with the device that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.device_api import Streams
from dovetail.device_api.graphs import refuse_to_wait
from dovetail_cupy.faults import guarded
from dovetail_cupy.memory import Memory


class Queue:
    """A stream of CuPy's. Its default stream has no device; this knows which is meant.

    Attributes:
        index: of the device.
        stream: CuPy's.
    """

    __slots__ = ("__weakref__", "index", "stream")

    def __init__(self, index: int, stream: Any) -> None:
        self.index = index
        self.stream = stream

    @property
    def ptr(self) -> int:
        """What the platform's own libraries call the stream."""
        return int(self.stream.ptr)


class Moment:
    """An event of CuPy's, which tells of no device; this knows which is meant.

    Attributes:
        index: of the device.
        event: CuPy's.
    """

    __slots__ = ("event", "index")

    def __init__(self, index: int, event: Any) -> None:
        self.index = index
        self.event = event


class CupyStreams(Streams):
    """CuPy's streams and events; the default stream is the device's own.

    That is what other libraries of this process use as well, CuPy itself among them,
    so that work which they share is in order. Streams that are made do not wait for it.
    """

    type: Any
    xp: Any
    memory: Memory
    queues: list[Queue]
    tell: Callable[[int], None]

    def on(self, index: int) -> Any:
        """The device as a context."""
        return self.xp.cuda.Device(index)

    def default_stream(self, index: int) -> Queue:
        return self.queues[index]

    def new_stream(self, index: int, priority: int) -> Queue:
        with self.on(index):
            stream = self.xp.cuda.Stream(non_blocking=True, priority=priority)
            return Queue(index, stream)

    def keep(self, array: Any, stream: Queue) -> None:
        with self.on(stream.index):
            self.memory.keep(array.data.mem, stream.stream.record())

    def stream_idle(self, stream: Queue) -> bool:
        with self.on(stream.index):
            return bool(stream.stream.done)

    def synchronize_stream(self, stream: Queue) -> None:
        refuse_to_wait(self, "synchronize_stream")
        with self.on(stream.index):
            guarded(self.type, stream.stream.synchronize)
        self.tell(stream.index)

    def new_event(self, index: int, timing: bool) -> Moment:
        with self.on(index):
            return Moment(index, self.xp.cuda.Event(disable_timing=not timing))

    def record_event(self, event: Moment, stream: Queue) -> None:
        refuse_to_wait(self, "record_event")
        with self.on(stream.index):
            event.event.record(stream.stream)

    def wait_event(self, stream: Queue, event: Moment) -> None:
        refuse_to_wait(self, "wait_event")
        with self.on(stream.index):
            stream.stream.wait_event(event.event)

    def event_done(self, event: Moment) -> bool:
        return bool(event.event.done)

    def synchronize_event(self, event: Moment) -> None:
        refuse_to_wait(self, "synchronize_event")
        guarded(self.type, event.event.synchronize)
        self.tell(event.index)

    def elapsed_ms(self, start: Moment, end: Moment) -> float:
        return float(self.xp.cuda.get_elapsed_time(start.event, end.event))
