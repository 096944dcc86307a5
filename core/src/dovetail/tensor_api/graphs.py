"""Graphs, as torch has them: work of a stream, recorded once and done repeatedly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from dovetail.device import named
from dovetail.device_api import Graphs, LateErrors
from dovetail.device_api.graphs import Recorded, recording
from dovetail.engine import modes
from dovetail.errors import ArgumentTypeError, CaptureError, NotSupported
from dovetail.tensor_api.streams import (
    DeviceLike,
    Stream,
    current_stream,
    default_stream,
    last_chosen,
)

_handles: Final = count(1)


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that graphs may share; taken by graphs, and without effect."""
    return 0, next(_handles)


def _graphs(name: str, stream: Stream) -> Graphs:
    """The capability of a stream's device.

    Raises:
        NotSupported: it has none.
    """
    found = stream._backend.capability(Graphs)
    if found is None:
        raise NotSupported(
            name, "device", was=f"{stream.device}, which records no graphs",
            needed="a device that offers graphs",
            remedy="dovetail.compile records functions on every device",
        )  # fmt: skip
    return found


def _arrays(kept: Any) -> Iterator[Any]:
    """Every native array among arguments of kernels, once."""
    seen: set[int] = set()
    left = [kept]
    while left:
        found = left.pop()
        if isinstance(found, list | tuple):
            left += found
        elif found is not None and id(found) not in seen:
            seen.add(id(found))
            yield found


class Graph:
    """Work that is recorded instead of done, and done by each `replay`.

    What is recorded reads and writes the same memory each time: copy new inputs into
    the tensors that were read, and read results from those that were made. The host
    does nothing of it again, so that what it decided by values, and numbers that
    Python computed, stay as they were. Random numbers are drawn anew for each replay,
    which takes as many of the generator as the call would that was recorded; recording
    takes none. Memory made meanwhile is the graph's own.

    Args:
        keep_graph, pool, capture_error_mode: taken as torch takes them, and without
            effect: every graph has memory of its own.

    Raises:
        NotSupported: by `capture_begin`, on a device without graphs.
        CaptureError: where the host would have to wait while work is recorded, or
            where nothing was recorded.

    Examples:
        >>> x = torch.zeros(3, device="chaos:cpu")
        >>> graph = torch.accelerator.Graph()
        >>> with torch.Stream(device="chaos:cpu"), graph:
        ...     y = x * 2 + 1
        >>> x.fill_(5.0)
        tensor([5., 5., 5.], device='chaos:cpu:0')
        >>> torch.synchronize("chaos:cpu")
        >>> graph.replay()
        >>> torch.synchronize("chaos:cpu")
        >>> y
        tensor([11., 11., 11.], device='chaos:cpu:0')
    """

    def __init__(
        self, keep_graph: bool = False, *, pool: Any = None,
        capture_error_mode: str = "default",
    ) -> None:  # fmt: skip
        self._pool = pool if pool is not None else graph_pool_handle()
        self._stream: Stream | None = None  # which records
        self._recorded: Recorded | None = None
        self._work: Any = None
        self._last: Stream | None = None  # to which it was given

    def _device(self) -> DeviceLike:
        """Whose current stream records: that of the stream chosen last."""
        return last_chosen() or modes.default_device()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "") -> None:
        """Record what is given to the current stream from now on."""
        if recording.get() is not None:
            raise CaptureError(
                "Graph.capture_begin", "graph", was="another one, being recorded here",
                needed="one graph at a time",
            )  # fmt: skip
        stream = current_stream(self._device())
        graphs = _graphs("Graph.capture_begin", stream)
        if stream == default_stream(stream.device):
            raise CaptureError(
                "Graph.capture_begin", "stream", was="the default one",
                needed="another stream, whose work nobody else waits for",
                remedy="with dovetail.Stream(device=...), graph: ...",
            )  # fmt: skip
        self.reset()
        found = Recorded(stream._backend, stream._index)
        graphs.begin_graph(stream.handle, stream._index)
        self._stream, self._recorded = stream, found
        recording.set(found)
        found.backend.renew_runners()  # which keep what kernels get, from now on

    def capture_end(self) -> None:
        """Record no more; `replay` does what was recorded."""
        stream, found = self._stream, self._recorded
        if stream is None or found is None or recording.get() is not found:
            raise CaptureError(
                "Graph.capture_end", "graph", was="not being recorded here",
                needed="one on which capture_begin was called",
            )  # fmt: skip
        recording.set(None)
        found.backend.renew_runners()
        graphs = _graphs("Graph.capture_end", stream)
        self._stream = None
        self._work = graphs.end_graph(stream.handle, stream._index)
        found.finish()

    def instantiate(self) -> None:
        """Nothing: a graph is ready when it was recorded."""
        self._needs("instantiate")

    def replay(self) -> None:
        """Give the recorded work to the current stream of its device; does not wait."""
        found = self._needs("replay")
        if recording.get() is not None:
            raise CaptureError(
                "Graph.replay", "graph", was="asked for while another one is recorded",
                needed="a stream whose work is done",
            )  # fmt: skip
        stream = current_stream(named(found.backend.type, found.index))
        graphs = _graphs("Graph.replay", stream)
        if found.before and self._last is None:  # what is drawn into was made there
            stream.wait_stream(default_stream(stream.device))
        for draw in found.before:
            draw()
        graphs.launch_graph(self._work, stream.handle, found.index)
        self._last = stream
        late = found.backend.capability(LateErrors)
        for flag in found.late if late is not None else ():
            late.note(*flag)

    def reset(self) -> None:
        """Forget what was recorded, and let its memory go when work on it is done."""
        found, last = self._recorded, self._last
        self._work = self._recorded = self._last = None
        if found is not None and last is not None and last._streams is not None:
            for native in _arrays(found.kept):
                last._streams.keep(native, last.handle)

    def __del__(self) -> None:
        if vars(self).get("_recorded") is not None:  # else nothing was begun
            self.reset()

    def pool(self) -> tuple[int, int]:
        """A name for the memory of this graph."""
        self._needs("pool")
        pool: tuple[int, int] = self._pool
        return pool

    def _needs(self, name: str) -> Recorded:
        found = self._recorded
        if found is None or self._work is None:
            raise CaptureError(
                f"Graph.{name}", "graph", was="empty", needed="one that was recorded",
                remedy="record it by capture_begin and capture_end, or in a block",
            )  # fmt: skip
        return found

    def __enter__(self) -> None:
        stream = current_stream(self._device())
        stream._backend.synchronize(stream._index)
        self.capture_begin()

    def __exit__(self, kind: Any, *_: object) -> None:
        self.capture_end()
        if kind is not None:  # half of the work is of no use
            self.reset()


class graph:  # noqa: N801  torch's name
    """Records a block of code as a graph, on a stream of its own.

    Args:
        cuda_graph: the graph.
        stream: which records; a new one if not given.
        pool, capture_error_mode, enable_annotations, check_input_liveness: taken as
            torch takes them, and without effect.
    """

    def __init__(
        self, cuda_graph: Graph, pool: Any = None, stream: Stream | None = None,
        capture_error_mode: str = "global", enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:  # fmt: skip
        if not isinstance(cuda_graph, Graph):
            raise ArgumentTypeError(
                "graph", "cuda_graph", was=repr(cuda_graph), needed="a Graph"
            )
        self.cuda_graph = cuda_graph
        self.capture_stream = stream

    def _new_stream(self) -> Stream:
        return Stream(self.cuda_graph._device())

    def __enter__(self) -> None:
        stream = self.capture_stream or self._new_stream()
        stream._backend.synchronize(stream._index)
        self.capture_stream = stream
        stream.__enter__()
        try:
            self.cuda_graph.__enter__()
        except BaseException:
            stream.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        assert self.capture_stream is not None
        try:
            self.cuda_graph.__exit__(*error)
        finally:
            self.capture_stream.__exit__()


def is_current_stream_capturing() -> bool:
    """Whether this thread or task records a graph."""
    return recording.get() is not None
