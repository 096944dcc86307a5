"""`TorchFunctionMode`: one object that handles all public calls of a block."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from dovetail.overrides import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    _get_current_function_mode,
    _pop_mode_temporarily,
)

import dovetail as dt


class Seeing(TorchFunctionMode):
    """Notes the names of what is called."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


X = dt.arange(6.0).reshape(2, 3)
LAYER = dt.nn.Linear(3, 2)
CALLS: dict[str, Callable[[], Any]] = {
    "add": lambda: X + 1, "ones": lambda: dt.ones(2), "empty": lambda: dt.empty(2),
    "tensor": lambda: dt.tensor([1.0]), "softmax": lambda: dt.softmax(X, -1),
    "sum": lambda: X.sum(), "getitem": lambda: X[0], "linear": lambda: LAYER(X),
    "stack": lambda: dt.stack([X, X]), "einsum": lambda: dt.einsum("ij->ji", X),
    "randn": lambda: dt.randn(2), "mul_": lambda: X.clone().mul_(2),
    "item": lambda: X[0, 0].item(), "reshape": lambda: X.reshape(3, 2),
    "exp": lambda: dt.exp(X, out=dt.empty(2, 3)), "matmul": lambda: X @ X.T,
    "gelu": lambda: dt.nn.functional.gelu(X), "zeros_like": lambda: dt.zeros_like(X),
    "uniform_": lambda: X.clone().uniform_(),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_handled_though_they_are_known(name: str) -> None:
    """Also those that were called so often that nothing is asked of them."""
    for _ in range(3):
        CALLS[name]()
    with Seeing() as mode:
        CALLS[name]()
    assert name in mode.seen
    count = len(mode.seen)
    CALLS[name]()
    assert len(mode.seen) == count


def test_writes_by_index() -> None:
    """`x[i] = v` is a call, too."""
    x = dt.zeros(3)
    with Seeing() as mode:
        x[0] = 1
    assert mode.seen == ["setitem"]
    assert x.tolist() == [1, 0, 0]


def test_modes_are_within_each_other() -> None:
    """A mode's own calls go to the one that was opened before."""
    with Seeing() as outer, Seeing() as inner:
        assert _get_current_function_mode() is inner
        dt.ones(2)
        with _pop_mode_temporarily():
            dt.zeros(2)
    assert inner.seen == ["ones"]
    assert outer.seen == ["ones", "zeros"]
    assert _get_current_function_mode() is None
    with BaseTorchFunctionMode():
        assert (X + 1).shape == (2, 3)


class Mine(dt.Tensor):
    """A class that handles calls."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return "mine"


class Declining(TorchFunctionMode):
    """Handles nothing, and notes the classes that would."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.types = types
        return NotImplemented


def test_classes_of_arguments_come_after_modes() -> None:
    """They are asked where the mode does not answer."""
    mine = X.as_subclass(Mine)
    with Declining() as mode:
        assert dt.exp(mine) == "mine"
        assert mode.types == (Mine,)
        with pytest.raises(NotImplementedError):
            dt.exp(X)


def test_other_threads_are_left_alone() -> None:
    """A mode is of one context, and what others call is not forgotten to be asked."""
    with Seeing() as mode:
        thread = threading.Thread(target=lambda: [CALLS[n]() for n in CALLS])
        thread.start()
        thread.join()
        assert mode.seen == []
        for call in CALLS.values():
            call()
    assert set(CALLS) <= set(mode.seen)


def test_what_fails_closes_the_mode() -> None:
    """And one that is not the last is not closed."""
    mode = Seeing()
    with pytest.raises(RuntimeError), mode:
        dt.ones(2).view(3)
    assert _get_current_function_mode() is None
    with Seeing(), pytest.raises(RuntimeError, match="opened last"):
        mode.__exit__(None, None, None)
    dt.ones(2)
    assert mode.seen == ["ones", "view"]


def test_gradients_are_those_without() -> None:
    """What calls record is the same."""
    x = X.clone().requires_grad_()
    with Seeing():
        (dt.softmax(x, -1) * X).sum().backward()
    want = X.clone().requires_grad_()
    (dt.softmax(want, -1) * X).sum().backward()
    assert dt.equal(x.grad, want.grad)
