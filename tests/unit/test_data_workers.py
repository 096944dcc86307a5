"""Batches made by worker processes: order, seeds, faults, and what is left behind."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    TensorDataset,
    get_worker_info,
)
from dovetail.errors import ShapeError, WorkerError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are forked here")


class Odd(Exception):
    """One that takes more than a message."""

    def __init__(self, code: int, where: str) -> None:
        super().__init__(code, where)


def _stuck() -> None:
    time.sleep(60)


FAULTS = {
    "value": lambda: int("x"),
    "key": lambda: {}["absent"],
    "shape": lambda: dt.ones(2) @ dt.ones(3),
    "odd": lambda: _raise(Odd(1, "here")),
    "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": faulthandler._sigsegv,
    "hang": _stuck,
    "unsendable": lambda: lambda: None,
}


def _raise(error: Exception) -> None:
    raise error


class Samples(Dataset[Any]):
    """Numbers, of which one has a fault."""

    def __init__(self, size: int, fault: str | None = None) -> None:
        self.size, self.fault = size, fault

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> Any:
        if i == 3 and self.fault is not None:
            return FAULTS[self.fault]()
        return i


class Draws(Dataset[Any]):
    """What a worker draws, and who it is."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        info: Any = get_worker_info()
        drawn = (random.random(), np.random.rand(), dt.rand(()).item())
        return info.id, info.num_workers, info.seed, os.getpid(), *drawn


class Counting(IterableDataset[int]):
    """Each worker has the numbers that are its own."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.size, step))


def loader(data: Any, workers: int = 2, batch: int | None = 2, **given: Any) -> Any:
    """A loader whose workers are forked, and do not outlive a hanging test."""
    if workers:
        given = {"timeout": 20, "multiprocessing_context": "fork", **given}
    return DataLoader(data, batch, num_workers=workers, **given)


@pytest.fixture(autouse=True)
def _no_orphans() -> Iterator[None]:
    """No test leaves a process behind."""
    yield
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [1, 3])
def test_order_is_the_same_for_any_number_of_workers(workers: int) -> None:
    """Two passes in a random order, as in one process."""
    passes = []
    for count in (0, workers):
        generator = dt.random.Generator().manual_seed(7)
        made = loader(Samples(11), count, 3, shuffle=True, generator=generator)
        passes.append([b.tolist() for _ in range(2) for b in made])
    assert passes[0] == passes[1]
    assert len(passes[0]) == 8


def test_the_default_generator_gives_the_same_order() -> None:
    """Draws between the batches do not change which come next."""
    passes = []
    for count in (0, 2):
        dt.manual_seed(3)
        sampler = RandomSampler(Samples(9), replacement=True, num_samples=5000)
        order = []
        for batch in loader(Samples(9), count, 2000, sampler=sampler):
            order.append(batch.tolist())
            dt.rand(count + 1)
        passes.append(order)
    assert passes[0] == passes[1]


def test_large_batches_lie_in_shared_memory() -> None:
    """Values arrive, may be written, and were not copied here."""
    rows = dt.arange(40000.0).reshape(4, 10000)
    x, y = next(iter(loader(TensorDataset(rows, dt.arange(4)))))
    assert x.tolist() == rows[:2].tolist()
    assert y.tolist() == [0, 1]
    x += 1
    assert x[1, 0].item() == 10001
    if sys.platform == "linux":
        assert "dovetail batch" in Path("/proc/self/maps").read_text()


def test_streams_are_shared_out() -> None:
    """Each worker has its part; a loader goes on with those that have more."""
    found = [b.tolist() for b in loader(Counting(9), 2)]
    assert found == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    dropped = [b.tolist() for b in loader(Counting(9), 2, drop_last=True)]
    assert dropped == found[:-1]
    assert list(loader(Counting(3), 2, None)) == [0, 1, 2]


def test_workers_have_seeds_of_their_own() -> None:
    """Numbers differ from worker to worker, and not from run to run."""
    runs = []
    for _ in range(2):
        generator = dt.random.Generator().manual_seed(5)
        made = loader(Draws(), 2, None, generator=generator, collate_fn=tuple)
        runs.append([(*row[:3], *row[4:]) for row in made])
    assert runs[0] == runs[1]
    assert [row[:2] for row in runs[0]] == [(0, 2), (1, 2), (0, 2), (1, 2)]
    assert runs[0][1][2] == runs[0][0][2] + 1
    assert len({row[i] for row in runs[0] for i in (3, 4, 5)}) == 12


@pytest.mark.parametrize("persistent", [False, True])
def test_persistent_workers_stay(persistent: bool) -> None:
    """Passes are made by the same processes, or by new ones."""
    made = loader(Draws(), 2, None, collate_fn=tuple, persistent_workers=persistent)
    passes = [{row[3] for row in made} for _ in range(2)]
    assert (passes[0] == passes[1]) is persistent
    if persistent:
        first = iter(made)
        next(first)
        assert len(list(made)) == 4  # ends the pass before it
        with pytest.raises(WorkerError, match="another one has ended"):
            list(first)
    del made


def test_workers_are_told_who_they_are() -> None:
    """`worker_init_fn` gets the number; what it raises is raised here."""
    with pytest.raises(ZeroDivisionError, match="_start_badly"):
        list(loader(Samples(4), worker_init_fn=_start_badly))


def _start_badly(worker: int) -> None:
    worker // (worker - worker)


RAISED = {
    "value": (ValueError, "invalid literal"),
    "key": (KeyError, "absent"),
    "shape": (ShapeError, "matmul"),
    "odd": (RuntimeError, "Odd"),
    "exit": (WorkerError, "worker 1 .*exit code 3"),
    "kill": (WorkerError, "SIGKILL"),
    "crash": (WorkerError, "(?s)SIGSEGV.*__getitem__"),
    "hang": (WorkerError, "(?s)timed out.*_stuck"),
}


@pytest.mark.parametrize("fault", RAISED)
def test_faults_of_workers_are_raised_here(fault: str) -> None:
    """With where they come from, after the batches before, and no process is left."""
    kind, message = RAISED[fault]
    batches = iter(loader(Samples(8, fault), timeout=0.5 if fault == "hang" else 20))
    if kind is not WorkerError:
        assert next(batches).tolist() == [0, 1]
    with pytest.raises(kind, match=message) as info:
        list(batches)
    if kind is not WorkerError:  # those behind it still come
        assert "__getitem__" in str(info.value)
        assert [batch.tolist() for batch in batches] == [[4, 5], [6, 7]]


def test_what_cannot_be_sent_is_said() -> None:
    """A sample that does not pickle is an error of the batch."""
    with pytest.raises(Exception, match="pickle"):
        list(loader(Samples(8, "unsendable"), collate_fn=list))


def test_batches_may_come_as_they_are_made() -> None:
    """Without order, a slow worker holds up only its own."""
    made = loader(Slow(), 2, None, in_order=False)
    assert [int(x) for x in made] == [1, 3, 0, 2]


class Slow(Dataset[int]):
    """The first sample takes its time."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> int:
        time.sleep(0.0 if i else 0.5)
        return i


def test_long_lists_of_numbers_block_nobody() -> None:
    """Neither tasks nor batches wait for each other when they fill their pipes."""
    made = loader(Samples(400_000), 1, 100_000, collate_fn=list, prefetch_factor=4)
    assert [len(batch) for batch in made] == [100_000] * 4


def test_left_passes_leave_nothing() -> None:
    """Workers end with the iterator that nobody asks any more."""
    batches = iter(loader(Samples(100)))
    next(batches)
    assert len(multiprocessing.active_children()) == 2
    del batches
    assert multiprocessing.active_children() == []


ORPHANS = """
import os, signal, sys
from dovetail.data import DataLoader
batches = iter(DataLoader(range(1000), 1, num_workers=2, collate_fn=list))
next(batches)
import multiprocessing
print(*[p.pid for p in multiprocessing.active_children()], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_parent_leaves_no_orphans() -> None:
    """Workers look whether their parent is there."""
    with subprocess.Popen(
        [sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        found = [int(pid) for pid in run.stdout.readline().split()]
    assert len(found) == 2
    end = time.monotonic() + 10
    while found and time.monotonic() < end:
        found = [pid for pid in found if _runs(pid)]
        time.sleep(0.05)
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    assert found == []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # a zombie has ended, and waits for init
    return (
        not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    )


def test_workers_may_be_spawned() -> None:
    """Nothing is inherited: what workers need is sent to them."""
    rows = TensorDataset(dt.arange(20000.0).reshape(4, 5000))
    made = loader(rows, 1, multiprocessing_context="spawn")
    assert [x[:, 0].tolist() for (x,) in made] == [[0.0, 5000.0], [10000.0, 15000.0]]


BAD = {
    "workers": {"num_workers": -1},
    "timeout": {"num_workers": 1, "timeout": -1},
    "prefetch": {"num_workers": 1, "prefetch_factor": 0},
    "context": {"num_workers": 1, "multiprocessing_context": "thread"},
    "nobody": {"persistent_workers": True},
    "prefetch alone": {"prefetch_factor": 2},
}


@pytest.mark.parametrize("fault", BAD)
def test_options_without_sense_are_refused(fault: str) -> None:
    """Those that no worker could have, and those that no worker reads."""
    with pytest.raises(ValueError, match="DataLoader: "):
        DataLoader(Samples(3), **BAD[fault])


def test_contexts_are_kept_as_such(tmp_path: Any) -> None:
    """Whether named or given; they may be set for workers, and for nothing else."""
    made = loader(Samples(2), multiprocessing_context="spawn")
    assert made.multiprocessing_context.get_start_method() == "spawn"
    made.multiprocessing_context = "fork"
    assert [batch.tolist() for batch in made] == [[0, 1]]
    with pytest.raises(ValueError, match="multiprocessing_context"):
        made.multiprocessing_context = "thread"
    with pytest.raises(ValueError, match="num_workers"):
        DataLoader([1]).multiprocessing_context = "fork"
    assert DataLoader([1], num_workers=1).multiprocessing_context is None
    made.num_workers = 1
    for name in ("batch_size", "dataset", "sampler"):
        with pytest.raises(ValueError, match="should not be set"):
            setattr(made, name, None)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_passes_go_on_after_an_error(workers: int) -> None:
    """Of one batch; a stream ends with its error. The workers end with the pass."""
    batches = iter(loader(Samples(8, "value"), workers))
    found: list[Any] = []
    while True:
        try:
            found.append(next(batches).tolist())
        except ValueError:
            found.append("error")
        except StopIteration:
            break
    assert found == [[0, 1], "error", [4, 5], [6, 7]]
    assert list(batches) == []
    stream = iter(loader(Broken(), min(workers, 1)))
    assert next(stream).tolist() == [0, 1]
    with pytest.raises(ValueError, match="broken"):
        next(stream)
    assert list(stream) == []


class Broken(IterableDataset[int]):
    """A stream that breaks off."""

    def __iter__(self) -> Iterator[int]:
        yield from range(3)
        raise ValueError("broken")
