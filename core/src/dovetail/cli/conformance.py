"""`dovetail conformance`: what works on a device, what is missing, what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from dovetail.cli.conformance_options import Asked, Files
from dovetail.cli.failure import of_the_kit
from dovetail.conformance.budget import BUDGETS

_RUN: Final = "dovetail.cli.conformance_run"
_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_PRESENT: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="DEVICE",
    help="Device string; may be given several times.",
)
@click.option(
    "--budget",
    type=click.Choice(list(BUDGETS)),
    default=None,
    help="How much is tried.  [default: quick]",
)
@click.option(
    "--level",
    type=click.IntRange(0, 3),
    default=None,
    help="Let the exit status judge no more than this level needs.",
)
@click.option(
    "--ops",
    default="*",
    metavar="GLOBS",
    help='Only these ops: "soft*,add"; "device" is the device itself.',
)
@click.option("--laws", default="*", metavar="GLOBS", help="Only these laws.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Draw other examples with each number.",
)
@click.option(
    "--next",
    "soonest",
    is_flag=True,
    help="Stop at the first thing to do, and tell how.",
)
@click.option("--advise", is_flag=True, help="Rank the native kernels to write next.")
@click.option("--json", "as_json", type=_FILE, help="Write the report as JSON.")
@click.option("--html", type=_FILE, help="Write the report as one HTML file.")
@click.option("--junit", type=_FILE, help="Write JUnit's XML.")
@click.option("--certificate", type=_FILE, help="Write what others can replay.")
@click.option("--badge", type=_FILE, help="Write the level as a picture (SVG).")
@click.option(
    "--repros",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("repros"),
    show_default=True,
    help="Folder for a script for each failure.",
)
@click.option(
    "--waivers",
    type=_PRESENT,
    help="Known failures.  [default: waivers.toml of the backend's package]",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Run so often, and fail if the verdicts differ.",
)
@click.option("--replay", type=_PRESENT, help="Run as a certificate says, and compare.")
@click.option(
    "--compare",
    "compared",
    type=_PRESENT,
    nargs=2,
    default=None,
    metavar="OLD NEW",
    help="Compare two reports; runs nothing.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Workers on the device at the same time.",
)
@click.option(
    "--patience",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds without a sign of life that are a hang.",
)
@click.option(
    "--rerun/--no-rerun",
    default=True,
    help="Whether failures are seen twice, in a new process.  [default: yes]",
)
@click.option("--setup", "setup", multiple=True, metavar="MODULE",
              help="Module that workers import first.")  # fmt: skip
def conformance(
    devices: tuple[str, ...], budget: str | None, level: int | None, ops: str,
    laws: str, seed: int, soonest: bool, advise: bool, as_json: Path | None,
    html: Path | None, junit: Path | None, certificate: Path | None,
    badge: Path | None, repros: Path, waivers: Path | None, repeat: int,
    replay: Path | None, compared: tuple[Path, Path] | None, jobs: int,
    patience: float, rerun: bool, setup: tuple[str, ...],
) -> None:  # fmt: skip
    """Prove that a device does what dovetail asks of it.

    The device is loaded in a process of its own. A crash, a hang or exhausted memory
    is a verdict, and the run goes on. The exit status is 0 if nothing failed, 1 if
    something did, 2 if the call was wrong, 130 after Ctrl-C, 143 after SIGTERM.

    \b
    Examples:
      dovetail conformance --device acme:0
      dovetail conformance --device acme:0 --next
      dovetail conformance --device acme:0 --ops "softmax*" --budget deep
      dovetail conformance --device acme:0 --level 0 --certificate certificate.json
      dovetail conformance --replay certificate.json
      dovetail conformance --compare old.json new.json
    """
    asked = Asked(
        devices=devices, budget=budget, level=level, ops=ops, laws=laws,
        seed=seed, soonest=soonest, advise=advise,
        files=Files(as_json, html, junit, certificate, badge, repros),
        waivers=waivers, repeat=repeat, replay=replay, jobs=jobs, patience=patience,
        rerun=rerun, setup=setup,
    )  # fmt: skip
    run = of_the_kit(_RUN, "the conformance kit")
    status = run.run(asked) if compared is None else run.compare_files(*compared)
    raise click.exceptions.Exit(status)
