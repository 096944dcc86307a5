"""The report as one HTML file: no other file, no network, readable without scripts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dovetail import dtypes
from dovetail.conformance.report.document import Report
from dovetail.conformance.report.files import write
from dovetail.conformance.report.ledger import Entry
from dovetail.conformance.report.matrix import STATES, Cell, executed
from dovetail.engine.op import vocabulary

# A letter for each state, so that no colour is needed to tell them apart.
MARKS: Final = {
    "native": "", "composed": "○", "crashed": "C", "hung": "H", "out of memory": "M",
    "wrong": "W", "refused": "R", "todo": "T", "host": "h", "unclaimed": "",
    "untested": "?",
}  # fmt: skip
MEANINGS: Final = {
    "native": "a kernel of the device ran, and every law held",
    "composed": "the op's body ran on the device, and every law held",
    "crashed": "the process died", "hung": "no answer; the watchdog ended it",
    "out of memory": "the device had no memory left",
    "wrong": "a result, or what happened to memory, is not what must be",
    "refused": "it raised where it must run", "todo": "to be written",
    "host": "neither kernel nor body: only the host could run it",
    "unclaimed": "the device lacks the dtype or the capability",
    "untested": "no example was executed",
}  # fmt: skip
_LETTERS: Final = {
    "bool": "b", "uint": "u", "int": "i", "float": "f", "bfloat": "bf", "complex": "c"
}  # fmt: skip


def _short(name: str) -> str:
    """A dtype in as few letters as a column has room for: f32, u8, e4m3, e5m2z."""
    word, _, format_ = name.partition("8_")
    if format_:
        return format_.removesuffix("fn").removesuffix("fnu").replace("fnuz", "z")
    word = name.rstrip("0123456789")
    return _LETTERS[word] + name[len(word) :]


SHORT: Final = {d.name: _short(d.name) for d in dtypes.ALL}


def write_html(report: Report, path: str | Path) -> Path:
    """The report for a browser."""
    return write(path, page(report))


def page(report: Report) -> str:
    """The report as HTML."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    columns = [d.name for d in dtypes.ALL if d.name in _columns(report)]
    return environment.get_template("report.html.j2").render(
        report=report, about=report.run.about, run=report.run, executed=executed,
        columns=columns, families=list(_families(report)), short=SHORT, marks=MARKS,
        meanings=MEANINGS, states=_present(report), hover=_hover,
        unclaimed=[d.name for d in dtypes.ALL if d.name not in columns],
        chart=Chart.of(report.ledger), spread=_spread(report),
        links={(v.check.op, v.check.dtype): v.check.id for v in report.failed[::-1]},
        level="–" if report.level is None else report.level,
    )  # fmt: skip


def _columns(report: Report) -> set[str]:
    """The dtypes that the device claims, or that something was tried in."""
    tried = {c.dtype for c in report.matrix.values() if c.laws}
    return tried | set(report.run.about.dtypes)


def _present(report: Report) -> list[str]:
    seen = {c.state for c in report.matrix.values()}
    return [state for state in STATES if state in seen]


def _spread(report: Report) -> list[tuple[str, int, float]]:
    """The outcomes of all checks: name, count, share in percent."""
    total = max(sum(report.counts.values()), 1)
    return [(name, n, 100 * n / total) for name, n in report.counts.items()]


def _families(
    report: Report,
) -> Iterator[tuple[str, list[tuple[str, dict[str, Cell]]]]]:
    """The matrix by the module that declares the ops, op by op."""
    rows: dict[str, dict[str, dict[str, Cell]]] = {}
    for (op, dtype), cell in report.matrix.items():
        family = vocabulary[op].module.rpartition(".")[2].replace("_", " ")
        rows.setdefault(family, {}).setdefault(op, {})[dtype] = cell
    for family in sorted(rows):
        yield family, list(rows[family].items())


def _hover(cell: Cell) -> str:
    """All that is known of a cell, for whoever points at it."""
    lines = [f"{cell.op} in {cell.dtype}: {cell.state}{' (waived)' * cell.waived}"]
    if cell.laws:
        lines.append(f"{cell.examples} examples")
    if cell.ulp is not None:
        lines.append(f"largest error {cell.ulp:.3g} ulp")
    lines += _grouped("laws", cell.laws.items())
    lines += _grouped("layouts", cell.layouts.items())
    return "\n".join(lines)


def _grouped(name: str, found: Iterable[tuple[str, str]]) -> list[str]:
    by_state: dict[str, list[str]] = {}
    for key, state in found:
        by_state.setdefault(state, []).append(key)
    return [f"{name} {state}: {', '.join(keys)}" for state, keys in by_state.items()]


@dataclass(frozen=True, slots=True)
class Dot:
    """One op's error in the chart."""

    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The ledger as dots: a row for each dtype, errors along a logarithmic axis.

    Attributes:
        ticks: where, and how many ulp.
        rows: where, and which dtype.
    """

    width: int
    height: int
    ticks: list[tuple[float, str]]
    rows: list[tuple[float, str]]
    dots: list[Dot]

    @classmethod
    def of(cls, entries: list[Entry]) -> Chart:
        """The chart of a ledger; what is off the axis is drawn at its ends."""
        shown = [e for e in entries if math.isfinite(e.ulp)]
        names = [d.name for d in dtypes.ALL if any(e.dtype == d.name for e in shown)]
        top = max((_log(e.ulp) for e in shown), default=0.0)
        last = min(max(3, math.ceil(top)), _LAST)
        place = {name: _ROW * (i + 1) for i, name in enumerate(names)}

        def x(log: float) -> float:
            return _LEFT + (_WIDTH - _LEFT - 32) * (log - _FIRST) / (last - _FIRST)

        step = max(1, (last - _FIRST) // 10)
        dots = [
            Dot(x(_log(e.ulp)), place[e.dtype] + _jitter(e), _label(e)) for e in shown
        ]
        ticks = [(x(n), f"{2.0**n:.6g}") for n in range(_FIRST, last + 1, step)]
        height = _ROW * (len(names) + 1) + 16
        return cls(_WIDTH, height, ticks, [(y, n) for n, y in place.items()], dots)


_WIDTH: Final = 960
_ROW: Final = 30
_LEFT: Final = 84
_FIRST: Final = -3  # 1/8 ulp
_LAST: Final = 17


def _log(ulp: float) -> float:
    return math.log2(min(max(ulp, 2.0**_FIRST), 2.0**_LAST))


def _jitter(entry: Entry) -> float:
    """Some way off the row's middle, the same each time, so that dots do not hide."""
    return (sum(entry.op.encode()) % 11 - 5) * 1.6


def _label(entry: Entry) -> str:
    return f"{entry.op} {entry.dtype}: {entry.ulp:.3g} ulp ({entry.at} values)"
