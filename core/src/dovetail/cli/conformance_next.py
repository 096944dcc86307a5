"""`--next`: the one thing to do now, and how."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dovetail.conformance.judge import DEVICE
from dovetail.conformance.report import Report
from dovetail.conformance.report.matrix import executed
from dovetail.conformance.report.todo import missing, must_do, progress
from dovetail.conformance.runner.supervisor import why
from dovetail.conformance.unlocks import dependents
from dovetail.conformance.verdicts import Outcome, Verdict

_NAMED: Final = 8
# What a function of the skeleton says, and where it is.
_TO_WRITE: Final = re.compile(r"(?P<name>\w+) is to be written \((?P<place>.*)\)")


def next_step(report: Report) -> RenderableType:
    """The first failure with what the function must do and how to see it fail."""
    found = next(iter(report.failed), None)
    told = [_told(report), *(Text(f"FAIL  {p}") for p in report.waived.problems)]
    if found is None:
        left = "nothing left to do" if report.passed else "no check fails"
        return Group(Text(left, "bold green"), *told)
    unwritten = _TO_WRITE.fullmatch(why(found))
    title = f"write {unwritten['name']}" if unwritten else f"mend {found.check.id}"
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True, style="dim")
    rows.add_column(overflow="fold")
    steps = _write(found, unwritten) if unwritten else _mend(found)
    for name, text in (*steps, *_proof(report, found)):
        rows.add_row(name, Text(text))
    return Group(Text(f"NEXT  {title}", "bold"), Padding(rows, (0, 0, 0, 6)), *told)


def _told(report: Report) -> Text:
    """How far it is, and what is proven by now."""
    about = report.run.about
    left = len(missing(about))
    todo = f"{progress(about, left)} to write; " if left else ""
    return Text(f"{todo}{_proven(report)}, in {report.run.seconds:.1f} s", "dim")


def _proven(report: Report) -> str:
    """What has passed of what is there to be tried, in words."""
    verdicts = report.run.verdicts
    passed = [v for v in verdicts if executed(v) is Outcome.PASSED]
    if not passed:
        return f"none of {len(verdicts)} checks has passed yet"
    ops = dict.fromkeys(v.check.op for v in passed)
    laws = dict.fromkeys(v.check.law for v in passed if v.check.op == DEVICE)
    told = [f"{_listed(laws)} of the device"] if laws else []
    told += [_listed(op for op in ops if op != DEVICE)] if ops.keys() - {DEVICE} else []
    return f"{len(passed)} of {len(verdicts)} checks passed: {'; '.join(told)}"


def _listed(names: Iterable[str]) -> str:
    """Names, the first of them where there are many."""
    found = list(names)
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


def _write(verdict: Verdict, found: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Where the function is that is to be written, what it must do, and for what."""
    yield "where", found["place"]
    yield "must do", must_do(found["name"])
    yield "unlocks", _unlocks(found["name"])
    yield "asked by", verdict.check.id


def _mend(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """What is wrong, with which call, and what the op must do."""
    yield str(verdict.outcome), why(verdict)
    if verdict.failures and verdict.failures[0].example:
        yield "example", verdict.failures[0].example
    if doc := must_do(verdict.check.op):
        yield "must do", doc
    yield "unlocks", _unlocks(verdict.check.op)


def _proof(report: Report, verdict: Verdict) -> Iterator[tuple[str, str]]:
    """What the law claims, and the line that shows the failure on its own."""
    if law := report.laws.get(verdict.check.law):
        yield "law", law
    if shown := report.reproductions.get(verdict.check.id):
        yield "reproduce", shown


def _unlocks(name: str) -> str:
    """What comes down to an op; all does to memory."""
    users = dependents()
    if name not in users:
        return "everything"
    ops = sorted(users[name] - {name})
    return f"{len(ops)} ops: {_listed(ops)}" if ops else "nothing else"


__all__ = ["next_step"]
