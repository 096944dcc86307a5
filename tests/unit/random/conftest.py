"""What tests of random numbers share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dovetail as dt
from dovetail import random as dt_random
from dovetail.conformance import reference


@pytest.fixture(scope="module", autouse=True)
def _devices() -> None:
    reference.install()


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with dt_random.fork_rng():
        dt.manual_seed(7)
        yield
