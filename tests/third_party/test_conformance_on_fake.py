"""A third party's level 0 is proven by the kit, as anybody's backend is.

With it the other devices of these tests, which are right, whatever they do otherwise.
"""

from __future__ import annotations

import pytest
from tests.support.turns import SIXTHS, has_its_turn

from dovetail.conformance.report import Report, build
from dovetail.conformance.runner.process import Settings
from dovetail.conformance.runner.supervisor import Supervisor, Wanted
from dovetail.conformance.verdicts import BAD, How

OTHERS = ("tests.meta.other_devices",)


def report(device: str, whole: bool = True) -> Report:
    """What the suite finds on a device; what it says of a sixth of the ops."""
    wanted = Wanted(settings=Settings(device, OTHERS), jobs=2)
    with Supervisor(wanted) as supervisor:
        if not whole:
            planned = supervisor.plan
            supervisor.plan = [p for p in planned if has_its_turn(p.check.op, SIXTHS)]
            assert len(planned) > len(supervisor.plan) > len(planned) / (SIXTHS + 2)
        for _ in supervisor.run():
            pass
        return build(supervisor.record())


def failures(found: Report) -> list[str]:
    """Every failure, in words."""
    return [
        f"{v.check.id}: {v.outcome}: {v.note} {[f.message for f in v.failures]}"
        for v in found.run.verdicts
        if v.outcome in BAD
    ]


@pytest.mark.slow
def test_level_1() -> None:
    """The fake device reaches level 1, and no op of the vocabulary runs on the host."""
    found = report("fake:1")
    assert failures(found) == []
    assert found.level == 1
    assert How.HOST not in {v.how for v in found.run.verdicts}


LATE = "chaos:cpu"


@pytest.mark.slow
def test_no_false_alarm_in_a_sixth() -> None:
    """A device that is late, in another order each time, but is right, passes."""
    assert failures(report(LATE, whole=False)) == []


@pytest.mark.weekly
def test_no_false_alarm() -> None:
    """The same for all ops."""
    assert failures(report(LATE)) == []
