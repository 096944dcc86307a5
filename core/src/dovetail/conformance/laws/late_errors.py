"""Errors of values that a device tells late: when, how often, and what they leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

import dovetail as dt
from dovetail.conformance.law import Trial, Unclaimed, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import Streams
from dovetail.device_api.late_errors import LateErrors
from dovetail.dtypes import Array
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexOutOfRange

_FAR: Final = 1 << 24  # where no memory of a small array is
_GOOD: Final = np.array([3, 0, 3], np.int32)
_BAD: Final = (np.array([0, _FAR], np.int32), np.array([-_FAR, 1], np.int32))


@device_law("late_errors", rank=52, per_dtype=False)
def late_errors(trial: Trial) -> None:
    """An index out of range is told at the next wait, once, and harms nothing else."""
    subject = trial.subject
    if subject.backend.capability(LateErrors) is None:
        raise Unclaimed(f"{subject.device} has no capability LateErrors")
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    x = subject.tensor(values)
    for bad in _BAD:
        for name, wait in _waits(subject).items():
            _is_told(subject, x, bad, name, wait)
        _writes_nothing(subject, x, bad)
    expect_bits("a tensor whose indices were out of range", subject.values(x), values)
    good = dt.index_select(x, 0, subject.tensor(_GOOD))
    expect_bits("a good call after refused ones", subject.values(good), values[_GOOD])


def _waits(subject: Subject) -> dict[str, Callable[[Tensor], object]]:
    """All that makes the host wait, by its name."""
    device = subject.device
    waits: dict[str, Callable[[Tensor], object]] = {
        "synchronize": lambda y: dt.synchronize(device),
        "copy_out of the result": subject.values,
        "copy_out of another array": lambda y: dt.ones(2, device=device).tolist(),
    }
    if subject.backend.capability(Streams) is not None:
        waits["Stream.synchronize"] = lambda y: dt.current_stream(device).synchronize()
        waits["Event.synchronize"] = _by_event
    return waits


def _by_event(y: Tensor) -> None:
    dt.current_stream(y.device).record_event().synchronize()


def _is_told(
    subject: Subject, x: Tensor, bad: Array, name: str, wait: Callable[[Tensor], object]
) -> None:
    """Raise unless the first wait tells, and the next does not."""
    index = subject.tensor(bad)
    try:
        y = dt.index_select(x, 0, index)
    except IndexOutOfRange as error:
        raise Wrong("the call waited for its own flag") from error
    try:
        wait(y)
    except IndexOutOfRange as error:
        if "index_select" not in str(error):
            raise Wrong(f"{name} tells without naming the op: {error}") from None
    else:
        raise Wrong(f"{name} does not tell of an index out of range")
    try:
        wait(y)
    except IndexOutOfRange as error:
        raise Wrong(f"{name} tells twice of one call") from error


def _writes_nothing(subject: Subject, x: Tensor, bad: Array) -> None:
    """Raise unless a write in place is refused before anything is written."""
    ones = subject.tensor(np.ones((2, 3), np.float32))
    before = subject.values(x)
    try:
        x.index_add_(0, subject.tensor(bad), ones)
    except IndexOutOfRange:
        expect_bits("a tensor that was to be written", subject.values(x), before)
    else:
        raise Wrong("a write in place is begun with indices out of range")
