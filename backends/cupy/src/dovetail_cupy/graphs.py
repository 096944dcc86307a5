"""Graphs of CUDA and HIP, by CuPy's capture of a stream."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.device_api import Graphs
from dovetail_cupy.faults import guarded


class Work(NamedTuple):
    """What a stream recorded.

    Attributes:
        graph: CuPy's.
        pool: of the memory that was made meanwhile, and is nobody else's.
    """

    graph: Any
    pool: Any


class CupyGraphs(Graphs):
    """Graphs of queues; memory made meanwhile is of a pool of their own."""

    type: Any
    xp: Any
    memory: Any
    on: Any

    def begin_graph(self, stream: Any, index: int) -> None:
        with self.on(index):
            guarded(self.type, stream.stream.begin_capture)
        self.memory.part(stream.ptr, self.xp.cuda.MemoryPool())

    def end_graph(self, stream: Any, index: int) -> Work:
        pool = self.memory.join(stream.ptr)
        with self.on(index):
            return Work(guarded(self.type, stream.stream.end_capture), pool)

    def launch_graph(self, graph: Work, stream: Any, index: int) -> None:
        with self.on(index):
            guarded(self.type, graph.graph.launch, stream.stream)
