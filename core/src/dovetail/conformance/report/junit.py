"""JUnit's XML: one case for each check, one suite for each law."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from dovetail.conformance.report.document import Report
from dovetail.conformance.report.files import write
from dovetail.conformance.report.matrix import executed
from dovetail.conformance.verdicts import BAD, Outcome, Verdict

# What XML 1.0 cannot hold, even escaped (section 2.2).
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(report: Report, path: str | Path) -> Path:
    """The report for build servers."""
    made: bytes = junit(report).tostring()  # type: ignore[no-untyped-call]
    return write(path, made.decode())


def junit(report: Report) -> JUnitXml:
    """A suite for each law, and one for what is wrong beside checks."""
    found = JUnitXml("dovetail conformance")
    by_law: dict[str, list[Verdict]] = {}
    for verdict in report.run.verdicts:
        by_law.setdefault(verdict.check.law, []).append(verdict)
    for law, verdicts in by_law.items():
        _add(found, law, [_case(report, v) for v in verdicts])
    if report.problems:
        _add(found, "the run", [_problem(text) for text in report.problems])
    return found


def _add(xml: JUnitXml, name: str, cases: list[TestCase]) -> None:
    suite = TestSuite(name)
    suite.add_testcases(cases)
    xml.add_testsuite(suite)


def _case(report: Report, verdict: Verdict) -> TestCase:
    check, outcome = verdict.check, executed(verdict)
    made = TestCase(
        f"{check.op}[{check.dtype}]", f"{report.run.about.device}.{check.law}"
    )
    made.time = round(verdict.seconds, 6)
    if outcome in BAD and verdict.tried:
        made.result = [_failure(report, verdict, outcome)]
    elif outcome is not Outcome.PASSED:
        made.result = [Skipped(_clean(f"{outcome} {verdict.note}".strip()))]
    return made


def _failure(report: Report, verdict: Verdict, outcome: Outcome) -> Failure:
    first = verdict.failures[0] if verdict.failures else None
    found = Failure(_clean(first.message if first else verdict.note), outcome.value)
    lines = [
        f"{f.message}\n  example  {f.example}\n{f.traceback}" for f in verdict.failures
    ]
    if line := report.reproductions.get(verdict.check.id):
        lines.append(line)
    found.text = _clean("\n".join(lines))
    return found


def _problem(text: str) -> TestCase:
    made = TestCase(_clean(text), "run")
    made.result = [Failure(_clean(text))]
    return made


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
