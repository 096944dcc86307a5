"""Devices that leak, count wrong, or mix up threads."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Fault, Mutant, Run, backend, pause, with_faults

from dovetail.conformance.laws.memory import counting
from dovetail.conformance.laws.threads import together
from dovetail.conformance.subject import Subject
from dovetail.device_api import Pool
from dovetail.device_api.numpy_arrays import NumpyArrays
from dovetail.dtypes import float32
from dovetail.engine.op import vocabulary
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
Attrs = dict[str, Any]


class _LeaksViews(CpuBackend):
    """Every view stays alive, and with it the memory."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Array] = []

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        self.kept.append(super().view(a, shape, strides, offset))
        return self.kept[-1]


class _LeaksCopies(CpuBackend):
    """The staging buffer of a copy to the host is never freed."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Array] = []

    def copy_out(self, a: Array) -> Array:
        self.kept.append(super().copy_out(a))
        return self.kept[-1].copy()


class _LeaksFills(CpuBackend):
    """Numbers to fill with are kept as arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Array] = []

    def fill(self, a: Array, value: complex) -> None:
        self.kept.append(np.empty(a.shape, np.uint8))
        super().fill(a, value)


class _NeverFrees(CpuBackend):
    def live_bytes(self, index: int) -> int:
        return self.counts(index)["allocated_bytes.all.allocated"]


class _ForgetsThePeak(CpuBackend):
    def peak_bytes(self, index: int) -> int:
        return self.live_bytes(index) // 2


class _CountsViews(CpuBackend):
    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def _see(self, size: int) -> None:
        self.seen += size

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        seen = super().view(a, shape, strides, offset)
        self._see(seen.nbytes)
        weakref.finalize(seen, self._see, -seen.nbytes).atexit = False
        return seen

    def live_bytes(self, index: int) -> int:
        return super().live_bytes(index) + self.seen


class _CountsElements(CpuBackend):
    def live_bytes(self, index: int) -> int:
        return super().live_bytes(index) // 8


class _CountsNoResults(CpuBackend):
    def runner(self, index: int) -> Any:
        return NumpyArrays.runner(CpuBackend(), index)


class _KeepsThePeak(CpuBackend):
    def reset_peak(self, index: int) -> None:
        """Nothing."""


class _KnowsNoLimit(CpuBackend):
    def set_limit(self, index: int, size: int | None) -> None:
        """Nothing."""


def _grows(subject: Subject) -> Any:
    """How much more is alive after a view, a copy and a fill."""
    backend = subject.backend
    with counting(subject) as live:
        before = live()
        native = backend.empty((1000,), float32, 0)
        backend.fill(native, 1)
        backend.copy_out(backend.view(native, (10,), (1,), 0))
        del native
        after = live()
    return after > before


def _counts(subject: Subject) -> Any:
    pool = subject.backend.capability(Pool)
    assert pool is not None
    before = pool.live_bytes(0)
    native = subject.backend.empty((1000,), float32, 0)
    seen = subject.backend.view(native, (10,), (1,), 0)
    counts = [pool.live_bytes(0) - before, pool.peak_bytes(0) >= before + 4000]
    del native, seen
    counts.append(pool.live_bytes(0) - before)
    x = subject.tensor(np.ones(100, np.float32))
    before = pool.live_bytes(0)
    y = x + x
    counts.append(pool.live_bytes(0) - before)
    pool.set_limit(0, before)
    try:
        x * x
    except MemoryError:
        counts.append("refused")
    pool.set_limit(0, None)
    del y
    pool.reset_peak(0)
    return [*counts, pool.peak_bytes(0) - pool.live_bytes(0)]


def _keeps() -> Fault:
    kept: list[Any] = []

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        kept.append(y)
        return np.array(y)

    return fault


def _keeps_inputs() -> Fault:
    kept: list[Any] = []

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        kept.append([np.array(a) for a in natives])
        return run(*natives, **attrs)

    return fault


def _keeps_failed() -> Fault:
    """A workspace is lost where the kernel raises."""
    kept: list[Any] = []

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        workspace = np.empty(1 << 16, np.uint8)
        try:
            return run(*natives, **attrs)
        except Exception:
            kept.append(workspace)
            raise

    return fault


def _shares_scratch() -> Fault:
    """One scratch buffer for all threads."""
    scratch: list[Any] = [None]

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        scratch[0] = run(*natives, **attrs)
        pause()
        return scratch[0]

    return fault


def _main_thread_only() -> Fault:
    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("no context on this thread")
        return run(*natives, **attrs)

    return fault


def _deadlocks() -> Fault:
    """Two calls at once wait for each other."""
    lock = threading.Lock()

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        if not lock.acquire(timeout=1e-3):
            threading.Event().wait()
        try:
            if threading.current_thread() is not threading.main_thread():
                pause()
            return run(*natives, **attrs)
        finally:
            lock.release()

    return fault


def _after_calls(op: str, *, raises: bool = False) -> Any:
    """What is alive after some calls, beyond what is after one."""

    def observe(subject: Subject) -> Any:
        x = subject.tensor(np.ones((64, 64), np.float32))
        w = subject.tensor(np.ones((3, 3), np.float32)) if raises else x
        function = vocabulary[op].function

        def call() -> None:
            try:
                function(*[x, w][: len(vocabulary[op].tensors)])
            except Exception:
                if not raises:
                    raise

        with counting(subject) as live:
            call()
            before = live()
            for _ in range(3):
                call()
            return live() - before > 1000

    return observe


def _in_threads(subject: Subject) -> Any:
    """The same product in two threads, of different numbers."""

    def work(number: float) -> Any:
        x = subject.tensor(np.full((8, 8), number, np.float32))
        return lambda: [subject.values(x * x) for _ in range(30)]

    def twice() -> Any:
        return together([work(2.0), work(3.0)])

    def said() -> Any:
        try:
            return twice()
        except Exception as error:
            return str(error)

    found: list[Any] = []
    runner = threading.Thread(target=lambda: found.append(said()), daemon=True)
    runner.start()
    runner.join(5.0)
    return found[0] if found else "no answer"


def _kernel(
    name: str, op: str, describes: str, make: Any, observe: Any, law: str
) -> Mutant:
    return Mutant(
        f"resources/{name}", describes, (op,), lambda: with_faults({op: make()}),
        observe=observe, laws=(law,),
    )  # fmt: skip


def _device(name: str, op: str, describes: str, make: Any, law: str) -> Mutant:
    """A fault that the laws of the device see first."""
    return Mutant(
        f"resources/{name}", describes, (), lambda: with_faults({op: make()}),
        observe=_in_threads, laws=(law,),
    )  # fmt: skip


RESOURCES: Final[list[Mutant]] = [
    _kernel("keeps-results", "exp", "every result stays alive", _keeps,
            _after_calls("exp"), "memory"),
    _kernel("keeps-inputs", "matmul", "copies of the inputs stay alive", _keeps_inputs,
            _after_calls("matmul"), "memory"),
    _kernel("keeps-workspace", "matmul", "a workspace is lost where a call fails",
            _keeps_failed, _after_calls("matmul", raises=True), "memory"),
    backend("resources/keeps-views", "every view stays alive", _LeaksViews, _grows,
            laws=("memory",)),
    backend("resources/keeps-staging", "buffers of copies stay alive", _LeaksCopies,
            _grows, laws=("memory",)),
    backend("resources/keeps-fills", "every fill leaves a buffer", _LeaksFills, _grows,
            laws=("memory",)),
    backend("resources/pool-never-frees", "the count only grows", _NeverFrees, _counts,
            laws=("memory",)),
    backend("resources/pool-forgets-the-peak", "the peak is below what is alive",
            _ForgetsThePeak, _counts, laws=("memory",)),
    backend("resources/pool-counts-views", "views count as memory", _CountsViews,
            _counts, laws=("memory",)),
    backend("resources/pool-counts-elements", "not bytes", _CountsElements, _counts,
            laws=("memory",)),
    backend("resources/pool-counts-no-results", "only fresh memory counts",
            _CountsNoResults, _counts, laws=("memory",)),
    backend("resources/pool-keeps-the-peak", "the peak never begins anew",
            _KeepsThePeak, _counts, laws=("memory",)),
    backend("resources/pool-knows-no-limit", "memory beyond the limit is given",
            _KnowsNoLimit, _counts, laws=("memory",)),
    _device("one-scratch-buffer", "mul", "threads write each other's results",
            _shares_scratch, "threads"),
    _device("main-thread-only", "mul", "other threads are refused", _main_thread_only,
            "threads"),
    _device("deadlocks", "mul", "two calls at once wait for each other", _deadlocks,
            "threads"),
]  # fmt: skip
