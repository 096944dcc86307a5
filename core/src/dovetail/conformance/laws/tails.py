"""Reductions look at every element, the last one behind a full block too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.compare import against_oracle
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, law
from dovetail.conformance.laws.agreement import judged
from dovetail.conformance.subject import Subject
from dovetail.conformance.value_makers import towering
from dovetail.conformance.values import SPECIAL, undefined
from dovetail.conformance.verdicts import How
from dovetail.dtypes import DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.parameters import REQUIRED
from dovetail.engine.signature import Signature

_SIZES: Final = (5, 33, 63, 129, 257, 1025)


def _reduces(subject: Subject, op: Op, dtype: DType) -> bool:
    """Natively, one tensor along a dim of its own."""
    one = dim_of(op) is not None and op.oracle is not None
    return one and subject.how(op, dtype) is How.NATIVE


def dim_of(op: Op) -> str | None:
    """What the dim is called along which an op works on its one tensor."""
    if not isinstance(op.shape, Signature) or len(op.tensors) != 1 or op.has_list:
        return None
    first = op.shape.inputs[0]
    return first.at if len(first.names) == 1 else None


def _but_one(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterator[Example]:
    """Rows of one number whose last element is another, or none."""
    name = dim_of(op)
    assert name is not None
    for size in (*_SIZES, *(n + 1 for n in subject.backend.launch_boundaries)):
        for all_but, last in _rows(op, dtype):
            if size <= budget.largest and not asks_for_more(op, name):
                row = np.full((2, size), all_but).astype(dtype.numpy)
                row[0, -1] = last
                yield Example(Case((row,), {name: 1}), values="rare", size=str(size))


def _rows(op: Op, dtype: DType) -> Iterator[tuple[float, float]]:
    """Of a row the last element, and before it what all others are."""
    yield from ((0, 1), (1, 0))
    if dtype.is_floating_point:
        yield from ((0, x * towering(dtype)) for x in (1, -1))
        odd = {"nan": (math.nan,), SPECIAL: (math.inf, -math.inf)}
        yield from (
            (0, x) for name, numbers in odd.items()
            if not undefined(name, op.undefined_on) for x in numbers
        )  # fmt: skip


def asks_for_more(op: Op, name: str) -> bool:
    """Whether a call needs more than the tensor and the dim."""
    return any(p.default is REQUIRED and p.name != name for p in op.rest)


@law("tails", examples=_but_one, fits=_reduces, rank=25, shrinks=False)
def tails(trial: Trial) -> None:
    """The last element of a row counts, however long the row is."""
    op, dtype = judged(trial)
    results = trial.subject.run(op, trial.example, dtype)
    against_oracle(trial, results)
