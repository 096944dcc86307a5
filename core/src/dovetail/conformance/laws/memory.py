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
from dovetail.conformance.laws.pool_counts import pool_counts
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import Pool
from dovetail.dtypes import DType, float32
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op

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
        pool_counts(subject, pool)


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


def _copies(trial: Trial) -> None:
    """Values that come and go by arrays and tensors which lie in any way."""
    subject, index = trial.subject, trial.subject.index
    rows = rng(trial).integers(-2, 3, (_WIDTH, _WIDTH)).astype(np.float32)
    base = subject.tensor(rows)
    for host in (rows, rows.T, rows[1::2, ::3], rows[:, ::-1], rows[:1, :1]):
        native = subject.backend.copy_in(host, index)
        subject.backend.copy_out(native)
    for look in (base.t(), base[1::2, ::3], base[:, 3:7]):
        fresh = look.clone()
        fresh.t().copy_(look.t())
        look.copy_(fresh)
        subject.values(look)


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
    "copies from and to strided memory": _copies,
    "backward through a write": _written_graph, "calls that raise": _errors,
}  # fmt: skip


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
