"""Checkpoints: gradients are those without, and the function runs again for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dovetail as dt
from dovetail.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
)


def _net() -> Any:
    dt.manual_seed(0)
    return dt.nn.Sequential(
        dt.nn.Linear(4, 8), dt.nn.Tanh(), dt.nn.Dropout(0.5), dt.nn.Linear(8, 3)
    )


def _gradients(run: Callable[[Any, Any], Any]) -> list[Any]:
    net = _net()
    x = dt.linspace(-1, 1, 8).reshape(2, 4).requires_grad_()
    dt.manual_seed(1)
    run(net, x).square().sum().backward()
    return [x.grad.tolist(), *(p.grad.tolist() for p in net.parameters())]  # type: ignore[union-attr]


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_are_those_without(reentrant: bool) -> None:
    """Bit for bit, with the same random numbers drawn again."""
    with_it = _gradients(lambda net, x: checkpoint(net, x, use_reentrant=reentrant))
    assert with_it == _gradients(lambda net, x: net(x))


@pytest.mark.parametrize("reentrant", [True, False])
def test_segments_have_the_same_gradients(reentrant: bool) -> None:
    """A sequence of modules in segments gives what it gives at once."""
    found = _gradients(
        lambda net, x: checkpoint_sequential(net, 3, x, use_reentrant=reentrant)
    )
    assert found == _gradients(lambda net, x: net(x))


@pytest.mark.parametrize("reentrant", [True, False])
def test_the_function_runs_twice(reentrant: bool) -> None:
    """Once forward, and once for backward."""
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return (x * x).sin() * x

    x = dt.ones(3, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=reentrant).sum()
    assert len(calls) == 1
    y.backward()
    assert len(calls) == 2


def test_gradients_of_gradients_go_through() -> None:
    """A checkpoint may be differentiated twice, and by `grad`."""
    x = dt.tensor(0.5, dtype=dt.float64, requires_grad=True)
    y = checkpoint(lambda x: x.sin() * x, x, use_reentrant=False)
    (g,) = dt.autograd.grad(y, x, create_graph=True)
    (h,) = dt.autograd.grad(g, x)  # type: ignore[arg-type]
    wanted = 2 * x.cos() - x * x.sin()
    assert dt.allclose(h, wanted)  # type: ignore[arg-type]


def test_a_function_that_changes_is_refused() -> None:
    """What keeps other tensors the second time is an error, not a wrong gradient."""
    sizes = iter([3, 2])

    def f(x: Any) -> Any:
        return x[: next(sizes)].sin().sum()

    x = dt.ones(3, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="second run keeps"):
        y.backward()


def test_nothing_between_is_kept() -> None:
    """Intermediate results die when the function returns."""
    import gc
    import weakref

    made = []

    def f(x: Any) -> Any:
        y = x.exp()
        made.append(weakref.ref(y._a))
        return y.sin()

    x = dt.ones(3, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False)
    gc.collect()
    assert made[0]() is None
    y.sum().backward()
