"""Graphs: what a queue was given, kept as calls and given again.

SYCL's own graphs are not in dpctl. Here the host submits each kernel again, but does
nothing else again: no dispatch, no gradients, no memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api import Graphs
from dovetail_xpu.memory import Stream, XpuArray

_AHEAD: Final = 4  # launches that wait at once: drivers of CPUs are slow with thousands


class Work:
    """What one queue was given while it recorded.

    Attributes:
        calls: each gives a queue one piece of the work.
        kept: arrays made meanwhile, whose memory is nobody else's.
        launched: events behind the last launches.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.calls: list[Callable[[Stream], None]] = []
        self.kept: list[XpuArray] = []
        self.launched: deque[Any] = deque()

    def launch(self, stream: Stream) -> None:
        """Give all of it to a queue."""
        if len(self.launched) >= _AHEAD:
            self.launched.popleft().wait()
        for call in self.calls:
            call(stream)
        self.launched.append(stream.queue.submit_barrier())

    def __del__(self) -> None:
        if not self.launched:
            return
        for array in self.kept:  # its queue must not use it while another one may
            block = array.block
            block.events = [*(block.events or ()), *self.launched]


class XpuGraphs(Graphs):
    """Graphs of queues."""

    def begin_graph(self, stream: Stream, index: int) -> None:
        stream.work = Work(stream)

    def end_graph(self, stream: Stream, index: int) -> Work:
        made, stream.work = stream.work, None
        assert made is not None
        return made

    def launch_graph(self, graph: Work, stream: Stream, index: int) -> None:
        graph.launch(stream)
