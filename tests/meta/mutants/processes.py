"""Work in processes of their own, a few at a time, each with a watchdog.

They are forked from a server that has imported and prepared what all of them need.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Final

# Without a word for so long, an example hangs; the slowest sound one takes a fifth.
# Less than the patience of any run, so that a hang is told from a long search.
SILENCE: Final = 45.0
HUNG: Final = "hung"
GIVEN_UP: Final = "given up"


@dataclass(frozen=True)
class Job:
    """`work(*args, tell)` in another process, where `tell` says what it is at."""

    name: str
    work: Callable[..., Any]
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Answer:
    """What a job returned, or how it ended without.

    Attributes:
        death: empty where it returned; `hung`, `given up`, or how the process died.
        last: what it was at.
        steps: how often it told of something new.
    """

    job: Job
    result: Any
    death: str
    last: str
    steps: int
    seconds: float


def serve(job: Job, answers: Connection) -> None:
    """The whole of a child process."""
    last, spoken = [""], [0.0]

    def tell(what: str) -> None:
        if what != last[0] or time.monotonic() - spoken[0] > 1.0:
            last[0], spoken[0] = what, time.monotonic()
            answers.send((what, None))

    answers.send(("", (job.work(*job.args, tell),)))
    answers.close()


@dataclass
class _Child:
    """A job on its way."""

    job: Job
    process: Any
    answers: Connection
    patience: float
    started: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    last: str = ""
    steps: int = 0

    def listen(self) -> Answer | None:
        """Take what was said; the answer, if it was that."""
        try:
            what, result = self.answers.recv()
        except EOFError:
            self.process.join()
            return self._answer(None, self._death())
        self.heard = time.monotonic()
        if result is not None:
            self.process.join()
            return self._answer(result[0], "")
        self.steps += what != self.last
        self.last = what
        return None

    def overdue(self) -> Answer | None:
        """The answer where it hangs, or took too long."""
        now = time.monotonic()
        hung, late = now - self.heard > SILENCE, now - self.started > self.patience
        if not hung and not late:
            return None
        self.process.kill()
        self.process.join()
        return self._answer(None, HUNG if hung else GIVEN_UP)

    def _death(self) -> str:
        code = self.process.exitcode or 0
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"

    def _answer(self, result: Any, death: str) -> Answer:
        seconds = time.monotonic() - self.started
        return Answer(self.job, result, death, self.last, self.steps, seconds)


class Processes:
    """Runs jobs.

    Args:
        count: at once.
        preload: a module that the server imports first.
        patience: seconds after which a job is given up.
    """

    def __init__(self, count: int, preload: str, patience: float) -> None:
        self.count = count
        self.patience = patience
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([preload])
        self.children: list[_Child] = []

    def answers(self, jobs: Iterator[Job | None]) -> Iterator[Answer]:
        """What comes of each, as it comes; a new job is taken when one is done.

        Args:
            jobs: None in their place asks to wait for an answer first.
        """
        more = True
        while more or self.children:
            while more and len(self.children) < self.count:
                try:
                    job = next(jobs)
                except StopIteration:
                    more = False
                    break
                if job is None:
                    break
                self.children.append(self._start(job))
            yield from self._finished()

    def stop(self) -> None:
        """End what runs."""
        for child in self.children:
            child.process.kill()
            child.process.join()

    def _start(self, job: Job) -> _Child:
        ours, theirs = self.context.Pipe(duplex=False)
        process = self.context.Process(target=serve, args=(job, theirs), daemon=True)
        process.start()
        theirs.close()
        return _Child(job, process, ours, self.patience)

    def _finished(self) -> Iterator[Answer]:
        ready = wait([c.answers for c in self.children], timeout=0.5)
        for child in list(self.children):
            answer = child.listen() if child.answers in ready else child.overdue()
            if answer is not None:
                self.children.remove(child)
                yield answer
