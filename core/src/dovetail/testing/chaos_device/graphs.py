"""Work that a stream of the chaos device recorded, to be done again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail.testing.chaos_device.memory import Cell
from dovetail.testing.chaos_device.work import Device, Job, Stream


class Plan(NamedTuple):
    """What a job is made of, at each launch anew."""

    op: str
    action: Callable[[], None]
    reads: Sequence[Cell]
    writes: Sequence[Cell]


class Graph:
    """The jobs of one stream, in the order in which they were given.

    Attributes:
        kept: arrays made meanwhile, whose memory is nobody else's.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.plans: list[Plan] = []
        self.kept: list[Any] = []

    def launch(self, stream: Stream) -> None:
        """Give all of it to `stream`: jobs that may change places where they can."""
        self.device.launch("graph")
        for plan in self.plans:
            self.device.submit(
                Job(plan.op, plan.action, stream, reads=plan.reads, writes=plan.writes)
            )


def give(
    device: Device, op: str, action: Callable[[], None], stream: Stream, *,
    reads: Sequence[Cell] = (), writes: Sequence[Cell] = (), fresh: Sequence[Cell] = (),
) -> None:  # fmt: skip
    """Let work be done on a stream by and by, or record it where the stream does.

    In a graph, what an op brings to be is written again by the next launch.
    """
    if stream.graph is None:
        job = Job(op, action, stream, reads=reads, writes=writes, fresh=fresh)
        device.submit(job)
    else:
        stream.graph.plans.append(Plan(op, action, reads, (*writes, *fresh)))
