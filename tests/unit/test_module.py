"""Modules: what they hold, how they are walked, moved and copied."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest
from tests.support.modules import Net, names

import dovetail as dt
from dovetail import nn
from dovetail.errors import (
    ArgumentTypeError,
    DTypeError,
)

# ---- what a module holds


def test_tables_are_plain_and_in_torchs_order() -> None:
    """Programs look inside: the attributes of a module are torch's, in order."""
    module = nn.Module()
    assert list(module.__dict__) == [
        "training",
        "_parameters",
        "_buffers",
        "_non_persistent_buffers_set",
        "_backward_pre_hooks",
        "_backward_hooks",
        "_is_full_backward_hook",
        "_forward_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_hooks_always_called",
        "_forward_pre_hooks",
        "_forward_pre_hooks_with_kwargs",
        "_state_dict_hooks",
        "_state_dict_pre_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
        "_modules",
    ]
    assert type(module._parameters) is dict
    assert type(module._modules) is dict
    hooks = [v for k, v in module.__dict__.items() if k.endswith("_hooks")]
    assert all(isinstance(table, OrderedDict) for table in hooks)


def test_walks_are_in_order_of_definition_and_without_repeats() -> None:
    """A layer in two places is walked once, unless repeats are asked for."""
    net = Net()
    assert names(net.named_children()) == ["first", "second"]
    assert names(net.named_modules()) == ["", "first", "second"]
    own = ["scale", "first.weight", "first.bias", "second.weight", "second.bias"]
    assert names(net.named_parameters()) == own
    assert names(net.named_buffers()) == ["count", "scratch"]
    assert names(net.named_parameters(recurse=False)) == ["scale"]
    every = names(net.named_parameters(remove_duplicate=False))
    assert every == [*own, "again.weight", "again.bias"]
    assert names(net.named_parameters(prefix="net"))[0] == "net.scale"
    assert len(list(net.parameters())) == 5
    assert len(list(net.modules())) == 3


def test_attributes_go_to_their_tables() -> None:
    """Assigning moves a name from table to table; deleting takes it out."""
    net = Net()
    net.first = None
    assert net._modules["first"] is None
    net.scale = None
    assert "scale" in net._parameters
    assert net.scale is None
    net.count = dt.ones(3)
    assert tuple(net._buffers["count"].shape) == (3,)
    net.plain = dt.ones(1)
    assert "plain" in net.__dict__
    net.plain = nn.Parameter(dt.ones(1))
    assert "plain" not in net.__dict__
    assert "plain" in net._parameters
    del net.plain
    assert not hasattr(net, "plain")
    assert {"first", "count", "forward"} <= set(dir(net))


def test_a_name_holds_one_kind_of_thing() -> None:
    """A parameter's name takes no number: that would hide it from optimizers."""
    net = Net()
    with pytest.raises(TypeError, match="parameter 'scale' is int, needed a Param"):
        net.scale = 3
    with pytest.raises(TypeError, match="child module 'second' is Tensor"):
        net.second = dt.ones(1)
    with pytest.raises(TypeError, match="buffer 'count' is str"):
        net.count = "three"
    assert isinstance(net.second, nn.Linear)


def test_registering_checks_names_and_types() -> None:
    """What is registered has a usable name and the right type."""
    net = Net()
    with pytest.raises(KeyError, match="no dot in it"):
        net.register_buffer("a.b", None)
    with pytest.raises(KeyError, match="which is an attribute already"):
        net.register_buffer("forward", None)
    with pytest.raises(ArgumentTypeError, match="wrap the tensor"):
        net.register_parameter("w", dt.ones(1))
    with pytest.raises(ArgumentTypeError, match="needed a Tensor or None"):
        net.register_buffer("b", 3)
    with pytest.raises(ArgumentTypeError, match="needed a Module or None"):
        net.add_module("c", 3)
    with pytest.raises(KeyError, match="no dot"):
        net.add_module("", nn.ReLU())


def test_a_subclass_that_forgets_init_is_told() -> None:
    """Without `super().__init__()` the remedy is in the message."""

    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    class Lazy(nn.Module):
        def __init__(self) -> None:
            self.size = 3

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) first"):
        Forgetful()
    with pytest.raises(AttributeError, match=r"has not called super\(\).__init__"):
        Lazy().parameters().__next__()


def test_init_takes_no_arguments() -> None:
    """Arguments that a subclass forgot to take are not swallowed."""
    with pytest.raises(TypeError, match="take the arguments in a subclass"):
        nn.Module(3)


def test_missing_attribute_and_missing_forward() -> None:
    """Both say what is missing in which class."""
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'w'"):
        _ = nn.Linear(1, 1).w
    with pytest.raises(NotImplementedError, match="define `forward` in Module"):
        nn.Module()(1)


def test_paths_name_submodules_parameters_and_buffers() -> None:
    """Dotted paths lead to what they name, or say where they stop."""
    net = Net()
    assert net.get_submodule("") is net
    assert net.get_submodule("first") is net.first
    assert net.get_parameter("first.weight") is net.first.weight
    assert net.get_buffer("count") is net.count
    with pytest.raises(AttributeError, match="Linear has no module 'x'"):
        net.get_submodule("first.x")
    with pytest.raises(AttributeError, match="needed one of weight, bias"):
        net.get_parameter("first.wieght")


def test_train_eval_apply_and_gradients() -> None:
    """Modes, functions and gradient switches reach every module."""
    net = Net()
    assert net.eval() is net
    assert not net.first.training
    net.train()
    assert net.second.training
    seen: list[str] = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Linear", "Net"]
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    with pytest.raises(ValueError, match="needed a bool"):
        net.train(1)


def test_zero_grad() -> None:
    """Gradients go, or become zeros in place."""
    net = nn.Linear(2, 1)
    net(dt.ones(1, 2)).sum().backward()
    before = net.weight.grad
    net.zero_grad(set_to_none=False)
    assert net.weight.grad is before
    assert before.tolist() == [[0.0, 0.0]]
    net.zero_grad()
    assert net.weight.grad is None


# ---- moving and copying


def test_to_keeps_identity_and_casts_floats_only() -> None:
    """Parameters stay the objects that optimizers hold; counters stay integers."""
    norm = nn.BatchNorm1d(3)
    weight = norm.weight
    norm(dt.ones(2, 3)).sum().backward()
    grad = weight.grad
    assert norm.to(dt.float64) is norm
    assert norm.weight is weight
    assert weight.dtype is dt.float64
    assert weight.requires_grad
    assert weight.grad is grad
    assert grad.dtype is dt.float64
    assert norm.running_mean.dtype is dt.float64
    assert norm.num_batches_tracked.dtype is dt.int64
    assert norm.half().weight.dtype is dt.float16
    assert norm.bfloat16().weight.dtype is dt.bfloat16
    assert norm.float().weight.dtype is dt.float32
    assert norm.double().weight.dtype is dt.float64
    assert norm.cpu().weight.device.type == "cpu"
    assert norm.to("cpu", dt.float32).weight.dtype is dt.float32
    assert norm.to(dt.ones(1, dtype=dt.float64)).weight.dtype is dt.float64


def test_to_another_device() -> None:
    """Everything moves, gradients too; `to_empty` allocates only."""
    net = nn.Linear(2, 1)
    net(dt.ones(1, 2)).sum().backward()
    weight = net.weight
    net.to("meta")
    assert net.weight is weight
    assert weight.device.type == "meta"
    assert weight.grad.device.type == "meta"
    assert net.to_empty(device="cpu").weight.device.type == "cpu"


def test_to_refuses_integers_and_nonsense() -> None:
    """Neither integer parameters nor unknown arguments."""
    net = nn.Linear(2, 1)
    with pytest.raises(DTypeError, match="needed a floating point or complex dtype"):
        net.to(dt.int32)
    with pytest.raises(ArgumentTypeError, match="needed a device, a dtype, both"):
        net.to(dt.float32, 1, 2)
    with pytest.raises(ArgumentTypeError, match="needed a device"):
        net.to(colour="red")


def test_deepcopy_and_pickle_keep_structure() -> None:
    """Copies have parameters of their own; shared modules stay shared."""
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.again is other.first
        assert other.first.weight is not net.first.weight
        assert isinstance(other.scale, nn.Parameter)
        assert other.scale.requires_grad
        assert other(dt.ones(1, 3)).tolist() == net(dt.ones(1, 3)).tolist()


def test_moves_are_not_by_to() -> None:
    """A subclass may define `to` by `cpu`, or count what goes through it."""

    class Moved(nn.Linear):
        def to(self, *args: Any, **kwargs: Any) -> Any:
            return super().cpu()

    layer = Moved(2, 2)
    assert layer.to("cpu") is layer
    assert layer.cpu() is layer


def test_functions_that_a_class_holds_are_not_bound() -> None:
    """As builtins are, which torch's functions are; functions of users' are methods."""

    class Held(nn.Module):
        act = dt.tanh
        conv = dt.conv2d
        gate = nn.functional.gelu

        def own(self) -> nn.Module:
            return self

    held, x = Held(), dt.ones(1, 1, 2, 2)
    assert held.act(x).equal(dt.tanh(x))
    assert held.gate(x).equal(nn.functional.gelu(x))
    assert held.conv(x, weight=x).item() == 4
    assert held.own() is held
    assert Held.act is dt.tanh
