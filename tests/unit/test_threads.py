"""Threads that call the same ops at the same time."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.device_api.contract import Runner
from dovetail.engine import dispatch, kernel_call
from dovetail_cpu.backend import CpuBackend


def together(*programs: Callable[[], Any]) -> list[BaseException]:
    """Run programs at the same time, and give what they raised."""
    start, errors = threading.Barrier(len(programs)), []

    def run(program: Callable[[], Any]) -> None:
        start.wait(10)
        try:
            program()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(p,)) for p in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def note_refusals(monkeypatch: pytest.MonkeyPatch, refused: list[Any]) -> None:
    """Note every error that says that a context was entered twice."""
    for module in (dispatch, kernel_call):
        is_reentry = module.is_reentry

        def noted(error: Any, is_reentry: Any = is_reentry) -> bool:
            found: bool = is_reentry(error)
            if found:
                refused.append(error)
            return found

        monkeypatch.setattr(module, "is_reentry", noted)


def test_no_call_collides_with_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel is refused by a context that another thread is in."""
    refused: list[Any] = []
    note_refusals(monkeypatch, refused)
    x = dt.rand(40, 50)
    want = (x + x).numpy().copy(), dt.where(x > 0.5, x, 1.0).numpy().copy()

    def work() -> None:
        for _ in range(1500):
            assert np.array_equal((x + x).numpy(), want[0])
            assert np.array_equal(dt.where(x > 0.5, x, 1.0).numpy(), want[1])

    assert together(work, work, work) == []
    assert refused == []


def test_a_thread_gets_a_runner_of_its_own() -> None:
    """A backend is asked for a runner once in each thread, and none is shared."""
    runner, seen = Runner(CpuBackend(), 0), []

    def work() -> None:
        runner.here()(int)
        seen.append((runner.here(), runner.here()))

    assert together(work, work) == []
    work()
    assert all(first is second for first, second in seen)
    assert len({id(first.__self__) for first, _ in seen}) == 3  # type: ignore[attr-defined]


def test_a_first_call_takes_attributes_of_any_name() -> None:
    """What a kernel is given by name is the kernel's, in the first call too."""
    runner = Runner(CpuBackend(), 0)
    given = {"kernel": 1, "self": 2, "natives": 3}
    for _ in range(2):
        assert runner.here()(lambda **attrs: attrs, **given) == given


def test_a_copied_context_collides_once_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads that run in copies of one context part at their first collision."""
    refused: list[Any] = []
    note_refusals(monkeypatch, refused)
    x = dt.rand(40, 50)
    want = (x + x).numpy().copy()

    def work() -> None:
        for _ in range(1500):
            assert np.array_equal((x + x).numpy(), want)

    copies = [contextvars.copy_context() for _ in range(3)]
    assert together(*[partial(c.run, work) for c in copies]) == []
    assert len(refused) <= 2 * len(copies)  # by the fast path, then the slow one


def test_kernels_are_silent_in_every_thread() -> None:
    """Overflow and division by zero warn nowhere, and leave NumPy's state alone."""

    def work() -> None:
        before = np.geterr()
        x = dt.full((64,), 3e38)
        assert dt.isinf(x + x).all()
        assert dt.isinf(x / 0.0).all()
        x.fill_(2)
        assert np.geterr() == before

    assert together(work, work) == []
    work()
