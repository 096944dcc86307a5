"""Copies that nobody waits for, on chosen streams and from one stream to another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

import dovetail as dt
from dovetail.conformance.law import Trial
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.laws.streams import long_work, work
from dovetail.device_api.capabilities import Streams

_COPIES: Final = 3  # on a stream before it is asked whether they are done
_PATIENCE: Final = 10.0  # seconds of asking; who is slower is waited for
# Lets what is given to the second stream come after what the first one has to do.
Order = Callable[[dt.Stream, dt.Stream, dt.Event], object]


def copies_in_order(trial: Trial) -> None:
    """Judge copies on each kind of stream, and in every order of two of them."""
    subject = trial.subject
    if subject.backend.capability(Streams) is None:
        return
    for stream in (dt.default_stream(subject.device), dt.Stream(subject.device)):
        for name, wait in _waits(stream).items():
            _host_reads(trial, stream, name, wait)
    for name, order in _orders().items():
        for first, second in _pairs(trial):
            for claim in (_to_the_device, _to_the_host):
                claim(trial, first, second, name, order)
                dt.synchronize(subject.device)


def _pairs(trial: Trial) -> Iterator[tuple[dt.Stream, dt.Stream]]:
    """The default stream first, then second, then neither; others have no work yet."""
    device = trial.subject.device
    default = dt.default_stream(device)
    yield default, dt.Stream(device)
    yield dt.Stream(device), default
    yield dt.Stream(device), dt.Stream(device)


def _orders() -> dict[str, Order]:
    """All that orders two streams; `early` was recorded before."""
    return {
        "wait_event": lambda a, b, early: b.wait_event(a.record_event()),
        "an event recorded again": lambda a, b, early: b.wait_event(
            a.record_event(early)
        ),
        "wait_stream": lambda a, b, early: b.wait_stream(a),
        "synchronize": lambda a, b, early: dt.synchronize(a.device),
        "Event.query": lambda a, b, early: _asked_until_done(a.record_event()),
    }


def _waits(stream: dt.Stream) -> dict[str, Callable[[], object]]:
    """All by which the host learns that the work of a stream is done."""

    def through_another() -> None:
        other = dt.Stream(stream.device)
        other.wait_stream(stream)
        other.synchronize()

    def recorded_again() -> None:
        event = dt.Stream(stream.device).record_event()
        stream.record_event(event)
        event.synchronize()

    return {
        "Stream.synchronize": stream.synchronize,
        "Event.synchronize": lambda: stream.record_event().synchronize(),
        "an event recorded again": recorded_again,
        "Stream.query": lambda: _asked_until_done(stream),
        "Event.query": lambda: _asked_until_done(stream.record_event()),
        "synchronize": lambda: dt.synchronize(stream.device),
        "a stream that waited for it": through_another,
    }


def _asked_until_done(asked: dt.Stream | dt.Event) -> None:
    """Ask until the answer is yes; who takes long is not wrong."""
    end = time.monotonic() + _PATIENCE
    while not asked.query():
        if time.monotonic() > end:
            asked.synchronize()
            return


def _host_reads(
    trial: Trial, stream: dt.Stream, name: str, wait: Callable[[], object]
) -> None:
    """After a wait the host may read what a stream copied."""
    a, order, want, _ = work(trial)
    with stream:
        y = long_work(a, order)
        backs = [y.to("cpu", non_blocking=True) for _ in range(_COPIES)]
    wait()
    for back in backs:
        expect_bits(f"what {_named(stream)} copied to the host, after {name},",
                    back.numpy(), want)  # fmt: skip
    dt.synchronize(trial.subject.device)


def _to_the_device(
    trial: Trial, first: dt.Stream, second: dt.Stream, name: str, order: Order
) -> None:
    """What one stream copies to the device, another sees that comes after it."""
    subject = trial.subject
    a, factor, want, _ = work(trial)
    source = dt.from_numpy(want).pin_memory(subject.device)
    early = second.record_event()
    with first:
        long_work(a, factor)  # which the copy comes behind
        there = source.to(subject.device, non_blocking=True)
    order(first, second, early)
    with second:
        expect_bits(
            f"what {_named(second)} made of what {_named(first)} copied, "
            f"ordered by {name},", subject.values(there * 2), want * 2,
        )  # fmt: skip


def _to_the_host(
    trial: Trial, first: dt.Stream, second: dt.Stream, name: str, order: Order
) -> None:
    """What one stream copies to the host, another writes that comes after it."""
    subject = trial.subject
    a, factor, want, _ = work(trial)
    early = second.record_event()
    with first:
        y = long_work(a, factor)
        back = y.to("cpu", non_blocking=True)
    order(first, second, early)
    with second:
        y.fill_(7)
        second.synchronize()
        expect_bits(
            f"what {_named(first)} copied to the host before {_named(second)} wrote, "
            f"ordered by {name},", back.numpy(), want,
        )  # fmt: skip
        expect_bits("what was written after", subject.values(y), np.full_like(want, 7))


def _named(stream: dt.Stream) -> str:
    default = stream == dt.default_stream(stream.device)
    return "the default stream" if default else "a stream"
