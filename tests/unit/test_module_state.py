"""Modules' state dicts: saved, loaded, refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.support.modules import Net

import dovetail as dt
from dovetail import nn
from dovetail.errors import (
    DovetailError,
)


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
