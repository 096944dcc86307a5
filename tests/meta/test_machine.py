"""The state machine: no fault in what is sound, and a program for each planted one."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from tests.meta import planted
from tests.meta.mutants.catalogue import memory
from tests.meta.planted import verdict, verdict_on, with_kernel

from dovetail.conformance.programs import steps
from dovetail.conformance.programs.model import fresh, product
from dovetail.conformance.programs.program import PREAMBLE, Program
from dovetail.conformance.reference import install
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Outcome, Verdict
from dovetail.device_api import registry
from dovetail.engine import cotangents, inplace, tape
from dovetail.engine.tensor import Tensor


@pytest.mark.parametrize("name", ["reference", "cpu", "fake", "chaos:cpu"])
def test_sound_devices_do_as_the_model(name: str) -> None:
    """Values, versions, gradients and live bytes are as foretold."""
    install()
    found = verdict_on(name, "machine", "-")
    assert found.outcome is Outcome.PASSED, found.failures[0].message


def test_it_judges_the_same_twice() -> None:
    """A failure and its program do not depend on chance."""
    first, second = (verdict(memory.NoOffset, "machine", "-") for _ in range(2))
    assert first.failures[0].message == second.failures[0].message


@pytest.mark.parametrize(
    "fault",
    [
        memory.NoOffset,
        memory.ViewIsCopy,
        planted.FillsContiguous,
        with_kernel(
            "mul", lambda sound, a, b: sound(a, np.array(b).T.reshape(b.shape))
        ),
    ],
    ids=["offset", "views that copy", "fill", "layout"],
)
def test_faults_of_memory_are_caught(fault: type[Any]) -> None:
    """A fault in views or writes shows in some alias."""
    assert verdict(fault, "machine", "-", "standard").outcome is Outcome.WRONG


def test_a_failure_is_a_program_that_shows_it() -> None:
    """The program of a message fails on the faulty device, and runs on a sound one."""
    script = _script(verdict(memory.NoOffset, "machine", "-"))
    with planted.device(memory.NoOffset), pytest.raises(AssertionError):
        exec(script, {})
    install()
    exec(script.replace("'planted:0'", "'reference'"), {})


def _script(found: Verdict) -> str:
    assert found.outcome is Outcome.WRONG
    return found.failures[0].message.partition("this program shows it:\n")[2]


def test_a_version_that_does_not_move_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every write counts."""
    monkeypatch.setattr(inplace, "touched", lambda x: tape.storage_of(x))
    found = verdict_on("cpu", "machine", "-")
    assert found.outcome is Outcome.WRONG
    assert "version" in found.failures[0].message


def test_old_values_that_are_not_kept_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`a.mul_(b)` needs `a` as it was."""
    monkeypatch.setattr(inplace, "keep_old_values", lambda *_: None)
    assert verdict_on("cpu", "machine", "-", "standard").outcome is Outcome.WRONG


def test_a_swallowed_version_error_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backward has to refuse where a kept value was written."""

    def forgiving(saved: Any, op: str, name: str) -> Any:
        raise _Forgiven

    sound = Tensor.backward

    def backward(self: Tensor, **kw: Any) -> None:
        with contextlib.suppress(_Forgiven):
            sound(self, **kw)

    monkeypatch.setattr(cotangents, "refuse_version", forgiving)
    monkeypatch.setattr(Tensor, "backward", backward)
    found = verdict_on("cpu", "machine", "-", "standard")
    assert found.outcome is Outcome.WRONG
    assert "needed dt.errors.AutogradError" in found.failures[0].message


class _Forgiven(Exception):
    """In place of the error."""


def test_memory_that_is_never_free_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live bytes are those of the live tensors."""
    registry.load("fake")
    memory = import_module("dovetail_fake.memory")
    monkeypatch.setattr(memory.Block, "__del__", lambda self: None)
    found = verdict_on("fake", "machine", "-")
    assert found.outcome is Outcome.WRONG
    assert "bytes" in found.failures[0].message


def test_an_unordered_stream_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on a stream that was waited for is done before."""
    chaos = type(registry.load("chaos:cpu"))
    monkeypatch.setattr(chaos, "wait_event", lambda *_: None)
    found = verdict_on("chaos:cpu", "machine", "-")
    assert found.outcome is not Outcome.PASSED


def test_programs_do_all_that_they_can() -> None:
    """Each kind of step runs, each kind of refusal is met, in a few programs."""
    install()
    program = Program(Subject("chaos:cpu"))
    steps.start(program)
    random = np.random.default_rng(5)
    for _ in range(60):
        for name, step in steps.STEPS.items():
            for _ in range(4 if name == "view" else 1):
                step(program, random)
            program.check()
    text = "\n".join(program.lines)
    program.end()
    steps.rejoin(program)
    for part in (
        "raises(dt.errors.AutogradError)", "raises(dt.errors.InplaceError)",
        "raises(MemoryError)", "no_grad", ".data", ".detach()", "as_strided", "expand",
        "diagonal", "transpose", "set_stream", "backward", "copy_", "del ",
    ):  # fmt: skip
        assert part in text, part


def test_the_model_differentiates_a_product() -> None:
    """The derivative of a * b is b da + a db."""
    a = fresh("a", np.array([2.0, 3.0]), tracked=True)
    b = fresh("b", np.array([5.0, 7.0]), tracked=True)
    assert a.memory.derivative is not None
    assert b.memory.derivative is not None
    a.memory.derivative[:, 0], b.memory.derivative[:, 1] = 1, 1
    values, derivative = product(a, b)
    assert values.tolist() == [10, 21]
    assert derivative[:, :2].tolist() == [[5, 2], [7, 3]]


def test_the_preamble_runs() -> None:
    """What every program begins with needs nothing but dovetail."""
    names: dict[str, Any] = {}
    exec(PREAMBLE.format(device="reference"), names)
    assert names["D"] == "reference"
