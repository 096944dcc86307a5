"""What a call does not read may be anything, NaN too.

Kernels that multiply by a mask in place of choosing, or read rows that no index names,
give numbers all the same, until what they should not have read is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.law import Trial, law
from dovetail.conformance.laws.agreement import agree, arrays, judged
from dovetail.conformance.laws.sampling import GUARDED, some
from dovetail.conformance.meaning import REFUSALS, means_something
from dovetail.conformance.reference import reference
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_LARGEST: Final = 300  # elements of a call
_PLACES: Final = 5  # of an argument that are tried one by one
Place = tuple[int, int]  # an argument, and an element of it


def _takes_numbers(subject: Subject, op: Op, dtype: DType) -> bool:
    """What is written, drawn or left open has other laws."""
    given = bool(op.tensors) and not op.mutates and not op.draws
    return (
        dtype.is_inexact
        and given
        and not op.unspecified
        and "nan" not in op.undefined_on
    )


def _small(example: Example) -> bool:
    few = sum(a.size for a in example.arrays()) <= _LARGEST
    lies = example.layout == PLAIN or example.layout in GUARDED
    return few and lies and example.values == ORDINARY


@law("unread", examples=some(1, 1, _small, again=2), fits=_takes_numbers, rank=40)
def unread(trial: Trial) -> None:
    """Elements without an influence on the op's body have none as NaN, either."""
    op, dtype = judged(trial)
    found = _with_nan(trial)
    if found is None:
        return
    want = trial.subject.run(op, trial.example, dtype)
    got = trial.subject.run(op, found, dtype)
    agree(
        trial, arrays(trial, got), arrays(trial, want), [y.dtype for y in got],
        note="with NaN in what is not read, ",
    )  # fmt: skip


def _with_nan(trial: Trial) -> Example | None:
    """The call with NaN in some elements that the op's body does not read."""
    op, dtype = judged(trial)
    example = trial.example
    usual = _bits(op, example, dtype)
    if usual is None:
        return None

    def without_influence(places: Sequence[Place]) -> bool:
        return _bits(op, _poisoned(example, places), dtype) == usual

    places = [p for p in _tried(trial) if without_influence([p])]
    if not places or not without_influence(places):
        return None
    found = _poisoned(example, places)
    # Of numbers in order, NaN makes others.
    return found if means_something(op, found, dtype) else None


def _tried(trial: Trial) -> Iterator[Place]:
    """A few elements of each argument of numbers."""
    assert trial.example.case is not None
    random = np.random.default_rng(trial.seed)
    for number, a in enumerate(trial.example.case.args):
        if isinstance(a, np.ndarray) and from_numpy(a.dtype).is_inexact and a.size:
            few = random.choice(a.size, min(_PLACES, a.size), replace=False)
            yield from ((number, int(at)) for at in few)


def _poisoned(example: Example, places: Sequence[Place]) -> Example:
    assert example.case is not None
    args = list(example.case.args)
    for number in {number for number, _ in places}:
        args[number] = np.array(args[number], order="C")
    for number, at in places:
        args[number].reshape(-1)[at] = np.nan
    return example.with_case(Case(tuple(args), example.case.kwargs))


def _bits(op: Op, example: Example, dtype: DType) -> tuple[bytes, ...] | None:
    """What the op's body gives; None where it refuses, or gives no numbers."""
    device = reference()
    try:
        with np.errstate(all="ignore"):
            results = [device.values(y) for y in device.run(op, example, dtype)]
    except REFUSALS:
        return None
    return None if any(map(_is_odd, results)) else tuple(y.tobytes() for y in results)


def _is_odd(a: Array) -> bool:
    return from_numpy(a.dtype).is_inexact and not bool(np.all(np.isfinite(a)))
