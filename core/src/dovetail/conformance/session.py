"""A run of the kit as part of pytest's: workers, asked for each item in turn."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from dovetail.conformance.budget import budget
from dovetail.conformance.report import Report, build
from dovetail.conformance.report.document import FOLDER
from dovetail.conformance.reproduce import command
from dovetail.conformance.run import RunRecord
from dovetail.conformance.runner.foundations import Planned
from dovetail.conformance.runner.process import Settings
from dovetail.conformance.runner.supervisor import Supervisor, Wanted, why
from dovetail.conformance.setup import named
from dovetail.conformance.verdicts import BAD, Outcome, Verdict
from dovetail.conformance.waivers import Waiver, applied, load, packaged
from dovetail.errors import DovetailError

NAME: Final = "dovetail-conformance"


class Session:
    """The devices under test, each with its supervisor; a plug-in of pytest's.

    Attributes:
        checks: what there is to judge, in the order of the plans.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.supervisors: list[Supervisor] = []
        self.checks: list[tuple[Supervisor, Planned]] = []
        self.chosen: set[tuple[int, str]] = set()
        self.waivers: dict[int, tuple[list[Waiver], list[str]]] = {}
        try:
            for device in config.getoption("--dovetail-device"):
                self._open(device)
        except DovetailError as error:
            self.pytest_unconfigure()
            raise pytest.UsageError(str(error)) from error

    def _open(self, device: str) -> None:
        option = self.config.getoption
        wanted = Wanted(
            settings=Settings(
                device,
                named(option("--dovetail-setup")),
                option("--dovetail-patience"),
            ),
            budget=budget(option("--dovetail-budget")).name,
            ops=option("--dovetail-ops"),
            laws=option("--dovetail-laws"),
            seed=option("--dovetail-seed"),
        )
        supervisor = Supervisor(wanted)
        self.supervisors.append(supervisor)
        supervisor.open()
        self.checks += [(supervisor, planned) for planned in supervisor.plan]
        given = option("--dovetail-waivers")
        path = Path(given) if given else packaged(supervisor.about.type)
        self.waivers[id(supervisor)] = load(path) if path else ([], [])

    def names(self) -> list[str]:
        """The ids of items: those of checks, after the device if there are several."""
        several = len(self.supervisors) > 1
        return [
            f"{s.about.device}/{p.check.id}" if several else p.check.id
            for s, p in self.checks
        ]

    def verdict(self, supervisor: Supervisor, planned: Planned) -> Verdict:
        """What becomes of a check, waivers included."""
        found = supervisor.judge(planned)
        waivers, _ = self.waivers[id(supervisor)]
        waived = applied(
            [found], [w for w in waivers if w.about(planned.check)], today(),
            budget=supervisor.wanted.budget, complete=False,
        )  # fmt: skip
        return waived.verdicts[0]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep to the checks that `-k` and its like have left."""
        for item in session.items:
            if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
                of: dict[str, Any] = dict(item.callspec.params)
                if "supervisor" in of and "planned" in of:
                    self.chosen.add((id(of["supervisor"]), of["planned"].check.id))

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        """Write the reports, and tell the level of each device."""
        for supervisor in self.supervisors:
            if exitstatus == pytest.ExitCode.INTERRUPTED:
                supervisor.interrupted = True
            report = self._report(supervisor)
            terminalreporter.section(f"conformance of {supervisor.about.device}")
            terminalreporter.line(_level(report))
            for blocker in report.blockers:
                terminalreporter.line(f"  {blocker}")
            for problem in report.problems:
                terminalreporter.line(f"  {problem}")
            for path in self._written(report):
                terminalreporter.line(f"wrote {path}")

    def _report(self, supervisor: Supervisor) -> Report:
        waivers, problems = self.waivers[id(supervisor)]
        return build(self._record(supervisor), waivers, problems, today=today())

    def _record(self, supervisor: Supervisor) -> RunRecord:
        """The run, and that it was limited where pytest left checks out."""
        plan = supervisor.plan
        supervisor.plan = [
            p for p in plan if (id(supervisor), p.check.id) in self.chosen
        ]
        record = supervisor.record()
        if len(supervisor.plan) < len(plan):
            record = replace(record, ops=f"{record.ops} and pytest's selection")
        return record

    def _written(self, report: Report) -> list[Path]:
        """The files that the options ask for; scripts where something failed."""
        files = {
            "json": report.write_json,
            "html": report.write_html,
            "certificate": report.write_certificate,
        }
        several = len(self.supervisors) > 1
        found = []
        for name, write in files.items():
            wanted = self.config.getoption(f"--dovetail-{name}")
            proves = name == "certificate"
            if wanted and not (proves and report.run.interrupted):
                path = Path(wanted)
                if several:
                    slug = report.run.about.device.replace(":", "-")
                    path = path.with_stem(f"{path.stem}-{slug}")
                found.append(write(path))
        if report.reproductions:
            report.write_reproductions(FOLDER)
        return found

    def pytest_unconfigure(self) -> None:
        """End the workers."""
        for supervisor in self.supervisors:
            supervisor.close()


def today() -> datetime.date:
    """The day by which waivers expire."""
    return datetime.datetime.now(datetime.UTC).date()


def _level(report: Report) -> str:
    if report.standing.partial:
        return f"no level: {report.standing.partial}"
    return "below level 0" if report.level is None else f"level {report.level}"


def session(config: pytest.Config) -> Session:
    """The session of this run of pytest, begun when it is first asked for."""
    found = config.pluginmanager.get_plugin(NAME)
    if found is None:
        found = Session(config)
        config.pluginmanager.register(found, NAME)
    made: Session = found
    return made


def judged(of: Session, supervisor: Supervisor, planned: Planned) -> None:
    """Judge a check as an item of pytest's: return, skip, or fail in a few lines."""
    __tracebackhide__ = True
    if supervisor.stopped:
        pytest.skip(f"not run: {supervisor.stopped}")
    verdict = of.verdict(supervisor, planned)
    if not verdict.tried:
        pytest.skip(verdict.note)
    if verdict.outcome in BAD:
        pytest.fail(told(verdict, supervisor.about.device), pytrace=False)
    if verdict.outcome is Outcome.UNCLAIMED:
        pytest.skip(verdict.note or "unclaimed")
    if verdict.outcome is Outcome.WAIVED:
        pytest.xfail(f"waived: {verdict.note}")


def told(verdict: Verdict, device: str) -> str:
    """A failure in a few lines."""
    lines = [f"{verdict.check.id}: {verdict.outcome}: {why(verdict)}"]
    first = verdict.failures[0] if verdict.failures else None
    if first and verdict.note:
        lines.append(f"  note       {verdict.note}")
    if first and first.example:
        lines.append(f"  example    {first.example}")
    if first and first.script:
        lines.append(f"  reproduce  {command(verdict.check, device, FOLDER)}")
    return "\n".join(lines)
