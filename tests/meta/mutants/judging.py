"""One mutant, judged as any device is: the checks of the plan until one fails.

Every check is judged on its own and seeded by its own name, so that their order
decides only how soon a mutant is killed.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np
from tests.meta.mutants.killers import killers
from tests.meta.mutants.mutant import MUTANT, Mutant
from tests.meta.mutants.witness import witness

import dovetail.conformance.laws  # noqa: F401 (registers them)
from dovetail.conformance.budget import BUDGETS, Budget
from dovetail.conformance.fresh import standing_by
from dovetail.conformance.judge import DEVICE, judge
from dovetail.conformance.law import DEVICE_LAWS, LAWS
from dovetail.conformance.plan import plan
from dovetail.conformance.reference import install
from dovetail.conformance.subject import Subject
from dovetail.conformance.unlocks import dependents, uses
from dovetail.conformance.verdicts import BAD, Check, Outcome, Verdict
from dovetail.engine.host import set_fallback_policy
from dovetail.engine.op import declared

STANDARD: Final = BUDGETS["standard"]
# What shows a broken device; a check without examples shows nothing.
KILLS: Final = BAD - {Outcome.UNTESTED}
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Fate:
    """What became of a mutant.

    Attributes:
        witness: a call that shows the fault; empty for an equivalent one.
        killer: the check that failed, empty for a survivor.
        outcome, message: of that check.
        checks: how many were judged.
        disputed: failures that the sound device shares, which kill nobody.
    """

    name: str
    family: str
    describes: str
    witness: str
    killer: str = ""
    outcome: str = ""
    message: str = ""
    checks: int = 0
    seconds: float = 0.0
    disputed: tuple[str, ...] = ()

    @property
    def law(self) -> str:
        return self.killer.rsplit("/", 1)[-1]

    @property
    def equivalent(self) -> bool:
        return not self.witness

    @property
    def survived(self) -> bool:
        return bool(self.witness) and not self.killer

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "law": self.law}


def warm() -> None:
    """What every mutant needs, made once: the parent of all that are judged."""
    warnings.simplefilter("ignore")
    install()
    dependents()
    _sound_plan()


def judged(mutant: Mutant, tell: Tell) -> Fate:
    """A mutant's fate, in this process, which is of no use for anything else after.

    Args:
        tell: hears the name of each check before it is judged.
    """
    with standing_by(f"{MUTANT}:0", partial(elsewhere, mutant)):
        return _judged(mutant, tell)


# Devices that stay planted to the end of a process.
_planted: Final[list[ExitStack]] = []


def elsewhere(mutant: Mutant) -> Subject:
    """The mutant in a process that has made no call of it."""
    _planted.append(ExitStack())
    return Subject(_planted[-1].enter_context(mutant.planted()))


def _judged(mutant: Mutant, tell: Tell) -> Fate:
    started = time.perf_counter()
    warm()
    set_fallback_policy("error")
    tell("witness")
    proof = witness(mutant, lambda: tell("witness"))
    about = (mutant.name, mutant.family, mutant.describes)
    if proof is None:
        return Fate(*about, "", seconds=time.perf_counter() - started)
    run = _Run(mutant, proof.dtype, tell)
    found = run.killer()
    return Fate(
        *about, proof.text, *found, run.checks, time.perf_counter() - started,
        tuple(run.disputed),
    )  # fmt: skip


class _Run:
    """The checks of one mutant, as far as they have come."""

    def __init__(self, mutant: Mutant, dtype: str, tell: Tell) -> None:
        self.mutant = mutant
        self.dtype = dtype
        self.tell = tell
        self.checks = 0
        self.disputed: list[str] = []

    def killer(self) -> tuple[str, str, str]:
        """The first check that fails here and not on the sound device."""
        left: list[Check] | None = None
        while left is None or left:
            with self.mutant.planted() as device:
                subject = Subject(device)
                if left is None:
                    left = checks_for(self.mutant, subject, self.dtype)
                failed = self._first_failure(subject, left)
            if failed is None:
                break
            verdict, left = failed
            if self._sound_passes(verdict.check):
                message = verdict.failures[0].message
                return verdict.check.id, verdict.outcome.value, message
            self.disputed.append(verdict.check.id)
        return "", "", ""

    def _first_failure(
        self, subject: Subject, checks: list[Check]
    ) -> tuple[Verdict, list[Check]] | None:
        for at, check in enumerate(checks):
            self.checks += 1
            verdict = self._judge(subject, check)
            if verdict.outcome in KILLS:
                return verdict, checks[at + 1 :]
        return None

    def _sound_passes(self, check: Check) -> bool:
        with self.mutant.sane() as device:
            found = self._judge(Subject(device), check)
        return found.outcome not in KILLS

    def _judge(self, subject: Subject, check: Check) -> Verdict:
        self.tell(check.id)
        return verdict(subject, check, self.tell)


def verdict(
    subject: Subject, check: Check, tell: Tell, budget: Budget = STANDARD
) -> Verdict:
    """A check at a budget, seeded as a worker does it."""
    random.seed(check.seeded(budget.seed))
    np.random.seed(check.seeded(budget.seed))
    return judge(subject, check, budget, lambda number, label: tell(check.id))


def checks_for(mutant: Mutant, subject: Subject, dtype: str = "") -> list[Check]:
    """The checks that could see a mutant, the likeliest first: what killed it before.

    Those of the ops it touches, of the ops made of these, and of the device; for a
    fault of the device itself all of them. One law is asked in every dtype before the
    next one, in the dtype that the fault was seen in first.
    """
    found = _plan(subject)
    mine, killer = set(mutant.touches), killers().get(mutant.name)
    if not mine:
        return sorted(
            found,
            key=lambda c: (c.id != killer, not _hinted(mutant, c), c.op != DEVICE),
        )
    users = {op.name for op in declared() if uses(op) & mine}
    found = [c for c in found if c.op in mine | users | {DEVICE}]
    return sorted(
        found,
        key=lambda c: (
            c.id != killer, not _hinted(mutant, c), c.op not in mine, c.op != DEVICE,
            _rank(c), c.dtype != dtype,
        ),
    )  # fmt: skip


def _rank(check: Check) -> int:
    """Of the law, as runs order them."""
    return (DEVICE_LAWS if check.op == DEVICE else LAWS)[check.law].rank


def _hinted(mutant: Mutant, check: Check) -> bool:
    dtypes, laws = mutant.dtypes, mutant.laws
    return (not dtypes or check.dtype in dtypes) and (not laws or check.law in laws)


@lru_cache(maxsize=1)
def _sound_plan() -> list[Check]:
    return plan(Subject("cpu"), STANDARD)


def _plan(subject: Subject) -> list[Check]:
    """The plan of a device; that of the CPU is kept, for most mutants share it."""
    same = subject.backend.dtypes == Subject("cpu").backend.dtypes
    return _sound_plan() if same else plan(subject, STANDARD)
