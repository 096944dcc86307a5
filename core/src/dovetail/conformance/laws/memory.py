"""Memory comes back: after ops, graphs, views and errors; and devices stay usable."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, device_law, law
from dovetail.conformance.laws.bits import expect_bits, rng
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import Pool
from dovetail.dtypes import DType, float32
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op
from dovetail.errors import NotSupported, OutOfMemory

Live = Callable[[], int]

_REPEATS: Final = 4
_WIDTH: Final = 64
_NUMPY: Final = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)


@contextmanager
def counting(subject: Subject) -> Iterator[Live]:
    """Counts what is alive on a device: its pool's bytes, else arrays in this process.

    Without a pool: the bytes of NumPy's buffers, and native arrays that are objects of
    Python, each as one byte. So too where the arrays are NumPy's, whose buffers are all
    seen: a pool may not see those that a kernel keeps to itself.
    """
    backend, pool = subject.backend, subject.backend.capability(Pool)
    if pool is not None and backend.array is not np.ndarray:
        yield lambda: pool.live_bytes(subject.index)
        return
    traced = not tracemalloc.is_tracing()
    if traced:
        tracemalloc.start()

    def live() -> int:
        snapshot = tracemalloc.take_snapshot().filter_traces([_NUMPY])
        buffers = sum(trace.size for trace in snapshot.traces)
        if backend.array is np.ndarray:  # not among the collector's objects
            return buffers
        return buffers + sum(type(o) is backend.array for o in gc.get_objects())

    try:
        yield live
    finally:
        if traced:
            tracemalloc.stop()


def growth(
    live: Live, action: Callable[[], None], synchronize: Callable[[], None]
) -> int:
    """How much more is alive after each further run, at the least."""
    for _ in range(2):  # caches fill
        action()
    marks = []
    for _ in range(_REPEATS):
        action()
        synchronize()
        marks.append(live())
    steps = np.diff(marks)
    if steps.min() <= 0:
        return 0
    gc.collect()  # it may be cycles
    before = live()
    for _ in range(_REPEATS):
        action()
    gc.collect()
    synchronize()
    return max(0, live() - before) // _REPEATS


# ---- each op


def _first_case(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterator[Example]:
    for case in islice(cases_of(op, dtype), 1):
        yield Example(case)


def _plain(subject: Subject, op: Op, dtype: DType) -> bool:
    return dtype is float32 or (float32 not in op.accepts and dtype.itemsize <= 4)


@law("memory", examples=_first_case, fits=_plain, rank=80, shrinks=False)
def op_memory(trial: Trial) -> None:
    """An op keeps nothing: after many calls no more is alive than after a few."""
    op, dtype, subject = trial.op, trial.dtype, trial.subject
    assert op is not None
    assert dtype is not None
    args, kwargs = subject.arguments(op, trial.example, dtype)

    def action() -> None:
        subject.call(op, args, kwargs)

    wait = partial(subject.backend.synchronize, subject.index)
    with counting(subject) as live:
        grows = growth(live, action, wait)
    if grows:
        raise Wrong(f"every call of {op.name} leaves {grows} bytes behind")


# ---- the device as a whole


@device_law("memory", rank=71, per_dtype=False)
def memory(trial: Trial) -> None:
    """After forward, backward, views and errors, memory is back at its baseline.

    Where the device counts its memory, the counts are those of live arrays.
    """
    subject = trial.subject
    wait = partial(subject.backend.synchronize, subject.index)
    with counting(subject) as live:
        for name, action in _ACTIONS.items():
            grows = growth(live, partial(action, trial), wait)
            if grows:
                raise Wrong(f"every run of {name} leaves {grows} bytes behind")
    pool = subject.backend.capability(Pool)
    if pool is not None:
        _pool_counts(subject, pool)


def _tensor(trial: Trial, salt: int, shape: tuple[int, ...] = (_WIDTH, _WIDTH)) -> Any:
    values = rng(trial, salt).integers(-2, 3, shape).astype(np.float32)
    return trial.subject.tensor(values)


def _forward(trial: Trial) -> None:
    x, w = _tensor(trial, 0), _tensor(trial, 1)
    (dt.where(x > 0, x @ w, x) + 1).sum(0)


def _backward(trial: Trial) -> None:
    x, w = _tensor(trial, 0), _tensor(trial, 1)
    w.requires_grad = True
    y = (x @ w) * w
    y.sum().backward()
    y = w * w  # a graph that nobody walks


def _views(trial: Trial) -> None:
    base = _tensor(trial, 0)
    rows = base[1:, ::2].t()
    rows.mul_(2)
    base.view(-1)[:7].fill_(0)
    rows.reshape(-1).detach()


def _written_graph(trial: Trial) -> None:
    leaf = _tensor(trial, 0)
    leaf.requires_grad = True
    y = leaf * 2
    y[::2].mul_(3)
    y.sum().backward()


def _errors(trial: Trial) -> None:
    x, leaf = _tensor(trial, 0), _tensor(trial, 1)
    leaf.requires_grad = True
    for wrong in (
        lambda: x @ _tensor(trial, 2, (3, 3)),
        lambda: x.add_(_tensor(trial, 2, (2, _WIDTH, _WIDTH))),
        lambda: x.view(-1, 7),
        x.backward,
    ):
        with suppress(RuntimeError, ValueError):
            wrong()
    with suppress(RuntimeError):
        factor = leaf * 1
        y = leaf * factor
        factor.detach().mul_(2)
        y.sum().backward()


_ACTIONS: Final = {
    "forward": _forward, "forward and backward": _backward,
    "views and writes through them": _views,
    "backward through a write": _written_graph, "calls that raise": _errors,
}  # fmt: skip


def _pool_counts(subject: Subject, pool: Pool) -> None:
    backend, index = subject.backend, subject.index
    for count in (1, 1000, 1 << 16):
        gc.collect()
        before, peak = pool.live_bytes(index), pool.peak_bytes(index)
        native = backend.empty((count,), float32, index)
        grown, size = pool.live_bytes(index) - before, 4 * count
        if grown < size:
            raise Wrong(f"live_bytes grew by {grown} for an array of {size} bytes")
        seen = backend.view(native, (1,), (1,), 0)
        if pool.live_bytes(index) - before > grown:
            raise Wrong("live_bytes grew for a view, which has no memory of its own")
        top = pool.peak_bytes(index)
        if top < max(peak, pool.live_bytes(index)):
            raise Wrong(f"peak_bytes is {top}, below what was in use")
        del native
        if pool.live_bytes(index) - before < grown:
            raise Wrong("live_bytes fell while a view kept the memory")
        del seen
        backend.synchronize(index)
        left = pool.live_bytes(index) - before
        if left > 0:
            raise Wrong(f"{left} bytes are in use after the array is gone")
        if pool.peak_bytes(index) < top:
            raise Wrong("peak_bytes fell")
        _results_count(subject, pool, count)
    _peak_begins_anew(pool, index)
    _limit_holds(subject, pool)


def _results_count(subject: Subject, pool: Pool, count: int) -> None:
    """What a kernel makes is counted as fresh memory is."""
    x = subject.tensor(np.ones(count, np.float32))
    subject.backend.synchronize(subject.index)
    before = pool.live_bytes(subject.index)
    y = x + x
    if (grown := pool.live_bytes(subject.index) - before) < 4 * count:
        raise Wrong(f"live_bytes grew by {grown} for a result of {4 * count} bytes")
    del y
    subject.backend.synchronize(subject.index)
    if (left := pool.live_bytes(subject.index) - before) > 0:
        raise Wrong(f"{left} bytes are in use after a result is gone")


def _peak_begins_anew(pool: Pool, index: int) -> None:
    try:
        pool.reset_peak(index)
    except NotSupported:
        return
    peak, live = pool.peak_bytes(index), pool.live_bytes(index)
    if peak > live:
        raise Wrong(f"peak_bytes is {peak} after reset_peak, with {live} in use")


def _limit_holds(subject: Subject, pool: Pool) -> None:
    """Memory beyond a limit is refused, and not counted; without it there is room."""
    backend, index = subject.backend, subject.index
    x = subject.tensor(np.ones(1 << 16, np.float32))
    before = pool.live_bytes(index)
    try:
        pool.set_limit(index, before + (1 << 16))
    except NotSupported:
        return
    makes: dict[str, Callable[[], Any]] = {
        "fresh memory": lambda: backend.empty((1 << 16,), float32, index),
        "the result of a kernel": lambda: x + x,
    }
    try:
        for what, make in makes.items():
            with suppress(OutOfMemory):
                make()
                raise Wrong(f"{what} beyond the limit is not refused")
    finally:
        pool.set_limit(index, None)
    if pool.live_bytes(index) > before:
        raise Wrong("memory that was refused stays in use")
    backend.empty((1 << 16,), float32, index)


@device_law("errors", rank=72, per_dtype=False)
def errors(trial: Trial) -> None:
    """After calls that raise, the device computes as before and holds what it held."""
    x = _tensor(trial, 0)
    before = trial.subject.values(x)
    want = trial.subject.values(x * 2 + 1)
    for _ in range(3):
        _errors(trial)
        with suppress(MemoryError):
            dt.ones((1 << 27, 1 << 27), device=trial.subject.device)
        expect_bits(
            "a tensor, after other calls raised", trial.subject.values(x), before
        )
        got = trial.subject.values(x * 2 + 1)
        expect_bits("x * 2 + 1, after other calls raised", got, want)
