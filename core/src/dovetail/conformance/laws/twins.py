"""One tensor as several arguments of one call."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.law import Trial, law
from dovetail.conformance.laws.agreement import agree, arrays, judged
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.layouts import projected
from dovetail.conformance.meaning import means_something
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op


def _takes_two(subject: Subject, op: Op, dtype: DType) -> bool:
    """Two tensors that may be alike; what a call writes must not overlap."""
    two = len(op.tensors) > 1 and not op.has_list
    return two and not op.mutates and not op.draws and op.oracle is not None


@law("twins", examples=some(2, 2), fits=_takes_two, rank=40)
def twins(trial: Trial) -> None:
    """A tensor given twice is as good as two equal ones."""
    op, dtype = judged(trial)
    found = _twinned(op, trial.example, dtype)
    if found is None:
        return
    example, source, places = found
    apart, kwargs = trial.subject.arguments(op, example, dtype)
    want = trial.subject.call(op, apart, kwargs)
    shared = [apart[source] if i in places else a for i, a in enumerate(apart)]
    got = trial.subject.call(op, shared, kwargs)
    same = Trial(trial.subject, op, dtype, example, trial.seed)
    agree(
        same, arrays(trial, got), arrays(trial, want), [y.dtype for y in got],
        note="with one tensor in several places, ",
    )  # fmt: skip


def _twinned(
    op: Op, example: Example, dtype: DType
) -> tuple[Example, int, tuple[int, ...]] | None:
    """A call like this with equal arguments: which one is repeated, and where."""
    case = example.case
    if case is None:
        return None
    # Layouts are for data: indices in their place would not keep their values.
    layout = PLAIN if op.indices else example.layout
    for source, places in _repeats(op, case):
        # One operand may lie row by row beside others; now they hold the same.
        one = projected(case.args[source], layout)
        args = (one if i in {source, *places} else a for i, a in enumerate(case.args))
        made = Example(Case(tuple(args), case.kwargs), layout, "twins")
        if means_something(op, made, dtype):
            return made, source, places
    return None


def _repeats(op: Op, case: Case) -> Iterator[tuple[int, tuple[int, ...]]]:
    """One argument for all that are like the first, else for another of its dtype.

    Indices may be data, but not all data can be indices.
    """
    arrays = {i: a for i, a in enumerate(case.args) if isinstance(a, np.ndarray)}
    first = next(iter(arrays), None)
    if first is None:
        return
    x = arrays[first]
    alike = [i for i, a in arrays.items() if (a.shape, a.dtype) == (x.shape, x.dtype)]
    if len(alike) > 1:
        indices = (i for i in alike if op.params[i].name in op.indices)
        yield next(indices, first), tuple(alike)
    for i, a in arrays.items():
        if i not in alike and a.dtype == x.dtype:
            yield (i, (first,)) if op.params[i].name in op.indices else (first, (i,))
