"""Errors within modules say which module it was."""

import pytest

import dovetail
from dovetail import nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.inner = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(width, 8))

    def forward(self, x: dovetail.Tensor) -> dovetail.Tensor:
        return self.inner(x + self.attend(x, x, x)[0])


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Block(16), Block(width)])

    def forward(self, x: dovetail.Tensor) -> dovetail.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def test_the_path_is_that_from_the_module_that_was_called() -> None:
    """Whole, whether a hook is there or not."""
    net, x = Net(5), dovetail.randn(2, 3, 8)
    with pytest.raises(RuntimeError, match=r"^layers\.1\.inner\.2: linear: "):
        net(x)
    with pytest.raises(RuntimeError, match=r"^inner\.2: linear: "):
        net.layers[1](x)
    net.layers[1].register_forward_hook(lambda m, a, y: None)
    with pytest.raises(RuntimeError, match=r"^layers\.1\.inner\.2: linear: "):
        net(x)


def test_a_module_alone_has_no_path() -> None:
    """Nor has what is no error of a call: an error of the user's stays as it is."""
    with pytest.raises(RuntimeError, match=r"^linear: "):
        nn.Linear(3, 2)(dovetail.ones(4))

    class Own(nn.Module):
        def forward(self, x: int) -> int:
            raise RuntimeError(f"own {x}")

    with pytest.raises(RuntimeError, match=r"^own 3$"):
        nn.Sequential(Own())(3)
    assert Net(16)(dovetail.randn(2, 3, 8)).shape == (2, 3, 8)
