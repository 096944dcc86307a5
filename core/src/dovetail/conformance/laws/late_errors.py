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
from dovetail.engine.tensor import Tensor
from dovetail.errors import DivisionByZero, IndexOutOfRange

_TOLD: Final = (IndexOutOfRange, DivisionByZero)
_FAR: Final = 1 << 24  # where no memory of a small array is
_GOOD: Final = np.array([3, 0, 3], np.int32)
_BAD: Final = (np.array([0, _FAR], np.int32), np.array([-_FAR, 1], np.int32))


_DIVISORS: Final = np.array([3, 0, -2], np.int32)
_DIVISIONS: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "floor_divide": dt.floor_divide,
    "remainder": dt.remainder,
    "fmod": dt.fmod,
    "div": lambda x, by: dt.div(x, by, rounding_mode="trunc"),
}


@device_law("late_errors", rank=52, per_dtype=False)
def late_errors(trial: Trial) -> None:
    """What values forbid is told at the next wait, once, and harms nothing else.

    That is an index out of range, or an integer divided by 0.
    """
    subject = trial.subject
    if subject.backend.capability(LateErrors) is None:
        raise Unclaimed(f"{subject.device} has no capability LateErrors")
    _of_indices(subject)
    _of_divisions(subject)


def _of_indices(subject: Subject) -> None:
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    x = subject.tensor(values)
    for bad in _BAD:
        for name, wait in _waits(subject).items():
            index = subject.tensor(bad)
            _is_told("index_select", lambda: x.index_select(0, index), name, wait)  # noqa: B023
        ones = subject.tensor(np.ones((2, 3), np.float32))
        _writes_nothing(subject, x, lambda: x.index_add_(0, index, ones))  # noqa: B023
    expect_bits("a tensor whose indices were out of range", subject.values(x), values)
    good = dt.index_select(x, 0, subject.tensor(_GOOD))
    expect_bits("a good call after refused ones", subject.values(good), values[_GOOD])


def _of_divisions(subject: Subject) -> None:
    values = np.array([7, -7, 5], np.int32)
    x, by = subject.tensor(values), subject.tensor(_DIVISORS)
    for op, divide in _DIVISIONS.items():
        for name, wait in _waits(subject).items():
            _is_told(op, lambda: divide(x, by), name, wait)  # noqa: B023
    _writes_nothing(subject, x, lambda: x.floor_divide_(by))
    expect_bits("a tensor that was divided by 0", subject.values(x), values)
    good = x // subject.tensor(np.array([2, 2, 5], np.int32))
    want = np.array([3, -4, 1], np.int32)
    expect_bits("a good quotient after refused ones", subject.values(good), want)


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
    op: str, call: Callable[[], Tensor], name: str, wait: Callable[[Tensor], object]
) -> None:
    """Raise unless the first wait tells, and the next does not."""
    try:
        y = call()
    except _TOLD as error:
        raise Wrong(f"the call of {op} waited for its own flag") from error
    try:
        wait(y)
    except _TOLD as error:
        if op not in str(error):
            raise Wrong(f"{name} tells without naming {op}: {error}") from None
    else:
        raise Wrong(f"{name} does not tell of values that {op} refuses")
    try:
        wait(y)
    except _TOLD as error:
        raise Wrong(f"{name} tells twice of one call of {op}") from error


def _writes_nothing(subject: Subject, x: Tensor, write: Callable[[], object]) -> None:
    """Raise unless a write in place is refused before anything is written."""
    before = subject.values(x)
    try:
        write()
    except _TOLD:
        expect_bits("a tensor that was to be written", subject.values(x), before)
    else:
        raise Wrong("a write in place is begun with values that it refuses")
