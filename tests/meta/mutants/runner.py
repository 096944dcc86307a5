"""What becomes of every mutant, and what laws say of every benign variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from tests.meta.mutants import benign
from tests.meta.mutants.benign import BENIGN
from tests.meta.mutants.catalogue import CATALOGUE
from tests.meta.mutants.everyone import named
from tests.meta.mutants.generated import COUNT, SEED, candidates
from tests.meta.mutants.judging import Fate, Tell, judged
from tests.meta.mutants.mutant import Mutant
from tests.meta.mutants.processes import GIVEN_UP, HUNG, Answer, Job, Processes

from dovetail.conformance.budget import budget

_WARMED: Final = f"{__package__}.warmed"
# Candidates tried for each one wanted, before the seed is given up.
_TRIES: Final = 20
WITNESS: Final = "witness"


@dataclass(frozen=True)
class Plan:
    """Which mutants are judged.

    Attributes:
        seed: of the drawn ones.
        drawn: how many of these are wanted, not counting equivalents.
        only: a glob over names; several are separated by commas.
        jobs: processes at once.
        patience: seconds after which a mutant has survived.
        budget: the name of that by which benign variants are judged.
        one_in: how many checks of a benign variant one is judged of.
        examples: the seed by which the kit draws examples for these.
    """

    seed: int = SEED
    drawn: int = COUNT
    only: str = "*"
    jobs: int = 2
    patience: float = 600.0
    budget: str = "standard"
    one_in: int = 1
    examples: int = 0

    def wants(self, name: str) -> bool:
        return any(fnmatchcase(name, glob) for glob in self.only.split(","))


def fates(plan: Plan) -> Iterator[Fate]:
    """What becomes of the mutants written by hand, then of the drawn ones."""
    written = (m for m in CATALOGUE if plan.wants(m.name))
    yield from (_fate(a) for a in _answers(plan, map(_job(plan), written)))
    tally = _Tally()
    for answer in _answers(plan, _drawn(plan, tally)):
        fate = _fate(answer)
        tally.finished += 1
        tally.real += not fate.equivalent
        yield fate


@dataclass
class _Tally:
    """How many drawn ones were started, are done, and were no equivalents."""

    started: int = 0
    finished: int = 0
    real: int = 0


def _answers(plan: Plan, jobs: Iterator[Job | None]) -> Iterator[Answer]:
    processes = Processes(plan.jobs, _WARMED, plan.patience)
    try:
        yield from processes.answers(jobs)
    finally:
        processes.stop()


def _drawn(plan: Plan, tally: _Tally) -> Iterator[Job | None]:
    """Candidates in their order, until enough have proven to be mutants.

    None while those on their way may be enough.
    """
    for mutant in islice(candidates(plan.seed), _TRIES * plan.drawn):
        while tally.real + tally.started - tally.finished >= plan.drawn:
            if tally.real >= plan.drawn:
                return
            yield None
        if plan.wants(mutant.name):
            tally.started += 1
            yield _job(plan)(mutant)


def _job(plan: Plan) -> Callable[[Mutant], Job]:
    def of(mutant: Mutant) -> Job:
        return Job(mutant.name, judge, (mutant.name, plan.seed))

    return of


def judge(name: str, seed: int, tell: Tell) -> Fate:
    """The fate of one mutant, in this process."""
    return judged(named(name, seed), tell)


def _fate(answer: Answer) -> Fate:
    """What was found, or what its death says: a crash or hang in a check kills."""
    if not answer.death:
        found: Fate = answer.result
        return found
    name, seed = answer.job.args
    mutant = named(name, seed)
    about = (mutant.name, mutant.family, mutant.describes)
    if answer.last in ("", WITNESS) or answer.death == GIVEN_UP:
        return Fate(*about, f"{answer.death} in {answer.last}", seconds=answer.seconds)
    how = answer.death if answer.death == HUNG else f"crashed: {answer.death}"
    return Fate(
        *about, "the process did not survive it", answer.last, how, how,
        answer.steps, answer.seconds,
    )  # fmt: skip


@dataclass(frozen=True)
class Alarms:
    """What laws said of a benign variant."""

    name: str
    describes: str
    said: tuple[str, ...]
    seconds: float


def false_alarms(plan: Plan) -> Iterator[Alarms]:
    """What laws say of the benign variants whose names match."""
    chosen = [b for b in BENIGN if plan.wants(b.name)]
    jobs = (Job(b.name, look, (b.name, plan)) for b in chosen)
    for answer in _answers(plan, jobs):
        said = tuple(answer.result or ())
        if answer.death:
            said = (f"{answer.death} in {answer.last}",)
        describes = benign.named(answer.job.name).describes
        yield Alarms(answer.job.name, describes, said, answer.seconds)


def look(name: str, plan: Plan, tell: Tell) -> list[str]:
    """The alarms of one variant, in this process."""
    limits = budget(plan.budget, plan.examples)
    return benign.alarms(benign.named(name), limits, tell, plan.one_in)
