"""Memory that cannot be written, and attributes that cannot be set: nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt
from dovetail import optim
from dovetail.errors import ArgumentTypeError, DovetailError, DTypeError, InplaceError


def readonly_array() -> np.ndarray[Any, Any]:
    """Two ones that NumPy does not write."""
    array = np.ones(2, np.float32)
    array.flags.writeable = False
    return array


def repeated_array() -> np.ndarray[Any, Any]:
    """Two ones at one place."""
    return np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (2,), (0,))


UNWRITABLE: Final[dict[str, Callable[[], Any]]] = {
    "read-only": lambda: dt.from_numpy(readonly_array()),
    "as_tensor": lambda: dt.as_tensor(readonly_array()),
    "repeated": lambda: dt.from_numpy(repeated_array()),
    "lent repeated": lambda: dt.from_dlpack(repeated_array()),
    "expanded": lambda: dt.ones(1).expand(2),
}
WRITES: Final[dict[str, Callable[[Any], Any]]] = {
    "add_": lambda x: x.add_(1),
    "exp_": lambda x: x.exp_(),
    "view": lambda x: x[1:].add_(1) if x._base is None else x.add_(1),
    "detach": lambda x: x.detach().mul_(2),
    "data": lambda x: x.data.mul_(2),
    "out": lambda x: dt.add(dt.ones(2), 1, out=x),
    "scatter_": lambda x: x.scatter_(0, dt.tensor([0]), 5.0),
    "uniform_": lambda x: x.uniform_(),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("memory", UNWRITABLE)
def test_memory_that_cannot_be_written(memory: str, write: str) -> None:
    """A write is refused as ours, and all stays as it was."""
    x = UNWRITABLE[memory]()
    with pytest.raises(InplaceError):
        WRITES[write](x)
    assert x.tolist() == [1.0, 1.0]


def parameters() -> list[Any]:
    """Three, of two dtypes, with gradients."""
    made = [dt.ones(2), dt.ones(2), dt.ones(2, dtype=dt.float64)]
    for p in made:
        p.requires_grad_().grad = dt.ones_like(p)
    return made


OPTIMIZERS: Final[dict[str, Callable[[Any], Any]]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "AMSGrad": lambda p: optim.AdamW(p, lr=0.1, amsgrad=True),
    "groups": lambda p: optim.Adam([{"params": [q]} for q in p], lr=0.1),
}


@pytest.mark.parametrize("memory", UNWRITABLE)
@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_that_cannot_write(name: str, at: int, memory: str) -> None:
    """Where one parameter cannot be written none is, and no step has been made."""
    params = parameters()
    optimizer = OPTIMIZERS[name](params)
    fits = params[at].dtype is dt.float32
    double = dt.ones(1, dtype=dt.float64).expand(2)
    params[at].data = UNWRITABLE[memory]() if fits else double
    params[at].grad = dt.ones_like(params[at])
    with pytest.raises(InplaceError):
        optimizer.step()
    assert [p.tolist() for p in params] == [[1.0, 1.0]] * 3
    assert not optimizer.state


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("name", ["momentum", "Adam", "AMSGrad", "groups"])
def test_a_step_whose_state_does_not_fit(name: str, at: int) -> None:
    """State of another shape refuses the step of all parameters."""
    params = parameters()
    optimizer = OPTIMIZERS[name](params)
    optimizer.step()
    before = [p.tolist() for p in params]
    key = next(k for k in optimizer.state[params[at]] if k != "step")
    optimizer.state[params[at]][key] = dt.ones(7)
    saved = str(optimizer.state)
    with pytest.raises(DovetailError):
        optimizer.step()
    assert [p.tolist() for p in params] == before
    assert str(optimizer.state) == saved


@pytest.mark.parametrize("value", [None, 3, "a", [1.0, 1.0]])
def test_data_is_a_tensor(value: Any) -> None:
    """What is no tensor is no data of one."""
    x = dt.ones(2, requires_grad=True)
    with pytest.raises(ArgumentTypeError, match="data: value is a"):
        x.data = value
    assert x.tolist() == [1.0, 1.0]


def test_data_of_a_leaf_is_differentiable() -> None:
    """A leaf that gathers gradients gets no integers as its data."""
    x = dt.ones(2, requires_grad=True)
    with pytest.raises(DTypeError, match="data: dtype is int64"):
        x.data = dt.ones(2, dtype=dt.int64)
    assert x.dtype is dt.float32


@pytest.mark.parametrize("value", [None, 1, "a", 0.0])
def test_requires_grad_is_a_bool(value: Any) -> None:
    """No other value says whether gradients are wanted."""
    x = dt.ones(2)
    with pytest.raises(ArgumentTypeError, match="needed True or False"):
        x.requires_grad = value
    assert not x.requires_grad
