"""What the law of gradients allows is no less than a sound device needs."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import dtypes
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.backward import _Truth, backward
from dovetail.conformance.rounding import roundoff
from dovetail.conformance.subject import Subject
from dovetail.engine.cases import case, cases_of
from dovetail.engine.op import vocabulary

SEEDS = range(1500)


def test_each_term_of_a_gradient_may_be_rounded_once() -> None:
    """Of a gradient that is a sum, also where its terms cancel, as some seeds draw."""
    op, subject = vocabulary["nll_loss_backward"], Subject("cpu")
    case = next(iter(cases_of(op, dtypes.float32)))
    target, example = case.args[1], Example(case)
    for seed in SEEDS:
        trial = Trial(subject, op, dtypes.float32, example, seed)
        tape = dx.taped(subject, op, example, dtypes.float32)
        (ct,) = dx.like(tape.results, seed)
        terms = np.abs(ct[np.arange(len(target)), target]) / len(target)
        truth = _Truth(trial, [ct])
        (allowed,) = truth.bounds(truth.true(None), None)
        assert float(allowed) >= roundoff(dtypes.float32) * terms.sum(), seed


@pytest.mark.parametrize("x", [-3.0, 3.0, -5.2])
def test_double_precision_may_round_on_the_way(x: float) -> None:
    """A gradient that is a small difference is as far off as its formula makes it."""
    op, subject = vocabulary["gelu"], Subject("cpu")
    example = Example(case(np.array([x]), "tanh"))
    for seed in range(20):
        backward(Trial(subject, op, dtypes.float64, example, seed))
