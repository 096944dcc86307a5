"""A backward pass: when leaves gather, which hooks are called, what is left behind."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import dovetail as dt
from dovetail import nn
from dovetail.engine import scopes
from dovetail.errors import AutogradError

DEEP = 100_000


def leaf(*values: float) -> dt.Tensor:
    return dt.tensor(list(values), requires_grad=True)


@contextmanager
def no_collector() -> Iterator[None]:
    """What dies now dies by reference counting alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# ---- leaves


def test_leaves_gather_when_their_last_part_has_arrived() -> None:
    """The leaf of the last layer is done before the first layer is differentiated."""
    first, last = leaf(1.0), leaf(2.0)
    seen: list[str] = []
    hidden = first * 3
    hidden.register_hook(lambda g: seen.append("hidden"))
    first.register_post_accumulate_grad_hook(lambda t: seen.append("first"))
    last.register_post_accumulate_grad_hook(lambda t: seen.append("last"))
    (hidden * last).sum().backward()
    assert seen == ["last", "hidden", "first"]


def test_a_leaf_used_twice_gathers_once() -> None:
    """Its hooks see the whole gradient, after the earliest use was differentiated."""
    x = leaf(2.0)
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(g.item()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    ((x * 3) * x).sum().backward()
    assert seen == [12.0, 12.0]


def test_an_optimizer_may_step_in_backward() -> None:
    """A step of each parameter as its gradient arrives trains as a step at the end."""

    def train(in_backward: bool) -> list[Any]:
        dt.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizers = {p: dt.optim.AdamW([p], lr=0.1) for p in model.parameters()}

        def step(p: dt.Tensor) -> None:
            optimizers[p].step()
            p.grad = None

        if in_backward:
            for p in optimizers:
                p.register_post_accumulate_grad_hook(step)
        x = dt.randn(16, 4)
        for _ in range(5):
            (model(x) ** 2).mean().backward()
            if not in_backward:
                for p in optimizers:
                    step(p)
        return [p.tolist() for p in model.parameters()]

    assert train(True) == train(False)


def test_gradients_that_rules_share_are_apart_in_leaves() -> None:
    """A hook that writes one leaf's gradient does not change what others get."""
    x, y = leaf(1.0), leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda t: t.grad.zero_())
    y.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(5))
    ((x + y) * 2).sum().backward()
    assert [x.grad.item(), y.grad.item()] == [0.0, 10.0]


def test_an_assigned_buffer_is_added_into() -> None:
    """`.grad` stays the tensor that was assigned, e.g. a view of a flat buffer."""
    flat, x = dt.ones(4), leaf(1.0, 2.0)
    x.grad = flat[:2]
    buffer = x.grad
    (x * 3).sum().backward()
    assert x.grad is buffer
    assert flat.tolist() == [4.0, 4.0, 1.0, 1.0]


def test_a_leaf_that_is_switched_off_keeps_its_gradient() -> None:
    """And gathers no more, until it is switched on again."""
    x = leaf(1.0)
    y = (x * 3).sum()
    y.backward(retain_graph=True)
    x.requires_grad_(False)
    assert x.grad.tolist() == [3.0]
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [3.0]
    x.requires_grad_()
    y.backward()
    assert x.grad.tolist() == [6.0]


def test_a_later_pass_leaves_a_gradient_differentiable() -> None:
    """A gradient made with create_graph still requires gradients after it."""
    x = leaf(2.0)
    (x**3).sum().backward(create_graph=True)
    (x * 1).sum().backward()
    assert x.grad.requires_grad
    assert x.grad.item() == 13.0


def test_a_pass_that_fails_leaves_what_was_done() -> None:
    """Leaves that were ready before have their gradients, the others do not."""
    first, last = leaf(1.0), leaf(2.0)

    def fail(g: dt.Tensor) -> None:
        raise ArithmeticError

    hidden = first * 3
    hidden.register_hook(fail)
    with pytest.raises(ArithmeticError):
        (hidden * last).sum().backward()
    assert last.grad.tolist() == [3.0]
    assert first.grad is None
    (first * last).sum().backward()
    assert first.grad.tolist() == [2.0]


# ---- hooks


def test_hooks_of_a_leaf_apply_to_grad() -> None:
    """What `grad` gives of a leaf is what its hooks made of it."""
    x = leaf(1.0)
    x.register_hook(lambda g: g * 2)
    assert dt.autograd.grad(x.sum(), x)[0].tolist() == [2.0]


def test_what_is_captured_on_the_way_is_before_its_hooks() -> None:
    """As in torch: after them only where the pass ends."""
    x = leaf(1.0)
    y = x * 1
    y.register_hook(lambda g: g * 2)
    at_y, at_x = dt.autograd.grad(y.sum(), [y, x], retain_graph=True)
    assert (at_y.item(), at_x.item()) == (1.0, 2.0)
    assert dt.autograd.grad(y.sum(), y)[0].item() == 2.0


def test_retain_grad_follows_writes() -> None:
    """The gradient kept is that of the last value."""
    x = leaf(1.0)
    y = x * 1
    y.retain_grad()
    y.mul_(3)
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2.0]


@pytest.mark.parametrize("keep", [dt.Tensor.retain_grad, lambda t: None])
def test_a_graph_dies_with_its_last_tensor(keep: Callable[[dt.Tensor], None]) -> None:
    """Without the collector, gradients retained or not."""
    with no_collector():
        x = leaf(1.0)
        y = x * 2
        keep(y)
        y.sum().backward()
        gone = weakref.ref(y)
        del y
        assert gone() is None


# ---- views


def test_a_transposed_vector_under_no_grad_keeps_its_gradient() -> None:
    """`t_()` of a 1-d view changes nothing that gradients could miss."""
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    v = base.transpose(0, -1)
    with dt.no_grad():
        v.t_()
    v[1:].sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0]


def test_a_base_may_lose_dims_in_place() -> None:
    """`squeeze_()` of a base, with views from before."""
    x = leaf(1.0, 2.0)
    base = (x * 1).unsqueeze(0).clone()
    older = base[0, 1:]
    base.squeeze_()
    base.mul_(3)
    older.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


def test_views_made_under_no_grad_report_what_their_base_requires() -> None:
    """They are leaves that no gradient reaches, and refuse writes."""
    x = leaf(1.0, 2.0)
    base = x * 1
    with dt.no_grad():
        view = base[:1]
    assert (view.requires_grad, view.is_leaf) == (True, True)
    with pytest.raises(AutogradError, match="does not require grad"):
        view.sum().detach().backward()
    (view * 2 + base).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


# ---- depth


def test_a_deep_graph_is_differentiated_and_freed() -> None:
    """A hundred thousand ops in a row take no recursion."""
    x = leaf(1.0)
    y = x
    for _ in range(DEEP):
        y = y + 1
    y.sum().backward()
    del y
    assert x.grad.tolist() == [1.0]


def test_deep_views_are_differentiated_and_freed() -> None:
    """Nor do views of views, also after their base was written."""
    x = leaf(1.0, 2.0)
    base = x + 0
    y = base
    for _ in range(3 * sys.getrecursionlimit()):
        y = y[0:]
    y.sum().backward()
    with dt.no_grad():
        base.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# ---- recorders


class Events(scopes.Recorder):
    """The names of what happened that is no op."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def event(self, name: str, *details: Any) -> None:
        self.names.append(name)


def test_recorders_hear_of_a_pass() -> None:
    """Where it begins and ends, and of each leaf that gathers a gradient."""
    x, w = leaf(1.0), leaf(2.0)
    y = (x * w).sum()
    heard = Events()
    with scopes.record(heard):
        y.backward()
    found = [n for n in heard.names if n.startswith(("backward", "accumulate"))]
    assert found == ["backward", "accumulate", "accumulate", "backward end"]


def test_a_pass_sees_the_data_that_an_operand_has_by_then() -> None:
    """What ops kept of it, custom Functions as well; results stay what they were."""

    class Squared(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: dt.Tensor) -> dt.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, ct: dt.Tensor) -> dt.Tensor:
            (kept,) = ctx.saved_tensors
            return 2 * kept * ct

    for f in (Squared.apply, lambda x: x * x, lambda x: x**2):
        for inner in (False, True):
            leaf = dt.tensor([1.0, 2.0], requires_grad=True)
            x = leaf * 1 if inner else leaf
            alias, y, z = x.detach(), f(x), x.exp()
            x.data = dt.tensor([10.0, 20.0])
            (y + 0 * z).sum().backward()
            assert leaf.grad is not None
            assert leaf.grad.tolist() == [20.0, 40.0]
            assert alias.tolist() == [1.0, 2.0]
            assert x._version == alias._version == 0


def test_data_that_is_written_after_it_was_set_is_refused() -> None:
    """As without; and what shares the memory that was left is what it was."""
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    constant, w = dt.tensor([3.0, 4.0]), dt.tensor([1.0, 1.0], requires_grad=True)
    kept = constant.detach()
    y, z, u = x * x, (constant * w).sum(), (kept * w).sum()
    x.data = dt.tensor([10.0, 20.0])
    constant.data = dt.tensor([7.0, 8.0])
    x.data = dt.tensor([30.0, 40.0])
    z.backward()
    assert w.grad is not None
    assert w.grad.tolist() == [7.0, 8.0]
    y.sum().backward(retain_graph=True)
    assert x.grad is not None
    assert x.grad.tolist() == [60.0, 80.0]
    with dt.no_grad():
        x.add_(1)
    with pytest.raises(AutogradError, match="modified by an inplace"):
        y.sum().backward()
    kept.add_(1)
    with pytest.raises(AutogradError, match="modified by an inplace"):
        u.backward()
