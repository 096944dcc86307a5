"""What a DataLoader's worker process does."""

from __future__ import annotations

import faulthandler
import os
import queue
import random
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen.runtime.threads import set_num_threads
from dovetail.frontend.generators import manual_seed

from .fetch import Recipe, StreamEnded
from .transfer import send

# How often a worker looks whether its parent is still there, in seconds.
_LOOKS_UP: Final = 5.0


class WorkerInfo(NamedTuple):
    """What a worker knows of itself.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: of its random numbers.
        dataset: its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


class Task(NamedTuple):
    """A batch to be made, or the beginning of a pass over the data.

    Attributes:
        epoch: the pass; what belongs to a former one is dropped.
        number: of the batch within the pass; None begins the pass.
        index: what the sampler said; where a pass begins, its seed.
    """

    epoch: int
    number: int | None
    index: Any


class Done(NamedTuple):
    """What became of a task.

    Attributes:
        value: the batch, a `Failure`, or an `Ended`.
    """

    epoch: int
    number: int | None
    value: Any


class Ended(NamedTuple):
    """A worker's stream of samples has ended."""

    worker: int


class Failure(NamedTuple):
    """An exception that a worker raised.

    Attributes:
        kind: its class, by which it is raised again.
        text: its traceback.
    """

    kind: type[BaseException]
    text: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The exception as it was raised."""
        return cls(type(error), "".join(traceback.format_exception(error)))


class Job(NamedTuple):
    """What a worker is started with."""

    recipe: Recipe
    worker: int
    workers: int
    base_seed: int
    start: Callable[[int], None] | None
    parent: int


_here: Final[list[WorkerInfo]] = []  # one in a worker


def get_worker_info() -> WorkerInfo | None:
    """What this worker process knows of itself; None in any other process."""
    return _here[-1] if _here else None


def work(job: Job, connection: Connection, faults: Connection) -> None:
    """Make batches as they are asked for, until there is nobody to ask.

    Args:
        connection: gives tasks, and takes what becomes of them.
        faults: takes the stacks of a crash, or of a worker that hangs.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to stop
    _tell_of_faults(faults)
    set_num_threads(1)
    seed = job.base_seed + job.worker
    _seed_all(seed)
    _here.append(WorkerInfo(job.worker, job.workers, seed, job.recipe.dataset))
    tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    with suppress(BrokenPipeError, ConnectionResetError):  # the parent is gone
        _serve(job, connection, tasks)


def _serve(
    job: Job, connection: Connection, tasks: queue.SimpleQueue[Task | None]
) -> None:
    fetch: Callable[[Any], Any] | None = None
    broken: Failure | None = None
    try:
        job.recipe.share(job.workers, job.worker)
        if job.start is not None:
            job.start(job.worker)
    except Exception as error:
        broken = Failure.of(error)
    while (task := tasks.get()) is not None:
        if task.number is None:
            fetch = None
        value: Any = broken
        if broken is None:
            try:
                if task.number is None:
                    job.recipe.begin(task.index)
                if fetch is None:
                    fetch = job.recipe.fetcher()
                value = None if task.number is None else fetch(task.index)
            except StreamEnded:
                value = Ended(job.worker)
            except Exception as error:
                value = Failure.of(error)
        if task.number is not None or isinstance(value, Failure):
            _answer(connection, Done(task.epoch, task.number, value), job.parent)


def _answer(connection: Connection, done: Done, parent: int) -> None:
    """Send what became of a task; what cannot be sent is a failure."""
    try:
        send(connection, done, parent)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        send(connection, done._replace(value=Failure.of(error)), parent)


def _listen(connection: Connection, tasks: queue.SimpleQueue[Task | None]) -> None:
    """Take tasks as they come, so that the parent never waits to give one."""
    parent = parent_process()
    assert parent is not None
    alive = os.getppid()
    while True:
        ready = wait([connection, parent.sentinel], _LOOKS_UP)
        if parent.sentinel in ready or os.getppid() != alive:
            os._exit(1)  # whatever the main thread is at: nobody waits for it
        if connection not in ready:
            continue
        try:
            task = connection.recv()
        except (EOFError, OSError):
            os._exit(1)
        if task is None:
            while not tasks.empty():
                tasks.get_nowait()
        tasks.put(task)
        if task is None:
            return


def _tell_of_faults(faults: Connection) -> None:
    """Write stacks for the parent: of crashes, and when it asks for them."""
    faulthandler.enable(faults.fileno())
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, faults.fileno(), all_threads=True)


def _seed_all(seed: int) -> None:
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(np.random.SeedSequence(seed).generate_state(4))
