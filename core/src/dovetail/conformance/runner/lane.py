"""One worker after the other on a device, and a verdict for every check they get."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dovetail.conformance.run import About
from dovetail.conformance.runner import protocol
from dovetail.conformance.runner.journal import NO_EXAMPLE
from dovetail.conformance.runner.process import (
    Died,
    Ended,
    KitFailed,
    Process,
    Settings,
)
from dovetail.conformance.verdicts import Check, Failure, Outcome, Verdict

# What a device may do by accident, so that it is seen twice before it is believed.
RERUN: Final = frozenset({Outcome.WRONG, Outcome.REFUSED, Outcome.OUT_OF_MEMORY})
FLAKY: Final = "not reproducible: passed when rerun alone"
# Deaths in one check, and checks of one op with deaths, after which it is left alone.
_DEATHS_IN_A_CHECK: Final = 3
_DEADLY_CHECKS: Final = 3


@dataclass(slots=True)
class Lane:
    """Judges checks in workers of its own, at most one of them alive.

    Attributes:
        reruns: whether failures are seen twice.
        seed: of the run.
        starts: how many workers were needed.
    """

    settings: Settings
    budget: str
    reruns: bool = True
    seed: int = 0
    starts: int = 0
    _process: Process | None = None
    _deadly: Counter[str] = field(default_factory=Counter)
    _ended: bool = False

    # ---- the worker

    def open(self) -> About:
        """Start a worker, and tell what it says of the device.

        Raises:
            DeviceError: the device cannot be loaded.
        """
        self._discard()
        if self._ended:
            raise Ended
        self._process = Process(self.settings)
        self.starts += 1
        return self._process.about()

    def _discard(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _worker(self) -> Process:
        if self._process is None or self._process.ended:
            self.open()
        assert self._process is not None
        return self._process

    def end(self) -> None:
        """End the worker from any thread; who waits for a verdict gets `Ended`."""
        self._ended = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the worker and let go of what it used."""
        self._ended = True
        self._discard()

    def ask(self, do: str, **request: Any) -> Any:
        """An answer of the worker; one that died is let go."""
        try:
            return self._worker().ask(do, **request)
        except Died:
            self._discard()
            raise

    # ---- the verdict

    def verdict(self, check: Check) -> Verdict:
        """What becomes of a check, whatever it does to workers."""
        if self._deadly[check.op] >= _DEADLY_CHECKS:
            note = f"not tried: {check.op} took the process down in other checks"
            return Verdict(check, Outcome.UNTESTED, note=note)
        try:
            found = self._survived(check)
            if self.reruns and found.outcome in RERUN:
                found = self._confirmed(found)
            return found
        except KitFailed as failed:
            return kit_failed(check, failed)

    def _survived(self, check: Check) -> Verdict:
        """Judge, and judge on without the examples that take the process down."""
        deaths: list[Failure] = []
        while True:
            skip = [death.index for death in deaths]
            try:
                return with_deaths(self._judge(check, skip=skip), deaths)
            except Died as died:
                death = self._examined(check, died)
            if not deaths:
                self._deadly[check.op] += 1
            deaths.append(death)
            if death.index == NO_EXAMPLE or len(deaths) == _DEATHS_IN_A_CHECK:
                rest = Verdict(check, Outcome.UNTESTED, note="not tried further")
                return with_deaths(rest, deaths)

    def _judge(
        self, check: Check, *, only: int | None = None, skip: list[int] | None = None
    ) -> Verdict:
        answer = self.ask(
            protocol.JUDGE, check=check.id, budget_name=self.budget,
            seed=self.seed, only=only, skip=skip or [],
        )  # fmt: skip
        return Verdict.from_json(answer)

    def _examined(self, check: Check, died: Died) -> Failure:
        """A death as a failure: seen again in a worker that does nothing else."""
        number = died.entry.number
        if number == NO_EXAMPLE:
            return between(died)
        message = died.how
        if self.reruns:
            try:
                self._judge(check, only=number)
                message = f"{died.how}; {FLAKY}"
            except Died as again:
                died = again
        shown = self._shown(check, number, message)
        return Failure(
            died.outcome, message, shown.get("example", died.entry.label),
            shown.get("layout", ""), number, shown.get("script", ""), died.log,
        )  # fmt: skip

    def _shown(self, check: Check, number: int, message: str) -> dict[str, str]:
        """How to show an example that must not be run here; nothing if it cannot be."""
        try:
            shown: dict[str, str] = self.ask(
                protocol.SCRIPT, check=check.id, budget_name=self.budget,
                seed=self.seed, number=number, message=message,
            )  # fmt: skip
        except (Died, KitFailed):
            return {}
        return shown

    def _confirmed(self, found: Verdict) -> Verdict:
        """The verdict, if a worker that did nothing else comes to one like it."""
        self._discard()
        try:
            again = self._judge(found.check)
        except Died:
            return found  # worse, if anything
        if again.outcome in RERUN or again.failures:
            return found
        return replace(found, outcome=Outcome.WRONG, note=FLAKY)


def with_deaths(rest: Verdict, deaths: list[Failure]) -> Verdict:
    """A check's verdict with the examples that its workers died of."""
    if not deaths:
        return rest
    layouts = {**rest.layouts, **{d.layout: d.outcome for d in deaths if d.layout}}
    notes = [note for note in (rest.note, *map(_flaky, deaths)) if note]
    return replace(
        rest,
        outcome=deaths[0].outcome,
        examples=rest.examples + len(_numbers(deaths)),
        layouts=layouts,
        failures=(*deaths, *rest.failures),
        failing=tuple(sorted({*rest.failing, *_numbers(deaths)})),
        beyond=math.inf,
        note="; ".join(notes),
    )


def between(died: Died) -> Failure:
    """A death while no call of the device was judged."""
    if died.outcome is Outcome.HUNG:  # only the kit was at work
        message = f"the kit failed, not the device: {died.how} while drawing examples"
        return Failure(Outcome.UNTESTED, message, traceback=died.log)
    message = f"{died.how} between two calls"
    return Failure(died.outcome, message, traceback=died.log)


def _numbers(deaths: list[Failure]) -> list[int]:
    return [d.index for d in deaths if d.index != NO_EXAMPLE]


def _flaky(death: Failure) -> str:
    return FLAKY if death.message.endswith(FLAKY) else ""


def kit_failed(check: Check, failed: KitFailed) -> Verdict:
    """No verdict on the device: what was to judge it is broken."""
    message = f"the kit failed, not the device: {failed}"
    failure = Failure(Outcome.UNTESTED, message, traceback=failed.trace)
    return Verdict(check, Outcome.UNTESTED, failures=(failure,), note=message)
