"""The accuracy of a device as data, as Markdown, and as one HTML file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dovetail.conformance.accuracy.beside_torch import beside
from dovetail.conformance.accuracy.errors import Figures
from dovetail.conformance.accuracy.survey import (
    DTYPES,
    POINTS,
    Row,
    measured,
    planned,
    rounds,
)
from dovetail.conformance.report.files import write
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.engine.op import declared

HEADS: Final = ("op", "by", "over", "worst", "median", "torch", "median", "worst at")
_MANY: Final = 1e6
_LARGE: Final = 10
_NOTHING: Final = 0.005
_SHORT: Final = 88
HOW_TO_READ: Final = (
    "Errors are in units in the last place (ulp) of the result's format, against the "
    "op's oracle in mpmath's arithmetic of 256 bits; a result that is rounded "
    "correctly is off by 0.5 at most.",
    "A *sweep* takes arguments of all magnitudes, subnormal ones too, from the op's "
    "domain, and beside the places where zeros and poles are. *Cases* are the calls "
    "by which the conformance kit judges ops that look at more than one element, "
    "with numbers whose products stay within the format; #7 is the kit's number for "
    "such a call at the budget `standard`.",
    "Of ops marked Σ the unit is that of their terms together, since a sum of terms "
    "that cancel has no digits to count. *∞* is a NaN where there is a number.",
    "*by* tells what ran: a kernel of the device, or the op's body, composed of "
    "kernels. torch computes the same calls on the CPU, where it has a function of "
    "the same name that takes them.",
)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The figures of a device.

    Attributes:
        about: what they depend on: the device's name, versions.
        exact: ops that round nothing: they move, compare, count or draw.
    """

    device: str
    about: str
    points: int
    torch: str | None
    rows: tuple[Row, ...]
    exact: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "device": self.device, "about": self.about, "points": self.points,
            "torch": self.torch, "rows": [row.to_json() for row in self.rows],
            "exact": list(self.exact),
        }  # fmt: skip

    def tables(self) -> Iterator[tuple[str, list[Row]]]:
        """The rows of each dtype."""
        for name in dict.fromkeys(row.dtype for row in self.rows):
            yield name, [row for row in self.rows if row.dtype == name]


def survey(
    device: str, *, ops: str = "*", wanted: Sequence[DType] = DTYPES,
    points: int = POINTS, seen: Callable[[int, int, str], None] = lambda *_: None,
) -> Accuracy:  # fmt: skip
    """Measure a device.

    Args:
        ops: globs of names.
        points: arguments of each sweep.
        seen: is told how many rows are done, of how many, and the next op.
    """

    subject, torch = Subject(device), beside()
    plan, rows = planned(subject, ops, wanted), []
    for number, (op, dtype) in enumerate(plan):
        seen(number, len(plan), op.name)
        rows.append(measured(subject, op, dtype, points, torch))
    rows.sort(key=lambda row: [d.name for d in wanted].index(row.dtype))
    info = subject.backend.devices()[subject.index]
    exact = [op.name for op in declared() if not rounds(op)] if ops == "*" else []
    return Accuracy(
        subject.device, info.name, points, torch.version if torch else None,
        tuple(rows), tuple(exact),
    )  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    """A row as text, by `HEADS`."""
    ours, theirs = row.ours, row.torch
    name = f"{row.op} Σ" if row.unit == "terms" else row.op
    return (
        name, row.how, row.over, *_numbers(ours), *_numbers(theirs),
        shortened(ours.at if ours else row.note),
    )  # fmt: skip


def _numbers(found: Figures | None) -> tuple[str, str]:
    return (number(found.worst), number(found.median)) if found else ("–", "–")


def number(ulp: float) -> str:
    """An error in as many digits as one looks at."""
    if math.isinf(ulp):
        return "∞"
    if ulp < _NOTHING:
        return "0"
    return (
        f"{ulp:.1e}" if ulp >= _MANY else f"{ulp:,.0f}" if ulp >= 100 else f"{ulp:.2g}"
    )


def shortened(text: str) -> str:
    """What fits a line of a table."""
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def write_json(found: Accuracy, path: Path) -> Path:
    """The figures as JSON."""
    return write(path, json.dumps(found.to_json(), indent=1) + "\n")


def write_markdown(found: Accuracy, path: Path) -> Path:
    """The figures as a page of documentation."""
    return write(path, markdown(found))


def write_html(found: Accuracy, path: Path) -> Path:
    """The figures as one HTML file."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template("accuracy.html.j2").render(
        found=found, heads=HEADS, cells=cells, worse=worse,
        notes=[note.replace("*", "").replace("`", "") for note in HOW_TO_READ],
    )  # fmt: skip
    return write(path, page)


def worse(ours: Figures | None, theirs: Figures | None) -> bool:
    """Whether we are much farther off than torch."""
    if ours is None or theirs is None:
        return False
    return ours.worst > max(4.0, 2 * theirs.worst)


def markdown(found: Accuracy) -> str:
    """A table for each dtype."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Accuracy) -> Iterator[str]:
    yield f"# How exact the ops are on {found.device}"
    yield ""
    yield "<!-- Written by `dovetail accuracy`; what is changed here is lost. -->"
    yield ""
    torch = f" beside torch {found.torch}" if found.torch else ""
    yield f"{found.about}{torch}; {found.points:,} arguments to a sweep. Written by"
    yield ""
    yield f"    dovetail accuracy --device {found.device} --markdown docs/accuracy.md"
    for text in HOW_TO_READ:
        yield ""
        yield text
    for name, rows in found.tables():
        yield from ("", f"## {name}", "")
        yield f"| {' | '.join(HEADS)} |"
        yield "|---|---|---|--:|--:|--:|--:|---|"
        for row in rows:
            yield f"| {' | '.join(c.replace('|', chr(92) + '|') for c in cells(row))} |"
    if found.exact:
        yield from ("", "## Exact", "")
        yield "These round nothing of their own: they move, compare, count or draw."
        yield from ("", ", ".join(f"`{name}`" for name in found.exact) + ".")


__all__ = [
    "HEADS", "Accuracy", "cells", "markdown", "number", "survey", "worse",
    "write_html", "write_json", "write_markdown",
]  # fmt: skip
