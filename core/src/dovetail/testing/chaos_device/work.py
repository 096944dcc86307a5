"""Work that was asked for and is not done yet: streams, events, and their order."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from dovetail.errors import DeviceLost, DovetailError, KernelError
from dovetail.testing.chaos_device.memory import Cell, Meter
from dovetail.testing.chaos_device.order import Host, Known, Progress
from dovetail.testing.chaos_device.settings import current

if TYPE_CHECKING:
    from dovetail.testing.chaos_device.graphs import Graph

_DEPTH: Final = 24  # jobs put off at most


class Job:
    """One kernel, fill or copy that is due.

    Attributes:
        op: what the user called.
        after: jobs to be done before.
        reads, fresh: memory whose contents it needs, and that it brings to be.
    """

    __slots__ = ("action", "after", "done", "fresh", "op", "reads", "stream", "touched")

    def __init__(
        self, op: str, action: Callable[[], None], stream: Stream, *,
        reads: Sequence[Cell] = (), writes: Sequence[Cell] = (),
        fresh: Sequence[Cell] = (),
    ) -> None:  # fmt: skip
        stream.place.check(op, reads, writes)
        stream.place.stamp(op, reads, (*writes, *fresh))
        self.op = op
        self.action = action
        self.stream = stream
        self.reads: Sequence[Cell] = (*reads, *writes)
        self.fresh = fresh
        self.touched: Sequence[Cell] = (*reads, *writes, *fresh)
        self.done = False
        after = list(stream.barriers)
        for cell in self.reads:
            if cell.writer is not None:
                after.append(cell.writer)
            cell.readers = [j for j in cell.readers if not j.done]
        for cell in writes:
            after += cell.readers
        self.after = [job for job in after if not job.done]
        for cell in self.reads:
            cell.readers.append(self)
        for cell in (*writes, *fresh):
            cell.writer, cell.readers = self, []

    @property
    def ready(self) -> bool:
        return all(job.done for job in self.after)

    def run(self) -> None:
        """Do the work, unless what it needs never came to be.

        Raises:
            DovetailError: what went wrong, in the name of the op.
        """
        failure = next((c.failure for c in self.reads if c.failure is not None), None)
        try:
            if failure is None:
                self._act()
            else:
                self._fail(failure)
        finally:
            self.drop()

    def _act(self) -> None:
        try:
            self.action()
            for cell in self.touched:
                cell.last = self.op
                cell.check()
        except DovetailError as error:
            self._fail(error)
            raise
        except Exception as error:
            wrapped = KernelError(
                self.op, "kernel", was=f"failing with {type(error).__name__}: {error}",
                needed="a result",
                remedy=f"its arguments had shapes {[c.shape for c in self.reads]}",
            )  # fmt: skip
            self._fail(wrapped)
            raise wrapped from error

    def drop(self) -> None:
        """Be done, and hold nothing any more."""
        self.done = True
        for cell in self.touched:
            if cell.writer is self:
                cell.writer = None
        self.action = _nothing
        self.after, self.reads, self.fresh, self.touched = [], (), (), ()

    def _fail(self, error: DovetailError) -> None:
        for cell in self.fresh:
            cell.failure = error


def _nothing() -> None:
    """What is left of a job's work when it is done."""


class Stream:
    """A queue of jobs; those that do not depend on one another may change places."""

    def __init__(self, device: Device, priority: int = 0) -> None:
        self.device = device
        self.priority = priority
        self.place = Progress(device.host)
        self.barriers: list[Job] = []
        self.graph: Graph | None = None  # records what is given, where there is one

    def pending(self) -> list[Job]:
        """The jobs that are not done, of this stream and of those it waits for."""
        own = [job for job in self.device.pending if job.stream is self]
        return own + [job for job in self.barriers if not job.done]

    def wait_for(self, event: Event) -> None:
        """Let later jobs of this stream come after what `event` stands for now."""
        if event.job is not None:
            self.place.learn(event.known)
            self.barriers = [j for j in (*self.barriers, event.job) if not j.done]

    def synchronize(self) -> None:
        """Wait for all jobs of this stream."""
        self.device.finish(self.pending())
        self.device.host.waited(self.place.known)

    def idle(self) -> bool:
        """Whether no job is due; does a little of what is."""
        self.device.advance()
        idle = not self.pending()
        if idle:
            self.device.host.waited(self.place.known)
        return idle


class Event:
    """A place in a stream: done when everything before it is.

    Attributes:
        job: stands at the place, None where none was recorded.
        known: what comes before it.
        seconds: when the place was reached, on the clock of `time.perf_counter`.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.job: Job | None = None
        self.known: Known = {}
        self.seconds = 0.0

    def record(self, stream: Stream) -> None:
        """Stand for the work given to `stream` so far."""

        def reached() -> None:
            self.seconds = time.perf_counter()

        job = Job("event", reached, stream)
        job.after += stream.pending()
        self.job, self.known = job, stream.place.known
        stream.device.submit(job)

    def synchronize(self) -> None:
        """Wait for everything before the place."""
        self.device.finish([] if self.job is None else [self.job])
        self.device.host.waited(self.known)

    def done(self) -> bool:
        """Whether the place was reached; does a little of what is due."""
        self.device.advance()
        done = self.job is None or self.job.done
        if done:
            self.device.host.waited(self.known)
        return done


class Device:
    """One device: its default stream, the work that is due, and what went wrong."""

    def __init__(self, name: str, index: int) -> None:
        self.name = name
        self.index = index
        self.meter = Meter()
        self.lock = threading.RLock()
        self.host = Host()
        self.default = Stream(self)
        self.pending: list[Job] = []
        self.errors: list[DovetailError] = []
        self.cells: weakref.WeakSet[Cell] = weakref.WeakSet()
        self.lost: DeviceLost | None = None

    def refuse_if_lost(self) -> None:
        """Raise the same error at each use once the device is lost."""
        if self.lost is not None:
            raise again(self.lost)

    def launch(self, op: str) -> None:
        """Count a kernel; the device may be lost with it."""
        self.refuse_if_lost()
        number = current().launch()
        if number:
            self._lose(op, number)

    def _lose(self, op: str, number: int) -> None:
        self.lost = DeviceLost(
            "device", f"{self.name}:{self.index}",
            was=f"lost at kernel {number}, {op}, with what was in its memory",
            needed="a device that answers",
            remedy="go on from a checkpoint, on another device or in a new process",
        )  # fmt: skip
        for job in self.pending:
            job.drop()
        self.pending.clear()
        self.errors.clear()
        for cell in list(self.cells):
            cell.failure = self.lost
        raise again(self.lost)

    def submit(self, job: Job) -> None:
        """Take on a job: to be done by and by, or at once where nothing is put off.

        Raises:
            DovetailError: what went wrong in a job that was done at once.
        """
        self.pending.append(job)
        if not current().settings.reorder:
            self.finish(self.pending)
            return
        while len(self.pending) > current().order.randint(0, _DEPTH):
            self._step()

    def _step(self) -> None:
        """Do one job that may be done now; keep its error for the next wait."""
        ready = [job for job in self.pending if job.ready]
        job = current().order.choice(ready) if current().settings.reorder else ready[0]
        self.pending.remove(job)
        try:
            job.run()
        except DovetailError as error:
            self.errors.append(error)

    def finish(self, wanted: Iterable[Job]) -> None:
        """Wait for some jobs; others may get done on the way. Raises what went wrong.

        Raises:
            DovetailError: the first error since the last wait, which names its op.
        """
        self.refuse_if_lost()
        wanted = list(wanted)
        while not all(job.done for job in wanted):
            self._step()
        if self.errors:
            first = self.errors[0]
            self.errors.clear()
            raise first

    def advance(self) -> None:
        """Do a little of what is due, so that who asks again and again gets a yes."""
        self.refuse_if_lost()
        if self.pending:
            self._step()

    def synchronize(self) -> None:
        """Wait for everything, and look at every guard."""
        self.finish(self.pending)
        self.host.waited_for_all()
        for cell in list(self.cells):
            cell.check()

    def replace(self) -> None:
        """Put a new device in the place of a lost one; old memory stays lost."""
        self.lost = None


def again(error: DovetailError) -> DovetailError:
    """The same error once more, without the traceback of its last use."""
    made, fields = error.__reduce__()[:2]
    fresh: DovetailError = made(*fields)
    return fresh
