"""Bounds that are numbers: a call like one before asks nothing again."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail as dt
from dovetail.engine import dispatch

CALLS: list[dict[str, Any]] = [
    {"min": -1, "max": 1}, {"min": 0.5}, {"max": -0.25}, {"min": 0.0, "max": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("bounds", CALLS, ids=str)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.int32])
def test_a_call_is_remembered(
    bounds: dict[str, Any], dtype: dt.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is learned at the second call, unless numbers change the dtype."""
    x = dt.tensor([-2, 0, 2], dtype=dtype)
    promotes = dtype is dt.int32 and float in map(type, bounds.values())
    first = dt.clamp(x, **bounds)
    learned: list[str] = []
    own = dispatch.learned

    def counted(op: Any, *others: Any) -> Any:
        learned.append(op.name)
        return own(op, *others)

    monkeypatch.setattr(dispatch, "learned", counted)
    assert dt.equal(dt.clamp(x, **bounds), first)
    assert ("clamp" in learned) == promotes
