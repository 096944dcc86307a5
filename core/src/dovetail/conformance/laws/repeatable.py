"""The same call twice."""

from __future__ import annotations

from dovetail.conformance.law import Trial, law
from dovetail.conformance.laws.agreement import arrays, judged, named, same_bits
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.subject import Subject
from dovetail.conformance.unlocks import uses
from dovetail.conformance.verdicts import How
from dovetail.dtypes import DType
from dovetail.engine.op import Op, vocabulary


def declares(subject: Subject, op: Op, dtype: DType) -> bool:
    """Whether all kernels that may run promise the same bits."""
    if op.unspecified:
        return False
    table = subject.backend.table
    if subject.how(op, dtype) is How.NATIVE:
        return all(k.deterministic for k in table.select(op.name, dtype))
    kernels = (k for name in table.names() for k in table.rivals(name))
    loose = {k.op for k in kernels if not k.deterministic}
    # What a loose kernel does, its op's body does by these; another body may call it.
    behind = {
        used for name in loose & set(vocabulary) for used in uses(vocabulary[name])
    }
    return not behind & uses(op)


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
    for at, (a, b) in enumerate(zip(again, kept, strict=True)):
        same_bits(f"{named(op, at)} of a second call", a, b)
