"""Recording: what was recorded, run again, means the same."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.compiler import record
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.example import Example
from dovetail.conformance.plan import dtypes_of
from dovetail.conformance.subject import Subject
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared

RECORDED = [op for op in declared() if op.params and op.tensors and not op.mutates]


@pytest.mark.parametrize("op", RECORDED, ids=lambda op: op.name)
def test_every_op_is_recorded(op: Op) -> None:
    """A call is one entry of the recording, and the recording gives its results."""
    cpu = Subject("cpu")
    dtype = dtypes_of(cpu, op, BUDGETS["quick"])[0]
    args, kwargs = cpu.arguments(op, Example(next(iter(cases_of(op, dtype)))), dtype)
    recording = record(lambda: cpu.call(op, args, kwargs))
    assert op.name in [c.op.name for c in recording.calls]
    for again, once in zip(recording(), cpu.call(op, args, kwargs), strict=True):
        np.testing.assert_array_equal(cpu.values(again), cpu.values(once))


def test_a_program_replays_on_other_inputs() -> None:
    """Forward, backward and in-place writes are in the recording."""

    def program(x: dt.Tensor, w: dt.Tensor) -> dt.Tensor:
        y = (x * w + 1).exp()
        y[0].mul_(3)
        return y.sum()

    a, b = dt.tensor([[1.0, 2.0], [3.0, 4.0]]), dt.tensor([0.5, -0.5])
    recording = record(program, a, b)
    c, d = dt.tensor([[0.1, 0.2], [0.3, 0.4]]), dt.tensor([1.5, 2.5])
    assert recording(c, d).item() == program(c, d).item()
    assert "mul" in str(recording)


def test_nothing_is_recorded_outside() -> None:
    """The interposer is gone after the recording, and others never saw it."""
    recording = record(lambda x: x + 1, dt.ones(2))
    count = len(recording.calls)
    dt.ones(2) + 1
    assert len(recording.calls) == count
