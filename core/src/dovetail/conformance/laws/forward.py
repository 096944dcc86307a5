"""Results of an op: against its oracle, its rule, and its body."""

from __future__ import annotations

from dovetail.conformance.compare import against_oracle
from dovetail.conformance.examples import examples
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.bits import expect_class


@law("forward", examples=examples, rank=10, covers=True)
def forward(trial: Trial) -> None:
    """Every result equals the oracle's, within what its conditioning allows."""
    op, dtype = trial.op, trial.dtype
    assert op is not None
    assert dtype is not None
    results = trial.subject.run(op, trial.example, dtype)
    for at, y in enumerate(results):
        if str(y.device) != trial.subject.device:
            raise Wrong(f"result {at} is on {y.device}, needed {trial.subject.device}")
        expect_class(f"result {at}", y._a, trial.subject.backend.array)
    against_oracle(trial, results)
