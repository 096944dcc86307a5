"""A run: the plan, the lanes of workers that share it, the record of it all."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

from dovetail.conformance.run import About, RunRecord
from dovetail.conformance.runner import protocol
from dovetail.conformance.runner.foundations import Foundations, Planned
from dovetail.conformance.runner.lane import Lane
from dovetail.conformance.runner.process import Died, Ended, KitFailed, Settings
from dovetail.conformance.verdicts import BAD, NOT_RUN, Check, Outcome, Verdict
from dovetail.errors import DeviceError
from dovetail.scaffold.functions import primitives

DEVICE: Final = "device"
_LOOKS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a run is asked to do.

    Attributes:
        ops, laws: globs over names, several separated by commas.
        seed: other examples are drawn with another one.
        jobs: workers on the device at the same time.
        reruns: whether failures are seen twice.
        impatient: stop at the first failure, with the order that finds one soonest.
        only: ids of the checks to run; empty for the whole plan.
    """

    settings: Settings
    budget: str = "quick"
    ops: str = "*"
    laws: str = "*"
    seed: int = 0
    jobs: int = 1
    reruns: bool = True
    impatient: bool = False
    only: frozenset[str] = frozenset()


@dataclass(slots=True)
class Supervisor:
    """Runs a plan on one device.

    Attributes:
        about: the device, from `open` on.
        plan: its checks in order, from `open` on.
        stopped: why the run ended early.
    """

    wanted: Wanted
    about: About = field(init=False)
    plan: list[Planned] = field(default_factory=list)
    verdicts: dict[Check, Verdict] = field(default_factory=dict)
    stopped: str = ""
    interrupted: bool = False
    foundations: Foundations = field(default_factory=Foundations)
    _lanes: list[Lane] = field(default_factory=list)
    _started: float = 0.0
    _began: str = ""

    def __enter__(self) -> Supervisor:
        self._started, self._began = time.monotonic(), _now()
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def open(self) -> None:
        """Load the device in a worker, and let it make the plan.

        Raises:
            DeviceError: the device cannot be loaded, or the plan cannot be made.
        """
        wanted = self.wanted
        count = max(1, wanted.jobs)
        self._lanes = [
            Lane(wanted.settings, wanted.budget, wanted.reruns, wanted.seed)
            for _ in range(count)
        ]
        self.about = self._lanes[0].open()
        rows = [Planned.of(row) for row in self._planned()["rows"]]
        self.plan = [r for r in rows if not wanted.only or r.check.id in wanted.only]
        if wanted.impatient:
            self.plan = soonest(self.plan)

    def _planned(self) -> Any:
        wanted = self.wanted
        try:
            return self._lanes[0].ask(
                protocol.PLAN, budget_name=wanted.budget, ops=wanted.ops,
                laws=wanted.laws,
            )  # fmt: skip
        except (Died, KitFailed) as error:
            raise DeviceError(
                "conformance", self.about.device,
                was=f"without a plan: {error}", needed="a list of checks",
            ) from error  # fmt: skip

    def close(self) -> None:
        """End all workers."""
        for lane in self._lanes:
            lane.close()

    def judge(self, planned: Planned) -> Verdict:
        """One check, in the first worker; nothing after a failure that stops all."""
        if reason := self.stopped or self.foundations.against(planned.check):
            return untried(planned.check, reason)
        verdict = self._lanes[0].verdict(planned.check)
        self._keep(planned, verdict)
        return verdict

    def _keep(self, planned: Planned, verdict: Verdict) -> None:
        self.verdicts[planned.check] = verdict
        if planned.first:
            self.foundations.note(planned, verdict)
        if verdict.outcome in BAD and not self.stopped:
            to_do = verdict.outcome is Outcome.TODO
            if planned.first and (to_do or self.foundations.gone(self.plan)):
                # All that level 0 asks for waits for the first laws.
                count = level_zero(self.about)
                self.stopped = (
                    f"STOP {planned.check.law}: {why(verdict)}. Unlocks {count}/{count}"
                )
            elif self.wanted.impatient:
                self.stopped = f"{planned.check.id}: {why(verdict)}"

    def run(self) -> Iterator[Verdict]:
        """All verdicts as they come; `record` has them in the order of the plan."""
        alone = [p for p in self.plan if p.check.op == DEVICE]
        shared = [p for p in self.plan if p.check.op != DEVICE]
        try:
            if self.wanted.impatient:
                yield from self._serial(self.plan)
            else:
                yield from self._serial(alone)
                yield from self._shared([] if self.stopped else shared)
        except KeyboardInterrupt:
            self.interrupt()
        except DeviceError as error:  # it did not come back after a crash
            self.stopped = str(error)
            self._end()

    def interrupt(self) -> None:
        """End the run where it is; `record` tells what there is."""
        self.interrupted = True
        self._end()

    def _end(self) -> None:
        for lane in self._lanes:
            lane.end()

    def _shared(self, plan: Sequence[Planned]) -> Iterator[Verdict]:
        """Ops from one queue: all checks of an op go to one lane, in their order."""
        if len(self._lanes) == 1:
            yield from self._serial(plan)
            return
        able = [p for p in plan if not self.foundations.against(p.check)]
        yield from (self.judge(p) for p in plan if self.foundations.against(p.check))
        todo = deque(list(g) for _, g in groupby(able, lambda p: p.check.op))
        done: queue.SimpleQueue[tuple[Planned, Verdict] | BaseException | None]
        done = queue.SimpleQueue()
        threads = [
            threading.Thread(target=_work, args=(lane, todo, done), daemon=True)
            for lane in self._lanes
        ]
        for thread in threads:
            thread.start()
        yield from self._gathered(done, len(threads), todo)

    def _serial(self, plan: Iterable[Planned]) -> Iterator[Verdict]:
        for planned in plan:
            if self.stopped:
                return
            yield self.judge(planned)

    def _gathered(self, done: Any, working: int, todo: deque[Any]) -> Iterator[Verdict]:
        while working:
            try:
                found = done.get(timeout=_LOOKS)  # lets Ctrl-C through
            except queue.Empty:
                continue
            if found is None:
                working -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                self._keep(*found)
                if self.stopped:
                    todo.clear()
                yield found[1]

    def record(self) -> RunRecord:
        """The run so far."""
        with suppress(Died, KitFailed, Ended, DeviceError):
            if not self.interrupted and not self.stopped:
                seen = self._lanes[0].ask(protocol.SUBNORMALS)
                self.about = replace(self.about, subnormals=seen)
        reason = self.stopped or ("interrupted" if self.interrupted else "not reached")
        wanted = self.wanted
        return RunRecord(
            about=self.about,
            budget=wanted.budget,
            ops=wanted.ops,
            laws=wanted.laws,
            seed=wanted.seed,
            started=self._began,
            seconds=time.monotonic() - self._started,
            verdicts=tuple(
                self.verdicts.get(p.check)
                or untried(p.check, self.foundations.against(p.check) or reason)
                for p in self.plan
            ),
            interrupted=self.interrupted,
            stopped=self.stopped,
        )


def _work(lane: Lane, todo: deque[list[Planned]], done: Any) -> None:
    """Judge ops until there are none."""
    try:
        while True:
            try:
                planned = todo.popleft()
            except IndexError:
                return
            for one in planned:
                done.put((one, lane.verdict(one.check)))
    except Ended:
        return
    except BaseException as error:  # the main thread raises it
        done.put(error)
    finally:
        done.put(None)


def untried(check: Check, reason: str) -> Verdict:
    """The verdict of a check that never ran."""
    return Verdict(check, Outcome.UNTESTED, note=f"{NOT_RUN}{reason}")


def why(verdict: Verdict) -> str:
    """What went wrong, in one line."""
    if verdict.failures:
        return verdict.failures[0].message
    return verdict.note or str(verdict.outcome)


def soonest(plan: list[Planned]) -> list[Planned]:
    """The order in which a new backend's next failure is found soonest."""
    return sorted(
        plan,
        key=lambda p: (not p.first, p.check.op == DEVICE, not p.primitive, p.rank),
    )


def level_zero(about: About) -> int:
    """How many functions level 0 asks for beside `devices` and `kernels`.

    A device that is there has these two.
    """
    methods = set(about.methods) - {"devices", "kernels"}
    return len(methods) + len({op.name for op in primitives()} | set(about.unwritten))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
