"""What the terminal shows at the end of a run."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dovetail.conformance.report.document import Report
from dovetail.conformance.report.matrix import executed
from dovetail.conformance.report.todo import listed, missing, progress
from dovetail.conformance.runner.supervisor import why
from dovetail.conformance.verdicts import BAD, Outcome, Verdict

_SHOWN: Final = 10
_GOOD, _BAD_STYLE = "bold green", "bold red"


def summary(report: Report) -> RenderableType:
    """Failures, counts, the level, and what is to be done for the next."""
    todo = missing(report.run.about)
    stopped = bool(report.run.stopped)
    found = [*_failures(report), _counts(report), headline(report)]
    if not stopped:  # else nothing else was tried
        found += _next(report)
    if todo:
        found.append(listed(todo, progress(report.run.about, len(todo))))
    if todo or report.failed:
        found.append(_soonest(report))
    return Group(*found)


def _soonest(report: Report) -> Text:
    """The command that tells of one thing at a time."""
    command = f"dovetail conformance --device {report.run.about.device} --next"
    return Text("One at a time: ", "dim").append(command, "cyan")


def headline(report: Report) -> Text:
    """The level in one line."""
    about = report.run.about
    name = f"{about.device} ({about.name})" if about.name else about.device
    if report.standing.partial:
        line = Text("NO LEVEL", "bold")
        return line.append(f"  {name}: {report.standing.partial}", "not bold")
    if report.level is None:
        return Text("BELOW LEVEL 0", _BAD_STYLE).append(f"  {name}", "not bold default")
    style = _GOOD if report.passed else "bold yellow"
    return Text(f"LEVEL {report.level}", style).append(f"  {name}", "not bold default")


def _failures(report: Report) -> list[RenderableType]:
    """What was tried and failed, what waits, and what else is wrong."""
    tried = [v for v in report.failed if v.tried]
    wait = [v for v in tried if executed(v) is Outcome.TODO]
    wrong = [v for v in tried if executed(v) is not Outcome.TODO]
    told = wrong if wrong or not report.run.stopped else wait
    found: list[RenderableType] = [_failure(report, v) for v in told[:_SHOWN]]
    if (more := len(told) - _SHOWN) > 0:
        found.append(Text(f"      … and {more} more checks failed", "dim"))
    if wait and told is not wait:
        text = f"{len(wait)} checks call functions that are to be written"
        found.append(Text("TO DO ", _BAD_STYLE).append(text, "not bold default"))
    if more := len(report.failed) - len(tried):
        found.append(Text(f"      {more} checks were not made", "dim"))
    stop = report.run.stopped and told  # which is the same
    problems = report.waived.problems if stop else report.problems
    return found + [Text("FAIL  ", _BAD_STYLE).append(p) for p in problems]


def _failure(report: Report, verdict: Verdict) -> Text:
    """What is wrong, with which call, and how to see it."""
    line = Text("FAIL  ", _BAD_STYLE).append(verdict.check.id, "bold default")
    first = verdict.failures[0] if verdict.failures else None
    line.append(f"  {executed(verdict)}: {why(verdict)}", "not bold default")
    if first and first.example:
        line.append(f"\n      {first.example}", "dim")
    if shown := report.reproductions.get(verdict.check.id):
        line.append("\n      reproduce  ", "dim").append(shown, "cyan")
    return line


def _counts(report: Report) -> Text:
    line = Text()
    for outcome, count in report.counts.items():
        style = _BAD_STYLE if outcome in BAD else ""
        line.append(f"{count} {outcome}  ", style)
    return line.append(f"in {report.run.seconds:.0f} s", "dim")


def _next(report: Report) -> list[RenderableType]:
    """A table of what is missing; nothing where no run can say."""
    if not report.blockers:
        return []
    table = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for blocker in report.blockers:
        table.add_row("·", Text(str(blocker)))
    level = report.blockers[0].level
    return [Text(f"Level {level} needs:", "bold"), Padding(table, (0, 0, 0, 2))]
