"""Gradients where there is no derivative: those that are declared with the op."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dovetail.ops.kinks  # noqa: F401  declares them
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.agreement import judged
from dovetail.conformance.rounding import roundoff
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_ULP = 16.0


def _has_kinks(subject: Subject, op: Op, dtype: DType) -> bool:
    if op.kinks is None or not dtype.is_floating_point:
        return False
    return any(_holds(dtype, found.grads) for found in op.kinks())


def _declared(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterator[Example]:
    assert op.kinks is not None

    def of(value: Any) -> Any:
        floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        return value.astype(dtype.numpy) if floats else value

    for found in op.kinks():
        if not _holds(dtype, found.grads):
            continue
        example = Example(Case(tuple(map(of, found.case.args)), {}), values="ties")
        example.known["grads"] = found.grads
        yield example


def _holds(dtype: DType, grads: tuple[Array | None, ...]) -> bool:
    """Whether the dtype reaches as far as the gradients."""
    finite = [np.abs(g[np.isfinite(g)]) for g in grads if g is not None]
    return all(np.all(a <= float(limits(dtype).max)) for a in finite)


@law("kinks", examples=_declared, fits=_has_kinks, rank=30, shrinks=False)
def kinks(trial: Trial) -> None:
    """At ties and kinks, gradients are those declared with the op: torch's."""
    op, dtype = judged(trial)
    tape = dx.taped(trial.subject, op, trial.example, dtype)
    ones = [np.ones(tuple(y.shape), y.dtype.numpy) for y in tape.results[:1]]
    first = dx.Taped(tape.leaves, tape.results[:1])
    grads = dx.filled(trial.subject, dx.pulled(trial.subject, first, ones), tape.leaves)
    wanted = trial.example.known["grads"]
    for at, (got, want) in enumerate(zip(grads, wanted, strict=True)):
        need = np.zeros(got.shape) if want is None else want
        _same(f"gradient {at}", dx.wide(got), need, dtype)


def _same(name: str, got: Array, want: Array, dtype: DType) -> None:
    smallest = float(limits(dtype).smallest_normal)
    with np.errstate(all="ignore"):
        allowed = _ULP * roundoff(dtype) * np.abs(want) + smallest
        near = np.abs(got - want) <= allowed
    equal = near | (got == want) | (np.isnan(got) & np.isnan(want))
    if not np.all(equal):
        raise Wrong(f"{name} is {got.tolist()}, needed {want.tolist()}")
