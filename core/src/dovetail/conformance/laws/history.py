"""Calls that came before: they may change nothing about those that come after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.examples import examples
from dovetail.conformance.fresh import Fresh, Missing, fresh
from dovetail.conformance.law import Trial, Unclaimed, Wrong, law
from dovetail.conformance.laws.agreement import judged, named
from dovetail.conformance.laws.repeatable import declares
from dovetail.conformance.laws.sampling import largest, own
from dovetail.conformance.neighbours import cut, neighbours
from dovetail.conformance.sequence import REWRITTEN, Seen, Sequel, Step, same
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.conformance.verdicts import How
from dovetail.dtypes import ALL, DType, float32
from dovetail.engine.op import Op
from dovetail.engine.results import DATA
from dovetail.errors import DovetailError

_LARGEST: Final = 1 << 13  # elements of a call; kernels have changed their ways below
_ODD: Final = 5  # below, a size less by one is tried often
_FIRST: Final = "the first"


def _promises(subject: Subject, op: Op, dtype: DType) -> bool:
    """Kernels that promise the same bits; of what is made of kernels, one dtype."""
    takes = [d for d in ALL if d in op.accepts and subject.claims(d)]
    lead = float32 if float32 in takes else takes[0]
    native = subject.how(op, dtype) is How.NATIVE
    return (native or dtype is lead) and declares(subject, op, dtype)


def _calls(subject: Subject, op: Op, dtype: DType, budget: Budget) -> Iterator[Example]:
    """The largest of the op's own cases, and of those drawn of ordinary numbers.

    The latter is cut by one to a size that no other law has tried.
    """
    everything = examples(subject, op, dtype, budget)
    chosen = [largest(op, dtype, filter(own, everything), _LARGEST)]
    if subject.how(op, dtype) is How.NATIVE:
        drawn = (e for e in everything if e.values == ORDINARY and not own(e))
        chosen.append(_odd(op, largest(op, dtype, drawn, _LARGEST), dtype))
    for example in chosen:
        if example is not None and example.case is not None:
            yield example.with_case(example.case, PLAIN)


def _odd(op: Op, example: Example | None, dtype: DType) -> Example | None:
    """The call with one element less along its largest dim, where that is one."""
    if example is None or example.case is None or op.shape is DATA:
        return example
    size = max((n for a in example.arrays() for n in a.shape), default=0)
    if size < _ODD:
        return example
    made = example.with_case(cut(example.case, size, size - 1))
    try:
        Subject("meta").run(op, made, dtype)
    except DovetailError:  # other arguments say how large it is
        return example
    return made


@law("history", examples=_calls, fits=_promises, rank=41)
def history(trial: Trial) -> None:
    """What was called before changes nothing: each call gives what it gives alone.

    Calls that differ in one thing are made one after the other here, and the other way
    round in a process that has made no call: bit for bit the same. What is held of
    results stays as it was.
    """
    op, dtype = judged(trial)
    case = trial.example.case
    assert case is not None
    first = Step(_FIRST, case, dtype, trial.example.layout)
    once = [first, *neighbours(trial.subject, op, first)]
    steps = [*once, replace(first, differs="nothing: it is the first again")]
    sequel = Sequel(trial.subject, op)
    here = sequel.of(steps)
    if not op.view and not op.mutates:
        _unchanged(op, steps, here, sequel)
    try:
        other = fresh(trial.subject)
        there = other.seen(op, [_apart(step) for step in once[::-1]])[::-1]
    except Missing as reason:
        raise Unclaimed(f"no other process to compare with: {reason}") from reason
    for at, (a, b) in enumerate(zip(here, [*there, there[0]], strict=True)):
        if not same(a, b):
            raise Wrong(_explained(op, steps, at, (a, b), other))


def _apart(step: Step) -> Step:
    """The call with tensors of its own."""
    return replace(step, way="") if step.way == REWRITTEN else step


def _unchanged(
    op: Op, steps: Sequence[Step], here: Sequence[Seen], sequel: Sequel
) -> None:
    for step, then, now in zip(steps, here, sequel.again(), strict=True):
        if not isinstance(then, str) and not same(then, now):
            raise Wrong(
                f"a result of {op.name} changed when the op was called again: that of "
                f"{_called(step)}"
            )


def _explained(
    op: Op, steps: Sequence[Step], at: int, either: tuple[Seen, Seen], other: Fresh
) -> str:
    """Which call changes which, as far as two calls can show it."""
    here, there = either
    (alone,) = other.seen(op, [_apart(steps[at])])
    before = steps[:at] if not same(here, alone) else steps[-2:at:-1]
    changed = here if not same(here, alone) else there
    for step in before:
        pair = other.seen(op, [step, steps[at]])[1]
        if not same(pair, alone):
            before, changed = [step], pair
            break
    after = _called(before[0]) if len(before) == 1 else "all that was called before"
    return (
        f"after {after}, {_called(steps[at])} gives other bits than alone: "
        f"{_difference(op, changed, alone)}"
    )


def _called(step: Step) -> str:
    if step.differs == _FIRST:
        return "the first call"
    return f"the call that differs from it in {step.differs}"


def _difference(op: Op, got: Seen, want: Seen) -> str:
    if isinstance(got, str) or isinstance(want, str):
        return f"{_told(got)}, alone {_told(want)}"
    for at, (a, b) in enumerate(zip(got, want, strict=False)):
        if same([a], [b]):
            continue
        name = named(op, at)
        if a.shape != b.shape or a.dtype != b.dtype:
            needed = f"needed {b.dtype}{list(b.shape)}"
            return f"{name} is {a.dtype}{list(a.shape)}, {needed}"
        wrong = [i for i in np.ndindex(b.shape) if a[i].tobytes() != b[i].tobytes()]
        place = list(wrong[0])
        return (
            f"{name} at {len(wrong)} of {b.size} places, first at {place}: "
            f"{a[wrong[0]]}, needed {b[wrong[0]]}"
        )
    return f"{len(got)} results, needed {len(want)}"


def _told(what: Seen) -> str:
    return f"it is refused with {what}" if isinstance(what, str) else "it is answered"
