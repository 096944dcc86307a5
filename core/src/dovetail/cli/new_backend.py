"""`dovetail new-backend`: a package for a new device, to be filled in."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dovetail.scaffold.names import Names, names_of
from dovetail.scaffold.package import LICENSES, Skeleton, Written, write


@click.command("new-backend")
@click.argument("name")
@click.option(
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="Where to put the package's folder.  [default: here]",
)
@click.option(
    "--dense/--strided",
    default=False,
    help="Whether arrays of the device have no strides.  [default: strided]",
)
@click.option("--author", default="", help='Who writes it: "Name <address>".')
@click.option(
    "--license",
    type=click.Choice(LICENSES),
    default=LICENSES[0],
    show_default=True,
    help="The licence of the package.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of advice.")
def new_backend(
    name: str, directory: Path, dense: bool, author: str, license: str, as_json: bool
) -> None:
    """Write a package for a new device: publishable, installable, and empty.

    NAME is the device type, as in "acme:0". The package has a function for each thing
    that the device must do; its docstring says what, and its body raises
    Unwritten until somebody writes it.

    \b
    Examples:
      dovetail new-backend acme
      dovetail new-backend acme --dense --author "Ada Lovelace <ada@example.com>"
    """
    names = names_of(name)
    plan = Skeleton(names=names, dense=dense, author=author, license=license)
    written = write(plan, directory)
    if as_json:
        click.echo(json.dumps(_facts(names, written), indent=2))
    else:
        Console(highlight=False).print(_advice(names, written))


def _facts(names: Names, written: Written) -> dict[str, object]:
    return {
        "device": names.device,
        "distribution": names.distribution,
        "package": names.package,
        "folder": str(written.folder),
        "files": written.files,
        "to_write": {"methods": written.methods, "kernels": written.kernels},
    }


def _advice(names: Names, written: Written) -> Group:
    package = f"src/{names.package}"
    parts = Table.grid(padding=(0, 2))
    for file, functions in (
        ("backend.py", written.methods),
        ("kernels.py", written.kernels),
    ):
        parts.add_row(
            Text(f"{package}/{file}", style="bold"), Text(" ".join(functions))
        )
    steps = Table.grid(padding=(0, 2))
    kit = f"dovetail conformance --device {names.device}:0"
    for command, purpose in (
        (f"cd {shlex.quote(str(written.folder))}", ""),
        ('pip install -e ".[test]"', ""),
        ("dovetail devices", f"0 of {len(written.kernels)} kernels"),
        (f"{kit} --budget quick", "what is to do, and what is wrong"),
        (f"{kit} --next", "the function that unlocks most"),
    ):
        steps.add_row(Text(command, style="cyan"), Text(purpose, style="dim"))
    total = len(written.methods) + len(written.kernels)
    return Group(
        Text(f"{written.folder}: {total} functions to write", style="green"),
        Padding(parts, (1, 2)),
        Text("Next:"),
        Padding(steps, (1, 2)),
        Text(
            "docs/writing-a-backend.md, in dovetail's sources, walks on from here.",
            style="dim",
        ),
    )
