"""The levels: what each one asks, and from that what keeps a device from the next.

A level is reached when every condition up to it holds. A condition gives the things
that break it, so that what is missing is never written down a second time. A run judges
in the dtypes that its budget tries, and says which ones of the device it did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.judge import DEVICE
from dovetail.conformance.plan import holds
from dovetail.conformance.report.matrix import NATIVE, Cell, executed, matrix
from dovetail.conformance.run import RunRecord
from dovetail.conformance.verdicts import BAD, GOOD, How, Outcome, Verdict
from dovetail.conformance.workloads import hot
from dovetail.dtypes import DType, bool_, by_name, float32, int32
from dovetail.engine.op import Op, declared, vocabulary

REQUIRED: Final = (bool_, int32, float32)
BODY: Final = "body"  # the law that native kernels equal the ops' bodies
_SHOWN: Final = 6


@dataclass(slots=True)
class Facts:
    """A run as the conditions look at it."""

    run: RunRecord
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    device: list[Verdict] = field(default_factory=list)

    @classmethod
    def of(cls, run: RunRecord) -> Facts:
        """The facts of a run."""
        device = [v for v in run.verdicts if v.check.op == DEVICE]
        return cls(run, matrix(run), device)

    @property
    def claimed(self) -> list[DType]:
        """The dtypes that the device claims."""
        return [by_name(name) for name in self.run.about.dtypes]

    def judged(self, op: Op) -> list[DType]:
        """The dtypes in which the run has to prove an op: those of its budget."""
        claimed = self.claimed
        able = [d for d in claimed if d in op.accepts and holds(claimed, op, d)]
        return [d for d in able if d in BUDGETS[self.run.budget].dtypes] or able[:1]

    def unmet(self, op: str, dtype: DType) -> str:
        """What a cell is instead of passed; empty if it passed."""
        cell = self.cells.get((op, dtype.name))
        if cell is None:
            return f"{op}/{dtype.name} {Outcome.UNTESTED}"
        return "" if cell.passed else f"{op}/{dtype.name} {cell.state}"


# Gives what breaks a condition, each in a few words.
Breaks = Callable[[Facts], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that a level asks."""

    level: int
    text: str
    breaks: Breaks
    whole: bool


@dataclass(frozen=True, slots=True)
class Blocker:
    """A condition that does not hold, and what breaks it.

    Attributes:
        found: what breaks it, all of it.
        whole: whether all of it is to be read, however much it is.
    """

    level: int
    text: str
    found: tuple[str, ...] = ()
    whole: bool = False

    def __str__(self) -> str:
        most = len(self.found) if self.whole else _SHOWN
        shown = ", ".join(self.found[:most])
        rest = len(self.found) - most
        more = f" and {rest} more" if rest > 0 else ""
        return f"{self.text}: {shown}{more}" if shown else self.text

    def to_json(self) -> dict[str, Any]:
        return {
            "level": self.level, "text": self.text, "found": list(self.found),
            "count": len(self.found),
        }  # fmt: skip


CONDITIONS: Final[list[Condition]] = []


def _asks(level: int, text: str, *, whole: bool = False) -> Callable[[Breaks], Breaks]:
    """Let the decorated function be a condition of a level."""

    def keep(breaks: Breaks) -> Breaks:
        CONDITIONS.append(Condition(level, text, breaks, whole))
        return breaks

    return keep


@_asks(0, "bool, int32 and float32 are claimed")
def _required_dtypes(facts: Facts) -> Iterator[str]:
    yield from (d.name for d in REQUIRED if d not in facts.claimed)


@_asks(0, "every law on the device holds in these dtypes")
def _device_laws(facts: Facts) -> Iterator[str]:
    yield from _broken(facts, {"-", *(d.name for d in REQUIRED)})


@_asks(0, "every primitive has a kernel in each of them that it accepts")
def _kernels(facts: Facts) -> Iterator[str]:
    for op, dtype in _primitives():
        cell = facts.cells.get((op, dtype.name))
        if cell is None or cell.state in (How.HOST, Outcome.TODO, How.COMPOSED):
            yield f"{op}/{dtype.name}"


@_asks(0, "every law holds for these kernels")
def _primitives_pass(facts: Facts) -> Iterator[str]:
    for op, dtype in _primitives():
        cell = facts.cells.get((op, dtype.name))
        if cell is None or cell.state in (How.HOST, Outcome.TODO, How.COMPOSED):
            continue  # named above
        if unmet := facts.unmet(op, dtype):
            yield unmet


@_asks(1, "every law on the device holds in every dtype it claims")
def _device_laws_everywhere(facts: Facts) -> Iterator[str]:
    yield from _broken(facts, {"-", *facts.run.about.dtypes})


@_asks(1, "every op passes, native or composed, in every dtype the device claims")
def _vocabulary(facts: Facts) -> Iterator[str]:
    for op in declared():
        for dtype in facts.judged(op):
            if unmet := facts.unmet(op.name, dtype):
                yield unmet


@_asks(
    2, "what models spend their steps in runs natively, forward and backward",
    whole=True,
)  # fmt: skip
def _hot_ops(facts: Facts) -> Iterator[str]:
    for name in hot():
        for dtype in (float32,):
            if dtype in vocabulary[name].accepts:
                cell = facts.cells.get((name, dtype.name))
                if cell is None or cell.state != NATIVE:
                    yield f"{name}/{dtype.name} {cell.state if cell else 'untested'}"


@_asks(2, "native kernels were compared with the ops' bodies, and equal them")
def _bodies(facts: Facts) -> Iterator[str]:
    ran = False
    for verdict in facts.run.verdicts:
        if verdict.check.law == BODY and verdict.how is How.NATIVE:
            ran = ran or executed(verdict) in GOOD
            if executed(verdict) in BAD:
                yield verdict.check.id
    if not ran:
        yield f"the law `{BODY}` was not proven for any kernel"


@_asks(2, "the device counts its memory (capability Pool)")
def _pool(facts: Facts) -> Iterator[str]:
    if "Pool" not in facts.run.about.capabilities:
        yield "not offered"


@_asks(3, "several devices work together, with collectives")
def _collectives(facts: Facts) -> Iterator[str]:
    yield "this version of the kit has no law for it, so that nobody can reach it"


def _primitives() -> Iterator[tuple[str, DType]]:
    for op in declared():
        for dtype in REQUIRED:
            if dtype in op.primitive and dtype in op.accepts:
                yield op.name, dtype


def _broken(facts: Facts, dtypes: set[str]) -> Iterator[str]:
    """Checks on the device that failed or that were not made at all."""
    if not facts.device:
        yield "none was tried"
    for verdict in facts.device:
        if verdict.check.dtype in dtypes and executed(verdict) in BAD:
            yield f"{verdict.check.law}/{verdict.check.dtype} {executed(verdict)}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Which level a device has reached.

    Attributes:
        level: None below level 0, and where the run cannot tell.
        partial: why the run cannot tell; empty if it can.
        blockers: what keeps it from the next level; none where the run cannot tell.
        untried: the dtypes of the device that the budget does not try, in which
            nothing is proven.
    """

    level: int | None
    partial: str
    blockers: tuple[Blocker, ...]
    untried: tuple[str, ...] = ()


def standing(run: RunRecord) -> Standing:
    """The level of a run's device, and what keeps it from the next."""
    untried = _untried(run)
    if told := partial(run):
        return Standing(None, told, (), untried)
    facts = Facts.of(run)
    reached: int | None = None
    for level in sorted({c.level for c in CONDITIONS}):
        blockers = _blockers(facts, level)
        if blockers:
            return Standing(reached, "", blockers, untried)
        reached = level
    return Standing(reached, "", (), untried)


def _untried(run: RunRecord) -> tuple[str, ...]:
    tried = {d.name for d in BUDGETS[run.budget].dtypes}
    return tuple(name for name in run.about.dtypes if name not in tried)


def _blockers(facts: Facts, level: int) -> tuple[Blocker, ...]:
    found = (
        Blocker(level, c.text, tuple(c.breaks(facts)), c.whole)
        for c in CONDITIONS
        if c.level == level
    )
    return tuple(b for b in found if b.found)


def partial(run: RunRecord) -> str:
    """Why a run cannot tell the level, in words; empty if it can."""
    if run.interrupted:
        return "it was interrupted"
    limits = [
        f"--{n} {v}" for n, v in (("ops", run.ops), ("laws", run.laws)) if v != "*"
    ]
    return f"it was limited by {' '.join(limits)}" if limits else ""
