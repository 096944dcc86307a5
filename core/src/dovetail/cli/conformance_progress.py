"""What a person sees while a run goes on: each failure once, whole, as it comes."""

from __future__ import annotations

from collections.abc import Callable
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
from rich.text import Text

from dovetail.conformance.runner.supervisor import Supervisor
from dovetail.conformance.verdicts import Verdict

# A failure in words; None for a verdict that is none.
Tell = Callable[[Verdict], Text | None]
_EVERY: Final = 500  # checks from one line of progress to the next


def watched(supervisor: Supervisor, console: Console, tell: Tell) -> None:
    """Run the plan, telling how far it is: a bar on a terminal, lines elsewhere."""
    about, count = supervisor.about, len(supervisor.plan)
    console.print(
        f"{about.device} ({escape(about.name)}), {count} checks, "
        f"budget {supervisor.wanted.budget}{_seed(supervisor)}"
    )
    try:
        (_bar if console.is_terminal else _lines)(supervisor, tell, console)
    except KeyboardInterrupt:  # while a line was printed
        supervisor.interrupt()
    if supervisor.stopped and not supervisor.wanted.impatient:
        console.print(supervisor.stopped, style="bold red", markup=False)


def _seed(supervisor: Supervisor) -> str:
    """Which examples are drawn, where it is not the usual ones."""
    seed = supervisor.wanted.seed
    return f", seed {seed}" if seed else ""


def _bar(supervisor: Supervisor, tell: Tell, console: Console) -> None:
    columns = (
        BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]} failed"),
        TimeRemainingColumn(), TextColumn("{task.description}"),
    )  # fmt: skip
    failed = 0
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(supervisor.plan), failed=0)
        for verdict in supervisor.run():
            failed += _told(tell(verdict), console)
            op = escape(verdict.check.op)
            progress.update(task, advance=1, description=op, failed=failed)


def _lines(supervisor: Supervisor, tell: Tell, console: Console) -> None:
    failed = 0
    for done, verdict in enumerate(supervisor.run(), 1):
        failed += _told(tell(verdict), console)
        if done % _EVERY == 0:
            console.print(f"{done} of {len(supervisor.plan)} checks, {failed} failed")


def _told(failure: Text | None, console: Console) -> bool:
    """Whether there is a failure to tell; it is told."""
    if failure is None:
        return False
    console.print(failure, soft_wrap=True)
    return True
