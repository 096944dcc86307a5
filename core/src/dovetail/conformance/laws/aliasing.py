"""Whose memory a result has: its own, or for a view that of its base."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import arrays, judged, named, same_bits
from dovetail.conformance.laws.memory_of_calls import Watched, watched
from dovetail.conformance.laws.sampling import guarded, some
from dovetail.conformance.meaning import means_something
from dovetail.conformance.subject import Subject
from dovetail.device_api.numpy_arrays import strided
from dovetail.dtypes import Array, DType, float8_e8m0fnu
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor

_MARK: Final = 77


def _owns(subject: Subject, op: Op, dtype: DType) -> bool:
    return not op.view and not op.mutates


def _also_constant(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterator[Example]:
    """Calls as usual, and such as may give an input back.

    That is where all are ones, or zeros, or all but the first a neutral element.
    """
    yield from some(2, 2)(subject, op, dtype, budget)
    real = dtype.category == 2
    numbers = [(0.0, ""), (1.0, "")] + ([(math.inf, "")] if real else [])
    if len(op.tensors) > 1:
        first = op.tensors[0].name
        numbers += [(0.0, first), (1.0, first)] + ([(-math.inf, first)] if real else [])
    for example in some(1, 0)(subject, op, dtype, budget):
        for number, spared in numbers:
            made = example.with_case(_constant(op, example, number, spared))
            if example.arrays() and means_something(op, made, dtype):
                yield made


def _constant(op: Op, example: Example, number: float, spared: str) -> Case:
    """The call with all data but one that number; indices and masks as they were."""
    kept = op.indices | op.masks | {spared}

    def of(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [of(name, v) for v in value]
        if isinstance(value, np.ndarray) and name not in kept:
            return np.full_like(value, number)
        return value

    assert example.case is not None
    args = zip(op.names, example.case.args, strict=False)
    kwargs = {k: of(k, v) for k, v in example.case.kwargs.items()}
    return Case(tuple(of(name, v) for name, v in args), kwargs)


@law("aliasing", examples=_also_constant, fits=_owns, rank=20)
def aliasing(trial: Trial) -> None:
    """Results have memory of their own: no input, no other result, no later call."""
    op, _ = judged(trial)
    subject = trial.subject
    args, kwargs, seen = watched(trial)
    first = subject.call(op, args, kwargs)
    kept = arrays(trial, first)
    second = subject.call(op, args, kwargs)
    for at, y in enumerate(second):
        for mark in _marks(y.dtype):
            subject.backend.fill(y._a, mark)
            for one in seen:
                _same(subject, one, f"{one.name}, after {named(op, at)} was written,")
    _unchanged(trial, first, kept, "when those of a second call were written")
    for one in seen:
        for mark in _marks(one.x.dtype):
            subject.backend.fill(one.x._a, mark)
            _unchanged(trial, first, kept, f"when {one.name} was written")
    for at, y in enumerate(first):
        subject.backend.fill(y._a, _marks(y.dtype)[0])
        later = first[at + 1 :]
        _unchanged(trial, later, kept[at + 1 :], f"when {named(op, at)} was written")


def _marks(dtype: DType) -> tuple[Any, ...]:
    """What to write: some element is sure to change."""
    if dtype.category == 0:
        return True, False
    return _MARK, 1 if dtype is float8_e8m0fnu else 0  # which has no 0


def _same(subject: Subject, one: Watched, name: str) -> None:
    now = subject.backend.copy_out(one.root).reshape(-1)
    same_bits(name, now, one.before)


def _unchanged(
    trial: Trial, results: list[Tensor], kept: list[Array], when: str
) -> None:
    assert trial.op is not None
    for y, before in zip(results, kept, strict=True):
        now = trial.subject.values(y)
        if now.tobytes() != before.tobytes():
            raise Wrong(f"a result of {trial.op.name} changed {when}")


def _is_a_view(subject: Subject, op: Op, dtype: DType) -> bool:
    return op.view


@law("views", examples=guarded(3, 3), fits=_is_a_view, rank=20)
def views(trial: Trial) -> None:
    """A view lies where its geometry says; each side sees what the other writes."""
    op, dtype = judged(trial)
    subject = trial.subject
    args, kwargs, (one, *_) = watched(trial)
    y = subject.call(op, args, kwargs)[0]
    strides, offset = subject.backend.geometry(y._a, one.root)
    _lies_where_the_rule_says(trial, one, args, kwargs, y)
    model = one.before.copy()
    inside = _strided(model, y._a.shape, strides, offset)
    same_bits("y", subject.values(y), np.array(inside))
    for mark in _marks(dtype):
        subject.backend.fill(y._a, mark)
        inside[...] = mark
        now = subject.backend.copy_out(one.root).reshape(-1)
        same_bits("memory of x, after the view was written,", now, model)
        subject.backend.fill(one.x._a, mark)
        if not np.all(subject.values(y) == mark):
            raise Wrong("the view does not see what was written to x")
        model[one.inside] = mark


def _strided(model: Array, shape: Any, strides: Any, offset: int) -> Array:
    step = model.itemsize
    if not all(shape):
        return np.zeros(tuple(shape), model.dtype)
    return strided(model[offset:], tuple(shape), tuple(s * step for s in strides))


def _lies_where_the_rule_says(
    trial: Trial, one: Watched, args: list[Any], kwargs: dict[str, Any], y: Tensor
) -> None:
    """The native view has the strides and the offset of the op's geometry."""
    op, _ = judged(trial)
    if op.geometry is None or not all(y._a.shape):
        return
    backend = trial.subject.backend
    values = op.bind(args, kwargs)
    attrs = op.normalise(values, len(one.x._a.shape))
    own, _ = backend.geometry(one.x._a, one.x._a)
    shape, strides, offset = op.geometry(tuple(one.x._a.shape), own, **attrs)
    found, at = backend.geometry(y._a, one.x._a)
    said = _stepped(shape, strides)
    if (_stepped(y._a.shape, found), at) != (said, offset):
        raise Wrong(
            f"the view has sizes and strides {_stepped(y._a.shape, found)} from {at}, "
            f"its geometry says {said} from {offset}"
        )


def _stepped(shape: Any, strides: Any) -> list[tuple[int, int]]:
    """Sizes with their strides; the stride of a single element means nothing."""
    return [(n, s if n > 1 else 0) for n, s in zip(shape, strides, strict=True)]
