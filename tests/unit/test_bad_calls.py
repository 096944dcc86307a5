"""Random bad calls: refused in our words, as often as asked, and changing nothing."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from tests.programs.bad_calls.calls import LEFT_OUT, Call, targets
from tests.programs.bad_calls.judge import Judge
from tests.support import child

import dovetail

ROOT = Path(__file__).resolve().parents[2]


def made(count: int, seed: int, *options: str) -> dict[str, Any]:
    """The figures of the generator."""
    done = child.python(
        "-m", "tests.programs.bad_calls", "--json", *options, "--count", count,
        "--seed", seed, cwd=ROOT, status=None, limit=600,
    )  # fmt: skip
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def test_bad_calls() -> None:
    """Of a few thousand calls, at most a thousandth ends in a foreign error."""
    found = made(3000, 0, "--alone")
    shown = "\n".join(f"{f['what']}: {f['call']}" for f in found["findings"])
    assert found["leak"] <= 3, shown
    assert (found["altered"], found["changing"], found["crash"]) == (0, 0, 0), shown


@pytest.mark.slow
def test_many_bad_calls() -> None:
    """Of 40,000 calls, fewer than 50 end in a foreign error; no tensor changes.

    Where torch is installed, none is answered that torch refuses.
    """
    found = made(40_000, 1)
    assert found["count"] == 40_000
    assert found["leak"] < 50
    wrong = [f for f in found["findings"] if f["what"] not in ("leak", "slow")]
    assert wrong == []


ROOMS = {
    "torch": dovetail, "torch.nn.functional": dovetail.nn.functional,
    "torch.linalg": dovetail.linalg, "torch.fft": dovetail.fft,
    "torch.special": dovetail.special,
}  # fmt: skip


@pytest.mark.parametrize("path", ROOMS)
def test_every_function_is_drawn(path: str) -> None:
    """Public functions are targets, unless they are left out by name."""
    kept = {
        name for name, function in inspect.getmembers(ROOMS[path], inspect.isfunction)
        if not name.startswith(("_", "set_", "manual_seed")) and name not in LEFT_OUT
    }  # fmt: skip
    assert len(kept) > 20
    assert {f"{path}.{name}" for name in kept} <= {t.path for t in targets()}


PLANTED = {
    "leak": "raise_error()",
    "changing": "raise_another()",
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_wrong_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors that are not ours, and refusals that differ, are findings."""
    errors = iter([KeyError, ValueError, KeyError, ValueError])

    def raise_error() -> None:
        raise KeyError("x")

    def raise_another() -> None:
        raise next(errors)("x")

    monkeypatch.setattr(dovetail, "raise_error", raise_error, raising=False)
    monkeypatch.setattr(dovetail, "raise_another", raise_another, raising=False)
    call = Call("function", "planted", f"torch.{PLANTED[what]}", ())
    assert what in [f.what for f in Judge(None, 5.0).findings(call)]


def test_a_tensor_that_changes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is refused after it wrote is a finding."""

    def half_done(x: Any) -> None:
        x.zero_()
        raise dovetail.errors.ArgumentError("half_done", "x", was=1, needed=2)

    monkeypatch.setattr(dovetail, "half_done", half_done, raising=False)
    call = Call("function", "planted", "torch.half_done(a0)", ("torch.ones(2)",))
    assert [f.what for f in Judge(None, 5.0).findings(call)] == ["altered"]
