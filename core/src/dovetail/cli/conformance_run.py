"""What `dovetail conformance` does, once its options are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from dovetail.cli.conformance_files import write_files
from dovetail.cli.conformance_next import next_step
from dovetail.cli.conformance_options import Asked
from dovetail.cli.conformance_progress import watched
from dovetail.cli.failure import INTERRUPTED
from dovetail.conformance.advise import advise
from dovetail.conformance.report import Report, build
from dovetail.conformance.report.certificate import arguments, replay, verify
from dovetail.conformance.report.compare import compare
from dovetail.conformance.run import RunRecord
from dovetail.conformance.runner.process import Settings, setup_modules
from dovetail.conformance.runner.supervisor import Supervisor, Wanted
from dovetail.conformance.runner.timing import measured
from dovetail.conformance.waivers import Waiver, load, packaged


def compare_files(old: Path, new: Path) -> int:
    """Show what differs between two reports; 1 if something got worse."""
    found = compare(old, new)
    _console().print(found)
    return found.status


def run(asked: Asked) -> int:
    """Prove the devices one after the other; the exit status."""
    sealed = None if asked.replay is None else verify(asked.replay)
    if sealed is not None:
        pinned = arguments(sealed)
        asked = replace(
            asked, devices=asked.devices or (pinned["device"],),
            budget=pinned["budget"], ops=pinned["ops"], laws=pinned["laws"],
        )  # fmt: skip
    if not asked.devices:
        raise click.UsageError('name the device: --device "acme:0"')
    console = _console()
    return max(_conform(device, asked, sealed, console) for device in asked.devices)


def _console() -> Console:
    return Console(highlight=False)


def _conform(
    device: str, asked: Asked, sealed: dict[str, Any] | None, console: Console
) -> int:
    """Run as often as asked, show and write what was found; the exit status."""
    runs = list(_runs(_wanted(device, asked), asked.repeat, console))
    report = _reported(runs[0], asked)
    console.print(next_step(report) if asked.soonest else report.summary())
    if asked.advise:
        shares = measured(_wanted(device, asked).settings)
        console.print(advise(report, shares))
    write_files(report, asked.files.of(device, len(asked.devices)), console)
    if any(run.interrupted for run in runs):
        return INTERRUPTED
    found = [_good(report, asked, console)]
    if asked.repeat > 1:
        found.append(_agree(runs, console))
    if sealed is not None:
        differences = replay(sealed, report)
        console.print(differences)
        found = [differences.same]
    return 0 if all(found) else 1


def _wanted(device: str, asked: Asked) -> Wanted:
    return Wanted(
        settings=Settings(device, setup_modules(asked.setup), asked.patience),
        budget=asked.budget or "quick", ops=asked.ops, laws=asked.laws,
        jobs=asked.jobs, reruns=asked.rerun, impatient=asked.soonest,
    )  # fmt: skip


def _runs(wanted: Wanted, count: int, console: Console) -> Iterator[RunRecord]:
    """The runs, up to one that is interrupted."""
    for _ in range(count):
        with Supervisor(wanted) as supervisor:
            if not supervisor.plan:
                raise click.UsageError(
                    f"no check fits --ops {wanted.ops!r} --laws {wanted.laws!r}"
                )
            watched(supervisor, console)
            record = supervisor.record()
        yield record
        if record.interrupted:
            return


def _reported(run: RunRecord, asked: Asked) -> Report:
    path = asked.waivers or packaged(run.about.type)
    waivers: list[Waiver] = []
    problems: list[str] = []
    if path is not None:
        waivers, problems = load(path)
    return build(run, waivers, problems, repros=asked.files.repros)


def _good(report: Report, asked: Asked, console: Console) -> bool:
    """Whether the run passed, or reached the level that is asked for."""
    if asked.level is None:
        return report.passed
    good = report.level is not None and report.level >= asked.level
    good = good and not report.problems
    reached = "reached" if good else "not reached"
    console.print(f"level {asked.level} is {reached}", style="bold")
    return good


def _agree(runs: list[RunRecord], console: Console) -> bool:
    """Whether all runs came to the same verdicts; tells where not."""
    moved = sorted({name for run in runs[1:] for name in runs[0].moved(run)})
    for name in moved[:20]:
        console.print(f"FLAKY {name}: other verdicts in other runs", style="bold red")
    console.print(f"{len(runs)} runs, {len(moved)} checks with differing verdicts")
    return not moved
