"""Memory that the program lets go of while work on it is due."""

from __future__ import annotations

import contextvars
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.conformance.law import Trial, Unclaimed, device_law
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.laws.streams import long_work, widths, work
from dovetail.device_api.capabilities import Streams
from dovetail.dtypes import Array
from dovetail.engine.tensor import Tensor

_TAKEN: Final = 4  # blocks that are asked for when one was let go of
_TRIES: Final = 4  # of each claim, for work that is due may be done in time


@device_law("dropped", examples=widths, rank=54, per_dtype=False)
def dropped(trial: Trial) -> None:
    """Memory let go of goes to no other stream before the work on it is done.

    Nor where another stream than the one it was made on still reads it, and was
    recorded to.
    """
    if trial.subject.backend.capability(Streams) is None:
        raise Unclaimed(f"{trial.subject.device} has no capability Streams")
    for claim in (_by_its_own_stream, _by_a_recorded_stream, _in_one_stream) * _TRIES:
        contextvars.copy_context().run(claim, trial)
        dt.synchronize(trial.subject.device)


def _by_its_own_stream(trial: Trial) -> None:
    """Made, read and let go of on one stream; asked for on another."""
    a, order, want, again = work(trial)
    first, second = (dt.Stream(trial.subject.device) for _ in range(2))
    with first:
        block = long_work(a, order)
        read = long_work(block, order)
        del block
    with second:
        others = _taken(trial, want)
    with first:
        expect_bits("what was made of memory that was let go of, while another stream "
                    "asked for some", trial.subject.values(read), again)  # fmt: skip
    with second:
        _expect_kept(trial, others, want)


def _by_a_recorded_stream(trial: Trial) -> None:
    """Made on one stream, read on another that was recorded, asked for on the first."""
    a, order, want, again = work(trial)
    first, second = (dt.Stream(trial.subject.device) for _ in range(2))
    with first:
        block = long_work(a, order)
        made = first.record_event()
    second.wait_event(made)
    with second:
        read = long_work(block, order)
    block.record_stream(second)
    del block
    with first:
        others = _taken(trial, want)
    with second:
        expect_bits("what a recorded stream made of memory that was let go of",
                    trial.subject.values(read), again)  # fmt: skip
    with first:
        _expect_kept(trial, others, want)


def _in_one_stream(trial: Trial) -> None:
    """Again and again on one stream, where memory may be given out at once."""
    a, order, want, _ = work(trial)
    with dt.Stream(trial.subject.device):
        for _ in range(_TAKEN):
            block = long_work(a, order)
            read = block + 0
            del block
            others = _taken(trial, want)
            expect_bits("what was made of memory that was let go of on its stream",
                        trial.subject.values(read), want)  # fmt: skip
            _expect_kept(trial, others, want)


def _taken(trial: Trial, want: Array) -> list[Tensor]:
    """Blocks of the same size, written at once."""
    how: dict[str, Any] = {"dtype": dt.float32, "device": trial.subject.device}
    return [dt.full(want.shape, float(n), **how) for n in range(_TAKEN)]


def _expect_kept(trial: Trial, others: list[Tensor], want: Array) -> None:
    for number, x in enumerate(others):
        expect_bits("memory that was asked for meanwhile", trial.subject.values(x),
                    np.full_like(want, number))  # fmt: skip
