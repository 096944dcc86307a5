"""The same call twice."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, law
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.agreement import (
    arrays,
    judged,
    named,
    same_bits,
    same_computed,
)
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.reference import listening, reference
from dovetail.conformance.subject import Subject
from dovetail.conformance.unlocks import uses
from dovetail.conformance.verdicts import How
from dovetail.dtypes import DType, float32
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared, vocabulary
from dovetail.errors import DovetailError


def declares(subject: Subject, op: Op, dtype: DType) -> bool:
    """Whether all kernels that may run promise the same bits."""
    if op.unspecified:
        return False
    table = subject.backend.table
    if subject.how(op, dtype) is How.NATIVE:
        return all(k.deterministic for k in table.select(op.name, dtype))
    return not _behind_loose_kernels(subject) & uses(op)


def _behind_loose_kernels(subject: Subject) -> set[str]:
    """What a loose kernel does, its op's body does by these; others may call it."""
    table = subject.backend.table
    kernels = (k for name in table.names() for k in table.rivals(name))
    loose = {k.op for k in kernels if not k.deterministic}
    return {used for name in loose & set(vocabulary) for used in uses(vocabulary[name])}


def declares_gradients(subject: Subject, op: Op) -> bool:
    """Whether all kernels that an op's gradients may run promise the same bits."""
    behind = _behind_loose_kernels(subject)
    return not behind or not behind & _gradient_uses(op)


@cache
def _gradient_uses(op: Op) -> frozenset[str]:
    """The primitives that an op and its gradients come down to."""
    device, found = reference(), set(uses(op))
    for one in declared():
        one.forget()  # bound kernels would not be heard
    for case in cases_of(op, float32) if float32 in op.accepts else ():
        with listening() as heard, suppress(DovetailError):
            tape = dx.taped(device, op, Example(case), float32)
            dx.pulled(device, tape, dx.like(tape.results, 1))
        found |= heard
    return frozenset(found)


@law("repeatable", examples=some(1, 2), fits=declares, rank=40)
def repeatable(trial: Trial) -> None:
    """The same call gives the same bits, whatever its memory held before."""
    op, dtype = judged(trial)
    subject = trial.subject
    first = subject.run(op, trial.example, dtype)
    kept = arrays(trial, first)
    for y in first:  # the next call may be given this memory
        subject.backend.fill(y._a, dtype.category != 0 and 77)
    del first
    again = arrays(trial, subject.run(op, trial.example, dtype))
    same = same_bits if op.unrounded else same_computed
    for at, (a, b) in enumerate(zip(again, kept, strict=True)):
        same(f"{named(op, at)} of a second call", a, b)
