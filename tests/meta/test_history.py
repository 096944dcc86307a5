"""Kernels that remember are found by the laws on what came before, and by no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from threading import Thread
from typing import Any

import numpy as np
import pytest
from tests.meta.mutants.catalogue.history import HISTORY
from tests.meta.mutants.judging import KILLS, elsewhere, warm
from tests.meta.mutants.mutant import MUTANT, Mutant
from tests.meta.planted import device, with_kernel

import dovetail as dt
from dovetail.conformance import laws  # noqa: F401  registers them
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.fresh import Missing, fresh, standing_by
from dovetail.conformance.judge import judge
from dovetail.conformance.plan import plan
from dovetail.conformance.sequence import Step
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Outcome
from dovetail.device_api import KernelTable, registry
from dovetail.dtypes import float32
from dovetail.engine.cases import case
from dovetail.engine.op import vocabulary
from dovetail_cpu.backend import CpuBackend

QUICK = BUDGETS["quick"]
_RARE = "tabnanny"  # a module that nobody needs
# Their own calls differ in what is forgotten here, so that others find these, too: in
# places, in dtypes, and in rows of -inf alone behind rows that are twice as long.
_SEEN_BY_OTHERS = {
    "history/first-offset", "history/kernel-by-width", "history/stale-workspace",
}  # fmt: skip


def _said(mutant: Mutant, wanted: str) -> dict[str, str]:
    """The laws that fail on a mutant's op in float32, and what they say."""
    found = {}
    with (
        standing_by(f"{MUTANT}:0", partial(elsewhere, mutant)),
        mutant.planted() as name,
    ):
        subject = Subject(name)
        for check in plan(subject, QUICK, ",".join(mutant.touches), wanted):
            if check.dtype == "float32":
                verdict = judge(subject, check, QUICK)
                if verdict.outcome in KILLS:
                    found[check.law] = verdict.failures[0].message
    return found


@pytest.mark.parametrize("mutant", HISTORY, ids=lambda m: m.name)
def test_a_kernel_that_remembers_is_caught(mutant: Mutant) -> None:
    """A call that gives something else after another one has a history."""
    warm()
    assert set(_said(mutant, "history")) == {"history"}


@pytest.mark.parametrize(
    "mutant",
    [m for m in HISTORY if m.name not in _SEEN_BY_OTHERS],
    ids=lambda m: m.name,
)
def test_no_other_law_sees_it(mutant: Mutant) -> None:
    """Each call alone, or a second time, is right."""
    warm()
    assert set(_said(mutant, "*")) == {"history"}


def test_the_two_calls_are_named() -> None:
    """The message says after which call which other one is wrong."""
    (packed,) = (m for m in HISTORY if m.name == "history/packed-operand")
    text = _said(packed, "history")["history"]
    assert "after the first call, the call that differs from it in other values" in text


def test_the_other_process_is_a_new_one() -> None:
    """What an announced device did here has not happened in the other process."""
    subject, add = Subject("cpu"), vocabulary["add"]
    other = fresh(subject)
    assert other.forks
    step = Step("", case(np.ones(3, np.float32), np.ones(3, np.float32)), float32)
    for _ in range(2):
        (values,) = other.seen(add, [step])
        assert isinstance(values, list)
        assert values[0].tolist() == [2, 2, 2]
    assert fresh(Subject("cpu")) is other


def _imports(sound: Callable[..., Any], a: Any) -> Any:
    """What it gives says whether a module was there before; then it is."""
    had = _RARE in sys.modules
    import_module(_RARE)
    return np.full_like(sound(a), had)


def test_what_a_call_imports_later_processes_have() -> None:
    """A compiler is imported once, and not for each answer."""
    sys.modules.pop(_RARE, None)
    step = Step("", case(np.ones(2, np.float32)), float32)
    with (
        device(with_kernel("exp", _imports)) as name,
        standing_by(name, lambda: Subject(name)),
    ):
        other = fresh(Subject(name))
        first, second = (other.seen(vocabulary["exp"], [step])[0] for _ in range(2))
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert (first[0].tolist(), second[0].tolist()) == ([0, 0], [1, 1])


def test_a_process_that_stands_by_ends_before_later_ones() -> None:
    """Devices are closed in any order: a later fork keeps no earlier one alive."""
    first, second = (standing_by(f"{name}:0", partial(Subject, "cpu")) for name in "ab")
    first.__enter__()
    second.__enter__()
    closing = Thread(target=first.__exit__, args=(None, None, None), daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
    second.__exit__(None, None, None)


class _Contiguous(CpuBackend):
    """Kernels that take contiguous arrays alone, in lists as well."""

    type = "contiguous"
    automatic = False

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        for name, rivals in table._kernels.items():
            table._kernels[name] = [k._replace(contiguous=True) for k in rivals]


def test_a_list_is_as_long_as_it_is_given() -> None:
    """A kernel for contiguous arrays gets all of a list, however long the last was."""
    registry.register(_Contiguous())
    try:
        subject = Subject("contiguous")
        x = subject.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
        for count in (1, 3, 2):
            made = dt.cat([x.t()] * count)
            assert made.tolist() == x.t().tolist() * count
    finally:
        registry.unregister("contiguous")


class _NotForked(CpuBackend):
    """A device whose driver does not survive a fork."""

    type = "counts"
    automatic = False
    fork_safe = False


def test_a_device_that_cannot_be_had_elsewhere_is_not_judged() -> None:
    """Registered by hand, and not to be forked: the law says that it cannot tell."""
    registry.register(_NotForked())
    try:
        subject = Subject("counts")
        with pytest.raises(Missing, match="no package announces counts"):
            fresh(subject)
        found = judge(subject, Check("exp", "float32", "history"), QUICK)
        assert found.outcome is Outcome.UNCLAIMED
    finally:
        registry.unregister("counts")
