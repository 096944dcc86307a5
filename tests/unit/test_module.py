"""Modules: what they hold, how they are walked, kept, moved and called."""

from __future__ import annotations

import copy
import pickle
import sys
from collections import OrderedDict
from types import FrameType
from typing import Any

import pytest

import dovetail as dt
from dovetail import nn
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DovetailError,
    DTypeError,
    IndexOutOfRange,
    NotSupported,
    ShapeError,
)
from dovetail.nn.module import attributes
from dovetail.utils.hooks import RemovableHandle


class Net(nn.Module):
    """Two layers, a shared one, a parameter of its own and two buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)
        self.again = self.first
        self.scale = nn.Parameter(dt.ones(2))
        self.register_buffer("count", dt.zeros(1))
        self.register_buffer("scratch", dt.zeros(1), persistent=False)

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        return self.second(self.first(x)) * self.scale


class Double(nn.Module):
    """Twice its input."""

    def forward(self, x: Any, *, plus: float = 0.0) -> Any:
        return x * 2 + plus


def names(pairs: Any) -> list[str]:
    return [name for name, _ in pairs]


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


# ---- state dicts


def test_state_dict_shares_storage_and_skips_scratch() -> None:
    """Names in order, detached tensors, metadata of versions."""
    net = Net()
    state = net.state_dict()
    assert list(state)[:3] == ["scale", "count", "first.weight"]
    assert "again.weight" in state
    assert "scratch" not in state
    assert not state["scale"].requires_grad
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    with dt.no_grad():
        state["scale"].fill_(7)
    assert net.scale.tolist() == [7.0, 7.0]
    assert state._metadata["first"] == {"version": 1}
    filled: dict[str, Any] = {}
    assert net.first.state_dict(destination=filled, prefix="p.") is filled
    assert list(filled) == ["p.weight", "p.bias"]


def test_load_state_dict_copies_and_keeps_identity() -> None:
    """Values are copied into the parameters that are there."""
    source, target = Net(), Net()
    weight = target.first.weight
    result = target.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert target.first.weight is weight
    assert weight.tolist() == source.first.weight.tolist()
    assert weight.data_ptr() != source.first.weight.data_ptr()


def test_load_state_dict_names_everything_that_does_not_fit() -> None:
    """One error for missing, unexpected and misshapen keys, in torch's words."""
    with pytest.raises(RuntimeError) as info:
        nn.Linear(2, 3).load_state_dict({"weight": dt.ones(3, 3), "x": dt.ones(1)})
    assert isinstance(info.value, DovetailError)
    lines = str(info.value).split("\n\t")
    assert lines[0] == "Error(s) in loading state_dict for Linear:"
    assert lines[1] == 'Missing key(s) in state_dict: "bias". '
    assert lines[2] == 'Unexpected key(s) in state_dict: "x". '
    assert lines[3].startswith("size mismatch for weight: copying a param with shape")
    again = pickle.loads(pickle.dumps(info.value))
    assert str(again) == str(info.value)


def test_load_state_dict_not_strict() -> None:
    """Missing and unexpected keys are returned; shapes still have to fit."""
    net = nn.Linear(2, 3)
    result = net.load_state_dict({"weight": dt.ones(3, 2), "x": 1}, strict=False)
    assert result.missing_keys == ["bias"]
    assert result.unexpected_keys == ["x"]
    assert net.weight.tolist() == [[1.0, 1.0]] * 3
    with pytest.raises(RuntimeError, match="size mismatch"):
        net.load_state_dict({"weight": dt.ones(1)}, strict=False)
    with pytest.raises(TypeError, match="state_dict is int"):
        net.load_state_dict(3)
    with pytest.raises(RuntimeError, match="expected a Tensor from checkpoint"):
        net.load_state_dict({"weight": 3, "bias": dt.ones(3)})


def test_load_state_dict_assign() -> None:
    """With `assign` the given tensors are held, dtype and all."""
    net = nn.Linear(2, 1)
    weight = dt.ones(1, 2, dtype=dt.float64)
    net.load_state_dict({"weight": weight, "bias": dt.zeros(1)}, assign=True)
    assert net.weight.dtype is dt.float64
    assert isinstance(net.weight, nn.Parameter)
    assert net.weight.requires_grad
    assert net.weight.data_ptr() == weight.data_ptr()


def test_extra_state_goes_with_the_rest() -> None:
    """What `get_extra_state` gives comes back in `set_extra_state`."""

    class Extra(nn.Module):
        value: Any = 1

        def get_extra_state(self) -> Any:
            return self.value

        def set_extra_state(self, state: Any) -> None:
            self.value = state

    source, target = Extra(), Extra()
    source.value = 5
    target.load_state_dict(source.state_dict())
    assert target.value == 5
    with pytest.raises(RuntimeError, match=r'Missing.*"_extra_state"'):
        target.load_state_dict({})


def test_state_dict_hooks() -> None:
    """Hooks before and after saving and loading, with torch's arguments."""
    net = nn.Linear(1, 1)
    seen: list[str] = []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append("pre"))
    net.register_state_dict_post_hook(lambda m, d, p, meta: d.pop("bias") and None)
    net.register_load_state_dict_pre_hook(
        lambda m, d, *rest: d.setdefault("bias", dt.ones(1)) is None
    )
    net.register_load_state_dict_post_hook(lambda m, keys: seen.append("post"))
    state = net.state_dict()
    assert list(state) == ["weight"]
    net.load_state_dict(state)
    assert net.bias.tolist() == [1.0]
    assert "bias" not in state
    assert seen == ["pre", "post"]


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


# ---- calls and hooks


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


# ---- containers


def test_sequential() -> None:
    """Indexing, slicing, changing, joining."""
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    assert isinstance(net[-2], nn.ReLU)
    assert len(net[1:]) == 2
    assert net[1:][1] is net[2]
    net[1] = nn.Tanh()
    net.append(nn.Sigmoid()).insert(0, nn.Identity())
    assert [type(m).__name__ for m in net] == [
        "Identity", "Linear", "Tanh", "Linear", "Sigmoid",
    ]  # fmt: skip
    del net[0]
    assert list(net._modules) == ["0", "1", "2", "3"]
    assert isinstance(net.pop(-1), nn.Sigmoid)
    assert len(net + nn.Sequential(nn.ReLU())) == 4
    assert len(net * 2) == 6
    net += [nn.ReLU()]
    assert len(net) == 4
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert isinstance(named.b, nn.Tanh)
    assert list(named[1:]._modules) == ["b"]
    with pytest.raises(IndexOutOfRange, match="index is 9, needed -4 to 3"):
        net[9]
    with pytest.raises(TypeError, match="needed a Module"):
        nn.Sequential(3)


def test_module_list_and_dict() -> None:
    """Both register what they hold, under positions or names."""
    listed = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
    listed.extend([nn.ReLU()]).insert(1, nn.Tanh())
    assert isinstance(listed[1], nn.Tanh)
    assert len(listed[:2]) == 2
    assert len(listed + nn.ModuleList([nn.ReLU()])) == 6
    assert len(list(listed.parameters())) == 6
    with pytest.raises(TypeError, match="needed an iterable of modules"):
        listed.extend(3)
    named = nn.ModuleDict({"a": nn.Linear(1, 1)})
    named["b"] = nn.ReLU()
    named.update([("c", nn.Tanh())])
    assert list(named) == list(named.keys()) == ["a", "b", "c"]
    assert "a" in named
    assert isinstance(named.pop("c"), nn.Tanh)
    del named["b"]
    assert [name for name, _ in named.items()] == ["a"]
    with pytest.raises(TypeError, match="pairs of name and module"):
        named.update([1])


def test_parameter_list_and_dict() -> None:
    """Tensors become parameters; other values are kept as they are."""
    listed = nn.ParameterList([dt.ones(2), 3])
    listed.append(nn.Parameter(dt.zeros(1)))
    assert isinstance(listed[0], nn.Parameter)
    assert listed[1] == 3
    assert listed[-1].tolist() == [0.0]
    assert len(listed[1:]) == 2
    assert names(listed.named_parameters()) == ["0", "2"]
    assert "(1): Object of type: int" in repr(listed)
    named = nn.ParameterDict({"a": dt.ones(2)})
    named["b"] = 4
    assert isinstance(named.a, nn.Parameter)
    assert list((named | {"c": 1}).keys()) == ["a", "b", "c"]
    assert named.get("z", 9) == 9
    assert named.setdefault("d", 7) == 7
    assert named.popitem() == ("d", 7)
    del named["b"]
    assert list(named.state_dict()) == ["a"]
    assert "(a): Parameter containing: [" in repr(named)


def test_repr_nests() -> None:
    """Children are indented; several lines of text stay together."""
    text = repr(nn.Sequential(nn.Sequential(nn.ReLU()), nn.Dropout(0.1)))
    assert text.split("\n") == [
        "Sequential(",
        "  (0): Sequential(",
        "    (0): ReLU()",
        "  )",
        "  (1): Dropout(p=0.1, inplace=False)",
        ")",
    ]


# ---- layers


def test_dropout() -> None:
    """Training zeroes about p and scales the rest; eval returns the input."""
    x = dt.ones(10_000)
    layer = nn.Dropout(0.25)
    y = layer(x)
    kept = [v for v in y.tolist() if v != 0.0]
    assert kept == pytest.approx([4 / 3] * len(kept))
    assert 0.7 < len(kept) / 10_000 < 0.8
    assert layer.eval()(x) is x
    channels = nn.Dropout2d(0.5)(dt.ones(8, 8, 3, 3))
    assert set(channels.sum((2, 3)).flatten().tolist()) == {0.0, 18.0}
    with pytest.raises(ArgumentError, match="needed a probability from 0 to 1"):
        nn.Dropout(2)


def test_inplace_activations_write_their_input() -> None:
    """`inplace=True` returns the very tensor it was given."""
    for layer in (nn.ReLU(True), nn.Hardtanh(0.0, 1.0, True), nn.LeakyReLU(0.0, True)):
        x = dt.tensor([-1.0, 0.5])
        assert layer(x) is x
        assert x.tolist() == [0.0, 0.5]


def test_embedding() -> None:
    """The padding row is zero and gets no gradient."""
    layer = nn.Embedding(4, 2, padding_idx=-1)
    assert layer.padding_idx == 3
    assert layer.weight[3].tolist() == [0.0, 0.0]
    layer(dt.tensor([0, 3, 0])).sum().backward()
    assert layer.weight.grad.tolist() == [[2.0, 2.0], [0.0, 0.0], [0.0] * 2, [0.0] * 2]
    frozen = nn.Embedding.from_pretrained(dt.ones(3, 2))
    assert not frozen.weight.requires_grad
    with pytest.raises(IndexError, match="padding_idx is 9, needed -4 to 3"):
        nn.Embedding(4, 2, padding_idx=9)
    with pytest.raises(NotSupported, match="max_norm"):
        nn.Embedding(4, 2, max_norm=1.0)
    with pytest.raises(ShapeError, match="needed 2 dimensions"):
        nn.Embedding.from_pretrained(dt.ones(3))


BAD_LAYERS = {
    "groups": (lambda: nn.Conv2d(3, 4, 3, groups=2), "a multiple of groups=2"),
    "padding": (lambda: nn.Conv2d(3, 4, 3, padding="full"), "'same' or 'valid'"),
    "same": (lambda: nn.Conv2d(3, 4, 3, 2, "same"), "needed a stride of 1"),
    "mode": (lambda: nn.Conv2d(3, 4, 3, padding_mode="x"), "needed one of"),
    "kernel": (lambda: nn.Conv2d(3, 4, (1, 2, 3)), "needed one number or 2"),
    "norm groups": (lambda: nn.GroupNorm(2, 3), "a multiple of num_groups=2"),
    "conv dims": (lambda: nn.Conv2d(1, 1, 1)(dt.ones(2, 2)), "needed 4 dimensions"),
    "pool dims": (lambda: nn.MaxPool2d(2)(dt.ones(2)), "needed 4 dimensions"),
    "norm dims": (lambda: nn.BatchNorm2d(2)(dt.ones(2, 2)), "needed 4 dimensions"),
    "one value": (lambda: nn.BatchNorm1d(2)(dt.ones(1, 2)), "more than one in train"),
    "norm eps": (lambda: nn.BatchNorm1d(2, -1.0)(dt.ones(2, 2)), "needed a positive"),
    "delta": (lambda: nn.HuberLoss(delta=1j), "needed a float"),
    "ignored": (
        lambda: nn.CrossEntropyLoss(ignore_index=1)(dt.ones(1, 3), dt.ones(1, 3)),
        "needed class numbers as the target",
    ),
    "reduction": (lambda: nn.MSELoss(reduction="x"), "needed one of"),
    "clip": (lambda: nn.Hardtanh(1.0, -1.0), "needed > 1.0"),
    "eye": (lambda: nn.init.eye_(dt.ones(1)), "needed 2 dimensions"),
    "fan": (lambda: nn.init.xavier_normal_(dt.ones(1)), "needed 2 dimensions or more"),
    "gain": (lambda: nn.init.calculate_gain("x"), "needed leaky_relu or one of"),
    "fan mode": (
        lambda: nn.init.kaiming_normal_(dt.ones(1, 1), mode="x"),
        "needed 'fan_in' or 'fan_out'",
    ),
}


@pytest.mark.parametrize("fault", BAD_LAYERS)
def test_layers_refuse(fault: str) -> None:
    """What cannot work is refused with an error of ours that says what could."""
    call, message = BAD_LAYERS[fault]
    with pytest.raises(DovetailError, match=message):
        call()


def test_old_reduction_flags_still_work() -> None:
    """torch's old flags choose the reduction, with a warning."""
    with pytest.warns(UserWarning, match="give reduction='sum'"):
        loss = nn.MSELoss(size_average=False)
    assert loss.reduction == "sum"


def test_vector_to_parameters_and_back() -> None:
    """One vector holds all parameters, and gives them their values."""
    net = nn.Linear(2, 1)
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert tuple(vector.shape) == (3,)
    nn.utils.vector_to_parameters(dt.arange(3.0), net.parameters())
    assert net.weight.tolist() == [[0.0, 1.0]]
    assert net.bias.tolist() == [2.0]
    with pytest.raises(ShapeError, match="is 2 elements, needed 3"):
        nn.utils.vector_to_parameters(dt.ones(2), net.parameters())


def test_clip_gradients() -> None:
    """By value and by norm; a norm that is not finite can be an error."""
    p = nn.Parameter(dt.zeros(2))
    p.grad = dt.tensor([3.0, -4.0])
    assert nn.utils.clip_grad_norm_(p, 1.0).item() == pytest.approx(5.0)
    assert p.grad.tolist() == pytest.approx([0.6, -0.8], rel=1e-5)
    nn.utils.clip_grad_value_([p], 0.7)
    assert p.grad.tolist() == pytest.approx([0.6, -0.7], rel=1e-5)
    p.grad = dt.tensor([float("nan"), 0.0])
    with pytest.raises(RuntimeError, match="needed a finite number"):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0.0
