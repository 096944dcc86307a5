"""Threads share the chunks of a kernel: each is done once, whatever else happens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.null.codegen.counting import Counts
from tests.support import child

from dovetail.codegen.runtime import pool as module
from dovetail.codegen.runtime.kernels import POOL


@pytest.fixture(autouse=True)
def pool() -> Iterator[None]:
    """The pool has its own size again afterwards, and none of a test's threads."""
    size = POOL.size
    yield
    POOL.resize(size)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@settings(deadline=None, derandomize=True, database=None)
@given(pieces=st.integers(0, 300), grain=st.integers(1, 60))
def test_each_piece_is_done_once(threads: int, pieces: int, grain: int) -> None:
    """No piece is left out or done twice, whatever the chunks and the threads."""
    if POOL.size != threads:
        POOL.resize(threads)
    assert Counts(pieces).run(grain) == [1] * pieces


def test_more_chunks_than_between_two_signals() -> None:
    """A kernel that is looked after in between does all its pieces, too."""
    POOL.resize(3)
    assert Counts(5000).run(1) == [1] * 5000
    assert Counts(5000).run(1, whole=True) == [1] * 5000


def test_other_threads_do_work() -> None:
    """While a caller is in the middle of a long kernel, others take chunks of it."""
    POOL.resize(2)
    for _ in range(20):
        before = time.thread_time(), time.process_time()
        Counts(64, turns=1_000_000).run(1)
        mine = time.thread_time() - before[0]
        if time.process_time() - before[1] > 1.2 * mine:
            return
    pytest.fail("one thread did everything")


def test_a_caller_waits_for_the_others() -> None:
    """What others have not finished is awaited, also for longer than one spins."""
    POOL.resize(2)
    for _ in range(20):
        counts = Counts(2, turns=500_000)
        assert counts.run(1) == [1, 1]
        assert counts.finished() == 2


def test_callers_from_several_threads() -> None:
    """Callers that come at the same time each get all of their work done."""
    POOL.resize(3)
    results: list[bool] = []

    def call(number: int) -> None:
        for turn in range(30):
            pieces = 1 + (number * 37 + turn * 11) % 90
            results.append(Counts(pieces, turns=20_000).run(4) == [1] * pieces)

    callers = [Thread(target=call, args=(number,)) for number in range(4)]
    for caller in callers:
        caller.start()
    while any(caller.is_alive() for caller in callers):
        POOL.resize(2 if POOL.size == 3 else 3)
        time.sleep(0.001)
    for caller in callers:
        caller.join()
    assert results == [True] * 120


def test_idle_threads_sleep() -> None:
    """A moment after a kernel its threads use no time of any core."""
    POOL.resize(4)
    Counts(64, turns=1000).run(1)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.02


def test_threads_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives no threads, the caller does the work."""

    class NoThreads:
        def pthread_create(self, *_: object) -> int:
            return 11

    POOL.close()
    monkeypatch.setattr(module.ctypes, "CDLL", lambda _: NoThreads())
    assert Counts(100).run(10) == [1] * 100


def test_a_system_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no POSIX threads, the caller does the work, without a pool."""
    monkeypatch.setattr(module, "_HAS_THREADS", False)
    monkeypatch.setattr(module.Pool, "_start", lambda _: pytest.fail("a pool"))
    POOL.resize(4)
    assert POOL.size == 1
    assert Counts(5000).run(1) == [1] * 5000


@pytest.mark.parametrize(("wish", "size"), [("3", 3), ("2,1", 2), ("0", 0), ("x", 0)])
def test_the_variable_of_openmp(
    monkeypatch: pytest.MonkeyPatch, wish: str, size: int
) -> None:
    """`OMP_NUM_THREADS` says how many threads there are; nonsense is not heard."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = module.default_size()
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert module.default_size() == (size or cores)


START = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
from dovetail.codegen.runtime.kernels import POOL
from tests.null.codegen.counting import Counts
POOL.resize(3)
"""

FORK = """
stop = False
def work():
    while not stop:
        assert Counts(200, turns=2000).run(3) == [1] * 200
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
children = []
for _ in range(20):
    time.sleep(0.005)
    process = os.fork()
    if not process:
        ok = all(Counts(200).run(3) == [1] * 200 for _ in range(20))
        os._exit(0 if ok and len(POOL._workers) == 2 else 1)
    children.append(process)
print(sum(os.waitpid(process, 0)[1] for process in children))
stop = True
for thread in threads:
    thread.join()
print(Counts(200).run(3) == [1] * 200, len(POOL._workers))
"""


def test_a_fork_while_the_pool_is_busy() -> None:
    """Children have a pool of their own and go on; so does the parent."""
    done = child.python("-c", START + FORK, limit=60, OPENBLAS_NUM_THREADS="1")
    assert done.stdout.splitlines() == ["0", "True 2"]


QUIET = """
assert Counts(200).run(3) == [1] * 200
process = os.fork()
if not process:
    os._exit(0 if Counts(200).run(3) == [1] * 200 else 1)
print(os.waitpid(process, 0)[1])
"""


def test_a_fork_finds_no_threads() -> None:
    """Where no kernel runs there is one thread when forking: Python warns of none."""
    start = START.replace("warnings.simplefilter", "warnings.filterwarnings")
    code = start.replace('"ignore", DeprecationWarning', '"error"') + QUIET
    done = child.python("-c", code, limit=60, OPENBLAS_NUM_THREADS="1")
    assert (done.stdout, done.stderr) == ("0\n", "")


STOPPED = """
counts = Counts(5000, turns=1_000_000)
def interrupt():
    while not any(counts.seen()):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    counts.run(1, whole=WHOLE)
except KeyboardInterrupt:
    seen = counts.seen()
    time.sleep(0.05)
    print(set(seen) <= {0, 1}, 0 < sum(seen) < 5000, seen == counts.seen())
print(Counts(200).run(3) == [1] * 200)
"""


def test_an_interrupt_ends_a_kernel() -> None:
    """Ctrl-C in a long kernel: what was begun is finished, nothing more is done."""
    code = START + STOPPED.replace("WHOLE", "False")
    done = child.python("-c", code, limit=60)
    assert done.stdout.splitlines() == ["True True True", "True"]


def test_an_interrupt_leaves_nothing_half_written() -> None:
    """Where a kernel writes what must stay whole, Ctrl-C rises after its end."""
    code = START + STOPPED.replace("WHOLE", "True").replace("5000", "600")
    done = child.python("-c", code, limit=60)
    assert done.stdout.splitlines() == ["True False True", "True"]


END = """
counts = Counts(10_000, turns=1_000_000)
threading.Thread(target=lambda: counts.run(1), daemon=True).start()
time.sleep(0.1)
print("end")
"""


def test_a_process_ends_while_a_kernel_runs() -> None:
    """The end of a program does not wait for the kernel of a daemon, nor fail."""
    began = time.monotonic()
    done = child.python("-c", START + END, limit=60)
    assert (done.stdout, done.stderr) == ("end\n", "")
    assert time.monotonic() - began < 8
