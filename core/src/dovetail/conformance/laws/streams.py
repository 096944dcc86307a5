"""Streams and events: order within a queue, and between queues where asked for."""

from __future__ import annotations

import contextvars
import math
import time
from collections.abc import Iterator
from typing import Final

import numpy as np

import dovetail as dt
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Unclaimed, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits, rng
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import CallersContext, Streams
from dovetail.dtypes import Array, DType
from dovetail.engine.tensor import Tensor

_PAUSE: Final = 0.02  # seconds between two events
_FACTOR: Final = 10  # between clocks of a device and of the host, and far from 1000
_LONG: Final = 12  # products before the one that is waited for


def widths(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    """Matrices of a few widths."""
    for at, width in enumerate((4, 65, 257)):
        yield Example(size=f"{width} x {width}", known={"at": at, "width": width})


@device_law("streams", examples=widths, rank=53, per_dtype=False)
def streams(trial: Trial) -> None:
    """Work on a stream is done in order, and after the events that it waits for.

    Queries tell the truth after a wait, and times between events are not negative.
    """
    backend = trial.subject.backend
    if backend.capability(Streams) is None:
        raise Unclaimed(f"{trial.subject.device} has no capability Streams")
    if not isinstance(backend.context, CallersContext):
        raise Wrong(
            f"{backend.type} offers Streams, but its kernels run in a "
            f"{type(backend.context).__name__}, where the caller's stream is not seen"
        )
    contextvars.copy_context().run(_judge, trial)
    dt.synchronize(trial.subject.device)


def _judge(trial: Trial) -> None:
    claims = (
        _in_order, _across, _again, _write_after_read, _questions, _clock, _current,
    )  # fmt: skip
    for claim in claims:
        claim(trial)


def work(trial: Trial) -> tuple[Tensor, Tensor, Array, Array]:
    """A matrix, a permutation to multiply it by for long; what it gives once, twice."""
    width = trial.example.known["width"]
    random = rng(trial)
    a = random.integers(-3, 4, (width, width)).astype(np.float32)
    order = np.eye(width, dtype=np.float32)[random.permutation(width)]
    once = a @ np.linalg.matrix_power(order, _LONG)
    twice = once @ np.linalg.matrix_power(order, _LONG)
    subject = trial.subject
    made = subject.tensor(a), subject.tensor(order), once, twice
    dt.synchronize(subject.device)
    return made


def long_work(a: Tensor, order: Tensor) -> Tensor:
    """The product with all its factors."""
    for _ in range(_LONG):
        a = a @ order
    return a


def _in_order(trial: Trial) -> None:
    """Reads see the writes before them and none of those behind."""
    a, order, want, _ = work(trial)
    with dt.Stream(trial.subject.device):
        y = long_work(a, order)
        kept = y.clone()
        y.mul_(2)
        twice = y + 0
        y.fill_(7)
        y[::2].add_(1)
        last = np.full_like(want, 7)
        last[::2] += 1
        for name, x, right in (
            ("before", kept, want), ("between", twice, want * 2), ("after", y, last)
        ):  # fmt: skip
            expect_bits(f"{name} two writes on one stream", trial.subject.values(x),
                        right)  # fmt: skip


def _across(trial: Trial) -> None:
    """A stream that waits for an event sees the work before it."""
    a, order, want, _ = work(trial)
    first, second = (dt.Stream(trial.subject.device) for _ in range(2))
    with first:
        y = long_work(a, order)
        done = first.record_event()
    with second:
        second.wait_event(done)
        z = y * 2
        expect_bits("work on a stream that waited for an event",
                    trial.subject.values(z), want * 2)  # fmt: skip
    third = dt.Stream(trial.subject.device)
    third.wait_stream(second)
    with third:
        expect_bits("work on a stream that waited for a stream",
                    trial.subject.values(z + y), want * 3)  # fmt: skip


def _again(trial: Trial) -> None:
    """An event that is recorded again stands for all the work before it then."""
    a, order, want, twice = work(trial)
    first, second = (dt.Stream(trial.subject.device) for _ in range(2))
    with first:
        y = long_work(a, order)
        done = first.record_event()
        z = long_work(y, order)
        done.record(first)
    with second:
        second.wait_event(done)
        expect_bits("work on a stream that waited for an event recorded twice",
                    trial.subject.values(z + y), twice + want)  # fmt: skip


def _write_after_read(trial: Trial) -> None:
    """A write that waits for a reader does not disturb it."""
    a, order, want, _ = work(trial)
    first, second = (dt.Stream(trial.subject.device) for _ in range(2))
    with second:
        y = long_work(a, order)
        read = second.record_event()
    with first:
        first.wait_event(read)
        a.fill_(0)
    first.synchronize()
    with second:
        expect_bits("what a stream made of memory that another wrote after it",
                    trial.subject.values(y), want)  # fmt: skip


def _questions(trial: Trial) -> None:
    device = trial.subject.device
    stream = dt.Stream(device)
    start, end, never = (dt.Event(device, enable_timing=True) for _ in range(3))
    a, order, _, _ = work(trial)
    with stream:
        start.record()
        y = long_work(a, order)
        end.record()
    end.synchronize()
    if not (start.query() and end.query() and never.query()):
        raise Wrong("an event that was waited for, or never recorded, is not done")
    stream.synchronize()
    if not stream.query():
        raise Wrong("a stream that was waited for has work to do")
    taken = start.elapsed_time(end)
    if not (taken >= 0 and math.isfinite(taken)):
        raise Wrong(f"{taken} ms passed between two events, needed 0 or more")
    del y


def _clock(trial: Trial) -> None:
    """Times between events are milliseconds, as a clock of the host has them.

    It is read outside of both events and between them, so that however long a machine
    takes, what the device says lies between the two times.
    """
    device = trial.subject.device
    stream = dt.Stream(device)
    start, end = (dt.Event(device, enable_timing=True) for _ in range(2))
    a, order, _, _ = work(trial)
    before = time.perf_counter()
    with stream:
        start.record()
        start.synchronize()
        inside = time.perf_counter()
        long_work(a, order)
        time.sleep(_PAUSE)
        least = 1e3 * (time.perf_counter() - inside)
        end.record()
        end.synchronize()
    most = 1e3 * (time.perf_counter() - before)
    taken = start.elapsed_time(end)
    if not least / _FACTOR <= taken <= most * _FACTOR:
        raise Wrong(
            f"{taken} ms passed between two events by the device, and between "
            f"{least:.3f} and {most:.3f} by the host"
        )


def _current(trial: Trial) -> None:
    device = trial.subject.device
    default = dt.default_stream(device)
    one, two = dt.Stream(device), dt.Stream(device)
    if one in (two, default):
        raise Wrong("a new stream is one that was there before")
    if dt.default_stream(device) != default:
        raise Wrong("the default stream is another one each time")
    before = dt.current_stream(device)
    with one:
        inner = dt.current_stream(device)
        with two:
            innermost = dt.current_stream(device)
        outer = dt.current_stream(device)
    if (inner, innermost, outer) != (one, two, one):
        raise Wrong("current_stream is not the stream of the `with`")
    if dt.current_stream(device) != before:
        raise Wrong("a stream is still chosen behind its `with`")
