"""The level as a picture for a README."""

from __future__ import annotations

from pathlib import Path

from dovetail.conformance.report.document import Report
from dovetail.conformance.report.files import write
from dovetail.scaffold.badge import UNKNOWN, badge

_GREEN, _YELLOW, _RED = "#2da44e", "#bf8700", "#cf222e"


def write_badge(report: Report, path: str | Path) -> Path:
    """The badge of a run's device."""
    return write(path, badge(*_said(report)))


def _said(report: Report) -> tuple[str, str]:
    """The words and their color."""
    if report.standing.partial:
        return "level –", UNKNOWN
    if report.level is None:
        return "below level 0", _RED
    within = f" ({report.run.budget})" if report.standing.untried else ""
    return f"level {report.level}{within}", _GREEN if report.passed else _YELLOW
