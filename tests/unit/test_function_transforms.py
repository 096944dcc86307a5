"""Custom Functions within transforms, in all orders: by the user's own backward."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import func as fn

Program = Callable[[Callable[..., Any]], Any]


def made(
    setup: bool, own_vmap: bool, own_jvp: bool, held: float = 1, opaque: bool = False
) -> Any:
    """`sin(x) * y`, by a Function of some style.

    Args:
        held: the gradient by x is so many times what the values say.
        opaque: the values are NumPy's, so that nothing but backward can follow.
    """

    def values(x: Any, y: Any) -> Any:
        if not opaque:
            return x.sin() * y
        return dt.tensor(np.sin(x.detach().numpy()) * y.detach().numpy())

    class Sines(dt.autograd.Function):
        """The Function."""

        if setup:

            @staticmethod
            def forward(x: Any, y: Any) -> Any:
                """The values."""
                return values(x, y)

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                """Keep both."""
                ctx.save_for_backward(*inputs)
                ctx.save_for_forward(*inputs)
        else:

            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                """The values; keep both."""
                ctx.save_for_backward(x, y)
                ctx.save_for_forward(x, y)
                return values(x, y)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            """That by x is not what the values say."""
            x, y = ctx.saved_tensors
            return held * ct * x.cos() * y, ct * x.sin()

        if own_jvp:

            @staticmethod
            def jvp(ctx: Any, dx: Any, dy: Any) -> Any:
                """Along both."""
                x, y = ctx.saved_tensors
                moves = [] if dx is None else [held * dx * x.cos() * y]
                return sum([*moves, *([] if dy is None else [dy * x.sin()])])

        if own_vmap:

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
                """Rows first."""
                rows = [
                    v.expand(info.batch_size, *v.shape)
                    if d is None
                    else v.movedim(d, 0)
                    for v, d in zip((x, y), in_dims, strict=True)
                ]
                return Sines.apply(*rows), 0

    return Sines.apply


def truth(held: float = 1) -> Any:
    """What has the same values, and the same first gradients, by ops alone."""

    def values(x: Any, y: Any) -> Any:
        return (held * x - ((held - 1) * x).detach()).sin() * y

    return values


X = dt.from_numpy(np.random.default_rng(0).random((2, 3)))
Y = dt.from_numpy(np.random.default_rng(1).random((2, 3)) + 0.5)


def total(f: Any) -> Any:
    """A number, in which the Function is not linear."""
    return lambda x, y: (f(x, y) ** 2).sum()


FIRST: dict[str, Program] = {
    "vmap(grad)": lambda f: fn.vmap(fn.grad(total(f)))(X, Y),
    "vmap(grad), one y": lambda f: fn.vmap(fn.grad(total(f), argnums=1), (0, None))(
        X, Y[0]
    ),
    "grad(vmap)": lambda f: fn.grad(lambda x: (fn.vmap(f)(x, Y) ** 2).sum())(X),
    "grad(vmap), one x": lambda f: fn.grad(
        lambda x: (fn.vmap(f, (None, 0))(x, Y) ** 2).sum()
    )(X[0]),
    "grad(vmap), by columns": lambda f: fn.grad(
        lambda x: (fn.vmap(f, 1, 1)(x, Y) ** 2).sum()
    )(X),
    "jvp": lambda f: fn.jvp(lambda z: f(z, Y) ** 2, (X,), (Y,)),
    "vmap(jvp)": lambda f: fn.vmap(
        lambda x, y: fn.jvp(lambda z: f(z, y) ** 2, (x,), (y,))[1]
    )(X, Y),
    "jvp(vmap)": lambda f: fn.jvp(lambda z: fn.vmap(f)(z, Y) ** 2, (X,), (Y,)),
    "vmap(vmap(grad))": lambda f: fn.vmap(fn.vmap(fn.grad(total(f))))(X, Y),
    "vmap(vmap)": lambda f: fn.vmap(fn.vmap(f), (1, 0))(X.mT, Y),
    "grad in vmap, x of outside": lambda f: fn.vmap(
        lambda y: fn.grad(lambda x: total(f)(x, y))(X[0])
    )(Y),
    "jacrev(vmap)": lambda f: fn.jacrev(lambda x: fn.vmap(f)(x, Y))(X),
    "jacfwd": lambda f: fn.jacfwd(lambda x: f(x, Y))(X),
    "backward of vmap": lambda f: _backward(lambda x: fn.vmap(f)(x, Y)),
    "backward of vmap in vmap": lambda f: _backward(
        lambda x: fn.vmap(lambda row: fn.vmap(f, (None, 0))(row[0], row))(x)
    ),
}
SECOND: dict[str, Program] = {
    "hessian": lambda f: fn.hessian(lambda x: total(f)(x, Y[0]))(X[0]),
    "jacfwd(jacfwd)": lambda f: fn.jacfwd(fn.jacfwd(lambda x: total(f)(x, Y[0])))(X[0]),
    "jacrev(jacrev)": lambda f: fn.jacrev(fn.jacrev(lambda x: total(f)(x, Y[0])))(X[0]),
    "jacrev(jacfwd)": lambda f: fn.jacrev(fn.jacfwd(lambda x: total(f)(x, Y[0])))(X[0]),
    "vmap(hessian)": lambda f: fn.vmap(fn.hessian(total(f)))(X, Y),
    "jvp(grad)": lambda f: fn.jvp(fn.grad(lambda x: total(f)(x, Y)), (X,), (Y,)),
    "grad(jvp)": lambda f: fn.grad(
        lambda x: fn.jvp(lambda z: total(f)(z, Y), (x,), (Y,))[1]
    )(X),
    "vmap(grad(jvp))": lambda f: fn.vmap(
        fn.grad(lambda x, y: fn.jvp(lambda z: total(f)(z, y), (x,), (y,))[1])
    )(X, Y),
}


def _backward(f: Any) -> Any:
    x = X.clone().requires_grad_()
    (f(x) ** 2).sum().backward()
    return x.grad


def same(got: Any, want: Any) -> bool:
    """Whether tensors, or tuples of them, agree."""
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    return all(dt.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in pairs)


STYLES = list(itertools.product([False, True], repeat=3))


@pytest.mark.parametrize(("setup", "own_vmap", "own_jvp"), STYLES)
@pytest.mark.parametrize("program", [*FIRST, *SECOND])
def test_functions_are_followed_by_their_backward(
    program: str, setup: bool, own_vmap: bool, own_jvp: bool
) -> None:
    """Whatever style they are written in, and wherever the transforms stand."""
    held, run = (3.0, FIRST[program]) if program in FIRST else (1, SECOND[program])
    assert same(run(made(setup, own_vmap, own_jvp, held)), run(truth(held)))


# Values that NumPy makes, of rows one after the other, are for a `vmap` that loops.
@pytest.mark.parametrize("own_jvp", [False, True])
@pytest.mark.parametrize(
    "program", ["jvp", "backward", "jacrev", "grad", "grad(jvp)", "jvp(grad)"]
)
def test_values_that_nobody_can_follow(program: str, own_jvp: bool) -> None:
    """What is within forward is not looked into."""
    runs: dict[str, Program] = {
        **FIRST, **SECOND, "backward": lambda f: _backward(lambda x: f(x, Y)),
        "jacrev": lambda f: fn.vjp(lambda x: f(x, Y), X)[1](Y),
        "grad": lambda f: fn.grad(total(f), argnums=(0, 1))(X, Y),
    }  # fmt: skip
    f = made(True, True, own_jvp, opaque=True)
    assert same(runs[program](f), runs[program](truth()))


class Parts(dt.autograd.Function):
    """Two results, the second without a gradient, a number, and attributes."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        """`k x`, and where it is positive."""
        ctx.k = k
        ctx.x = x
        positive = x > 0
        ctx.mark_non_differentiable(positive)
        return k * x, positive, "said"

    @staticmethod
    def backward(ctx: Any, ct: Any, *_: Any) -> Any:
        """By x alone."""
        return ctx.k * ct, None


def test_results_of_several_kinds() -> None:
    """Tensors are of all rows; what is none is as it is."""
    x = (X - 0.5).requires_grad_()
    seen = []

    def row(r: Any) -> Any:
        y, positive, text = Parts.apply(r, 2.0)
        seen.append(text)
        return y, positive

    y, positive = fn.vmap(row)(x)
    assert seen == ["said"]
    assert same(y, 2 * x)
    assert not positive.requires_grad
    np.testing.assert_array_equal(positive.numpy(), x.detach().numpy() > 0)
    (y * Y).sum().backward()
    assert same(x.grad, 2 * Y)


class Doubled(dt.autograd.Function):
    """Writes into its argument."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Twice x, in place."""
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        """Twice."""
        return 2 * ct


def test_writes_into_arguments_are_seen() -> None:
    """The rows are the caller's, and the gradient goes through."""
    x = X.clone()
    got = fn.vmap(lambda r: Doubled.apply(r) + 1)(x)
    assert same(got, 2 * X + 1)
    assert same(x, 2 * X)
    leaf = X.clone().requires_grad_()
    (fn.vmap(lambda r: Doubled.apply(r * 1))(leaf) * Y).sum().backward()
    assert same(leaf.grad, 2 * Y)


def test_what_backward_owes_is_asked_of_rows_too() -> None:
    """A gradient too few is refused by name."""

    class Short(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct

    x = X.clone().requires_grad_()
    with pytest.raises(RuntimeError, match=r"Short\.backward.*2"):
        fn.vmap(Short.apply)(x, Y).sum().backward()


CUTS: dict[str, Callable[[Any], Any]] = {
    "detach": lambda x: x.detach(), "data": lambda x: x.data,
    "detach_": lambda x: (x * 1).detach_(),
}  # fmt: skip
SLOPES: dict[str, Program] = {
    "grad": lambda f: fn.grad(lambda x: f(x).sum())(X),
    "grad(vmap)": lambda f: fn.grad(lambda x: fn.vmap(f)(x).sum())(X),
    "vmap(grad)": lambda f: fn.vmap(fn.grad(lambda x: f(x).sum()))(X),
    "backward of vmap": lambda f: _slope(X.clone().requires_grad_(), fn.vmap(f)),
    "jvp": lambda f: fn.jvp(f, (X,), (dt.ones_like(X),))[1],
    "jvp(vmap)": lambda f: fn.jvp(fn.vmap(f), (X,), (dt.ones_like(X),))[1],
    "vmap(jvp)": lambda f: fn.vmap(lambda x, t: fn.jvp(f, (x,), (t,))[1])(
        X, dt.ones_like(X)
    ),
    "jvp of a write": lambda f: fn.jvp(
        lambda x: dt.zeros_like(X).copy_(f(x)), (X,), (dt.ones_like(X),)
    )[1],
}


def _slope(x: Any, f: Any) -> Any:
    f(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("program", SLOPES)
def test_what_is_detached_follows_nothing_at_any_level(program: str, cut: str) -> None:
    """Values go through, by which straight-through estimators are made."""
    got = SLOPES[program](lambda x: 3 * x - CUTS[cut](2 * x))
    assert same(got, dt.full_like(X, 3))


def test_writes_into_what_is_detached_show() -> None:
    """It is the same memory, within transforms as well."""

    def doubled(x: Any) -> Any:
        y = x * 1
        y.detach().mul_(2)
        return y

    assert same(fn.vmap(doubled)(X), 2 * X)
    assert same(fn.jvp(doubled, (X,), (Y,)), (2 * X, Y))
