"""What an op tells of matrices that it fails for, each member of a batch by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import arrays, judged
from dovetail.conformance.meaning import means_something
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case, cases_of
from dovetail.engine.op import Op

_INFO: Final = "info"  # 0, or the column that has no pivot, counted from 1
_MEMBERS: Final = 5
_CASES: Final = 2


def _tells(subject: Subject, op: Op, dtype: DType) -> bool:
    """Whether one of an op's results says which column of a matrix has no pivot."""
    return _INFO in op.outputs and op.cases is not None


def _batches(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterator[Example]:
    """Some of the op's own cases of one matrix, again and again in a batch."""
    found = 0
    for case in cases_of(op, dtype):
        shapes = [a.shape for a in Example(case).arrays()]
        one = all(len(shape) == 2 for shape in shapes)
        if found == _CASES or not one or not shapes[0][0] == shapes[0][1] > 1:
            continue
        example = Example(_batch(case))
        if means_something(op, example, dtype):
            found += 1
            yield example


def _batch(case: Case) -> Case:
    def of(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.repeat(value[None], _MEMBERS, 0)
        return value

    return Case(tuple(map(of, case.args)), {k: of(v) for k, v in case.kwargs.items()})


@law("failed_members", examples=_batches, fits=_tells, rank=40, shrinks=False)
def failed_members(trial: Trial) -> None:
    """Of a batch, an op tells which members it fails for, where, and no others.

    Every second one has a row and a column of zeros, of which no step makes another.
    """
    op, dtype = judged(trial)
    case = trial.example.case
    assert case is not None
    whole: Array = case.args[0].copy()
    want = np.zeros(_MEMBERS, np.int64)
    for member in range(1, _MEMBERS, 2):
        at = (member // 2 + 1) % whole.shape[-1]
        whole[member, at] = 0
        whole[member, :, at] = 0
        want[member] = at + 1
    call = Example(Case((whole, *case.args[1:]), case.kwargs))
    results = arrays(trial, trial.subject.run(op, call, dtype))
    got = results[op.outputs.index(_INFO)]
    if got.tolist() != want.tolist():
        raise Wrong(
            f"info is {got.tolist()}, needed {want.tolist()}: that row and column of a "
            "member are zeros"
        )
    for name, y in zip(op.outputs, results, strict=True):
        if y.dtype.kind in "fc" and not np.all(np.isfinite(y[want == 0])):
            raise Wrong(f"{name} of members that do not fail is not finite")
