"""Every op of the vocabulary, proven from its declaration by the conformance kit.

A new op needs no test here: its cases and its oracle are the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import pytest
from tests.support import kit

import dovetail as dt
from dovetail.conformance.budget import Budget
from dovetail.conformance.judge import DEVICE
from dovetail.conformance.reference import reference
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared

OPS = declared()
# NumPy's kernels, and level 0 alone, where every body runs.
DEVICES = {"cpu": lambda: Subject("cpu"), "reference": reference}
BUDGETS = {
    "cpu": kit.SMALL,
    "reference": replace(kit.SMALL, dtypes=(dt.float32, dt.float64, dt.int32, dt.bool)),
}


@dataclass(frozen=True)
class Proof:
    """A device, how much is tried on it, and what the kit has to prove, by op."""

    subject: Subject
    budget: Budget
    checks: dict[str, list[Check]]


@pytest.fixture(scope="module", autouse=True)
def _no_host() -> Iterator[None]:
    with kit.no_host():
        yield


@pytest.fixture(scope="module", params=DEVICES)
def proof(request: pytest.FixtureRequest) -> Proof:
    """A device, and all that the kit has to prove of it."""
    subject, budget = DEVICES[request.param](), BUDGETS[request.param]
    return Proof(subject, budget, kit.planned(subject, budget=budget))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_declared_whole(op: Op) -> None:
    """Each op has a docstring of one sentence or more, an oracle and cases."""
    assert op.doc, "no docstring"
    assert op.oracle is not None, "no oracle"
    dtype = min(op.accepts, key=lambda d: d.name)
    assert list(islice(cases_of(op, dtype), 1)), "no cases"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_laws(op: Op, proof: Proof) -> None:
    """All laws of the kit hold for every op, each in a dtype that goes by its name."""
    checks = kit.sampled(proof.checks[op.name])
    assert kit.assert_proven(proof.subject, checks, proof.budget) > 0


@pytest.mark.slow
@pytest.mark.parametrize("proof", ["reference"], indirect=True)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_laws_in_every_dtype(op: Op, proof: Proof) -> None:
    """All laws of the kit hold for the body of every op in all dtypes of the budget.

    Those of the CPU's kernels are proven by the kit itself.
    """
    assert kit.assert_proven(proof.subject, proof.checks[op.name], proof.budget) > 0


def test_laws_of_devices(proof: Proof) -> None:
    """Memory, views, copies, threads and what else a device is asked for hold."""
    assert kit.assert_proven(proof.subject, proof.checks[DEVICE], proof.budget) > 0
