"""What `pytest --pyargs dovetail.conformance --dovetail-device=acme:0` collects."""

from __future__ import annotations

from typing import Final

import pytest

from dovetail.conformance.runner.foundations import Planned
from dovetail.conformance.runner.supervisor import Supervisor
from dovetail.conformance.session import judged, session

_NO_DEVICE: Final = "needs --dovetail-device, the device to prove"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item for each check of the plan."""
    config = metafunc.config
    if not config.getoption("--dovetail-device", default=[]):
        absent = pytest.param(None, None, marks=pytest.mark.skip(reason=_NO_DEVICE))
        metafunc.parametrize(("supervisor", "planned"), [absent], ids=["no device"])
        return
    asked = session(config)
    metafunc.parametrize(("supervisor", "planned"), asked.checks, ids=asked.names())


def test_conforms(
    request: pytest.FixtureRequest, supervisor: Supervisor, planned: Planned
) -> None:
    """A device does in one dtype what a law asks of an op."""
    judged(session(request.config), supervisor, planned)
