"""Random training programs, recorded and followed, beside eager ones."""

from __future__ import annotations

from random import Random

import pytest
from tests.programs.capture.compare import (
    Capture,
    Difference,
    check,
    compiled,
    recorded,
    run,
    shrink,
)
from tests.programs.capture.draw import Program, draw

from dovetail.compiler import recorder

pytestmark = pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
COUNT = 40


@pytest.mark.parametrize("capture", [recorded, compiled])
def test_training_programs(capture: Capture) -> None:
    """Forty programs leave, captured, what they leave eager, bit for bit."""
    shown = list(run(range(COUNT), capture))
    assert [str(d) for d in shown if d is not None] == []
    assert len(shown) > 0.8 * COUNT


@pytest.mark.slow
def test_many_training_programs() -> None:
    """A thousand programs, those of `python -m tests.programs.capture`."""
    assert [str(d) for d in run(range(1000)) if d is not None] == []


def differs(program: Program) -> bool:
    try:
        return check(program) is not None
    except Exception:  # eager refuses it
        return False


TOLD = (
    "accumulate", "detach_", "draw", "generator", "grad", "keep", "live", "made",
    "perform", "rebind", "requires_grad", "set state", "state",
)  # fmt: skip


@pytest.mark.parametrize("event", TOLD)
def test_a_forgotten_event_is_seen(event: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder that is not told of an event makes some of the programs differ."""
    heard = {k: v for k, v in recorder._EVENTS.items() if k != event}
    assert len(heard) < len(recorder._EVENTS)
    monkeypatch.setattr(recorder, "_EVENTS", heard)
    programs = (draw(Random(f"capture {seed}")) for seed in range(COUNT))
    assert any(map(differs, programs))


def test_a_difference_is_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown takes every line that is left in it."""
    monkeypatch.delitem(recorder._EVENTS, "draw")
    program = draw(Random("capture 0"))
    found = check(program)
    assert found is not None
    least = shrink(Difference(program, found), recorded).program
    assert len(least.source()) < len(program.source())
    assert all(not differs(p) for p in least.without())
