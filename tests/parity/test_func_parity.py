"""torch.func's transforms give what torch's give."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((4, 3))
MATRICES = RNG.standard_normal((4, 3, 3))
IMAGES = RNG.standard_normal((4, 2, 6, 6))
KERNELS = RNG.standard_normal((4, 3, 2, 3, 3))
PLACES = np.array([[0, 2], [1, 1], [2, 0], [0, 0]])

Program = Callable[[Any, Callable[[Any], Any]], Any]


def _where(m: Any, t: Callable[[Any], Any]) -> Any:
    return m.vmap(lambda x: m.where(x > 0, x, x * 0.1).cumsum(0))(t(ROWS))


def _ensemble(m: Any, t: Callable[[Any], Any]) -> Any:
    def loss(w: Any, x: Any) -> Any:
        return m.tanh(x @ w).square().mean()

    return m.vmap(m.func.grad(loss), in_dims=(0, None))(t(MATRICES), t(ROWS))


def _in_out_dims(m: Any, t: Callable[[Any], Any]) -> Any:
    return m.vmap(lambda a, b: (a @ b.T, a.sum()), in_dims=(1, -1), out_dims=(1, 0))(
        t(MATRICES), t(MATRICES)
    )


def _made_within(m: Any, t: Callable[[Any], Any]) -> Any:
    """What a function makes for its rows, numbers too, it may write to."""

    def f(x: Any) -> Any:
        total = x.sum()
        made = [total.new_empty(()).copy_(total), total.new_zeros(()).add_(total),
                total.new_full((), 2.0).mul_(total), x.new_empty(3).copy_(x),
                m.full_like(x, 2.0).mul_(x), m.empty_like(x).copy_(x)]  # fmt: skip
        return tuple(made)

    return m.vmap(f)(t(ROWS))


def _nested(m: Any, t: Callable[[Any], Any]) -> Any:
    pair = m.vmap(m.vmap(lambda a, b: (a * b).sum(), (None, 0)), (0, None))
    return pair(t(ROWS), t(ROWS))


def _weights_of_rows(m: Any, t: Callable[[Any], Any]) -> Any:
    conv = m.nn.functional.conv2d
    return m.vmap(lambda x, w: conv(x[None], w, padding=1))(t(IMAGES), t(KERNELS))


def _indexed(m: Any, t: Callable[[Any], Any]) -> Any:
    return m.vmap(lambda x, i: (x[i], x.index_select(0, i), x.gather(0, i)))(
        t(ROWS), t(PLACES)
    )


def _containers(m: Any, t: Callable[[Any], Any]) -> Any:
    def f(d: Any, pair: Any) -> Any:
        return [d["a"] * pair[0], pair[1].exp()]

    return m.vmap(f, in_dims=({"a": 0}, (None, 0)))(
        {"a": t(ROWS)}, (t(ROWS[0]), t(ROWS))
    )


def _chunked(m: Any, t: Callable[[Any], Any]) -> Any:
    return m.vmap(lambda x: m.softmax(x, 0), chunk_size=3, out_dims=1)(t(ROWS))


def _jacobians(m: Any, t: Callable[[Any], Any]) -> Any:
    def f(x: Any, y: Any) -> Any:
        return m.outer(x, y).sin(), x.sum()

    pair = t(ROWS[0]), t(ROWS[1][:2])
    return m.func.jacrev(f, (0, 1))(*pair), m.func.jacfwd(f, (0, 1))(*pair)


def _jvp(m: Any, t: Callable[[Any], Any]) -> Any:
    f = m.func.jvp(
        lambda x: {"y": m.linalg.inv(x), "z": m.logsumexp(x, 0)},
        (t(MATRICES[0]),), (t(MATRICES[1]),),
    )  # fmt: skip
    return f[0]["y"], f[0]["z"], f[1]["y"], f[1]["z"]


def _linearized(m: Any, t: Callable[[Any], Any]) -> Any:
    y, push = m.func.linearize(lambda x: m.softmax(x, 0) * x, t(ROWS[0]))
    return y, push(t(ROWS[1]))


def _auxiliary(m: Any, t: Callable[[Any], Any]) -> Any:
    f = m.func.grad_and_value(lambda x: ((x**3).sum(), x * 2), has_aux=True)
    slope, (value, aux) = f(t(ROWS[0]))
    return slope, value, aux


def _module(m: Any, t: Callable[[Any], Any]) -> Any:
    layer = m.nn.Sequential(m.nn.Linear(3, 3), m.nn.Tanh()).double()
    given = {"0.weight": t(MATRICES), "0.bias": t(ROWS)}
    return m.vmap(lambda p: m.func.functional_call(layer, p, (t(ROWS),)))(given)


def _learned_to_learn(m: Any, t: Callable[[Any], Any]) -> Any:
    """Steps of gradients for each task, differentiated by where they began."""

    def task(p: Any, x: Any, y: Any) -> Any:
        def loss(p: Any) -> Any:
            return ((m.tanh(x @ p["w"]) @ p["v"] - y) ** 2).mean()

        for _ in range(2):
            slopes = m.func.grad(loss)(p)
            p = {name: value - 0.1 * slopes[name] for name, value in p.items()}
        return loss(p)

    def whole(p: Any) -> Any:
        return m.vmap(lambda x, y: task(p, x, y))(t(MATRICES), t(ROWS)).mean()

    return m.func.grad(whole)({"w": t(MATRICES[0]), "v": t(ROWS[0])})


def _rows_by_rows(m: Any, t: Callable[[Any], Any]) -> Any:
    return (
        m.vmap(lambda a, i: a[i, :2])(t(MATRICES), t(PLACES[:, 0])),
        m.vmap(m.linalg.inv)(t(MATRICES)), m.vmap(m.det)(t(MATRICES)),
        m.vmap(lambda a: m.cat([a, a.T]).std(0))(t(MATRICES)),
        m.vmap(lambda a: a.scatter_add(0, (a > 0).long(), a))(t(MATRICES)),
        m.vmap(lambda a: m.topk(a.flatten(), 2)[0])(t(MATRICES)),
    )  # fmt: skip


def _rows_written_into_one(m: Any, t: Callable[[Any], Any]) -> Any:
    """Rows, or places that differ by row, in a tensor that is the same for all."""
    places, zeros = t(np.array([[0, 1, 1], [2, 2, 0]])), t(np.zeros((3, 3)))
    found = []
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for whole in (False, True):
            found.append(
                m.vmap(
                    lambda a, i, how=reduce, own=whole: t(ROWS[0]).scatter_reduce(
                        0, i, a, reduce=how, include_self=own
                    )
                )(t(ROWS[:2]), places)
            )
            found.append(
                m.vmap(
                    lambda i, how=reduce, own=whole: t(ROWS[0]).scatter_reduce(
                        0, i, t(ROWS[1]), reduce=how, include_self=own
                    )
                )(places)
            )
    return (
        *found,
        m.vmap(lambda a: zeros.select_scatter(a, 0, 1))(t(ROWS)),
        m.vmap(lambda a: zeros.slice_scatter(a[None], 0, 1, 2))(t(ROWS)),
        m.vmap(lambda a: zeros.diagonal_scatter(a))(t(ROWS)),
        m.vmap(lambda a: zeros.scatter(1, places[:1], a[None]))(t(ROWS)),
        m.vmap(lambda i: zeros.scatter(1, i[None], t(ROWS[:1])))(places),
        m.vmap(lambda i: m.bincount(i, minlength=5))(places),
        m.vmap(m.linalg.matrix_exp)(t(MATRICES)),
    )  # fmt: skip


PROGRAMS = [
    _where, _ensemble, _in_out_dims, _made_within, _nested, _weights_of_rows, _indexed,
    _containers,
    _chunked, _jacobians, _jvp, _linearized, _auxiliary, _module, _learned_to_learn,
    _rows_by_rows, _rows_written_into_one,
]  # fmt: skip


def _numbers(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, dt.Tensor | torch.Tensor):
        return [value.detach().numpy()]
    items = value.values() if isinstance(value, dict) else value
    return [a for item in items for a in _numbers(item)]


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is dep:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr:UserWarning")
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__.strip("_"))
def test_transforms_give_what_torch_gives(program: Program) -> None:
    """A program of transforms has torch's results, in torch's form."""
    ours = _numbers(program(dt, lambda a: dt.tensor(a)))
    theirs = _numbers(program(torch, lambda a: torch.tensor(a)))
    assert [a.shape for a in ours] == [a.shape for a in theirs]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("draw", [
    lambda m, p: m.multinomial(p, 2), lambda m, p: m.bernoulli(p),
    lambda m, p: m.poisson(p), lambda m, p: m.normal(p, p),
])  # fmt: skip
def test_rows_of_chances_are_drawn_from(draw: Callable[[Any, Any], Any]) -> None:
    """What is checked of chances is checked of all rows at once, as torch has it."""
    chances = np.abs(ROWS) / 4
    drawn = [
        m.vmap(functools.partial(draw, m), randomness="different")(m.tensor(chances))
        for m in (dt, torch)
    ]
    assert tuple(drawn[0].shape) == tuple(drawn[1].shape)
    for m in (dt, torch):
        with pytest.raises(RuntimeError):
            m.vmap(functools.partial(draw, m), randomness="different")(
                m.tensor(-chances)
            )
