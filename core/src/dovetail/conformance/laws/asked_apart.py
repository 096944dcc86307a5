"""Gradients that are asked for one by one, as programs do that freeze all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.agreement import judged, named
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.rounding import roundoff
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import FLOAT, Array, DType
from dovetail.engine.op import Op

_LARGEST: Final = 300  # elements of a call
_TERMS: Final = 64.0


def _has_several(subject: Subject, op: Op, dtype: DType) -> bool:
    """Whether there are several inputs or results, in a format of torch's gradients."""
    several = len(op.tensors) > 1 or len(op.outputs) > 1 or op.has_list
    return dx.differentiates(op) and dtype in FLOAT and several


def _small(example: Example) -> bool:
    few = sum(a.size for a in example.arrays()) <= _LARGEST
    return few and example.values == ORDINARY


@law("asked_apart", examples=some(1, 1, _small, again=3), fits=_has_several, rank=35)
def asked_apart(trial: Trial) -> None:
    """A gradient asked alone is what it is among all; those of all results add up."""
    op, dtype = judged(trial)
    tape = dx.taped(trial.subject, op, trial.example, dtype)
    if not tape.leaves or not tape.results:
        return
    ct = dx.like(tape.results, trial.seed)
    whole = _pulled(trial.subject, tape, ct)
    if not all(np.all(np.isfinite(g)) for g in whole):
        return
    for at in range(len(tape.leaves) if len(tape.leaves) > 1 else 0):
        alone = dx.taped(trial.subject, op, trial.example, dtype, at)
        if alone.results:  # else nothing depends on it
            of_those = [ct[tape.depends.index(i)] for i in alone.depends]
            (got,) = _pulled(trial.subject, alone, of_those)
            _near(f"gradient {at}, asked alone,", got, whole[at], whole[at], dtype)
    if len(tape.results) > 1:
        _add_up(trial, op, tape, ct, whole)


def _add_up(
    trial: Trial, op: Op, tape: dx.Taped, ct: Sequence[Array], whole: list[Array]
) -> None:
    """The gradients of each result alone add up to those of all."""
    parts = [
        _pulled(trial.subject, dx.Taped(tape.leaves, [y]), [c])
        for y, c in zip(tape.results, ct, strict=True)
    ]
    names = " and ".join(named(op, at) for at in tape.depends)
    _, dtype = judged(trial)
    for at, want in enumerate(whole):
        each = [part[at] for part in parts]
        size = np.sum([np.abs(g) for g in each], axis=0)
        total = np.sum(each, axis=0)
        _near(f"gradient {at}, added up of {names} alone,", total, want, size, dtype)


def _pulled(subject: Subject, tape: dx.Taped, ct: Sequence[Array]) -> list[Array]:
    found = dx.filled(subject, dx.pulled(subject, tape, ct), tape.leaves)
    return [dx.wide(g) for g in found]


def _near(name: str, got: Array, want: Array, size: Array, dtype: DType) -> None:
    """Within what is rounded, of the largest numbers that were added."""
    room = _TERMS * roundoff(dtype) * max(1.0, float(np.max(np.abs(size), initial=0.0)))
    off = ~(np.abs(got - want) <= room)
    if np.any(off):
        at = int(np.argmax(off))
        raise Wrong(f"{name} is {got.reshape(-1)[at]:.6g} at element {at}, needed "
                    f"{want.reshape(-1)[at]:.6g}, as among all")  # fmt: skip
