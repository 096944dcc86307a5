"""`dovetail demo digits`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Final

import click
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from dovetail.cli.failure import INTERRUPTED, Failure
from dovetail.demos.digits.progress import ProgressBar, Silence
from dovetail.demos.digits.result import Result, Settings
from dovetail.demos.digits.train import Training, train

_DEFAULT: Final = Settings()
_SUFFIXES: Final = (".png", ".pdf", ".svg")


@click.command()
@click.option(
    "--device",
    default=_DEFAULT.device,
    show_default=True,
    help='Where to run: "cpu", "cuda:0", a list such as "cuda,cpu", or "auto".',
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    default=_DEFAULT.epochs,
    show_default=True,
    help="How often to go through the training images.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=_DEFAULT.batch_size,
    show_default=True,
    help="Images a step.",
)
@click.option(
    "--lr",
    type=click.FloatRange(min=0, min_open=True),
    default=_DEFAULT.lr,
    show_default=True,
    help="Peak learning rate of AdamW.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=_DEFAULT.seed,
    show_default=True,
    help="Decides which images are for the test, the first weights and the order.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("digits.png"),
    show_default=True,
    help="The picture; .png, .pdf or .svg.",
)
@click.option("--no-picture", is_flag=True, help="Draw nothing; needs no matplotlib.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, and only that."
)
@click.pass_context
def digits(
    ctx: click.Context,
    *,
    device: str,
    epochs: int,
    batch_size: int,
    lr: float,
    seed: int,
    output: Path,
    no_picture: bool,
    as_json: bool,
) -> None:
    """Train a small network to read handwritten digits.

    Learns from four fifths of 1,797 real images (UCI, 8×8 pixels), tests on the
    rest, and draws how it went: losses, accuracy, which digits are confused, the
    worst mistakes. About 99 % of the test images are read right.

    Ctrl-C ends the training early and shows what was reached; exit status 130.

    \b
    Examples:
      dovetail demo digits
      dovetail demo digits --epochs 3 --seed 1 --output three.png
      dovetail demo digits --device cuda,cpu --json --no-picture
    """
    settings = Settings(
        device=device, epochs=epochs, batch_size=batch_size, lr=lr, seed=seed
    )
    picture = None if no_picture else _picture(output)
    result = _train(settings, silent=as_json)
    if picture is not None:
        picture.save(picture.draw(result), output)
    drawn = None if picture is None else output
    if as_json:
        _print_json(result, drawn)
    else:
        Console().print(_summary(result, drawn))
    if result.interrupted:
        ctx.exit(INTERRUPTED)


def _picture(output: Path) -> ModuleType:
    """The module that draws, or an error before any time is spent on training."""
    _check_writable(output)
    try:
        from dovetail.demos.digits import picture
    except ImportError as error:
        raise Failure(
            f"drawing needs matplotlib ({error}): "
            'pip install "dovetail[demo]", or pass --no-picture'
        ) from error
    return picture


def _check_writable(output: Path) -> None:
    if output.suffix.lower() not in _SUFFIXES:
        raise click.BadParameter(
            f"{output} has to end in {', '.join(_SUFFIXES)}", param_hint="--output"
        )
    folder = output.resolve().parent
    if not folder.is_dir():
        raise Failure(f"cannot write {output}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Failure(f"cannot write {output}: folder {folder} is not writable")
    if output.exists() and not output.is_file():
        raise Failure(f"cannot write {output}: it exists and is no file")


def _train(settings: Settings, *, silent: bool) -> Result:
    training = Training(settings)
    if silent:
        return train(training, Silence())
    console = Console(stderr=True)
    console.print(
        f"{training.train_images:,} images to learn from, "
        f"{len(training.test.labels):,} to test on, on {training.device}",
        highlight=False,
    )
    with ProgressBar(console, steps=training.steps, epochs=settings.epochs) as bar:
        return train(training, bar)


def _print_json(result: Result, picture: Path | None) -> None:
    path = None if picture is None else str(picture)
    click.echo(json.dumps(result.summary() | {"picture": path}, indent=2))


def _summary(result: Result, picture: Path | None) -> Panel:
    total = len(result.test.labels)
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim")
    rows.add_column()
    rows.add_row(
        "test accuracy",
        f"[bold green]{result.accuracy:.2%}[/]  "
        f"({total - result.mistakes} of {total} images)",
    )
    rows.add_row("training", f"{result.seconds:.1f} s, {_epochs(result)}")
    rows.add_row("device", result.device)
    if picture is not None:
        rows.add_row("picture", f"[link={picture.resolve().as_uri()}]{picture}[/link]")
    return Panel.fit(rows, title="handwritten digits", border_style="cyan")


def _epochs(result: Result) -> str:
    asked = result.settings.epochs
    if result.interrupted:
        done = result.history[-1].end
        return f"[yellow]interrupted[/] after {done:.1f} of {asked} epochs"
    return f"{asked} epoch{'' if asked == 1 else 's'}"
