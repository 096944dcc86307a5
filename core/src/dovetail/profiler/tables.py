"""Profiles as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.errors import ArgumentError

_SORTED_BY: Final = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "device_time",
    "device_time_total", "self_device_time_total", "cuda_time", "cuda_time_total",
    "self_cuda_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
    "device_memory_usage", "self_device_memory_usage", "cuda_memory_usage",
    "self_cuda_memory_usage", "count", "flops",
)  # fmt: skip
Column = tuple[str, Callable[[Any], str]]


def table_of(
    events: Sequence[Any], sort_by: str | None, row_limit: int,
    widths: tuple[int, int, int], header: str | None, unit: str | None,
) -> str:  # fmt: skip
    """Events, one a row.

    Args:
        widths: of names, of shapes and of lines of Python, at most.
    Raises: ArgumentError for an order that events do not have.
    """
    if not events:
        return ""
    total = sum(event.self_cpu_time_total for event in events)
    shown = _ordered(events, sort_by)
    shown = shown[:row_limit] if row_limit >= 0 else shown
    columns = _columns(events, total, widths, unit)
    cells = [[name for name, _ in columns]]
    cells += [[text(event) for _, text in columns] for event in shown]
    wide = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    rule = "  ".join("-" * n for n in wide)
    lines = [
        "  ".join(t.rjust(n) for t, n in zip(row, wide, strict=True)) for row in cells
    ]
    above = [] if header is None else ["=" * len(rule), header]
    below = [rule, f"Self CPU time total: {time_text(total, unit)}", ""]
    return "\n".join([*above, rule, lines[0], rule, *lines[1:], *below])


def _ordered(events: Sequence[Any], sort_by: str | None) -> list[Any]:
    if sort_by is None:
        return list(events)
    if sort_by not in _SORTED_BY:
        raise ArgumentError(
            "table", "sort_by", was=sort_by, needed=f"one of {_SORTED_BY}"
        )
    return sorted(events, key=lambda e: getattr(e, sort_by), reverse=True)


def _columns(
    events: Sequence[Any], total: float, widths: tuple[int, int, int], unit: str | None
) -> list[Column]:
    def share(part: float) -> str:
        return f"{100 * part / total:.2f}%" if total else "NaN"

    columns: list[Column] = [
        ("Name", lambda e: _cut(e.key, widths[0])),
        ("Self CPU %", lambda e: share(e.self_cpu_time_total)),
        ("Self CPU", lambda e: time_text(e.self_cpu_time_total, unit)),
        ("CPU total %", lambda e: share(e.cpu_time_total)),
        ("CPU total", lambda e: time_text(e.cpu_time_total, unit)),
        ("CPU time avg", lambda e: time_text(e.cpu_time, unit)),
    ]
    if any(e.cpu_memory_usage for e in events):
        columns.append(("CPU Mem", lambda e: _bytes_text(e.cpu_memory_usage)))
        columns.append(("Self CPU Mem", lambda e: _bytes_text(e.self_cpu_memory_usage)))
    columns.append(("# of Calls", lambda e: str(e.count)))
    if any(e.input_shapes for e in events):
        columns.append(("Input Shapes", lambda e: _cut(str(e.input_shapes), widths[1])))
    if any(e.stack for e in events):
        columns.append(
            ("Source Location", lambda e: _cut(" <- ".join(e.stack), widths[2]))
        )
    if any(e.flops for e in events):
        columns.append(("Total FLOPs", lambda e: str(e.flops) if e.flops else "--"))
    return columns


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width or width < 4 else text[: width - 3] + "..."


def _bytes_text(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


_UNITS: Final = {"s": 1e6, "ms": 1e3, "us": 1.0}


def time_text(microseconds: float, unit: str | None = None) -> str:
    """A time with its unit."""
    if unit is None:
        unit = next((u for u, n in _UNITS.items() if microseconds >= n), "us")
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"
