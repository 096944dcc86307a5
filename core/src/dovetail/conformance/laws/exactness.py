"""Where every order of summation gives the same: no tolerance at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.compare import exactly
from dovetail.conformance.example import Example
from dovetail.conformance.examples import asks_for_claimed, drawn
from dovetail.conformance.law import Trial, law
from dovetail.conformance.laws.agreement import judged, named
from dovetail.conformance.oracle import truth
from dovetail.conformance.rounding import rounded_to
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType
from dovetail.engine.op import Op

# Products of quarters are sixteenths; so are those of two of them 256ths.
_PARTS: Final = 256
_SIZES: Final = ("own", "drawn", "32", "256", "1024")


def _sums(subject: Subject, op: Op, dtype: DType) -> bool:
    sums = op.sums and not op.averages
    moves = op.unrounded and not op.mutates
    return (sums or moves) and dtype.is_inexact and bool(op.tensors)


def dyadic(subject: Subject, op: Op, dtype: DType, budget: Budget) -> Iterator[Example]:
    """Small multiples of a quarter, in sizes around the usual block sizes."""
    sizes = [_SIZES[(n + len(op.name)) % len(_SIZES)] for n in range(2 * budget.depth)]
    for number, size in enumerate((*sizes, "own")):
        row = {"values": "exact", "layout": "contiguous", "size": size}
        made = drawn(op, dtype, row, number)
        if made is not None and asks_for_claimed(subject, made):
            yield made


@law("exactness", examples=dyadic, fits=_sums, rank=30)
def exactness(trial: Trial) -> None:
    """Sums and products of small dyadic numbers are exact, and so is moving bits."""
    op, dtype = judged(trial)
    wanted = truth(op, trial.example, dtype)
    results = trial.subject.run(op, trial.example, dtype)
    for at, (y, want) in enumerate(zip(results, wanted, strict=True)):
        got = trial.subject.values(y)
        if y.dtype.is_inexact and (op.unrounded or _is_dyadic(want)):
            rounded = rounded_to(want, y.dtype)
            exactly(named(op, at), got, rounded)


def _is_dyadic(a: Array) -> bool:
    """Whether sums that give these were exact in 24 bits."""
    if a.dtype.kind not in "fc":
        return True
    parts = (a.real * _PARTS, a.imag * _PARTS)
    return all(np.all((p == np.round(p)) & (np.abs(p) < 2.0**24)) for p in parts)
