"""Streams, events and graphs of the chaos device, as the joint asks for them."""

from __future__ import annotations

from dovetail.device_api.capabilities import Streams
from dovetail.device_api.graphs import Graphs, refuse_to_wait
from dovetail.errors import CaptureError
from dovetail.testing.chaos_device.graphs import Graph
from dovetail.testing.chaos_device.memory import ChaosArray
from dovetail.testing.chaos_device.work import Device, Event, Stream


class ChaosStreams(Streams, Graphs):
    """Of a backend that has such devices."""

    _devices: dict[int, Device]

    def device(self, index: int) -> Device:
        """A device, by its index."""
        return self._devices[index]

    def share(self, array: ChaosArray, index: int) -> None:
        array.cell.wrote = None  # whoever reads it waits for its writer

    def default_stream(self, index: int) -> Stream:
        return self.device(index).default

    def new_stream(self, index: int, priority: int) -> Stream:
        return Stream(self.device(index), priority)

    def stream_idle(self, stream: Stream) -> bool:
        with stream.device.lock:
            return stream.idle()

    def synchronize_stream(self, stream: Stream) -> None:
        refuse_to_wait(self, "synchronize_stream")
        with stream.device.lock:
            stream.synchronize()

    def new_event(self, index: int, timing: bool) -> Event:
        return Event(self.device(index))

    def record_event(self, event: Event, stream: Stream) -> None:
        _refuse_if_recording(stream, "record_event")
        with stream.device.lock:
            stream.device.refuse_if_lost()
            event.record(stream)

    def wait_event(self, stream: Stream, event: Event) -> None:
        _refuse_if_recording(stream, "wait_event")
        with stream.device.lock:
            stream.wait_for(event)

    def event_done(self, event: Event) -> bool:
        with event.device.lock:
            return event.done()

    def synchronize_event(self, event: Event) -> None:
        refuse_to_wait(self, "synchronize_event")
        with event.device.lock:
            event.synchronize()

    def elapsed_ms(self, start: Event, end: Event) -> float:
        return (end.seconds - start.seconds) * 1e3

    # ---- Graphs

    def begin_graph(self, stream: Stream, index: int) -> None:
        with stream.device.lock:
            stream.device.refuse_if_lost()
            stream.graph = Graph(stream.device)

    def end_graph(self, stream: Stream, index: int) -> Graph:
        with stream.device.lock:
            made, stream.graph = stream.graph, None
        assert made is not None
        return made

    def launch_graph(self, graph: Graph, stream: Stream, index: int) -> None:
        with stream.device.lock:
            graph.launch(stream)


def _refuse_if_recording(stream: Stream, name: str) -> None:
    """Events order work of several streams; a graph here is of one."""
    if stream.graph is not None:
        raise CaptureError(
            name, "stream", was="recording a graph",
            needed="a stream whose work is done",
            remedy="record and wait for events before the graph or after it",
        )  # fmt: skip
