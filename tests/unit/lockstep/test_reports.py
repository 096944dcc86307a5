"""What `lockstep` tells of a step as a whole, raises and saves."""

from __future__ import annotations

import pickle
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import child
from tests.support.broken import broken, install
from tests.support.steps import first, gated, half, in_place, perceptron

import dovetail as dt
import dovetail.conformance.oracle
from dovetail.device_api import registry
from dovetail.errors import DovetailError
from dovetail.testing import LockstepError, lockstep

ROOT = Path(__file__).resolve().parents[3]


# ---- the step as a whole


def test_another_order_of_ops_is_found() -> None:
    """Python that asks for the device may run other ops; the first is named."""

    def step(device: str) -> Any:
        x = dt.ones(3, device=device)
        return x.exp() if device == "cpu" else x.sin()

    with broken("tan", "scaled") as device:
        found = first(step, device)
    assert (found.kind, found.op) == ("order", "sin")
    assert "cpu ran exp [3]" in found.message


def test_an_end_too_early_is_found() -> None:
    """A device that runs fewer ops than the other has left the step."""

    def step(device: str) -> Any:
        x = dt.ones(3, device=device)
        return x.exp() if device == "cpu" else x

    with broken("tan", "scaled") as device:
        found = first(step, device)
    assert (found.kind, found.op) == ("order", "exp")
    assert "broken ran nothing more" in found.message


def test_a_result_that_no_op_explains_is_found() -> None:
    """Memory that changes between two ops shows in what the step returns."""

    def step(device: str) -> Any:
        x = dt.ones(3, device=device)
        y = x.exp()
        if device != "cpu":
            y._a[1] = 5  # as a stray write of the device would
        return {"y": y}

    with broken("tan", "scaled") as device:
        found = first(step, device)
    assert (found.kind, found.op) == ("result", "result['y']")
    assert found.difference is not None
    assert found.difference.index == (1,)


@pytest.mark.parametrize("bad", ["broken", "cpu"])
def test_a_step_that_fails_on_one_device_is_found(bad: str) -> None:
    """The error of one device alone is a divergence, told with the last op."""

    def step(device: str) -> Any:
        dt.ones(3, device=device).cos()
        if device == bad:
            raise MemoryError("no room left")
        return None

    with broken("tan", "scaled") as device:
        found = first(step, device)
    assert (found.kind, found.op) == ("raised", "cos")
    assert f"{bad} raised MemoryError: no room left" in found.message


def test_a_step_that_fails_everywhere_raises_its_own_error() -> None:
    """What is no matter of devices is the caller's to see."""

    def step(device: str) -> Any:
        return dt.ones(3, device=device) @ dt.ones(4, device=device)

    with pytest.raises(dt.errors.ShapeError):
        lockstep(step, "cpu", folder=None)


def test_an_error_that_the_step_expects_is_none() -> None:
    """A refusal that both devices share, and the step catches, is no divergence."""

    def step(device: str) -> Any:
        try:
            dt.ones(3, device=device) @ dt.ones(4, device=device)
        except DovetailError:
            return dt.ones(2, device=device).exp()

    assert lockstep(step, "cpu", folder=None).ok


# ---- what is raised and saved


def test_a_divergence_raises_with_its_report() -> None:
    """By default the report is an error, which names the op and survives pickling."""
    with broken("softmax", "scaled") as device, pytest.raises(LockstepError) as caught:
        lockstep(gated, device, folder=None)
    error = caught.value
    assert isinstance(error, AssertionError)
    assert "softmax in the forward phase" in str(error)
    assert not error.report.ok
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


SAVED = [
    (gated, "softmax", "scaled"), (gated, "square", "fails"),
    (gated, "softmax", "writes_input"), (gated, "argmax", "off_by_one"),
    (perceptron, "adam_steps_", "half_step"), (half, "gelu", "scaled"),
    (in_place, "cat", "scaled"), (perceptron, "random_dropout", "scaled"),
]  # fmt: skip


@pytest.mark.parametrize(("step", "op", "fault"), SAVED)
def test_the_script_reproduces(
    step: Callable[[str], Any],
    op: str,
    fault: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The saved call differs again; on a sound device it does not."""
    setup = "from tests.support import broken\nbroken.install({!r}, {!r})"
    with broken(op, fault) as device:
        found = first(step, device, folder=tmp_path, setup=setup.format(op, fault))
    assert found.folder == tmp_path / f"lockstep-{op}-{found.call}"
    assert {p.name for p in found.folder.iterdir()} == {"inputs.npz", "reproduce.py"}
    script = str(found.folder / "reproduce.py")
    assert runpy.run_path(script)["main"]() == 1
    assert f"--- {op} on broken" in capsys.readouterr().out
    try:
        install(op, "sound")
        sound = Path(script).read_text().replace(repr(fault), "'sound'")
        Path(script).write_text(sound)
        assert runpy.run_path(script)["main"]() == 0
    finally:
        registry.unregister("broken")


def test_the_script_stands_alone(tmp_path: Path) -> None:
    """In a process of its own it needs dovetail, NumPy and what `setup` brings."""
    setup = "from tests.support import broken\nbroken.install('softmax', 'scaled')"
    with broken("softmax", "scaled") as device:
        found = first(gated, device, folder=tmp_path, setup=setup)
    assert found.folder is not None
    script = found.folder / "reproduce.py"
    done = child.python("-W", "error", script, cwd=tmp_path, path=[ROOT], status=1)
    assert "192 of 192 elements beyond tolerance" in done.stdout


def test_what_is_saved_is_replaced_whole(tmp_path: Path) -> None:
    """A second run of the same call leaves no draft and no older file."""
    for _ in range(2):
        with broken("softmax", "scaled") as device:
            found = first(gated, device, folder=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [f"lockstep-softmax-{found.call}"]
    with np.load(tmp_path / f"lockstep-softmax-{found.call}" / "inputs.npz") as saved:
        assert sorted(saved) == ["allowed0", "x0"]
        assert saved["x0"].shape == saved["allowed0"].shape == (12, 16)


def test_the_package_gives_its_names() -> None:
    """`dovetail.testing` is loaded with the first use, and has no other names."""
    assert dt.testing.lockstep is lockstep
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dt.testing.nothing
