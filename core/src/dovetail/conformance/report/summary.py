"""What the terminal shows at the end of a run."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dovetail.conformance.report.document import Report
from dovetail.conformance.report.matrix import executed
from dovetail.conformance.report.todo import listed, missing, progress
from dovetail.conformance.runner.supervisor import why
from dovetail.conformance.verdicts import BAD, Outcome, Verdict

_GOOD, _BAD_STYLE = "bold green", "bold red"


def summary(report: Report) -> RenderableType:
    """Counts, the level, and what is to be done for the next.

    Failures were told as they came: see `failure`.
    """
    todo = missing(report.run.about)
    stopped = bool(report.run.stopped)
    found = [*_beside(report), _counts(report), headline(report)]
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
    if untried := report.standing.untried:
        budget = report.run.budget
        name = f"{name}: in what {budget} tries, which is no {', no '.join(untried)}"
    if report.level is None:
        return Text("BELOW LEVEL 0", _BAD_STYLE).append(f"  {name}", "not bold default")
    style = _GOOD if report.passed else "bold yellow"
    return Text(f"LEVEL {report.level}", style).append(f"  {name}", "not bold default")


def _beside(report: Report) -> list[RenderableType]:
    """What waits to be written, and what else is wrong beside checks that failed."""
    found: list[RenderableType] = []
    if wait := sum(executed(v) is Outcome.TODO for v in report.failed):
        text = f"{wait} checks call functions that are to be written"
        found.append(Text("TO DO ", _BAD_STYLE).append(text, "not bold default"))
    if report.run.stopped or report.run.interrupted:
        text = f"      {sum(report.unmade.values())} checks were not made"
        found.append(Text(text, "dim"))
    stop = f"stopped: {report.run.stopped}"  # which was told when it stopped
    problems = [p for p in report.problems if p != stop]
    return found + [Text("FAIL  ", _BAD_STYLE).append(p) for p in problems]


def failure(verdict: Verdict, script: str) -> Text | None:
    """What is wrong, with which call, and how to see it; None where nothing is.

    What is to be written is not wrong: the summary has a list of it.

    Args:
        script: the line that shows it on its own.
    """
    outcome = executed(verdict)
    if outcome not in BAD or outcome is Outcome.TODO or not verdict.tried:
        return None
    line = Text("FAIL  ", _BAD_STYLE).append(verdict.check.id, "bold default")
    line.append(f"  {outcome}: {why(verdict)}", "not bold default")
    first = verdict.failures[0] if verdict.failures else None
    if first and verdict.note:
        line.append(f" ({verdict.note})", "not bold default")
    if first and first.example:
        line.append(f"\n      {first.example}", "dim")
    if first and first.script:
        line.append("\n      reproduce  ", "dim").append(script, "cyan")
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
