"""Schedules beside torch's, whose profiles end the process on some machines."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import dovetail as dt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Profiler:UserWarning")
COUNTS = list(itertools.product((0, 1, 3), (0, 2), (1, 2), (0, 1, 2), (0, 3), (0, 1)))


@pytest.mark.parametrize("counts", COUNTS)
def test_schedules_do_in_each_step_what_torchs_do(counts: tuple[int, ...]) -> None:
    names = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
    options = dict(zip(names, counts, strict=True))

    def actions(lib: Any) -> list[str]:
        schedule = lib.profiler.schedule(**options)
        return [schedule(step).name for step in range(25)]

    assert actions(dt) == actions(torch)
