"""The CPU keeps torch's law of memory, which the kit leaves to devices."""

from __future__ import annotations

import pytest

from dovetail.conformance import laws  # noqa: F401
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.judge import judge
from dovetail.conformance.plan import plan
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Outcome
from dovetail.engine.op import declared, vocabulary


def _checks() -> dict[str, Check]:
    """One check of layouts for each op whose results lie in rows."""
    vocabulary.complete()
    rows = {op.name: op for op in declared() if op.row_major and not op.rows_asked}
    found: dict[str, Check] = {}
    for check in plan(Subject("cpu"), BUDGETS["standard"]):
        if check.law == "layout" and check.op in rows:
            found.setdefault(check.op, check)
    return found


@pytest.mark.slow
def test_results_lie_in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the inputs' layout, and all of what is not elementwise."""
    checks = _checks()
    assert len(checks) > 100  # that have kernels
    for op in declared():
        if op.name in checks:
            monkeypatch.setattr(op, "rows_asked", True)
    subject = Subject("cpu")
    wrong = [
        (name, found.failures)
        for name, check in checks.items()
        if (found := judge(subject, check, BUDGETS["standard"])).outcome
        is Outcome.WRONG
    ]
    assert not wrong
