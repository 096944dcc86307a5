"""`python -m tests.meta.mutants`: kill them all, and say how many there were."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

# One thread a process: several are judged at once, and sums keep their order.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import click
from rich.console import Console
from rich.table import Table
from tests.meta.mutants.generated import COUNT, SEED
from tests.meta.mutants.judging import Fate
from tests.meta.mutants.killers import remember
from tests.meta.mutants.runner import Alarms, Plan, false_alarms, fates


@click.command()
@click.option("--seed", default=SEED, show_default=True, help="Of the drawn mutants.")
@click.option("--drawn", default=COUNT, show_default=True, help="How many of these.")
@click.option("--only", default="*", help="A glob over names.")
@click.option("--jobs", default=2, show_default=True, help="Processes at once.")
@click.option("--patience", default=600.0, show_default=True, help="Seconds for one.")
@click.option("--benign", is_flag=True, help="Judge the benign variants instead.")
@click.option("--budget", default="standard", show_default=True, help="Of --benign.")
@click.option(
    "--one-in",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Judge a sample of the checks of --benign: one in so many.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The kit's seed of --benign, which samples other checks too.",
)
@click.option(
    "--remember",
    "remembers",
    is_flag=True,
    help="Ask what killed each first next time.",
)
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write it here.")
def main(
    seed: int,
    drawn: int,
    only: str,
    jobs: int,
    patience: float,
    benign: bool,
    budget: str,
    one_in: int,
    examples: int,
    remembers: bool,
    file: Path | None,
) -> None:
    """Plant broken kernels and devices, and see whether `standard` finds each."""
    console = Console(highlight=False, soft_wrap=True)
    plan = Plan(seed, drawn, only, jobs, patience, budget, one_in, examples)
    started = time.monotonic()
    if benign:
        found = _watched_alarms(console, plan)
        report: dict[str, Any] = {"benign": [asdict(a) for a in found]}
        bad = any(a.said for a in found)
    else:
        judged = _watched_fates(console, plan)
        report = summary(judged) | {"seed": seed}
        _print(console, judged, report)
        if remembers:
            remember({f.name: f.killer for f in judged if f.killer})
        bad = report["killed"] < report["mutants"] or not judged
    report["seconds"] = round(time.monotonic() - started, 1)
    console.print(f"in {report['seconds']:.0f} s")
    if file is not None:
        file.write_text(json.dumps(report, indent=1), encoding="utf-8")
    sys.exit(1 if bad else 0)


def _watched_fates(console: Console, plan: Plan) -> list[Fate]:
    found = []
    for fate in fates(plan):
        found.append(fate)
        if fate.equivalent:
            console.print(f"[dim]equivalent[/]  {fate.name}")
        elif fate.survived:
            console.print(f"[bold red]survived[/]    {fate.name}: {fate.witness}")
        else:
            where = f"{fate.killer}, check {fate.checks}"
            console.print(f"[green]killed[/]      {fate.name}  [dim]{where}[/]")
    return found


def _watched_alarms(console: Console, plan: Plan) -> list[Alarms]:
    found = []
    for alarm in false_alarms(plan):
        found.append(alarm)
        mark = "[bold red]alarm[/]" if alarm.said else "[green]quiet[/]"
        console.print(
            f"{mark}  {alarm.name}: {alarm.describes} ({alarm.seconds:.0f} s)"
        )
        for text in alarm.said[:5]:
            console.print(f"       {text}", markup=False)
    return found


def summary(found: list[Fate]) -> dict[str, Any]:
    """The kill rate, and everything it is made of."""
    real = [f for f in found if not f.equivalent]
    killed = [f for f in real if not f.survived]
    return {
        "mutants": len(real),
        "killed": len(killed),
        "rate": len(killed) / len(real) if real else 0.0,
        "equivalent": len(found) - len(real),
        "laws": dict(Counter(f.law for f in killed).most_common()),
        "survivors": [f.name for f in real if f.survived],
        "fates": [f.to_json() for f in found],
    }


def _print(console: Console, found: list[Fate], report: dict[str, Any]) -> None:
    killed = [f for f in found if f.killer]
    families = sorted({f.family for f in found})
    table = Table("family", "killed", "by", title="kills by family and law")
    for family in families:
        laws = Counter(f.law for f in killed if f.family == family)
        told = ", ".join(f"{law} {count}" for law, count in laws.most_common())
        table.add_row(family, str(laws.total()), told)
    console.print(table, soft_wrap=False)
    for fate in found:
        if fate.survived:
            console.print(f"[bold red]survived[/] {fate.name}: {fate.describes}")
    console.print(
        f"kill rate {report['rate']:.1%}: {report['killed']} of {report['mutants']} "
        f"mutants at standard; {report['equivalent']} candidates were equivalent"
    )


if __name__ == "__main__":
    main()
