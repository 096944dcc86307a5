"""One check, judged: its examples in order, failures shrunk, one verdict."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.coverage import Coverage
from dovetail.conformance.example import Example
from dovetail.conformance.examples import covered
from dovetail.conformance.law import (
    DEVICE_LAWS,
    LAWS,
    DeviceLaw,
    Law,
    Trial,
    Unclaimed,
    Wrong,
)
from dovetail.conformance.meaning import means_something
from dovetail.conformance.reproduce import script
from dovetail.conformance.shrink import shrunk
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Failure, How, Outcome, Verdict
from dovetail.device_api import Unwritten
from dovetail.dtypes import DType, by_name
from dovetail.engine.op import Op, vocabulary
from dovetail.errors import FallbackError

# Told before each example runs: its number and the example in words; between examples
# the number is `DRAWING`.
Journal = Callable[[int, str], None]
DEVICE: Final = "device"
NO_DTYPE: Final = "-"
DRAWING: Final = -1
_FAILURES_KEPT: Final = 3


def judge(
    subject: Subject,
    check: Check,
    budget: Budget,
    journal: Journal = lambda number, label: None,
    *,
    only: int | None = None,
    skip: frozenset[int] = frozenset(),
) -> Verdict:
    """The verdict of a check, run in this process.

    Args:
        journal: told of each example before it runs.
        only: the number of the one example to run.
        skip: numbers of examples that took the process down before.
    """
    started = time.perf_counter()
    law, op, dtype = resolve(check)
    run = _Evidence(subject, check, law, op, dtype, budget)
    examples = _examples(law, subject, op, dtype, budget)
    try:
        # Oracles and judges may overflow; kernels have an error state of their own.
        with np.errstate(all="ignore"):
            for number, example in enumerate(examples):
                if number not in skip and only in (None, number):
                    journal(number, example.label)
                    run.example(number, example)
                journal(DRAWING, "")
    except Unclaimed as reason:
        run.note, run.unclaimed = str(reason), True
    if only is None:
        run.cover()
    return run.verdict(time.perf_counter() - started)


def resolve(check: Check) -> tuple[Law | DeviceLaw, Op | None, DType | None]:
    """The law, op and dtype that a check names."""
    dtype = None if check.dtype == NO_DTYPE else by_name(check.dtype)
    if check.op == DEVICE:
        return DEVICE_LAWS[check.law], None, dtype
    return LAWS[check.law], vocabulary[check.op], dtype


def _examples(
    law: Law | DeviceLaw,
    subject: Subject,
    op: Op | None,
    dtype: DType | None,
    budget: Budget,
) -> Iterable[Example]:
    if isinstance(law, DeviceLaw):
        return law.examples(subject, dtype, budget)
    assert op is not None
    assert dtype is not None
    return law.examples(subject, op, dtype, budget)


@dataclass(slots=True)
class _Evidence:
    """What is known of a check while its examples run."""

    subject: Subject
    check: Check
    law: Law | DeviceLaw
    op: Op | None
    dtype: DType | None
    budget: Budget
    count: int = 0
    layouts: dict[str, Outcome] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    ulp: float | None = None
    ulp_at: str = ""
    note: str = ""
    unclaimed: bool = False
    failing: list[int] = field(default_factory=list)
    beyond: float | None = None
    calls: list[Example] = field(default_factory=list)
    coverage: Coverage | None = None

    def cover(self) -> None:
        """Say what the calls reached, if all were to be tried."""
        if isinstance(self.law, Law) and self.law.covers:
            assert self.op is not None
            assert self.dtype is not None
            self.coverage = covered(
                self.subject, self.op, self.dtype, self.budget, self.calls
            )

    def example(self, number: int, example: Example) -> None:
        trial = self._trial(example)
        error = attempt(self.law, trial)
        if isinstance(self.law, Law) and self.law.covers:
            self.calls.append(example)
        if isinstance(error, Unclaimed):
            self.note, self.unclaimed = str(error), True
            return
        self.count += 1
        if trial.ulp is not None and (self.ulp is None or trial.ulp > self.ulp):
            self.ulp, self.ulp_at = trial.ulp, example.values
        if error is None:
            self.layouts.setdefault(example.layout, Outcome.PASSED)
            return
        outcome = outcome_of(error)
        self.layouts[example.layout] = outcome
        self._fails(number, example, error)
        # Shrunk once for each check; the others are counted.
        if not self.failures:
            self.failures.append(self._failure(number, example, error))
        elif len(self.failures) < _FAILURES_KEPT:
            self.failures.append(
                Failure(outcome, str(error), example.label, example.layout, number)
            )

    def _fails(self, number: int, example: Example, error: BaseException) -> None:
        """Keep that an example failed, and how far off it was."""
        self.failing.append(number)
        off = error.ulp if isinstance(error, Wrong) else None
        self.beyond = max(self.beyond or 0.0, math.inf if off is None else off)
        if off is not None and (self.ulp is None or off > self.ulp):
            self.ulp, self.ulp_at = off, example.values

    def _trial(self, example: Example) -> Trial:
        seed = self.check.seeded(self.budget.seed)
        return Trial(self.subject, self.op, self.dtype, example, seed)

    def _failure(self, number: int, example: Example, error: BaseException) -> Failure:
        if isinstance(self.law, Law) and self.law.shrinks and example.case is not None:
            example, error = shrunk(example, error, self._tried)
        what, device = describe(error), self.subject.device
        return Failure(
            outcome_of(error), what, example.label, example.layout, number,
            script(self.check, device, example, what, self.budget),
            "" if isinstance(error, Wrong) else _trace(error),
        )  # fmt: skip

    def _tried(self, example: Example) -> BaseException | None:
        """How a smaller call fails; None for one that is no call of the op."""
        assert self.op is not None
        assert self.dtype is not None
        try:
            if not means_something(self.op, example, self.dtype):
                return None
        except Exception:  # an oracle is asked of what no call of the op has
            return None
        return attempt(self.law, self._trial(example))

    def verdict(self, seconds: float) -> Verdict:
        how = How.NONE
        if self.op is not None and self.dtype is not None:
            how = self.subject.how(self.op, self.dtype)
        outcome = Outcome.PASSED
        if self.failures:
            outcome = self.failures[0].outcome
        elif self.unclaimed:
            outcome = Outcome.UNCLAIMED
        elif not self.count:
            outcome = Outcome.UNTESTED
        return Verdict(
            self.check, outcome, how, self.count, self.layouts, self.ulp, self.ulp_at,
            tuple(self.failures), seconds, self.note, tuple(self.failing), self.beyond,
            self.coverage,
        )  # fmt: skip


def attempt(law: Law | DeviceLaw, trial: Trial) -> BaseException | None:
    """What a judge raised, or None."""
    try:
        law.judge(trial)
    except Exception as error:  # a kernel may fail in any way
        return error
    return None


def outcome_of(error: BaseException) -> Outcome:
    """What an exception says of the device."""
    if isinstance(error, Wrong):
        return Outcome.WRONG
    if isinstance(error, FallbackError):
        return Outcome.HOST
    if isinstance(error, MemoryError):
        return Outcome.OUT_OF_MEMORY
    return Outcome.TODO if is_to_do(_root(error)) else Outcome.REFUSED


def is_to_do(error: BaseException) -> bool:
    """Whether an exception says that a function is still to be written."""
    return isinstance(error, Unwritten)


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def describe(error: BaseException) -> str:
    """An error in one line, with the place where it was raised unless it is ours."""
    if isinstance(error, Wrong):
        return str(error)
    root: Any = _root(error)
    frames = traceback.extract_tb(root.__traceback__)
    place = ""
    if frames:
        name = frames[-1].filename.rsplit("/", 1)[-1]
        place = f" ({name}:{frames[-1].lineno})"
    kind = "" if is_to_do(root) and str(root) else f"{type(root).__name__}: "
    return f"{kind}{root}{place}"


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
