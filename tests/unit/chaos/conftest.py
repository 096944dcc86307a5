"""What tests of the chaos device share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.chaos import Broken
from tests.support.dense import registered

import dovetail as dt
from dovetail.testing import chaos


@pytest.fixture(autouse=True)
def no_fallback() -> Iterator[None]:
    """Nothing runs on the host unseen."""
    before = dt.get_fallback_policy()
    dt.set_fallback_policy("error")
    yield
    dt.set_fallback_policy(before)


@pytest.fixture
def broken() -> Iterator[dt.Tensor]:
    """Values on the chaos device of a broken backend."""
    with registered(Broken()), chaos(seed=5):
        yield dt.tensor([1.0, 2.0, 3.0], device="chaos:broken")
