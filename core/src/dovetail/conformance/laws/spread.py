"""How far one cotangent reaches: to what its result depends on, and no further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.agreement import judged
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import FLOAT, Array, DType
from dovetail.engine.op import Op

_LARGEST: Final = 300  # elements of a call
_PLACES: Final = 2
_INDICES: Final = "indices"  # of results that say where others were


def _moves_or_adds(subject: Subject, op: Op, dtype: DType) -> bool:
    """What results are made of does not depend on the numbers, as in sums and moves."""
    if not dx.differentiates(op) or dtype not in FLOAT or op.vjp is None:
        return False
    places = op.indices | op.masks | {_INDICES}
    adds = op.sums or op.averages or op.unrounded or op.view
    return adds and places.issuperset(op.vjp_needs)


def _small(example: Example) -> bool:
    few = sum(a.size for a in example.arrays()) <= _LARGEST
    return few and example.values == ORDINARY


@law("spread", examples=some(2, 2, _small), fits=_moves_or_adds, rank=35)
def spread(trial: Trial) -> None:
    """An infinite cotangent reaches those inputs alone that its result is made of."""
    op, dtype = judged(trial)
    tape = dx.taped(trial.subject, op, trial.example, dtype)
    if not tape.leaves or not tape.results or tape.results[0].dtype not in FLOAT:
        return
    size = int(np.prod(tape.results[0].shape))
    random = np.random.default_rng(trial.seed)
    for at in random.choice(size, min(_PLACES, size), replace=False):
        one, infinite = (_pulled(trial, tape, int(at), x) for x in (1.0, np.inf))
        for number, (g, got) in enumerate(zip(one, infinite, strict=True)):
            _compared(number, int(at), g, got)


def _pulled(trial: Trial, tape: dx.Taped, at: int, value: float) -> Sequence[Array]:
    """The gradients of one element of the first result, times that number."""
    ct = [np.zeros(tuple(y.shape), y.dtype.numpy) for y in tape.results]
    ct[0].reshape(-1)[at] = value
    found = dx.pulled(trial.subject, tape, ct)
    return dx.filled(trial.subject, found, tape.leaves)


def _compared(number: int, at: int, one: Array, got: Array) -> None:
    want = np.where(one == 0, 0.0, np.copysign(np.inf, dx.wide(one)))
    wrong = dx.wide(got) != want
    if np.any(wrong):
        place = int(np.argmax(wrong))
        raise Wrong(
            f"gradient {number} at element {place} is {got.reshape(-1)[place]}, needed "
            f"{want.reshape(-1)[place]}: element {at} of the cotangent is infinite, "
            "all others are 0"
        )
