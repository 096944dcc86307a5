"""The whole vocabulary runs on a third party's level 0, and never on the host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support import kit

import dovetail as dt
from dovetail.conformance.example import Example
from dovetail.conformance.plan import makes_what_is_claimed
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared
from dovetail.errors import DTypeError

DEVICE = "fake:1"
LAWS = "forward,backward"
OPS = declared()


@pytest.fixture(scope="module", autouse=True)
def _no_host() -> Iterator[None]:
    with kit.no_host():
        yield


@pytest.fixture(scope="module")
def checks() -> dict[str, list[Check]]:
    """What the kit has to prove of results and gradients, by op."""
    return kit.planned(Subject(DEVICE), laws=LAWS, budget=kit.SMALL)


def takes(op: Op) -> list[dt.dtype]:
    """The dtypes of the device that an op takes."""
    dtypes = Subject(DEVICE).backend.dtypes
    return sorted(dtypes & op.accepts, key=lambda d: d.name)


def refused(op: Op) -> list[dt.dtype]:
    """The dtypes of which an op would make one that the device does not have."""
    subject = Subject(DEVICE)
    return [d for d in takes(op) if not makes_what_is_claimed(subject, op, d)]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_laws(op: Op, checks: dict[str, list[Check]]) -> None:
    """Each op obeys in a dtype that the device claims, gradients included."""
    assert set(takes(op)) == set(refused(op)) or op.name in checks
    sampled = kit.sampled(checks.get(op.name, ()))
    kit.assert_proven(Subject(DEVICE), sampled, kit.SMALL)


@pytest.mark.parametrize(
    "op", [op for op in OPS if refused(op)], ids=lambda op: op.name
)
def test_results_that_the_device_cannot_hold(op: Op) -> None:
    """A result of another dtype than the device's is refused in words."""
    for dtype in refused(op):
        case = next(iter(cases_of(op, dtype)))
        with pytest.raises(DTypeError, match="on fake:1, needed one of bool"):
            Subject(DEVICE).run(op, Example(case), dtype)
