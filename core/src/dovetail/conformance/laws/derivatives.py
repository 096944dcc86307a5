"""Gradients of a call on a device, in NumPy, and their sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine import autograd
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor


@dataclass(slots=True)
class Taped:
    """A call on the tape.

    Attributes:
        leaves: the inputs that gradients are asked of.
        results: those that depend on them.
        depends: which of all results these are.
        every: all results.
    """

    leaves: list[Tensor]
    results: list[Tensor]
    depends: tuple[int, ...] = ()
    every: list[Tensor] = field(default_factory=list)


def differentiates(op: Op) -> bool:
    """Whether an op has gradients at all."""
    inputs = any(p.name not in op.indices | op.masks for p in op.tensors)
    return inputs and not op.nondifferentiable and not op.mutates


def held_back(op: Op, example: Example) -> bool:
    """Whether the call keeps gradients from inputs which its results depend on."""
    assert example.case is not None
    given = dict(zip(op.names, example.case.args, strict=False)) | example.case.kwargs
    usual = {p.name: p.default for p in op.rest}
    return any(given.get(name, usual[name]) != usual[name] for name in op.holds_back)


def taped(
    subject: Subject, op: Op, example: Example, dtype: DType, only: int | None = None
) -> Taped:
    """The example's call, recorded, every inexact input a leaf.

    Args:
        only: the number of the one that is.
    """
    args, kwargs = subject.arguments(op, example, dtype)
    leaves = list(_inexact([*args, *kwargs.values()]))
    leaves = leaves if only is None else [leaves[only]]
    for leaf in leaves:
        leaf.requires_grad = True
    results = subject.call(op, args, kwargs)
    depends = tuple(
        i for i, y in enumerate(results) if y.requires_grad and y.dtype.is_inexact
    )
    return Taped(leaves, [results[i] for i in depends], depends, list(results))


def _inexact(values: Sequence[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _inexact(value)
        elif isinstance(value, Tensor) and value.dtype.is_inexact:
            found.append(value)
    return found


def weights(shapes: Sequence[Any], dtypes: Sequence[DType], seed: int) -> list[Array]:
    """Cotangents or directions between -1 and 1, rounded to the dtypes."""
    random = np.random.default_rng(seed)
    found = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        w: Any = random.uniform(-1, 1, tuple(shape))
        if dtype.is_complex:
            w = w + 1j * random.uniform(-1, 1, tuple(shape))
        found.append(np.asarray(w).astype(dtype.numpy))
    return found


def like(tensors: Sequence[Tensor], seed: int) -> list[Array]:
    """Such weights for tensors."""
    return weights([y.shape for y in tensors], [y.dtype for y in tensors], seed)


def pulled(
    subject: Subject, tape: Taped, ct: Sequence[Array], *, again: bool = False
) -> list[Tensor | None]:
    """Jᵀ ct: the gradients at the leaves; None where the results do not depend.

    Args:
        again: record the backward pass too.
    """
    given = [subject.tensor(np.array(c, order="C")) for c in ct]
    return list(
        autograd.grad(
            tape.results, tape.leaves, given, allow_unused=True, create_graph=again,
            retain_graph=True,
        )
    )  # fmt: skip


def filled(subject: Subject, grads: Sequence[Tensor | None], like: Any) -> list[Array]:
    """Gradients in NumPy; zeros where there are none."""
    return [
        np.zeros(tuple(x.shape), x.dtype.numpy) if g is None else subject.values(g)
        for g, x in zip(grads, like, strict=True)
    ]


def inner(a: Sequence[Array], b: Sequence[Array]) -> float:
    """Re Σ conj(a) b, in float64."""
    return float(sum(np.sum(_product(x, y)) for x, y in zip(a, b, strict=True)))


def terms(a: Sequence[Array], b: Sequence[Array]) -> float:
    """Σ |a b|: what the rounding of `inner` grows with."""
    return float(sum(np.sum(np.abs(_product(x, y))) for x, y in zip(a, b, strict=True)))


def _product(x: Array, y: Array) -> Array:
    return np.asarray((np.conj(wide(x)) * wide(y)).real)


def wide(a: Array) -> Array:
    """In float64 or complex128."""
    dtype = from_numpy(a.dtype)
    return a.astype(np.complex128 if dtype.is_complex else np.float64)


def widened(example: Example, move: Any = None) -> Example:
    """The call, contiguous, its inexact arrays in double precision.

    Args:
        move: changes each of them, given its number.
    """
    number = [-1]

    def of(value: Any) -> Any:
        if isinstance(value, list):
            return [of(v) for v in value]
        if isinstance(value, np.ndarray) and from_numpy(value.dtype).is_inexact:
            number[0] += 1
            a = wide(value)
            return a if move is None else np.asarray(move(number[0], a))
        return value

    assert example.case is not None
    kwargs = {k: of(v) for k, v in example.case.kwargs.items()}
    case = Case(tuple(map(of, example.case.args)), kwargs)
    return Example(case, PLAIN, example.values, example.size)
