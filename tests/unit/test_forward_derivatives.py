"""Forward derivatives follow from what ops declare, with no rule of their own.

A gradient is linear in its cotangent, so that differentiating it by the cotangent gives
its transpose: what a change of the inputs does to the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared
from dovetail.engine.tensor import Tensor

F64 = dt.float64
# Their gradient is zero wherever it exists (the first result's, of real numbers), so
# nothing depends on the cotangent.
FLAT = {
    "angle", "ceil", "filled", "floor_divide", "log_determinant", "round", "sgn",
    "sign", "trunc", "trunc_divide",
}  # fmt: skip


def _is_smooth(op: Op) -> bool:
    has_gradient = op.vjp is not None or bool(op.by_body)
    return has_gradient and op.draws is None and F64 in op.accepts and not op.mutates


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for v in value:
            yield from _tensors(v)


def _call(op: Op) -> tuple[Any, list[Tensor], Tensor] | None:
    """A call of an op, its inputs that can be differentiated, and its result."""
    case = next(iter(cases_of(op, F64)), None)
    if case is None:
        return None
    cpu = Subject("cpu")
    args, kwargs = cpu.arguments(op, Example(case), F64)
    inputs = [x for x in _tensors(args) if x.dtype is F64]
    for x in inputs:
        x.requires_grad_()
    result = cpu.call(op, args, kwargs)[0]
    if result.dtype is not F64 or not result.requires_grad:
        return None
    return lambda: cpu.call(op, args, kwargs)[0], inputs, result


OPS = [op for op in declared() if _is_smooth(op) and op.name not in FLAT]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_the_transposed_gradient_is_the_forward_derivative(op: Op) -> None:
    """For any change v and weights w, <w, J v> by transposing is <J* w, v>."""
    found = _call(op)
    if found is None:
        return  # no case that can be differentiated in float64
    call, inputs, y = found
    rng = np.random.default_rng(0)
    changes = [dt.tensor(rng.standard_normal(tuple(x.shape))) for x in inputs]
    weights = dt.tensor(rng.standard_normal(tuple(y.shape)))
    cotangent = dt.zeros_like(y, requires_grad=True)
    rules = dt.autograd.grad(y, inputs, cotangent, create_graph=True, allow_unused=True)
    pairs = [
        (g, v) for g, v in zip(rules, changes, strict=True)
        if g is not None and g.requires_grad
    ]  # fmt: skip
    (moved,) = dt.autograd.grad(
        [g for g, _ in pairs], [cotangent], [v for _, v in pairs]
    )
    back = dt.autograd.grad(call(), inputs, weights, allow_unused=True)
    right = sum(
        float((g * v).sum())
        for g, v in zip(back, changes, strict=True) if g is not None
    )  # fmt: skip
    assert float((weights * moved).sum()) == pytest.approx(right, rel=1e-9, abs=1e-9)


def test_most_ops_are_asked() -> None:
    """Few ops have nothing to differentiate in float64."""
    assert sum(_call(op) is not None for op in OPS) > 0.9 * len(OPS)
