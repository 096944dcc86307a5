"""What `dovetail accuracy` does: measures, prints a table, writes files."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from dovetail.conformance.accuracy.report import (
    HEADS,
    Accuracy,
    cells,
    survey,
    worse,
    write_html,
    write_json,
    write_markdown,
)
from dovetail.conformance.accuracy.survey import DTYPES
from dovetail.errors import ArgumentError

_NUMBERS: Final = range(3, 7)


def show(
    device: str, ops: str, names: str, points: int, as_json: Path | None,
    html: Path | None, markdown: Path | None,
) -> None:  # fmt: skip
    """Measure a device, print what was found, and write what is wanted.

    Raises:
        ArgumentError: a dtype is none that has rounded numbers, or no op fits.
    """
    known = {d.name: d for d in DTYPES}
    asked = [name.strip() for name in names.split(",")]
    for name in asked:
        if name not in known:
            raise ArgumentError(
                "accuracy", "dtypes", was=repr(name), needed=f"among {', '.join(known)}"
            )
    console = Console()
    with _bar(console) as seen:
        wanted = [known[name] for name in asked]
        found = survey(device, ops=ops, wanted=wanted, points=points, seen=seen)
    if not found.rows:
        raise ArgumentError(
            "accuracy", "ops", was=repr(ops), needed="names of ops that round"
        )
    for name, _ in found.tables():
        console.print(_table(found, name))
    for write, path in (
        (write_json, as_json), (write_html, html), (write_markdown, markdown),
    ):  # fmt: skip
        if path is not None:
            console.print(f"wrote {write(found, path)}", style="dim")


@contextmanager
def _bar(console: Console) -> Any:
    """A progress bar, on standard error, so that tables can be piped."""
    columns = (
        BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )  # fmt: skip
    told = Console(stderr=True)
    with Progress(*columns, console=told, transient=True) as progress:
        task = progress.add_task("", total=None)

        def seen(done: int, total: int, name: str) -> None:
            progress.update(task, completed=done, total=total, description=name)

        yield seen


def _table(found: Accuracy, dtype: str) -> Table:
    table = Table(title=f"{dtype} on {found.device}, errors in ulp", title_style="bold")
    for number, head in enumerate(HEADS):
        table.add_column(
            head, justify="right" if number in _NUMBERS else "left",
            no_wrap=number < len(HEADS) - 1, overflow="fold",
        )  # fmt: skip
    for row in dict(found.tables())[dtype]:
        style = "bold red" if worse(row.ours, row.torch) else ""
        table.add_row(*cells(row), style=style)
    return table


__all__ = ["show"]
