"""torch.lstm_cell and its kin beside torch's: values, gradients and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail as dt

torch = pytest.importorskip("torch")

GATES = {"lstm_cell": 4, "gru_cell": 3, "rnn_tanh_cell": 1, "rnn_relu_cell": 1}
ARGUMENTS = ("input", "hx", "w_ih", "w_hh", "b_ih", "b_hh")


def _drawn(name: str, biases: bool) -> list[np.ndarray[Any, Any]]:
    rng, rows = np.random.default_rng(0), GATES[name] * 3
    shapes = [(2, 4), (2, 3), (rows, 4), (rows, 3), *[(rows,)] * (2 * biases)]
    return [rng.standard_normal(s) for s in shapes]


def _called(lib: Any, name: str, arrays: list[Any]) -> tuple[Any, list[Any]]:
    given = [lib.tensor(a, requires_grad=True) for a in arrays]
    x, h, *weights = given
    if name == "lstm_cell":
        return lib.lstm_cell(x, (h, h * 2), *weights), given
    return (getattr(lib, name)(x, h, *weights),), given


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("name", GATES)
def test_values_and_gradients(name: str, biases: bool) -> None:
    """States and the gradients of all that is given are torch's."""
    arrays = _drawn(name, biases)
    (ours, mine), (theirs, wanted) = (_called(t, name, arrays) for t in (dt, torch))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)
    for results in (ours, theirs):
        sum((y * y).sum() for y in results).backward()
    for a, b in zip(mine, wanted, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("name", GATES)
def test_refusals(name: str, number: int) -> None:
    """What does not fit is refused as torch refuses it, by the argument's name."""
    arrays = _drawn(name, True)
    arrays[number] = arrays[number][:-1] if number != 0 else arrays[0][:, :-1]
    with pytest.raises((RuntimeError, IndexError)):
        _called(torch, name, arrays)
    named = "w_ih" if number == 0 else ARGUMENTS[number]
    with pytest.raises(RuntimeError, match=f"{name}: {named}"):
        _called(dt, name, arrays)


def test_an_lstm_has_two_states() -> None:
    """One state is refused, as torch does."""
    x, h, *weights = _drawn("lstm_cell", True)
    for lib in (dt, torch):
        given = [lib.tensor(a) for a in weights]
        with pytest.raises((RuntimeError, ValueError), match="two hidden states"):
            lib.lstm_cell(lib.tensor(x), (lib.tensor(h),), *given)
