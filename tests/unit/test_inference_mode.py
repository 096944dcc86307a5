"""`inference_mode` as a context manager and as a decorator, and what is made in it."""

import contextvars
import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.errors import InplaceError


def test_nothing_is_recorded_within() -> None:
    """As under no_grad; switched off, everything is, and outside all is as it was."""
    x = dt.ones(2, requires_grad=True)
    with dt.inference_mode():
        assert not (x * 2).requires_grad
        with dt.inference_mode(False):
            assert (x * 2).requires_grad
        assert not dt.is_grad_enabled()
    assert dt.is_grad_enabled()


def test_decorators() -> None:
    """A function is decorated with parentheses and without."""

    @dt.inference_mode
    def plain() -> bool:
        return dt.is_grad_enabled()

    @dt.inference_mode()
    def called() -> bool:
        return dt.is_grad_enabled()

    assert not plain()
    assert not called()
    assert dt.is_grad_enabled()


def _made() -> dt.Tensor:
    with dt.inference_mode():
        return dt.ones(2) * 2


def test_what_is_made_in_it_is_marked_and_nothing_else() -> None:
    """Results, and views of them anywhere; no views of what was made outside."""
    x = dt.ones(2)
    with dt.inference_mode():
        assert dt.is_inference_mode_enabled()
        made, looked, detached = x + 1, x[:1], x.detach()
        with dt.no_grad(), dt.enable_grad():
            assert dt.zeros(1).is_inference()
        with dt.inference_mode(mode=False):
            assert not dt.is_inference_mode_enabled()
            assert not dt.ones(1).is_inference()
    assert not dt.is_inference_mode_enabled()
    assert dt.is_inference(made)
    assert made[:1].is_inference()
    assert made.detach().is_inference()
    assert not looked.is_inference()
    assert not detached.is_inference()
    assert not (made + 1).is_inference()
    assert not made.clone().is_inference()
    assert not dt.ones(1).is_inference()


def test_an_inference_tensor_is_used_but_not_kept_for_backward() -> None:
    """Sums keep nothing; products would; a clone is like other tensors."""
    x, made = dt.ones(2, requires_grad=True), _made()
    (x + made).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        x * made
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        x.dot(made)
    (x * made.clone()).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


_WRITES: dict[str, Callable[[dt.Tensor], object]] = {
    "add_": lambda x: x.add_(1),
    "fill_": lambda x: x.fill_(5),
    "view": lambda x: x[:1].mul_(3),
    "setitem": lambda x: x.__setitem__(0, 3),
    "out": lambda x: dt.exp(dt.ones(2), out=x),
    "copy_": lambda x: x.copy_(dt.ones(2)),
    "normal_": lambda x: x.normal_(),
}


@pytest.mark.parametrize("name", _WRITES)
@pytest.mark.parametrize("shared", [False, True])
def test_an_inference_tensor_is_written_in_that_mode_alone(
    name: str, shared: bool
) -> None:
    """Outside, also under no_grad, the write is refused and changes nothing."""
    made = _made()
    if shared:
        made.view(-1)
    for mode in (dt.enable_grad, dt.no_grad):
        with mode(), pytest.raises(RuntimeError, match="outside InferenceMode"):
            _WRITES[name](made)
    assert made.tolist() == [2.0, 2.0]
    with dt.inference_mode():
        _WRITES[name](made)
    assert made.tolist() != [2.0, 2.0]


def test_an_inference_tensor_has_no_version_and_no_gradient_is_asked_for_it() -> None:
    """Both are refused outside; within, it may be a leaf."""
    made = _made()
    with pytest.raises(RuntimeError, match="do not track version"):
        _ = made._version
    with pytest.raises(RuntimeError, match="outside InferenceMode"):
        made.requires_grad_()
    assert not made.requires_grad_(False).requires_grad
    with dt.inference_mode():
        leaf = dt.ones(2, requires_grad=True)
        assert not (leaf * 2).requires_grad
    (leaf + 1).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [1.0, 1.0]


def test_what_is_off_the_tape_of_one_is_written_anywhere() -> None:
    """`detach()` and `.data` show its memory."""
    made = _made()
    made.detach().add_(1)
    made.data.add_(1)
    assert made.tolist() == [4.0, 4.0]
    assert made.detach().is_inference()


def test_copies_are_what_the_mode_at_their_time_says() -> None:
    """Copies and loaded tensors are made then, as others are."""
    made, plain = _made(), dt.ones(2)
    assert not copy.deepcopy(made).is_inference()
    assert not pickle.loads(pickle.dumps(made)).is_inference()
    with dt.inference_mode():
        assert copy.deepcopy(plain).is_inference()
    plain.data = made
    assert plain.is_inference()
    made.data = dt.ones(2)
    assert not made.is_inference()


def test_a_write_to_what_was_made_outside_counts() -> None:
    """What a graph has kept of it is refused later."""
    x, kept = dt.ones(2, requires_grad=True), dt.ones(2)
    y = (x * kept).sum()
    with dt.inference_mode():
        kept.add_(1)
        assert kept._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_generator_is_in_the_mode_while_it_runs() -> None:
    """Its caller is not."""

    @dt.inference_mode()
    def steps() -> Iterator[dt.Tensor]:
        yield dt.ones(1)
        yield dt.zeros(1)

    found = [(x.is_inference(), dt.is_inference_mode_enabled()) for x in steps()]
    assert found == [(True, False), (True, False)]
    assert dt.inference_mode(mode=False).clone().mode is False


def test_a_network_is_evaluated_and_trained_by_turns() -> None:
    """Nothing of the evaluation is in the way of a training step."""
    net = dt.nn.Sequential(
        dt.nn.Linear(2, 3), dt.nn.BatchNorm1d(3), dt.nn.ReLU(inplace=True)
    )
    for _ in range(2):
        with dt.inference_mode():
            y = net(dt.randn(4, 2))
            y += 1
            y[0] = 0
        assert y.is_inference()
        net(dt.randn(4, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_result_type() -> None:
    """The dtype of an operation, of tensors and numbers, that is not computed."""
    small = dt.ones(2, dtype=dt.int8)
    assert dt.result_type(small, 2) is dt.int8
    assert dt.result_type(small, 2.0) is dt.float32
    assert dt.result_type(small, dt.tensor(1.0, dtype=dt.float64)) is dt.float64
    assert dt.result_type(dt.ones(1, dtype=dt.float16), small) is dt.float16


def test_printing() -> None:
    """How tensors are shown is chosen for the package."""
    try:
        dt.set_printoptions(precision=2)
        assert repr(dt.tensor(1 / 3)) == "tensor(0.33)"
    finally:
        dt.set_printoptions(profile="default")
    assert repr(dt.tensor(1 / 3)) == "tensor(0.3333)"


@pytest.mark.parametrize("modes", [
    (dt.no_grad, dt.enable_grad),
    (dt.inference_mode, lambda: dt.inference_mode(False)),
])  # fmt: skip
def test_modes_may_end_in_another_order(modes: Any) -> None:
    """Each takes back what it has set aside itself, as in torch."""

    def entered() -> list[bool]:
        first, second = (make() for make in modes)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        between = dt.is_grad_enabled()
        second.__exit__(None, None, None)
        return [between, dt.is_grad_enabled()]

    assert contextvars.copy_context().run(entered) == [True, False]
    assert dt.is_grad_enabled()


def test_memory_that_may_not_be_written_stays_so() -> None:
    """Also where an inference tensor is reached by `.data`."""
    array = np.arange(3.0)
    array.flags.writeable = False
    with dt.inference_mode():
        x = dt.from_numpy(array)
    with pytest.raises(InplaceError, match="read-only"):
        x.data.add_(1)
    assert array.tolist() == [0.0, 1.0, 2.0]
