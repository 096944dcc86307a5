"""`dovetail devices`: what hardware can be used, and why other hardware cannot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

import click
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
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
        Console().print(_table(found))


def _table(found: Sequence[Found]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("device", "state", "backend"):
        table.add_column(name, no_wrap=True)
    for name in ("memory", "kernels"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", ratio=1, overflow="fold")
    for row in found:
        table.add_row(
            Text(row.device, style="bold"),
            Text(row.state, style=_STYLES.get(row.state, _BROKEN)),
            escape(_backend(row)),
            _memory(row.memory_bytes),
            _kernels(row),
            _remarks(row),
        )
    return table


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


def _remarks(row: Found) -> Group:
    lines = [Text(line) for line in (row.description, row.reason) if line]
    if row.hint:
        lines.append(Text(row.hint, style="cyan"))
    return Group(*lines)
