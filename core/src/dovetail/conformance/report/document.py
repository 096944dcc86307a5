"""A report as data: what was found, and what it means."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from dovetail.conformance.judge import DEVICE
from dovetail.conformance.law import DEVICE_LAWS, LAWS
from dovetail.conformance.report.coverage import CoverageOfRun, coverage_of_run
from dovetail.conformance.report.files import finite, write
from dovetail.conformance.report.ledger import Entry, ledger
from dovetail.conformance.report.levels import Blocker, Standing, standing
from dovetail.conformance.report.matrix import Cell, executed, matrix
from dovetail.conformance.reproduce import command, file_name
from dovetail.conformance.run import RunRecord
from dovetail.conformance.verdicts import BAD, NOT_RUN, Verdict
from dovetail.conformance.waivers import Waived

FORMAT: Final = "dovetail-conformance-report-1"
FOLDER: Final = "repros"


@dataclass(frozen=True)
class Report:
    """What a run means.

    Attributes:
        run: the run, its verdicts with what waivers excuse.
        waived: which waivers did, and what is wrong with others.
        repros: the folder that scripts are written to.
    """

    run: RunRecord
    waived: Waived
    repros: str = FOLDER

    @cached_property
    def standing(self) -> Standing:
        """The level, and what keeps the device from the next one."""
        return standing(self.run)

    @property
    def level(self) -> int | None:
        """The level reached; None below 0, or where the run cannot tell."""
        return self.standing.level

    @property
    def blockers(self) -> tuple[Blocker, ...]:
        """What keeps the device from the next level."""
        return self.standing.blockers

    @cached_property
    def matrix(self) -> dict[tuple[str, str], Cell]:
        """A cell for each op and dtype that it accepts."""
        return matrix(self.run)

    @cached_property
    def ledger(self) -> list[Entry]:
        """The largest error measured for each op and dtype, the largest first."""
        return ledger(self.run.verdicts)

    @cached_property
    def coverage(self) -> CoverageOfRun:
        """What the calls reached of what there is to draw."""
        return coverage_of_run(self.run.verdicts)

    @cached_property
    def failed(self) -> tuple[Verdict, ...]:
        """The verdicts that make the run fail, in the order of the plan.

        Those of checks that were not made are not among them.
        """
        return tuple(v for v in self.run.verdicts if v.tried and executed(v) in BAD)

    @cached_property
    def unmade(self) -> dict[str, int]:
        """How many checks were not made, by reason."""
        notes = (v.note.removeprefix(NOT_RUN) for v in self.run.verdicts if not v.tried)
        return dict(Counter(notes))

    @property
    def problems(self) -> tuple[str, ...]:
        """What else makes the run fail, in words."""
        run = self.run
        told = [f"stopped: {run.stopped}"] if run.stopped else []
        told += ["the run was interrupted"] if run.interrupted else []
        told += [] if run.verdicts else ["no check was made"]
        ended = run.stopped or run.interrupted  # which tells of them
        told += [] if ended else [_told(why, n) for why, n in self.unmade.items()]
        return (*told, *self.waived.problems)

    @property
    def passed(self) -> bool:
        """Whether nothing failed, waivers included, and something was tried."""
        return not (self.failed or self.problems)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many checks ended in which outcome, the most frequent first."""
        return dict(Counter(executed(v).value for v in self.run.verdicts).most_common())

    @cached_property
    def laws(self) -> dict[str, str]:
        """What each law of the run claims."""
        ran = {(v.check.op == DEVICE, v.check.law) for v in self.run.verdicts}
        known = {(True, n): w.describes for n, w in DEVICE_LAWS.items()}
        known |= {(False, n): w.describes for n, w in LAWS.items()}
        return {law: known.get((on, law), "") for on, law in sorted(ran)}

    def to_json(self) -> dict[str, Any]:
        """The document that `schema.json` describes."""
        run = self.run.to_json()
        verdicts = run.pop("verdicts")
        for verdict in verdicts:
            del verdict["coverage"]  # it has a section of its own
        found: dict[str, Any] = finite(
            {
                "format": FORMAT,
                "run": run,
                "level": self.level,
                "partial": self.standing.partial,
                "untried": self.standing.untried,
                "blockers": [b.to_json() for b in self.blockers],
                "passed": self.passed,
                "problems": self.problems,
                "failed": [v.check.id for v in self.failed],
                "unmade": self.unmade,
                "counts": self.counts,
                "laws": self.laws,
                "matrix": [c.to_json() for c in self.matrix.values()],
                "coverage": self.coverage.to_json(),
                "ledger": [e.to_json() for e in self.ledger],
                "waivers": _waivers(self.waived),
                "reproductions": self.reproductions,
                "verdicts": verdicts,
            }
        )
        return found

    @cached_property
    def reproductions(self) -> dict[str, str]:
        """By check that failed, the line that shows it on its own."""
        return {
            v.check.id: command(v.check, self.run.about.device, self.repros)
            for v in self.failed
            if any(f.script for f in v.failures)
        }

    def write_json(self, path: str | Path) -> Path:
        """The report as JSON."""
        return write(path, json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n")

    def write_reproductions(self, folder: str | Path | None = None) -> list[Path]:
        """A script for each check that failed; what else is there stays."""
        folder = self.repros if folder is None else folder
        return [
            write(Path(folder, file_name(v.check, self.run.about.device)), script)
            for v in self.failed
            for script in [next((f.script for f in v.failures if f.script), "")]
            if script
        ]


def _told(reason: str, count: int) -> str:
    """That checks were not made, in words."""
    return f"{count} {'check was' if count == 1 else 'checks were'} not made: {reason}"


def _waivers(waived: Waived) -> list[dict[str, Any]]:
    return [
        {
            "waiver": str(waiver), "reason": waiver.reason, "issue": waiver.issue,
            "expires": waiver.expires.isoformat(), "excuses": list(ids),
        }
        for waiver, ids in waived.applied
    ]  # fmt: skip
