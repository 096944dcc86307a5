"""What a person sees while a run goes on."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from dovetail.conformance.runner.supervisor import Supervisor, why
from dovetail.conformance.verdicts import BAD, Outcome, Verdict

_TOLD: Final = 20  # failures that are told as they come; the summary has them all
_EVERY: Final = 500  # checks from one line of progress to the next


def watched(supervisor: Supervisor, console: Console) -> None:
    """Run the plan, telling how far it is: a bar on a terminal, lines elsewhere."""
    about, count = supervisor.about, len(supervisor.plan)
    console.print(
        f"{about.device} ({escape(about.name)}), {count} checks, "
        f"budget {supervisor.wanted.budget}"
    )
    told = 0 if supervisor.wanted.impatient else _TOLD
    try:
        (_bar if console.is_terminal else _lines)(supervisor, told, console)
    except KeyboardInterrupt:  # while a line was printed
        supervisor.interrupt()
    if supervisor.stopped and not supervisor.wanted.impatient:
        console.print(supervisor.stopped, style="bold red", markup=False)


def _bar(supervisor: Supervisor, limit: int, console: Console) -> None:
    columns = (
        BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]} failed"),
        TimeRemainingColumn(), TextColumn("{task.description}"),
    )  # fmt: skip
    failed = 0
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(supervisor.plan), failed=0)
        for verdict in supervisor.run():
            failed += _told(verdict, limit - failed, console)
            op = escape(verdict.check.op)
            progress.update(task, advance=1, description=op, failed=failed)


def _lines(supervisor: Supervisor, limit: int, console: Console) -> None:
    failed = 0
    for done, verdict in enumerate(supervisor.run(), 1):
        failed += _told(verdict, limit - failed, console)
        if done % _EVERY == 0:
            console.print(f"{done} of {len(supervisor.plan)} checks, {failed} failed")


def _told(verdict: Verdict, left: int, console: Console) -> bool:
    """Whether a verdict is a failure; shown while there are some left to show.

    What is to be written is not: the summary has a list of it.
    """
    if verdict.outcome not in BAD:
        return False
    if left > 0 and verdict.outcome is not Outcome.TODO:
        line = f"FAIL {verdict.check.id}: {verdict.outcome}: {why(verdict)}"
        if verdict.note:
            line += f" ({verdict.note})"
        console.print(line, style="red", markup=False, soft_wrap=True)
    return True
