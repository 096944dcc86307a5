"""A DataLoader's worker processes, as their parent sees them."""

from __future__ import annotations

import os
import signal
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from dovetail.errors import DovetailError, WorkerError

from .fetch import Recipe
from .transfer import receive
from .worker import Done, Ended, Failure, Job, Task, work

# How long workers may take to end by themselves, and to be ended, in seconds; and how
# long where something has failed.
_PATIENCE: Final = 5.0
_LITTLE_PATIENCE: Final = 0.5
_STACK_PATIENCE: Final = 0.5


class Worker:
    """One process, and the pipes to it."""

    def __init__(self, context: Any, job: Job) -> None:
        self.connection, theirs = context.Pipe()
        self.faults, their_faults = context.Pipe(duplex=False)
        self.process = context.Process(
            target=work, args=(job, theirs, their_faults), daemon=True,
            name=f"dovetail DataLoader worker {job.worker}",
        )  # fmt: skip
        self.number = job.worker
        self.process.start()
        theirs.close()
        their_faults.close()

    def give(self, task: Task | None) -> None:
        """Send a task; None ends the worker."""
        with suppress(OSError):  # one that has ended is found by the next wait
            self.connection.send(task)

    def stacks(self) -> str:
        """What the worker wrote of its stacks, so far."""
        os.set_blocking(self.faults.fileno(), False)
        found = b""
        try:
            while part := os.read(self.faults.fileno(), 1 << 16):
                found += part
        except BlockingIOError:
            pass
        return found.decode(errors="replace")

    def ask_for_stacks(self) -> str:
        """Where a worker that hangs is."""
        if not hasattr(signal, "SIGUSR1") or not self.process.is_alive():
            return self.stacks()
        os.kill(self.process.pid, signal.SIGUSR1)
        found, end = "", time.monotonic() + _STACK_PATIENCE
        while time.monotonic() < end:
            found += self.stacks()
            time.sleep(0.02)
        return found

    def died(self) -> str:
        """How a process that has ended did so."""
        self.process.join(_PATIENCE)
        code = self.process.exitcode
        if code is None or code >= 0:
            how = f"ended with exit code {code}"
        else:
            how = f"was killed by {signal.Signals(-code).name}"
            if code == -signal.SIGKILL:
                how += ", as the system does when memory runs out"
        stacks = self.stacks()
        return f"{how}\n{stacks}" if stacks else how


class WorkerPool:
    """Workers that make batches, in order.

    Args:
        context: of multiprocessing.
        recipe: how batches are made.
        count: how many workers.
        prefetch: how many batches each is ahead.
        base_seed: worker i draws by `base_seed + i`.
        start: called in each worker with its number.
        timeout: seconds after which a worker hangs; 0 waits forever.
        in_order: whether batches come in the sampler's order, or as they are made.
    """

    def __init__(
        self, context: Any, recipe: Recipe, *, count: int, prefetch: int,
        base_seed: int, start: Callable[[int], None] | None, timeout: float,
        in_order: bool,
    ) -> None:  # fmt: skip
        self.prefetch, self.timeout, self.in_order = prefetch, timeout, in_order
        self.workers: list[Worker] = []
        self.epoch = 0
        weakref.finalize(self, end_all, self.workers)
        for i in range(count):
            job = Job(recipe, i, count, base_seed, start, os.getpid())
            self.workers.append(Worker(context, job))

    def close(self, patience: float = _PATIENCE) -> None:
        """End all workers, which may finish what they are at in so many seconds."""
        end_all(self.workers, patience)

    def batches(self, indices: Iterator[Any], seed: int) -> Iterator[Any]:
        """The batches of one pass, whose order `indices` says.

        Args:
            seed: of the pass, the same for all workers.
        """
        self.epoch += 1
        for worker in self.workers:
            worker.give(Task(self.epoch, None, seed))
        return _Pass(self, indices)


class _Pass:
    """One pass over the data.

    Attributes:
        asked: the tasks that are not answered, by number: their workers.
        made: batches that wait for their turn.
        active: workers whose streams have not ended, in turn.
    """

    def __init__(self, pool: WorkerPool, indices: Iterator[Any]) -> None:
        self.pool = pool
        self.indices = enumerate(indices)
        self.asked: dict[int, Worker] = {}
        self.made: dict[int, Any] = {}
        self.active = deque(pool.workers)
        self.epoch = pool.epoch
        self.turn = 0
        for _ in range(pool.prefetch * len(pool.workers)):
            self.ask()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next batch; after one that failed, those behind it still come."""
        in_order = self.pool.in_order
        while self.asked or self.made:
            while not (self.turn in self.made if in_order else self.made):
                self.receive()
            number = self.turn if in_order else next(iter(self.made))
            self.turn += 1
            value = self.made.pop(number)
            self.ask()
            if isinstance(value, Failure):
                raise again(value, number)
            if not isinstance(value, Ended):
                return value
        raise StopIteration

    def ask(self) -> None:
        """Ask the worker whose turn it is for the next batch."""
        if not self.active:
            return
        for number, index in self.indices:
            worker = self.active[0]
            self.active.rotate(-1)
            self.asked[number] = worker
            worker.give(Task(self.epoch, number, index))
            return

    def receive(self) -> None:
        """Wait for one more answer of any worker."""
        if self.epoch != self.pool.epoch:
            raise WorkerError(
                "DataLoader", "iterator", was="of a pass that another one has ended",
                needed="that of the last pass", remedy="persistent workers serve one",
            )  # fmt: skip
        timeout, started = self.pool.timeout or None, time.monotonic()
        by_end: dict[Any, Worker] = {}
        for worker in self.pool.workers:
            by_end[worker.connection] = by_end[worker.process.sentinel] = worker
        while True:
            left = None if timeout is None else timeout + started - time.monotonic()
            ready = wait(list(by_end), left if left is None else max(0.0, left))
            if not ready:
                raise self._over(self._hangs())
            answers = [x for x in ready if isinstance(x, Connection)]
            if not answers:
                raise self._over(self._died(by_end[ready[0]]))
            for connection in answers:
                try:
                    done = receive(connection)
                except (EOFError, OSError):
                    raise self._over(self._died(by_end[connection])) from None
                if self._take(done, by_end[connection]):
                    return

    def _take(self, done: Done, worker: Worker) -> bool:
        """Keep an answer; not one that belongs to a former pass."""
        if done.epoch != self.epoch:
            return False
        if done.number is None:
            raise self._over(again(done.value, None))
        self.asked.pop(done.number)
        self.made[done.number] = done.value
        if isinstance(done.value, Ended) and worker in self.active:
            self.active.remove(worker)
        return True

    def _over(self, error: BaseException) -> BaseException:
        """What ends the pass, with all workers."""
        self.asked.clear()
        self.made.clear()
        self.pool.close(_LITTLE_PATIENCE)
        return error

    def _hangs(self) -> WorkerError:
        slow = list(dict.fromkeys(self.asked.values()))
        numbers = [worker.number for worker in slow]
        where = "\n".join(worker.ask_for_stacks() for worker in slow)
        return WorkerError(
            "DataLoader", f"workers {numbers}",
            was=f"timed out: no batch for {self.pool.timeout} seconds",
            needed="one within the timeout", remedy=f"they were here:\n{where}",
        )  # fmt: skip

    def _died(self, worker: Worker) -> WorkerError:
        return WorkerError(
            "DataLoader", f"worker {worker.number} (pid {worker.process.pid})",
            was=f"dead: it {worker.died()}", needed="alive, to make batches",
            remedy="run with num_workers=0 to see it in this process",
        )  # fmt: skip


def again(failure: Failure, number: int | None) -> BaseException:
    """The exception of a worker, to be raised here."""
    what = "its start" if number is None else f"batch {number}"
    text = f"a DataLoader worker raised this at {what}:\n\n{failure.text}"
    if issubclass(failure.kind, KeyError):
        return _KeyError(text)
    if issubclass(failure.kind, DovetailError):
        return failure.kind("DataLoader", was=text)
    try:
        return failure.kind(text)
    except Exception:  # it takes something else than a message
        return RuntimeError(text)


class _KeyError(KeyError):
    """A KeyError whose message has lines."""

    __str__ = Exception.__str__


def end_all(workers: list[Worker], patience: float = _PATIENCE) -> None:
    """End processes: by asking, by terminating, by killing."""
    for worker in workers:
        worker.give(None)
        worker.connection.close()
    end = time.monotonic() + patience
    for stop in (None, "terminate", "kill"):
        for worker in workers:
            if stop is not None and worker.process.is_alive():
                getattr(worker.process, stop)()
            worker.process.join(max(0.0, end - time.monotonic()))
        if stop == "terminate":
            end = time.monotonic() + _PATIENCE
    for worker in workers:
        worker.faults.close()
    workers.clear()
