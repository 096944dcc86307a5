"""`dovetail op`: what an op's declaration says, for whoever writes a kernel of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final

import click
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dovetail.cli.consoles import console

_FACTS: Final = "dovetail.cli.declaration"


@click.command("op")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def op(names: tuple[str, ...], as_json: bool) -> None:
    """Show how ops are declared: signature, results, dtypes, what they are made of.

    A kernel is called as the line `kernel` says: native arrays in order, attributes
    by name. NAME may be a pattern such as "soft*".

    \b
    Examples:
      dovetail op softmax
      dovetail op "*_backward" --json
    """
    declaration = import_module(_FACTS)  # not needed to tell what this command is
    found = [declaration.facts(each) for each in declaration.named(names)]
    if as_json:
        click.echo(json.dumps({"ops": found}, indent=2))
    else:
        console().print(Group(*map(_shown, found)))


def _shown(found: dict[str, Any]) -> RenderableType:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True, style="dim")
    rows.add_column(overflow="fold")
    for name, text in _rows(found):
        rows.add_row(name, Text(text))
    head = Text(found["name"], "bold").append(f"  {found['doc']}", "not bold")
    return Group(head, Padding(rows, (0, 0, 1, 2), expand=False))


def _rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "kernel", found["kernel"]
    yield "shape", found["shape"]
    for name, dtype in found["results"].items():
        yield "result", f"{name}: {dtype}"
    if found["row_major"]:
        yield "lies", "contiguous, however its input does"
    if found["writes"]:
        yield "writes", ", ".join(found["writes"])
    yield "dtypes", ", ".join(found["dtypes"])
    if found["primitive"]:
        yield "primitive", f"needs a kernel in {', '.join(found['primitive'])}"
    else:
        yield "made of", ", ".join(found["made_of"]) or "memory alone"
    yield "needed by", _counted(found["needed_by"])
    if found["refuses_values"]:
        yield (
            "values",
            (
                "refuses some, such as indices out of range: core looks before each "
                "call, unless a kernel says checks_indices=True and raises by itself"
            ),
        )
    if found["torch"]:
        yield "torch", ", ".join(found["torch"])
    yield "file", found["file"]


def _counted(names: Sequence[str]) -> str:
    return f"{len(names)} ops: {', '.join(names)}" if names else "no other op"
