"""Work of the devices of one type: waiting for it, streams of it, places in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.device_modules.places import DeviceLike, Places
from dovetail.tensor_api import devices, graphs, streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from dovetail.device import device as Device


class StreamContext:
    """Sends the work of a block of code to a stream, whose device is current there.

    Args:
        stream: None changes nothing.
    """

    def __init__(self, stream: streams.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


class Work(Places):
    """Streams and events, and waits for work.

    Attributes:
        Stream, Event: those of the current device of the type, where none is named.
    """

    _new_graph: Callable[[], graphs.Graph]

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(name, doc)
        self.Stream = _stream_class(self._named)
        self.Event = _event_class(self._named)
        self.StreamContext = StreamContext
        if name.endswith(("cuda", "xpu")):
            self._add_graphs(name)

    def _add_graphs(self, name: str) -> None:
        """Graphs as torch has them for two types, by two names."""
        made = _graph_class(self._named)
        setattr(self, "CUDAGraph" if name.endswith("cuda") else "XPUGraph", made)
        self._new_graph = made
        self.graph, self.graph_pool_handle = graphs.graph, graphs.graph_pool_handle
        self.is_current_stream_capturing = graphs.is_current_stream_capturing

    def synchronize(self, device: DeviceLike = None) -> None:
        """Wait for all work on a device, and raise its errors."""
        devices.synchronize(self._named(device))

    def _ours(self, found: streams.Stream) -> streams.Stream:
        """The same stream, as one of this module's class."""
        found.__class__ = self.Stream
        return found

    def current_stream(self, device: DeviceLike = None) -> streams.Stream:
        """The stream that this context's work goes to."""
        return self._ours(streams.current_stream(self._named(device)))

    def default_stream(self, device: DeviceLike = None) -> streams.Stream:
        """The stream that work goes to where none is chosen."""
        return self._ours(streams.default_stream(self._named(device)))

    def set_stream(self, stream: streams.Stream) -> None:
        """Send the work of this context to `stream`, whose device becomes current."""
        streams.set_stream(stream)

    def stream(self, stream: streams.Stream | None) -> StreamContext:
        """Send the work of a block of code to `stream`; None changes nothing."""
        return StreamContext(stream)


def _stream_class(named: Callable[[DeviceLike], Device]) -> type[streams.Stream]:
    class Stream(streams.Stream):
        """A queue of work on a device of the type; see `dovetail.Stream`."""

        __slots__ = ()

        def __init__(
            self, device: DeviceLike = None, priority: int = 0, **_: Any
        ) -> None:
            super().__init__(named(device), priority=priority)

    return Stream


def _graph_class(named: Callable[[DeviceLike], Device]) -> type[graphs.Graph]:
    class Graph(graphs.Graph):
        """Work of a stream of the type, recorded; see `dovetail.accelerator.Graph`."""

        def _device(self) -> Device:
            return named(None)

    return Graph


def _event_class(named: Callable[[DeviceLike], Device]) -> type[streams.Event]:
    class Event(streams.Event):
        """A place in a stream's work, by the current device; see `dovetail.Event`."""

        __slots__ = ()

        def __init__(
            self, enable_timing: bool = False, blocking: bool = False,
            interprocess: bool = False, external: bool = False,
        ) -> None:  # fmt: skip
            super().__init__(
                named(None), enable_timing=enable_timing, blocking=blocking,
                interprocess=interprocess,
            )  # fmt: skip

    return Event
