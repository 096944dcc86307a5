"""autograd.functional, gradcheck and grad's options give what torch's give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt
from dovetail.autograd import Function
from dovetail.autograd.gradient_checks import GradcheckError

A = np.array([0.3, -0.7, 1.1])
B = np.array([[0.5, 0.2, -0.4], [1.0, -1.0, 0.1]])


def _both(program: Any) -> None:
    ours, theirs = program(dt), program(torch)
    for a, b in zip(_flat(ours), _flat(theirs), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [a for v in value for a in _flat(v)]
    return [value.detach().numpy()]


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobians_are_torchs(vectorize: bool) -> None:
    """Of several outputs by several inputs, in torch's nesting."""

    def program(m: Any) -> Any:
        f = lambda a, b: (b @ a, (a * b).sin())  # noqa: E731
        return m.autograd.functional.jacobian(
            f, (m.tensor(A), m.tensor(B)), vectorize=vectorize
        )

    _both(program)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is dep:DeprecationWarning")
def test_jacobians_by_columns_are_torchs() -> None:
    """Forward mode gives the same."""

    def program(m: Any) -> Any:
        return m.autograd.functional.jacobian(
            lambda a: (a.sin(), a.sum()), m.tensor(A), vectorize=True,
            strategy="forward-mode",
        )  # fmt: skip

    _both(program)


def test_hessians_and_products_are_torchs() -> None:
    """hessian, vjp, jvp, hvp and vhp."""

    def program(m: Any) -> Any:
        F = m.autograd.functional
        f = lambda a, b: ((b @ a) ** 3).sum()  # noqa: E731
        pair, v = (m.tensor(A), m.tensor(B)), (m.tensor(A + 1), m.tensor(B - 1))
        return [
            F.hessian(f, pair), F.hvp(f, pair, v), F.vhp(f, pair, v),
            F.vjp(f, pair, m.tensor(2.0, dtype=m.float64)), F.jvp(f, pair, v),
        ]  # fmt: skip

    _both(program)


def test_batched_cotangents_are_torchs() -> None:
    """`grad(is_grads_batched=True)` gives a row for each cotangent."""

    def program(m: Any) -> Any:
        a = m.tensor(A, requires_grad=True)
        b = m.tensor(B, requires_grad=True)
        return m.autograd.grad(
            (b @ a).sin(), (a, b), m.eye(2, dtype=m.float64), is_grads_batched=True
        )

    _both(program)


def test_gradcheck_passes_what_is_right() -> None:
    """Gradients, second ones, batched ones and forward mode, real and complex."""
    x = dt.tensor(A, requires_grad=True)
    z = dt.tensor(A + 1j * A[::-1], requires_grad=True)
    for f, given in ((dt.sin, x), (lambda z: z * z.conj() * z, z)):
        assert dt.autograd.gradcheck(
            f, given, check_forward_ad=True, check_batched_grad=True
        )
        assert dt.autograd.gradgradcheck(f, given)


def test_gradcheck_names_what_is_wrong() -> None:
    """A wrong backward is found, with output, input and both Jacobians."""

    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct * 2.01

    x = dt.tensor(A, requires_grad=True)
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to"):
        dt.autograd.gradcheck(Wrong.apply, x)
    assert not dt.autograd.gradcheck(Wrong.apply, x, raise_exception=False)


def test_gradcheck_judges_what_torchs_judges() -> None:
    """Not what is cut off, unless all is; functions may differentiate inside."""

    def program(m: Any) -> Any:
        x = m.tensor(A, requires_grad=True)
        cut = lambda x: (x * x, x.detach().max(), (x > 0.5).double())  # noqa: E731
        slope = lambda x: m.autograd.grad((x**3).sum(), x, create_graph=True)  # noqa: E731
        check = m.autograd.gradcheck
        single = m.tensor(A, dtype=m.float32, requires_grad=True)
        with pytest.warns(UserWarning, match="double precision"):
            rough = check(m.sin, single, eps=1e-2, atol=1e-2)
        found = [
            check(cut, x), m.autograd.gradgradcheck(lambda x: cut(x)[:2], x), rough,
            check(lambda x: x.detach() * 2, x, raise_exception=False),
            check(m.zeros_like, x), check(slope, x),
        ]  # fmt: skip
        return m.tensor(found)

    _both(program)


def test_fast_gradcheck_looks_along_a_direction() -> None:
    """It finds what is wrong, in few calls, by backward and forward, and of complex."""
    calls = []

    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct * 2.01

    def counted(x: Any) -> Any:
        calls.append(1)
        return x.sin(), x.sum(), x[:0]

    x = dt.tensor(np.linspace(-1, 1, 400), requires_grad=True)
    z = dt.tensor(A + 1j * A[::-1], requires_grad=True)
    check, again = dt.autograd.gradcheck, dt.autograd.gradgradcheck
    assert check(counted, x, fast_mode=True, check_forward_ad=True)
    assert len(calls) < 10
    cube = lambda z: z * z.conj() * z  # noqa: E731
    options = {"fast_mode": True, "check_batched_grad": True}
    assert check(cube, z, check_forward_ad=True, **options)
    assert again(cube, z, **options)
    assert again(dt.sin, x, **options)
    assert not check(Wrong.apply, x, fast_mode=True, raise_exception=False)
    assert not check(lambda x: x.detach() * 2, x, fast_mode=True, raise_exception=False)


def test_hooks_of_nodes_see_both_sides() -> None:
    """A node's hooks get gradients of inputs and outputs, and may replace them."""

    def program(m: Any) -> Any:
        a = m.tensor(A, requires_grad=True)
        y = a.sin()
        seen: list[Any] = []
        y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
        y.grad_fn.register_hook(lambda gi, go: seen.extend([*gi, *go]) or (gi[0] + 1,))
        y.sum().backward()
        return [a.grad, *seen]

    _both(program)
