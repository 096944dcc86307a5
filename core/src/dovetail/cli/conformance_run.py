"""What `dovetail conformance` does, once its options are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from dovetail.cli.conformance_files import write_files
from dovetail.cli.conformance_next import next_step
from dovetail.cli.conformance_options import Asked
from dovetail.cli.conformance_progress import Tell, watched
from dovetail.cli.consoles import console
from dovetail.cli.ending import ending
from dovetail.conformance.advise import advise
from dovetail.conformance.report import Report, build
from dovetail.conformance.report.certificate import (
    arguments,
    pinned_waivers,
    replay,
    verify,
)
from dovetail.conformance.report.compare import compare
from dovetail.conformance.report.summary import failure
from dovetail.conformance.reproduce import command
from dovetail.conformance.run import About, RunRecord
from dovetail.conformance.runner.process import Settings
from dovetail.conformance.runner.supervisor import Supervisor, Wanted
from dovetail.conformance.runner.timing import measured
from dovetail.conformance.setup import named
from dovetail.conformance.verdicts import Verdict
from dovetail.conformance.waivers import Waiver, applied, load, packaged


def compare_files(old: Path, new: Path) -> int:
    """Show what differs between two reports; 1 if something got worse."""
    found = compare(old, new)
    console().print(found)
    return found.status


def run(asked: Asked) -> int:
    """Prove the devices one after the other; the exit status."""
    sealed = None if asked.replay is None else verify(asked.replay)
    if sealed is not None:
        pinned = arguments(sealed)
        asked = replace(
            asked, devices=asked.devices or (pinned["device"],),
            budget=pinned["budget"], ops=pinned["ops"], laws=pinned["laws"],
            seed=pinned["seed"],
        )  # fmt: skip
    if not asked.devices:
        raise click.UsageError('name the device: --device "acme:0"')
    out = console()
    return max(_conform(device, asked, sealed, out) for device in asked.devices)


def _conform(
    device: str, asked: Asked, sealed: dict[str, Any] | None, out: Console
) -> int:
    """Run as often as asked, show and write what was found; the exit status."""
    excuses = partial(_excuses, asked, sealed)
    with ending() as end:
        runs = list(_runs(_wanted(device, asked), asked, excuses, out))
        end.over()
        report = excuses(runs[0].about).report(runs[0])
        out.print(next_step(report) if asked.soonest else report.summary())
        if asked.advise:
            shares = measured(_wanted(device, asked).settings)
            out.print(advise(report, shares))
        write_files(report, asked.files.of(device, len(asked.devices)), out)
    if any(run.interrupted for run in runs):
        return end.status
    found = [_good(report, asked, out)]
    if asked.repeat > 1:
        found.append(_agree(runs, out))
    if sealed is not None:
        differences = replay(sealed, report)
        out.print(differences)
        found = [differences.same]
    return 0 if all(found) else 1


def _wanted(device: str, asked: Asked) -> Wanted:
    return Wanted(
        settings=Settings(device, named(asked.setup), asked.patience),
        budget=asked.budget or "quick", ops=asked.ops, laws=asked.laws,
        seed=asked.seed,
        jobs=asked.jobs, reruns=asked.rerun, impatient=asked.soonest,
    )  # fmt: skip


def _runs(
    wanted: Wanted, asked: Asked, excuses: Callable[[About], Excuses], out: Console
) -> Iterator[RunRecord]:
    """The runs, up to one that is interrupted; what fails in several is told once."""
    told: set[str] = set()
    for _ in range(asked.repeat):
        with Supervisor(wanted) as supervisor:
            if not supervisor.plan:
                raise click.UsageError(
                    f"no check fits --ops {wanted.ops!r} --laws {wanted.laws!r}"
                )
            tell = excuses(supervisor.about).failure
            watched(
                supervisor,
                out,
                _silent if asked.soonest else partial(_once, told, tell),
            )
            record = supervisor.record()
        yield record
        if record.interrupted:
            return


def _silent(verdict: Verdict) -> None:
    """Tells nothing of a verdict."""


def _once(told: set[str], tell: Tell, verdict: Verdict) -> Text | None:
    """A failure in words, if none of its check was told before."""
    found = None if verdict.check.id in told else tell(verdict)
    if found is not None:
        told.add(verdict.check.id)
    return found


@dataclass(frozen=True, slots=True)
class Excuses:
    """What is excused on a device, and what is wrong with the list of it.

    Attributes:
        day: on which waivers have to be valid.
        repros: the folder that scripts will be in.
    """

    about: About
    budget: str
    waivers: Sequence[Waiver]
    problems: Sequence[str]
    day: date
    repros: str

    def failure(self, verdict: Verdict) -> Text | None:
        """A failure that nothing excuses, in words."""
        its = [w for w in self.waivers if w.about(verdict.check)]
        found = applied([verdict], its, self.day, budget=self.budget, complete=False)
        shown = command(verdict.check, self.about.device, self.repros)
        return failure(found.verdicts[0], shown)

    def report(self, run: RunRecord) -> Report:
        """The report of a run."""
        return build(
            run, self.waivers, self.problems, today=self.day, repros=self.repros
        )


def _excuses(asked: Asked, sealed: dict[str, Any] | None, about: About) -> Excuses:
    """The waivers of the file that is named, of the certificate, or of the package."""
    day, problems = datetime.now(UTC).date(), list[str]()
    path = asked.waivers or packaged(about.type)
    if asked.waivers is None and sealed is not None:
        waivers, day = pinned_waivers(sealed)
    else:
        waivers, problems = load(path) if path is not None else ([], [])
    budget, repros = asked.budget or "quick", str(asked.files.repros)
    return Excuses(about, budget, waivers, problems, day, repros)


def _good(report: Report, asked: Asked, out: Console) -> bool:
    """Whether the run passed, or reached the level that is asked for."""
    if asked.level is None:
        return report.passed
    good = report.level is not None and report.level >= asked.level
    good = good and not report.problems
    reached = "reached" if good else "not reached"
    out.print(f"level {asked.level} is {reached}", style="bold")
    return good


def _agree(runs: list[RunRecord], out: Console) -> bool:
    """Whether all runs came to the same verdicts; tells where not."""
    moved = sorted({name for run in runs[1:] for name in runs[0].moved(run)})
    for name in moved[:20]:
        out.print(f"FLAKY {name}: other verdicts in other runs", style="bold red")
    out.print(f"{len(runs)} runs, {len(moved)} checks with differing verdicts")
    return not moved
