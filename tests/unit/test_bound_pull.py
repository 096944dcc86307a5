"""Gradients by kernels alone are those that the rules give, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.engine import bound_pull, scopes
from dovetail.engine.bound_pull import Unbound, looked_through
from dovetail.engine.modes import no_grad
from dovetail.engine.op import Op, declared
from dovetail.engine.parameters import REQUIRED
from dovetail.engine.pullback import pullback
from dovetail.engine.tape import Node
from dovetail.errors import AutogradError

FORMATS = [dt.float32, dt.float64, dt.complex64, dt.bfloat16]
SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (2, 1)), ((0, 3), (1, 3)), ((), ())]
VALUES = [0.5, -0.5, 0.25, 0.0, -0.0, 2.0, float("inf"), float("nan")]
PASSES = 20  # after so many, what can be bound is


def _simple(op: Op) -> bool:
    return (
        op.is_elementwise
        and not op.view
        and op.rules is not None
        and not op.has_list
        and all(p.role == "tensor" for p in op.tensors)
        and all(p.default is not REQUIRED for p in op.rest)
    )


OPS = [op for op in declared() if _simple(op)]


def _tensor(shape: Any, dtype: Any, first: int) -> dt.Tensor:
    count = int(np.prod(shape))
    values = np.resize(np.roll(VALUES, first), count).reshape(shape)
    return dt.tensor(values).to(dtype).requires_grad_()


def _called(op: Op, dtype: Any, shapes: Any) -> Any:
    """A call of an op on tensors that require gradients, and a cotangent for it."""
    inputs = [_tensor(shapes[min(i, 1)], dtype, i) for i in range(len(op.tensors))]
    masked = [
        x.detach() != 0 if p.name in op.masks else x
        for p, x in zip(op.tensors, inputs, strict=True)
    ]
    y = op.function(*masked)
    return y, _tensor(tuple(y.shape), y.dtype, 3).detach()


def _bits(g: Any) -> Any:
    if g is None:
        return None
    return type(g._a), g._kind, tuple(g.shape), g._kind.backend.copy_out(g._a).tobytes()


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_kernels_alone_give_what_the_rules_give(op: Op, dtype: Any) -> None:
    """The same bits for any shapes, infinities and NaN."""
    if dtype not in op.accepts:
        return
    general = pullback(op)
    for shapes in SHAPES:
        y, ct = _called(op, dtype, shapes)
        if type(y._node) is not Node:  # a view, or without a gradient in this dtype
            continue
        bound = bound_pull.bound(op, ct._kind, general)
        with no_grad():
            found = [_bits(g) for g in bound(y._node, ct, False)]
            assert found == [_bits(g) for g in general(y._node, ct, False)]


@pytest.mark.parametrize(
    "name", ["mul", "add", "div", "relu", "exp", "tanh", "maximum"]
)
def test_common_ops_are_bound(name: str) -> None:
    """Their rules are elementwise, and so are written out."""
    op = next(op for op in OPS if op.name == name)
    kind = dt.ones(1)._kind
    assert bound_pull.bound(op, kind, pullback(op)) is not pullback(op)


def _passes() -> Any:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(PASSES):
        (x * x).sum().backward()
    return x


def test_what_was_kept_is_still_checked() -> None:
    """A tensor that was written since raises, however often the op was pulled."""
    x = _passes()
    a = x * 1
    y = (a * a).sum()
    a.add_(1)
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        y.backward()


def test_freed_graphs_are_still_refused() -> None:
    """A second backward without retain_graph raises."""
    x = _passes()
    y = x * x
    y.sum().backward()
    with pytest.raises(AutogradError, match="second time"):
        y.sum().backward()


def test_recorders_hear_of_the_ops_of_a_pass() -> None:
    """A pass that is watched calls ops, however often it went without."""

    class Heard(scopes.Recorder):
        def __init__(self) -> None:
            self.names: list[str] = []

        def call(self, op: Any, inputs: Any, attrs: Any, outs: Any) -> None:
            self.names.append(op.name)

    x = _passes()
    y = (x * x).sum()
    heard = Heard()
    with scopes.record(heard):
        y.backward()
    assert heard.names.count("mul") == 2


def test_a_new_kernel_is_used() -> None:
    """What is bound is forgotten when the kernels of a backend change."""
    x = _passes()
    op, kind = next(op for op in OPS if op.name == "mul"), x._kind
    assert kind in op.bound
    kind.backend.table.changed()
    assert not op.bound


def test_numbers_in_rules_are_bound() -> None:
    """As 0-d arrays of the kind that they had in the call."""
    steps, result = looked_through(lambda ct, x: ct * 2.0 + x, 2, dt.ones(1)._kind)
    assert [s.op.name for s in steps] == ["mul", "add"]
    assert result == steps[-1].output


@pytest.mark.parametrize(
    "rule",
    [
        lambda ct, x: ct * x.sum(),
        lambda ct, x: ct * x.numel(),
        lambda ct, x: ct * x.item(),
        lambda ct, x: ct.reshape(-1) * x,
        lambda ct, x: ct * dt.rand_like(x),
        lambda ct, x: (ct * x).to(dt.float64),
        lambda ct, x: ct if ct.ndim else ct * x,
    ],
    ids=["sum", "numel", "item", "reshape", "random", "dtype", "ndim"],
)
def test_rules_of_another_nature_are_not_bound(rule: Any) -> None:
    """What reads shapes or values, or is not elementwise, stays as it is."""
    with pytest.raises(Unbound):
        looked_through(rule, 2, dt.ones(1)._kind)
