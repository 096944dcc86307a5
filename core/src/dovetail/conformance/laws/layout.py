"""How the inputs lie in memory does not matter to what an op gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import agree, arrays, judged
from dovetail.conformance.laws.sampling import guarded, relaid, some
from dovetail.conformance.layouts import LAYOUTS, REORDERED
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.engine.op import Op
from dovetail.engine.plans import is_contiguous
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported

_IMAGES: Final = 3  # dims, and one more with a batch


def _laid_otherwise(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterator[Example]:
    """The op's own cases in every layout there is, then generated calls.

    Those of four dims and more in each order of these.
    """
    whole = [e for e in some(8, 0)(subject, op, dtype, budget) if _has_several(e)]
    others = [name for name in LAYOUTS if name != PLAIN]
    for number in range(len(others) * max(budget.depth // 2, 1) if whole else 0):
        turn, at = divmod(number, len(others))
        yield relaid(op, whole[(at + turn) % len(whole)], others[at])
    for example in whole:
        if any(a.ndim > _IMAGES for a in example.arrays()):
            for name in REORDERED:
                yield relaid(op, example, name)
    for example in guarded(0, 2)(subject, op, dtype, budget):
        if example.layout != PLAIN:
            yield example


def _has_several(example: Example) -> bool:
    return any(a.size > 1 for a in example.arrays())


def _may_lie(subject: Subject, op: Op, dtype: DType) -> bool:
    return bool(op.tensors) and not op.layout_matters


@law("layout", examples=_laid_otherwise, fits=_may_lie, rank=25)
def layout(trial: Trial) -> None:
    """Any layout of the inputs gives what contiguous ones give.

    What is declared to be contiguous is, whatever the inputs are.
    """
    op, dtype = judged(trial)
    example = trial.example
    assert example.case is not None
    contiguous = example.with_case(example.case, PLAIN)
    try:
        results = trial.subject.run(op, example, dtype)
    except NotSupported:
        raise
    except Exception as error:
        # Repeated elements may be refused for what they are, however they lie.
        try:
            trial.subject.run(op, contiguous, dtype)
        except type(error):
            return
        raise
    if op.rows_asked:
        _expect_row_major(trial, results)
    plain = trial.subject.run(op, contiguous, dtype)
    # A layout that repeats elements may make a matrix singular, say: then the oracle,
    # which is asked where bits differ, refuses, and no digit means anything.
    with suppress(ArgumentError):
        agree(
            trial, arrays(trial, results), arrays(trial, plain),
            [y.dtype for y in results], note=f"{example.layout}: ",
        )  # fmt: skip


def _expect_row_major(trial: Trial, results: Sequence[Tensor]) -> None:
    for y in results:
        if not is_contiguous(y._kind, y._a):
            strides, _ = trial.subject.backend.geometry(y._a, y._a)
            raise Wrong(
                f"{trial.example.layout}: the result has shape {tuple(y.shape)} and "
                f"strides {tuple(strides)}, needed a contiguous one"
            )
