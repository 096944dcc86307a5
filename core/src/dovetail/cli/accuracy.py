"""`dovetail accuracy`: how exact every op is on a device."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from dovetail.cli.failure import of_the_kit
from dovetail.errors import ArgumentError

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_RUN: Final = "dovetail.cli.accuracy_run"


@click.command()
@click.option("--device", default="cpu", show_default=True, help="Device string.")
@click.option("--ops", default="*", metavar="GLOBS", help='Only these: "soft*,exp".')
@click.option(
    "--dtypes",
    "names",
    default="float32,float64,float16,bfloat16,complex64",
    show_default=True,
    help="Only these.",
)
@click.option(
    "--points",
    type=click.IntRange(min=64),
    default=2000,
    show_default=True,
    help="Arguments of each sweep.",
)
@click.option("--json", "as_json", type=_FILE, help="Write the figures as JSON.")
@click.option("--html", type=_FILE, help="Write them as one HTML file.")
@click.option("--markdown", type=_FILE, help="Write them as Markdown.")
def accuracy(
    device: str, ops: str, names: str, points: int, as_json: Path | None,
    html: Path | None, markdown: Path | None,
) -> None:  # fmt: skip
    """Measure how far the results of every op are from the truth.

    Worst and median errors in units in the last place, against the ops' oracles in
    mpmath's arithmetic, beside torch's where it is installed. The worst arguments are
    shown, so that they can be tried again.

    \b
    Examples:
      dovetail accuracy
      dovetail accuracy --device acme:0 --ops "exp*,sin" --dtypes float32
      dovetail accuracy --device cpu --markdown docs/accuracy.md
    """
    run = of_the_kit(_RUN, "measuring accuracy")
    try:
        run.show(device, ops, names, points, as_json, html, markdown)
    except ArgumentError as error:
        raise click.UsageError(str(error)) from error
