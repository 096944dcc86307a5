"""A third party's level 0 is proven by the kit, as anybody's backend is.

With it the other devices of these tests, which are right, whatever they do otherwise.
"""

from __future__ import annotations

import pytest

from dovetail.conformance.report import Report, build
from dovetail.conformance.runner.process import Settings
from dovetail.conformance.runner.supervisor import Supervisor, Wanted
from dovetail.conformance.verdicts import BAD, How

OTHERS = ("tests.meta.other_devices",)

pytestmark = pytest.mark.slow


def report(device: str) -> Report:
    """What the whole suite finds on a device."""
    wanted = Wanted(settings=Settings(device, OTHERS), jobs=2)
    with Supervisor(wanted) as supervisor:
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


def test_level_1() -> None:
    """The fake device reaches level 1, and no op of the vocabulary runs on the host."""
    found = report("fake:1")
    assert failures(found) == []
    assert found.level == 1
    assert How.HOST not in {v.how for v in found.run.verdicts}


@pytest.mark.parametrize("device", ["chaos:cpu"])
def test_no_false_alarm(device: str) -> None:
    """Devices that are late, or strict, or have no strides, but are right, pass."""
    assert failures(report(device)) == []
