"""Copies that the host does not wait for: pinned memory, and copies among devices."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

import dovetail as dt
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Unclaimed, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits, patterns, rng
from dovetail.conformance.laws.copies_in_order import copies_in_order
from dovetail.conformance.laws.streams import long_work, widths, work
from dovetail.conformance.layouts import LAYOUTS, projected
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import Streams
from dovetail.device_api.host_copies import PeerCopies, PinnedMemory
from dovetail.dtypes import Array, DType, float32
from dovetail.engine.tensor import Tensor

_BLOCKS: Final = 4  # that are asked for when one was let go of
_TRIES: Final = 4  # of each claim, for what is not waited for may be done in time


def _laid(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    for at, name in enumerate(LAYOUTS):
        yield Example(layout=name, size="3 x 4 x 2", known={"at": at})
    for at, shape in enumerate(((), (0, 2)), len(LAYOUTS)):
        yield Example(size=str(list(shape)), known={"at": at, "shape": shape})


def _memory(subject: Subject) -> PinnedMemory:
    found = subject.backend.capability(PinnedMemory)
    if found is None:
        raise Unclaimed(f"{subject.device} has no capability PinnedMemory")
    return found


@device_law("pinned", examples=_laid, rank=55)
def pinned(trial: Trial) -> None:
    """Bits survive the way through pinned memory, from every layout; it is freed."""
    subject, dtype = trial.subject, trial.dtype
    assert dtype is not None
    memory = _memory(subject)
    shape, layout = trial.example.known.get("shape", (3, 4, 2)), trial.example.layout
    values = projected(patterns(dtype, shape, rng(trial)), layout)
    dt.synchronize(subject.device)
    before = memory.pinned_bytes()
    _there_and_back(subject, values, layout)
    dt.synchronize(subject.device)
    left = memory.pinned_bytes() - before
    if left:
        raise Wrong(f"{left} bytes of pinned memory are in use that nobody has")


def _there_and_back(subject: Subject, values: Array, layout: str) -> None:
    source = dt.from_numpy(values).pin_memory(subject.device)
    if not source.is_pinned(subject.device):
        raise Wrong("is_pinned is False of what pin_memory gave")
    there = source.to(subject.device, non_blocking=True)
    expect_bits("what came from pinned memory", subject.values(there), values)
    laid = subject.tensor(values, layout)
    back = laid.to("cpu", non_blocking=True)
    dt.synchronize(subject.device)
    if not back.is_pinned(subject.device):
        raise Wrong("what went to the CPU without waiting is not in pinned memory")
    expect_bits("what went to pinned memory", subject.values(back), values)
    source.to(subject.device)  # which waits, so that the source may be written


@device_law("in_flight", examples=widths, rank=56, per_dtype=False)
def in_flight(trial: Trial) -> None:
    """Copies that the host does not wait for are in order with work on their stream.

    Their memory stays until they are done, and may be used again after a wait.
    """
    _memory(trial.subject)
    claims = (_behind_work, _ahead_of_work, _let_go_of, _waits_unasked)
    for claim in claims * _TRIES:
        contextvars.copy_context().run(claim, trial)
        dt.synchronize(trial.subject.device)
    contextvars.copy_context().run(copies_in_order, trial)


def _behind_work(trial: Trial) -> None:
    """A copy to the host gets what work before it made, and nothing later."""
    a, order, want, _ = work(trial)
    for name, wait in _waits(trial.subject).items():
        y = long_work(a, order)
        back = y.to("cpu", non_blocking=True)
        y.fill_(7)
        wait()
        expect_bits(f"what went to the host, after {name},", back.numpy(), want)


def _waits(subject: Subject) -> dict[str, Callable[[], None]]:
    """All that says that a copy is done, by its name."""
    device = subject.device
    waits = {"synchronize": lambda: dt.synchronize(device)}
    if subject.backend.capability(Streams) is not None:
        stream = dt.current_stream(device)
        waits["Stream.synchronize"] = stream.synchronize
        waits["Event.synchronize"] = lambda: stream.record_event().synchronize()
    return waits


def _ahead_of_work(trial: Trial) -> None:
    """Work behind a copy to the device sees its values; its source is free after."""
    subject = trial.subject
    _, order, want, twice = work(trial)
    source = dt.from_numpy(want).pin_memory(subject.device)
    there = source.to(subject.device, non_blocking=True)
    y = long_work(there, order)
    dt.synchronize(subject.device)
    source.fill_(7)
    expect_bits("what came to the device", subject.values(there), want)
    expect_bits("what was made of it", subject.values(y), twice)


def _let_go_of(trial: Trial) -> None:
    """Pinned memory that is let go of is not given out before its copy is done."""
    subject = trial.subject
    a, order, want, _ = work(trial)
    long_work(a, order)  # which the copy comes behind
    there = (
        dt.from_numpy(want)
        .pin_memory(subject.device)
        .to(subject.device, non_blocking=True)
    )
    for _ in range(_BLOCKS):
        dt.zeros(want.shape, dtype=float32).pin_memory(subject.device)
    expect_bits("what came from memory that was let go of", subject.values(there), want)


def _waits_unasked(trial: Trial) -> None:
    """Without `non_blocking` the source may be written at once."""
    subject = trial.subject
    a, order, want, _ = work(trial)
    source = dt.from_numpy(want).pin_memory(subject.device)
    long_work(a, order)
    there = source.to(subject.device)
    source.fill_(7)
    expect_bits("what a copy that waits brought", subject.values(there), want)


@device_law("peers", examples=widths, rank=57, per_dtype=False)
def peers(trial: Trial) -> None:
    """Copies among devices of a type are in order with the work on both."""
    subject = trial.subject
    if subject.backend.capability(PeerCopies) is None:
        raise Unclaimed(f"{subject.device} has no capability PeerCopies")
    type, own = subject.backend.type, subject.index
    others = [d.index for d in subject.backend.devices() if d.index != own]
    if not others:
        raise Unclaimed(f"{subject.device} is the only device of its type")
    for other in others:
        _in_order(trial, f"{type}:{other}")


def _in_order(trial: Trial, place: str) -> None:
    a, order, want, twice = work(trial)
    y = long_work(a, order)
    moved, order_there = y.to(place), order.to(place)
    y.fill_(7)
    made: Tensor = long_work(moved, order_there)
    moved.fill_(7)
    back = made.to(trial.subject.device)
    expect_bits(f"what {place} made of what it was sent", Subject(place).values(made),
                twice)  # fmt: skip
    expect_bits("what came back", trial.subject.values(back), twice)
    expect_bits("the source, written after", trial.subject.values(y),
                np.full_like(want, 7))  # fmt: skip
