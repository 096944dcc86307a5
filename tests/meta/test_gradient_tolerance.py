"""What the law of gradients allows is no less than a sound device needs."""

from __future__ import annotations

import numpy as np

from dovetail import dtypes
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.backward import _Truth
from dovetail.conformance.rounding import roundoff
from dovetail.conformance.subject import Subject
from dovetail.engine.cases import cases_of
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
        ((_, allowed),) = _Truth(trial, [ct]).first()
        assert float(allowed) >= roundoff(dtypes.float32) * terms.sum(), seed
