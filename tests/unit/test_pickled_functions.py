"""Public functions are pickled by where users find them; frozen parameters copied."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import dovetail as dt
from dovetail import nn

ROOMS: dict[str, Any] = {
    "": dt, "nn.functional": nn.functional, "linalg": dt.linalg, "fft": dt.fft,
    "special": dt.special, "masked": dt.masked, "Tensor": dt.Tensor,
    "signal.windows": dt.signal.windows,
}  # fmt: skip
# Which every class without them has as well: they refuse.
REFUSE = {"ccol_indices", "row_indices"}


@pytest.mark.parametrize("room", ROOMS)
def test_functions_come_back(room: str) -> None:
    """The very same, by any protocol; methods too."""
    functions = {
        name: found for name in dir(ROOMS[room])
        if not name.startswith("_") and name not in REFUSE
        and callable(found := getattr(ROOMS[room], name))
        and not isinstance(found, type)
    }  # fmt: skip
    assert functions
    for name, function in functions.items():
        again = pickle.loads(pickle.dumps(function))
        assert again is function or again == function, name
        assert copy.deepcopy(function) is not None


class Net(nn.Module):
    """A network that holds functions, as many do."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.activation, self.last = dt.relu, nn.functional.gelu

    def forward(self, x: Any) -> Any:
        return self.last(self.activation(self.layer(x)))


def test_networks_that_hold_functions_are_saved(tmp_path: Any) -> None:
    """Whole, and copied."""
    net, x = Net(), dt.randn(3, 2)
    dt.save(net, tmp_path / "net.pt")
    for other in (dt.load(tmp_path / "net.pt", weights_only=False), copy.deepcopy(net)):
        assert dt.equal(other(x), net(x))


@pytest.mark.parametrize("used", [False, True])
def test_frozen_parameters_are_copied(used: bool) -> None:
    """Those that required gradients once, and may again, with a gradient or without."""
    net = Net()
    if used:
        net(dt.ones(1, 2)).sum().backward()
    net.layer.weight.requires_grad_(False)
    net.layer.bias.requires_grad = False
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), copy.copy(net)):
        assert not any(p.requires_grad for p in other.parameters())
        assert dt.equal(other.layer.weight, net.layer.weight)
    weight = copy.deepcopy(net.layer.weight).requires_grad_()
    (weight * 2).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert (net.layer.weight.grad is not None) == used


def test_a_base_that_was_written_by_its_views_is_copied() -> None:
    """What the tape knows of it is not the user's."""
    base = dt.zeros(3, requires_grad=True) * 1
    base[0] = dt.ones((), requires_grad=True)
    plain = base.detach()
    assert copy.deepcopy(plain).tolist() == [1.0, 0.0, 0.0]
    assert pickle.loads(pickle.dumps(plain)).tolist() == [1.0, 0.0, 0.0]
