"""The conformance kit in this process: the checks of a device, judged in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final
from zlib import crc32

import dovetail as dt
import dovetail.conformance.laws
from dovetail.conformance.budget import BUDGETS, Budget
from dovetail.conformance.judge import judge
from dovetail.conformance.plan import plan
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Outcome, Verdict

QUICK: Final = BUDGETS["quick"]
# What is asked of every op in a test run; all of `QUICK` and more is what the kit
# itself and the slow tests ask.
SMALL: Final = replace(QUICK, rows=2, largest=1 << 8)
# Whatever else a check comes to is a fault of ours.
_GOOD: Final = (Outcome.PASSED, Outcome.UNCLAIMED)


def planned(
    subject: Subject, ops: str = "*", laws: str = "*", budget: Budget = QUICK
) -> dict[str, list[Check]]:
    """The checks of a device by op; `device` for those on the device as a whole."""
    found: dict[str, list[Check]] = {}
    for check in plan(subject, budget, ops, laws):
        found.setdefault(check.op, []).append(check)
    return found


def sampled(checks: Iterable[Check]) -> list[Check]:
    """Each law of an op in one dtype: what a test run has the time for.

    Which one goes by the names of op and dtype, so that the ops take turns in the
    dtypes, and most laws of an op share one. All of them are what the kit itself and
    the slow tests prove.
    """
    first: dict[tuple[str, str], Check] = {}
    for check in sorted(checks, key=lambda c: crc32(f"{c.op}/{c.dtype}".encode())):
        first.setdefault((check.op, check.law), check)
    return list(first.values())


def assert_proven(
    subject: Subject, checks: Iterable[Check], budget: Budget = QUICK
) -> int:
    """Fails with all that is wrong, and how to see it; gives the number of examples."""
    count, wrong = 0, []
    for check in checks:
        verdict = judge(subject, check, budget)
        count += verdict.examples
        if verdict.outcome not in _GOOD:
            wrong.append(told(verdict))
    assert not wrong, "\n\n".join(wrong)
    return count


def told(verdict: Verdict) -> str:
    """What failed, and a script that shows it."""
    lines = [f"{verdict.check.id} on the device: {verdict.outcome.value}", verdict.note]
    for failure in verdict.failures[:1]:
        lines += [failure.message, failure.example, failure.script, failure.traceback]
    return "\n".join(line for line in lines if line)


@contextmanager
def no_host() -> Iterator[None]:
    """An op that would run on the host raises."""
    policy = dt.get_fallback_policy()
    dt.set_fallback_policy("error")
    try:
        yield
    finally:
        dt.set_fallback_policy(policy)
