"""`dovetail devices`: what hardware can be used, and why other hardware cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

import click
from rich.console import Console
from rich.text import Text

from dovetail.cli.survey import Found, survey

_STYLES: Final = {
    "ready": "bold green",
    "not chosen": "dim",
    "not installed": "dim",
}
_BROKEN: Final = "bold red"
_GIB: Final = 2**30


@click.command()
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds that the backends have to load.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def devices(timeout: float, as_json: bool) -> None:
    """Show every backend: its devices, or why it has none.

    Each installed backend is loaded in a process of its own, so a broken one is
    shown and harms nothing. Kernels counts the ops that the backend has code of its
    own for ("0 of 30" where 30 are to be written); the others are composed of those.

    \b
    Examples:
      dovetail devices
      dovetail devices --json
    """
    found = survey(timeout=timeout)
    if as_json:
        rows = [asdict(row) for row in found]
        click.echo(json.dumps({"devices": rows}, indent=2))
    else:
        console = Console()
        for line in _lines(found):
            console.print(line, soft_wrap=True)  # whole, however narrow the terminal


_HEADS: Final = ("device", "state", "backend", "memory", "kernels", "")
_RIGHT: Final = ("memory", "kernels")


def _lines(found: Sequence[Found]) -> Iterator[Text]:
    """A table, with what is wrong with a backend below its row, whole."""
    rows = [_cells(row) for row in found]
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    yield _line(_HEADS, widths, ["dim"] * len(_HEADS))
    for row, cells in zip(found, rows, strict=True):
        state = _STYLES.get(row.state, _BROKEN)
        yield _line(cells, widths, ["bold", state, "", "", "", ""])
        if row.reason:
            yield Text(f"    {row.reason}")
            if row.hint:
                yield Text(f"    {row.hint}", style="cyan")


def _cells(row: Found) -> tuple[str, ...]:
    last = row.description or ("" if row.reason else row.hint) or ""
    return (
        row.device, row.state, _backend(row), _memory(row.memory_bytes), _kernels(row),
        last,
    )  # fmt: skip


def _line(cells: Sequence[str], widths: Sequence[int], styles: Sequence[str]) -> Text:
    line = Text()
    for name, cell, width, style in zip(_HEADS, cells, widths, styles, strict=True):
        fitted = cell.rjust(width) if name in _RIGHT else cell.ljust(width)
        line.append(fitted + "  ", style=style)
    line.rstrip()
    return line


def _backend(row: Found) -> str:
    return f"{row.distribution} {row.version}" if row.distribution else ""


def _memory(size: int | None) -> str:
    return f"{size / _GIB:.1f} GiB" if size else ""


def _kernels(row: Found) -> str:
    if row.kernels is None:
        return ""
    if not row.unwritten:
        return str(row.kernels)
    return f"{row.kernels} of {row.kernels + row.unwritten}"
