"""Cells as functions of their weights: one step of a recurrent network."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError

from .recurrent_steps import STEPS, State, Weights, from_input


def _check(name: str, argument: str, x: Tensor, needed: tuple[int, ...]) -> None:
    if tuple(x.shape) != needed:
        raise ShapeError(
            name, argument, was=f"of shape {tuple(x.shape)}", needed=f"{needed}"
        )


def _stepped(
    name: str, mode: str, gates: int, input: Tensor, state: State, weights: Weights
) -> State:
    """The state after one step, of what fits together."""
    for argument, x in (("input", input), ("w_ih", weights.ih), ("w_hh", weights.hh)):
        if x.ndim != 2:
            raise ShapeError(
                name, argument, was=f"of shape {tuple(x.shape)}", needed="two dims"
            )
    (n, width), hidden = input.shape, weights.hh.shape[1]
    rows = gates * hidden
    _check(name, "w_ih", weights.ih, (rows, width))
    _check(name, "w_hh", weights.hh, (rows, hidden))
    for argument, bias in (("b_ih", weights.bias_ih), ("b_hh", weights.bias_hh)):
        if bias is not None:
            _check(name, argument, bias, (rows,))
    for h in state:
        _check(name, "hx", h, (n, hidden))
    return STEPS[mode](from_input(input, weights), state, weights)


@public("torch.lstm_cell")
def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor,
    b_ih: Tensor | None = None, b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step of an LSTM: the hidden state and the cell's.

    Args:
        input: [n, width].
        hx: the states before, both [n, hidden].
        w_ih, w_hh: [4 * hidden, width] and [4 * hidden, hidden].
        b_ih, b_hh: [4 * hidden].
    """
    if len(hx) != 2:
        raise ArgumentError(
            "lstm_cell", "hx", was=f"{len(hx)} tensors", needed="two hidden states"
        )
    weights = Weights(w_ih, w_hh, b_ih, b_hh)
    h, c = _stepped("lstm_cell", "LSTM", 4, input, tuple(hx), weights)
    return h, c


def _offer(name: str, mode: str, gates: int, doc: str) -> None:
    def cell(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor,
        b_ih: Tensor | None = None, b_hh: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        weights = Weights(w_ih, w_hh, b_ih, b_hh)
        return _stepped(name, mode, gates, input, (hx,), weights)[0]

    rows = f"{gates} * hidden" if gates > 1 else "hidden"
    cell.__name__ = name
    cell.__doc__ = f"""{doc}: the hidden state.

    Args:
        input: [n, width].
        hx: the state before, [n, hidden].
        w_ih, w_hh: [{rows}, width] and [{rows}, hidden].
        b_ih, b_hh: [{rows}].
    """
    public(f"torch.{name}")(cell)


_offer("gru_cell", "GRU", 3, "One step of a GRU")
_offer("rnn_tanh_cell", "RNN_TANH", 1, "One step of a simple network with tanh")
_offer("rnn_relu_cell", "RNN_RELU", 1, "One step of a simple network with a rectifier")
