"""What comes before what: who may use memory that another stream used.

Each job has a tick of its device. A stream knows up to which tick it comes after each
other one: by events, or because the host waited (Lamport 1978; vector clocks).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from dovetail.errors import StreamError
from dovetail.testing.chaos_device.memory import Cell

_numbers: Final = itertools.count()
Known = dict[int, int]  # by number of a stream, the last tick that is known


class Host:
    """What the host has waited for: everything that it asks for now comes after it.

    Attributes:
        tick: that of the last job given to the device.
        settled: that of the last job before the device was waited for as a whole.
    """

    def __init__(self) -> None:
        self.tick = 0
        self.settled = 0
        self._known: Known = {}

    def waited(self, known: Known) -> None:
        """All that is `known` has been waited for."""
        merge(self._known, known)

    def waited_for_all(self) -> None:
        self.settled = self.tick
        self._known.clear()

    def knows(self, number: int, tick: int) -> bool:
        return tick <= self.settled or tick <= self._known.get(number, 0)


class Progress:
    """How far a stream is, and what it knows of others."""

    def __init__(self, host: Host) -> None:
        self.number = next(_numbers)
        self._host = host
        self._last = 0
        self._seen: Known = {}

    @property
    def known(self) -> Known:
        """What comes after all work so far may rely on."""
        return {**self._seen, self.number: self._last}

    def learn(self, known: Known) -> None:
        """Later work comes after what is `known`."""
        merge(self._seen, known)

    def check(
        self, op: str, reads: Sequence[Cell], writes: Sequence[Cell] = ()
    ) -> None:
        """Raise where another stream may not be done with the memory.

        Raises:
            StreamError: names both ops.
        """
        for cell in (*reads, *writes):
            if cell.wrote is not None and not self._after(*cell.wrote[:2]):
                raise self._race(op, "written", cell.wrote[2])
        for cell in writes:
            for number, (tick, reader) in cell.read_by.items():
                if not self._after(number, tick):
                    raise self._race(op, "read", reader)

    def stamp(self, op: str, reads: Sequence[Cell], writes: Sequence[Cell]) -> None:
        """Take the next tick for work that reads and writes this memory."""
        self._host.tick += 1
        self._last = tick = self._host.tick
        for cell in reads:
            cell.read_by[self.number] = (tick, op)
        for cell in writes:
            cell.wrote = (self.number, tick, op)
            cell.read_by = {}

    def _after(self, number: int, tick: int) -> bool:
        return (
            number == self.number
            or tick <= self._seen.get(number, 0)
            or self._host.knows(number, tick)
        )

    def _race(self, op: str, used: str, other: str) -> StreamError:
        return StreamError(
            op, "memory", was=f"{used} by {other} on another stream",
            needed="work that waits for it",
            remedy="call wait_stream(other), or wait for an event, before",
        )  # fmt: skip


def merge(into: Known, more: Known) -> None:
    """Keep the later tick of each stream."""
    for number, tick in more.items():
        into[number] = max(tick, into.get(number, 0))
