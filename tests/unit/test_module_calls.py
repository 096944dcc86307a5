"""Calls of modules, and the hooks around them."""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict
from types import FrameType
from typing import Any

import pytest

import dovetail as dt
from dovetail import nn
from dovetail.errors import (
    ArgumentError,
)
from dovetail.nn.module import attributes
from dovetail.utils.hooks import RemovableHandle


class Double(nn.Module):
    """Twice its input."""

    def forward(self, x: Any, *, plus: float = 0.0) -> Any:
        return x * 2 + plus


def test_forward_hooks() -> None:
    """Results of hooks replace arguments and output, in order of registration."""
    module = Double()
    first = module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_hook(lambda m, args, out: out * 10)
    module.register_forward_hook(lambda m, args, out: None)
    assert module(1) == 40
    first.remove()
    first.remove()
    assert module(1) == 20
    with module.register_forward_hook(lambda m, args, out: -out, prepend=True):
        assert module(1) == -20
    assert module(1) == 20


def test_handles_of_hooks_are_of_one_class() -> None:
    """Hooks of tensors, modules and optimizers are removed by a `RemovableHandle`."""
    layer = nn.Linear(2, 1)
    optimizer = dt.optim.SGD(layer.parameters(), lr=0.1)
    for handle in (
        layer.weight.register_hook(lambda gradient: None),
        layer.weight.register_post_accumulate_grad_hook(lambda leaf: None),
        layer.register_forward_hook(lambda *_: None),
        layer.register_state_dict_pre_hook(lambda *_: None),
        optimizer.register_step_pre_hook(lambda *_: None),
    ):
        assert isinstance(handle, RemovableHandle)


def test_hooks_with_kwargs() -> None:
    """Hooks that ask for them see and change named arguments."""
    module = Double()
    seen: list[Any] = []
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"plus": 5.0}), with_kwargs=True
    )
    module.register_forward_hook(
        lambda m, args, kwargs, out: seen.append((args, kwargs, out)), with_kwargs=True
    )
    assert module(1) == 7
    assert seen == [((1,), {"plus": 5.0}, 7)]
    module.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
    with pytest.raises(TypeError, match=r"needed None or \(new_args, new_kwargs\)"):
        module(1)


def test_always_called_hooks_run_after_an_error() -> None:
    """Such a hook runs once, with None for the output that is not there."""
    module = Double()
    seen: list[Any] = []
    module.register_forward_hook(lambda m, a, out: seen.append(out), always_call=True)
    module.register_forward_hook(lambda m, a, out: seen.append("not this one"))
    with pytest.raises(TypeError):
        module(None)
    assert seen == [None]


def test_hooks_in_a_replaced_or_copied_table_run() -> None:
    """Hooks are called wherever the table that holds them came from."""
    module = Double()
    module._forward_hooks = OrderedDict({0: lambda m, a, out: out + 1})
    assert module(1) == 3
    assert copy.deepcopy(module)(1) == 3


def test_full_backward_hooks_see_and_change_gradients() -> None:
    """Gradients of outputs and inputs; a returned gradient replaces them."""
    module = Double()
    seen: list[Any] = []

    def record(m: nn.Module, grad_in: Any, grad_out: Any) -> Any:
        seen.append((grad_in[0].tolist(), grad_out[0].tolist()))
        return (grad_in[0] * 10,)

    module.register_full_backward_hook(record)
    module.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] + 1,))
    x = dt.ones(2, requires_grad=True)
    module(x).sum().backward()
    assert seen == [([4.0, 4.0], [2.0, 2.0])]
    assert x.grad.tolist() == [40.0, 40.0]


def test_full_backward_hook_sees_all_inputs_and_outputs_together() -> None:
    """Of several tensors, those without gradients are None."""

    class Swap(nn.Module):
        def forward(self, a: Any, b: Any, c: Any) -> Any:
            return b * 3, a * 2

    module, seen = Swap(), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    a, b = (dt.ones(1, requires_grad=True) for _ in range(2))
    first, second = module(a, b, dt.ones(1))
    (first + 5 * second).sum().backward()
    (grad_in, grad_out) = seen[0]
    assert [g if g is None else g.item() for g in grad_in] == [10.0, 3.0, None]
    assert [g.item() for g in grad_out] == [1.0, 5.0]
    assert (a.grad.item(), b.grad.item()) == (10.0, 3.0)


def test_full_backward_hook_without_input_gradients() -> None:
    """It runs once the outputs' gradients are known, and may not return any."""
    module, seen = nn.Linear(1, 1), []
    handle = module.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    module(dt.ones(1, 1)).sum().backward()
    assert seen == [(None,)]
    handle.remove()
    module.register_full_backward_hook(lambda m, gi, go: go)
    with pytest.raises(ArgumentError, match="no input of this module has a gradient"):
        module(dt.ones(1, 1)).sum().backward()


def test_a_backward_hook_returns_as_many_gradients() -> None:
    """Another number of gradients than inputs is refused."""
    module = Double()
    module.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(ArgumentError, match="is 2 gradients, needed 1, or None"):
        module(dt.ones(1, requires_grad=True)).sum().backward()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_call_without_hooks_is_forward(elsewhere: bool) -> None:
    """It runs no other function, but for a look where other modules have hooks."""
    module, called = Double(), list[str]()
    before, attributes.used[:] = list(attributes.used), [True] * elsewhere

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    profile = sys.getprofile()
    sys.setprofile(note)
    try:
        module(1)
    finally:
        sys.setprofile(profile)
        attributes.used[:] = before
    assert called == ["__call__", *["_has_hooks"] * elsewhere, "forward"]
