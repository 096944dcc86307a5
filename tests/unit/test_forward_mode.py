"""Forward mode is the transpose of reverse mode, for every op and nested at will."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.test_forward_derivatives import OPS
from tests.unit.test_vmap_laws import _call

import dovetail as dt
from dovetail import func
from dovetail.engine.op import Op
from dovetail.func.trees import taken_apart

F64 = dt.float64
X = np.array([0.3, 0.7, -1.2])


def _inner(a: list[dt.Tensor], b: list[dt.Tensor]) -> float:
    return sum(float((x * y).sum()) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_jvp_is_vjp_transposed(op: Op) -> None:
    """For any change v and weights w, <w, J v> is <J* w, v>."""
    made = _call(op)
    if made is None:
        return
    call, tensors = made
    places = [i for i, x in enumerate(tensors) if x.dtype is F64]

    def f(*variables: dt.Tensor) -> Any:
        given = list(tensors)
        for at, x in zip(places, variables, strict=True):
            given[at] = x
        outs = taken_apart(call(*given))[0]
        return tuple(y for y in outs if y.dtype is F64)

    primals = tuple(tensors[i] for i in places)
    rng = np.random.default_rng(0)
    moves = tuple(dt.tensor(rng.standard_normal(tuple(x.shape))) for x in primals)
    outs, changes = func.jvp(f, primals, moves)
    weights = tuple(dt.tensor(rng.standard_normal(tuple(y.shape))) for y in outs)
    _, pull = func.vjp(f, *primals)
    back = pull(weights)
    assert _inner(list(weights), list(changes)) == pytest.approx(
        _inner(list(back), list(moves)), rel=1e-9, abs=1e-9
    )


def _smooth(x: dt.Tensor) -> dt.Tensor:
    return (dt.sin(x) * x**2).sum()


@pytest.mark.parametrize("outer", [func.jacrev, func.jacfwd])
@pytest.mark.parametrize("inner", [func.jacrev, func.jacfwd])
def test_second_derivatives_by_any_nesting(outer: Any, inner: Any) -> None:
    """Forward and reverse mode nest in all four ways."""
    slope = 2 * np.sin(X) + 4 * X * np.cos(X) - X**2 * np.sin(X)
    found = outer(inner(_smooth))(dt.tensor(X))
    np.testing.assert_allclose(found.numpy(), np.diag(slope), rtol=1e-12)


def test_rows_have_hessians() -> None:
    """vmap of a Hessian is the Hessian of each row."""
    rows = dt.tensor(np.stack([X, X * 2]))
    found = dt.vmap(func.hessian(_smooth))(rows)
    wanted = dt.stack([func.hessian(_smooth)(row) for row in rows])
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


def test_a_write_carries_its_tangent() -> None:
    """What is written through a view of a new tensor has the tangent of its source."""

    def f(x: dt.Tensor) -> dt.Tensor:
        y = dt.zeros_like(x)
        y[1:][0] = x[0] * x[1]
        return y

    _, moved = func.jvp(f, (dt.tensor(X),), (dt.ones(3, dtype=F64),))
    np.testing.assert_allclose(moved.numpy(), [0, X[0] + X[1], 0])


def test_the_caller_may_differentiate_a_gradient() -> None:
    """What func.grad gives of a tensor that requires gradients is on its tape."""
    x = dt.tensor(X, requires_grad=True)
    func.grad(_smooth)(x).sum().backward()
    slope = 2 * np.sin(X) + 4 * X * np.cos(X) - X**2 * np.sin(X)
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-12)  # type: ignore[union-attr]


def test_nothing_stays_on_the_tape_that_nobody_asked_for() -> None:
    """What func.grad and func.jvp give of plain tensors requires no gradients."""
    x = dt.tensor(X)
    assert not func.grad(_smooth)(x).requires_grad
    assert not func.jvp(_smooth, (x,), (x,))[1].requires_grad


def test_tensors_of_transforms_are_shown() -> None:
    """A batch shows all its rows, and a tensor with a tangent both."""
    seen: list[str] = []
    dt.vmap(lambda row: (seen.append(repr(row)), row)[1])(dt.ones(2, 3))
    func.jvp(lambda x: (seen.append(repr(x)), x)[1], (dt.ones(1),), (dt.zeros(1),))
    assert seen == [
        "BatchedTensor(lvl=1, bdim=0, value=\ntensor([[1., 1., 1.],\n        "
        "[1., 1., 1.]])\n)",
        "DualTensor(tensor([1.]), tangent=tensor([0.]))",
    ]
