"""Modules that hold others, and what layers have in common."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from tests.support.modules import names

import dovetail as dt
from dovetail import nn
from dovetail.errors import (
    ArgumentError,
    DovetailError,
    IndexOutOfRange,
    ShapeError,
)

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


@pytest.mark.parametrize("kind", [nn.ModuleList, nn.ParameterList])
def test_derived_lists_ask_for_names_of_positions(kind: Any) -> None:
    """By the name that they have for it in PyTorch's classes."""
    item = nn.Identity() if kind is nn.ModuleList else dt.ones(1)
    made = kind([item, item, item])
    assert made._get_abs_string_index(-1) == "2"
    with pytest.raises(IndexError):
        made._get_abs_string_index(3)
