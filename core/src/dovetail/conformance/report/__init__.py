"""What a run means: its level, its matrix, and the files that say so."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import RenderableType

from dovetail.conformance import laws  # noqa: F401 (so that reports can tell them)
from dovetail.conformance.report.badge import write_badge
from dovetail.conformance.report.certificate import write_certificate
from dovetail.conformance.report.document import FOLDER
from dovetail.conformance.report.document import Report as Document
from dovetail.conformance.report.html import write_html
from dovetail.conformance.report.junit import write_junit
from dovetail.conformance.report.levels import partial
from dovetail.conformance.report.summary import summary
from dovetail.conformance.run import RunRecord
from dovetail.conformance.waivers import Waiver, applied


class Report(Document):
    """A run, what it means, and the files that say so."""

    def write_html(self, path: str | Path) -> Path:
        """One file that a browser shows."""
        return write_html(self, path)

    def write_junit(self, path: str | Path) -> Path:
        """JUnit's XML, which build servers read."""
        return write_junit(self, path)

    def write_certificate(self, path: str | Path) -> Path:
        """What anybody can verify and replay."""
        return write_certificate(self, path)

    def write_badge(self, path: str | Path) -> Path:
        """A picture of the level for a README."""
        return write_badge(self, path)

    def summary(self) -> RenderableType:
        """What the terminal shows at the end."""
        return summary(self)


def build(
    run: RunRecord,
    waivers: Sequence[Waiver] = (),
    problems: Sequence[str] = (),
    *,
    today: datetime.date | None = None,
    repros: str | Path = FOLDER,
) -> Report:
    """The report of a run.

    Args:
        waivers: what is excused; `problems` are those of their file.
        today: when, for what expires.
        repros: the folder that scripts will be in.
    """
    day = today or datetime.datetime.now(datetime.UTC).date()
    complete = not (partial(run) or run.stopped)
    found = applied(run.verdicts, waivers, day, budget=run.budget, complete=complete)
    return Report(
        replace(run, verdicts=found.verdicts),
        replace(found, problems=(*problems, *found.problems)),
        str(repros),
    )


__all__ = ["Report", "build"]
