"""Algebra that follows from an op's signature: batches, orders, shifts, doubling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, law
from dovetail.conformance.laws.agreement import agree, arrays, judged
from dovetail.conformance.laws.sampling import of_values, some
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.signature import Signature

_SUMMABLE: Final = of_values("ordinary", "ties", "zeros", "exact", "wide")
Change = Callable[[Array, int], Array]


def _has_batches(subject: Subject, op: Op, dtype: DType) -> bool:
    """Elementwise ops, and those along dims of their own, with one batch."""
    plain = isinstance(op.shape, Signature) and not op.has_list and not op.draws
    return plain and not op.mutates and bool(op.tensors)


@dataclass(frozen=True, slots=True)
class _Axes:
    """Where one batch dim lies, counted from the last dim.

    Attributes:
        inputs, outputs: by argument and by result; None where it has none.
        size: of the dim.
    """

    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]
    size: int


@law("batch", examples=some(2, 1), fits=_has_batches, rank=40)
def batch(trial: Trial) -> None:
    """Permuted or cut along a batch dim, a call gives the same, permuted or cut."""
    op, dtype = judged(trial)
    results = trial.subject.run(op, trial.example, dtype)
    axes = _batch_axes(op, trial.example, [tuple(y.shape) for y in results])
    if axes is None:
        return
    whole = arrays(trial, results)
    dtypes = [y.dtype for y in results]
    order = np.random.default_rng(trial.seed).permutation(axes.size)
    mixed = _called(trial, axes, lambda a, d: np.take(a, order, d))
    back = np.argsort(order)
    agree(
        trial, _along(mixed, axes, lambda a, d: np.take(a, back, d)), whole, dtypes,
        share=2.0, note="permuted along a batch dim, ",
    )  # fmt: skip
    half = axes.size // 2
    head = _called(trial, axes, lambda a, d: np.take(a, range(half), d))
    tail = _called(trial, axes, lambda a, d: np.take(a, range(half, axes.size), d))
    joined = [
        a if d is None else np.concatenate([a, b], d)
        for a, b, d in zip(head, tail, axes.outputs, strict=True)
    ]
    agree(trial, joined, whole, dtypes, share=2.0, note="cut along a batch dim, ")


def _batch_axes(op: Op, example: Example, outputs: list[Any]) -> _Axes | None:
    """The first batch dim with several elements."""
    case = example.case
    assert case is not None
    given = _tensors(op, case)
    dims = _core_dims(op, case, given)
    if dims is None:
        return None
    ndim = max((a.ndim for a in given if a is not None), default=0)
    for d in range(-ndim, 0):
        sizes = {a.shape[d] for a in given if a is not None and a.ndim >= -d}
        size = max(sizes, default=0)
        if size < 2 or d in dims or sizes - {1, size}:
            continue
        shift = _kept(op, dims, d, outputs, given)
        inputs = tuple(
            d if a is not None and a.ndim >= -d and a.shape[d] == size else None
            for a in given
        )
        found = tuple(shift for _ in outputs)
        if all(len(s) >= -shift and s[shift] == size for s in outputs):
            return _Axes(inputs, found, size)
    return None


def _tensors(op: Op, case: Case) -> list[Array | None]:
    values = {**dict(zip(op.names, case.args, strict=False)), **case.kwargs}
    found = [values.get(p.name) for p in op.tensors]
    return [v if isinstance(v, np.ndarray) else None for v in found]


def _core_dims(op: Op, case: Case, given: list[Array | None]) -> set[int] | None:
    """The dims that are no batch, counted from the last one; None if unknown."""
    at = {core.at for core in op.shape.inputs if core.names}
    if not at:
        return set()
    if len(at) > 1 or None in at or given[0] is None:
        return None
    values = {p.name: p.default for p in op.params}
    values |= dict(zip(op.names, case.args, strict=False)) | case.kwargs
    (name,) = at
    param = next(p for p in op.params if p.name == name)
    ndim = given[0].ndim
    assert param.normalise is not None
    dims = param.normalise(op.name, name, values[name], ndim)
    return {d - ndim for d in (dims if isinstance(dims, tuple) else (dims,))}


def _kept(op: Op, dims: set[int], d: int, outputs: list[Any], given: Any) -> int:
    """Where a batch dim lies in results whose reduced dims may have vanished."""
    ndim = max(a.ndim for a in given if a is not None)
    if outputs and len(outputs[0]) == ndim:
        return d
    return d + sum(1 for c in dims if c > d)


def _called(trial: Trial, axes: _Axes, change: Change) -> list[Array]:
    """The results of the call with every input changed along the batch dim."""
    op, dtype = judged(trial)
    case = trial.example.case
    assert case is not None
    places = {
        p.name: d for p, d in zip(op.tensors, axes.inputs, strict=True) if d is not None
    }

    def of(name: str, value: Any) -> Any:
        if name in places and isinstance(value, np.ndarray):
            return np.ascontiguousarray(change(value, places[name]))
        return value

    args = tuple(of(n, v) for n, v in zip(op.names, case.args, strict=False))
    kwargs = {k: of(k, v) for k, v in case.kwargs.items()}
    changed = Example(Case(args, kwargs))
    return arrays(trial, trial.subject.run(op, changed, dtype))


def _along(found: list[Array], axes: _Axes, change: Change) -> list[Array]:
    return [
        a if d is None else change(a, d)
        for a, d in zip(found, axes.outputs, strict=True)
    ]


def _reduces(subject: Subject, op: Op, dtype: DType) -> bool:
    if not _has_batches(subject, op, dtype) or op.outputs[0] == "indices":
        return False  # these depend on where elements are, not only on which
    first, last = op.shape.inputs[0], op.shape.outputs[0]
    return first.at is not None and not last.names and len(op.tensors) == 1


@law("order", examples=some(2, 2, _SUMMABLE), fits=_reduces, rank=40)
def order(trial: Trial) -> None:
    """The order of the elements that a reduction reads does not matter."""
    op, dtype = judged(trial)
    case = trial.example.case
    assert case is not None
    x = _tensors(op, case)[0]
    dims = _core_dims(op, case, [x])
    if x is None or not dims or not x.ndim or not x.size:
        return
    random = np.random.default_rng(trial.seed)
    results = trial.subject.run(op, trial.example, dtype)
    mixed = x
    for d in dims:
        mixed = np.take(mixed, random.permutation(x.shape[d]), d)
    changed = Example(Case((mixed, *case.args[1:]), case.kwargs))
    again = arrays(trial, trial.subject.run(op, changed, dtype))
    values = arrays(trial, results)
    agree(
        trial, again[:1], values[:1], [results[0].dtype], share=2.0,
        note="with its elements in another order, ",
    )  # fmt: skip
