"""What happens to results when all elements grow by one number, or double."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.adjoint import rounds_otherwise
from dovetail.conformance.laws.agreement import agree, arrays, judged, named
from dovetail.conformance.laws.exactness import dyadic
from dovetail.conformance.laws.repeatable import declares
from dovetail.conformance.laws.sampling import of_values, some
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor

_BY: Final = 2.0


def _shifts(subject: Subject, op: Op, dtype: DType) -> bool:
    return bool(op.grows) and dtype.is_floating_point


@law("shift", examples=dyadic, fits=_shifts, rank=40)
def shift(trial: Trial) -> None:
    """When all elements grow by a number, results grow by it, or not at all."""
    op, dtype = judged(trial)
    case = trial.example.case
    assert case is not None
    x = case.args[0]
    moved = np.asarray(x + x.dtype.type(_BY))
    results = trial.subject.run(op, trial.example, dtype)
    changed = Example(Case((moved, *case.args[1:]), case.kwargs))
    after = arrays(trial, trial.subject.run(op, changed, dtype))
    grown = [
        np.asarray(y + y.dtype.type(_BY * by)) if by else y
        for y, by in zip(arrays(trial, results), op.grows, strict=False)
    ]
    agree(
        trial, after[: len(grown)], grown, [y.dtype for y in results[: len(grown)]],
        share=8.0, note=f"with {_BY} added to all elements, ",
    )  # fmt: skip


def _linear(subject: Subject, op: Op, dtype: DType) -> bool:
    """Ops linear in all inputs at once: their gradient keeps none of them."""
    keeps = op.vjp is None or bool(op.vjp_needs)
    return op.sums and not keeps and dtype.is_inexact and not op.scalars


@law("doubling", examples=some(2, 1, of_values("ordinary")), fits=_linear, rank=40)
def doubling(trial: Trial) -> None:
    """Twice the inputs give twice the results of a linear op, exactly.

    Within rounding, where its kernels do not promise the same bits of two calls.
    """
    op, dtype = judged(trial)
    example = trial.example
    results: list[Tensor] = trial.subject.run(op, example, dtype)
    twice = trial.subject.run(op, _doubled(op, example), dtype)
    for at, (y, z) in enumerate(zip(results, twice, strict=True)):
        once, got = trial.subject.values(y), trial.subject.values(z)
        if not declares(trial.subject, op, dtype):
            half = np.asarray(got * got.dtype.type(0.5))
            agree(trial, [half], [once], [y.dtype], share=2.0, note="half of twice: ")
            continue
        want = np.asarray(once * once.dtype.type(2))
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        if not np.all(same | _below_normal(once, got, y.dtype)):
            raise Wrong(f"{named(op, at)} of doubled inputs is not doubled exactly")


def _below_normal(once: Array, twice: Array, dtype: DType) -> Array:
    """Where a quotient of a sum is rounded as subnormal numbers are, or to 0."""
    least = float(limits(dtype.real).smallest_subnormal)
    found = np.zeros(once.shape, bool)
    for y, z in ((once.real, twice.real), (once.imag, twice.imag)):
        found |= rounds_otherwise(y, dtype) | ((y == 0) & (np.abs(z) <= least))
        if not np.iscomplexobj(once):
            return found
    return found


def _doubled(op: Op, example: Example) -> Example:
    """All inputs times two but indices and masks."""
    case = example.case
    assert case is not None
    kept = op.indices | op.masks

    def of(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [of(name, v) for v in value]
        if isinstance(value, np.ndarray) and name not in kept:
            return np.asarray(value * value.dtype.type(2))
        return value

    args = tuple(of(n, v) for n, v in zip(op.names, case.args, strict=False))
    return example.with_case(Case(args, {k: of(k, v) for k, v in case.kwargs.items()}))
