"""`copy.deepcopy` and `pickle` of tensors and what holds them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import dovetail as dt
from dovetail import nn

COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}
both = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)


@both
@pytest.mark.parametrize("dtype", [dt.float32, dt.bfloat16, dt.bool, dt.complex64])
def test_values(copied: Callable[[Any], Any], dtype: dt.dtype) -> None:
    """Values, shape and dtype are kept, in memory of its own."""
    x = dt.tensor([[1, 0], [2, 3]]).to(dtype).t()
    again = copied(x)
    assert (again.dtype, again.shape, again.tolist()) == (dtype, x.shape, x.tolist())
    again.zero_()
    assert x.tolist() != again.tolist()


@both
def test_what_a_tensor_is(copied: Callable[[Any], Any]) -> None:
    """Class, gradient flag and attributes are kept."""
    x = nn.Parameter(dt.ones(2))
    x.note = ["mine"]
    again = copied(x)
    assert type(again) is nn.Parameter
    assert (again.requires_grad, again.is_leaf, again.note) == (True, True, ["mine"])
    assert not copied(dt.ones(2)).requires_grad


def test_deepcopy_of_a_gradient() -> None:
    """A deep copy has a copy of the gradient."""
    x = dt.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    again = copy.deepcopy(x)
    assert again.grad.tolist() == [3.0, 3.0]
    assert again.grad is not x.grad


def test_deepcopy_keeps_sharing() -> None:
    """What was one tensor, or one memory, is one afterwards."""
    x = dt.zeros(4)
    a, b, row = copy.deepcopy([x, x, x[1:3]])
    assert a is b
    row.fill_(1)
    assert a.tolist() == [0.0, 1.0, 1.0, 0.0]
    assert x.tolist() == [0.0] * 4


@both
def test_modules(copied: Callable[[Any], Any]) -> None:
    """A module and its copy give the same, and train apart."""
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    twin = copied(net)
    x = dt.ones(2, 3)
    assert twin(x).tolist() == net(x).tolist()
    with dt.no_grad():
        next(twin.parameters()).zero_()
    assert next(net.parameters()).abs().sum().item() > 0


def test_meta() -> None:
    """A tensor without data is pickled without."""
    again = pickle.loads(pickle.dumps(dt.zeros(2, 3, device="meta")))
    assert (again.is_meta, tuple(again.shape)) == (True, (2, 3))
