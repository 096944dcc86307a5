"""One step of each recurrent network, and a whole layer of steps.

A step takes what the input adds to the gates, [n, gates], and the state before, and
gives the state after; the first tensor of a state is the layer's result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor

from . import functional as F
from .packed_steps import gathered, is_worth_a_layer, places_of, spread

State = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one layer in one direction; None for what it lacks."""

    ih: Tensor
    hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    hr: Tensor | None = None


def from_input(x: Tensor, weights: Weights) -> Tensor:
    """What the input adds to the gates."""
    return F.linear(x, weights.ih, weights.bias_ih)


def lstm_step(gates: Tensor, state: State, weights: Weights) -> State:
    """Input, forget, cell and output gates (Hochreiter & Schmidhuber 1997)."""
    h, c = state
    gates = gates + F.linear(h, weights.hh, weights.bias_hh)
    i, f, g, o = gates.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if weights.hr is None else F.linear(h, weights.hr)), c


def gru_step(gates: Tensor, state: State, weights: Weights) -> State:
    """Reset, update and new gates (Cho et al. 2014, arXiv:1406.1078)."""
    (h,) = state
    x_r, x_z, x_n = gates.chunk(3, -1)
    h_r, h_z, h_n = F.linear(h, weights.hh, weights.bias_hh).chunk(3, -1)
    new = (x_n + (x_r + h_r).sigmoid() * h_n).tanh()
    return (new + (x_z + h_z).sigmoid() * (h - new),)


def tanh_step(gates: Tensor, state: State, weights: Weights) -> State:
    """tanh of what input and state add (Elman 1990)."""
    return ((gates + F.linear(state[0], weights.hh, weights.bias_hh)).tanh(),)


def relu_step(gates: Tensor, state: State, weights: Weights) -> State:
    """`tanh_step` with a rectifier."""
    return ((gates + F.linear(state[0], weights.hh, weights.bias_hh)).relu(),)


def lstm_layer(x: Tensor, state: State, weights: Weights) -> State:
    """The states behind all steps of `lstm_step`, without a projection."""
    from dovetail.ops.lstm import lstm_sequence

    bias = weights.bias_ih
    if bias is not None and weights.bias_hh is not None:
        bias = bias + weights.bias_hh
    y, cells, _ = lstm_sequence(x, *state, weights.ih, weights.hh, bias)
    return y, cells


def gru_layer(x: Tensor, state: State, weights: Weights) -> State:
    """The states behind all steps of `gru_step`."""
    from dovetail.ops.gru import gru_sequence

    (h,) = state
    biases = weights.bias_ih, weights.bias_hh
    y, _ = gru_sequence(x, h, weights.ih, weights.hh, *biases)
    return (y,)


Step = Callable[[Tensor, State, Weights], State]
STEPS: Final[dict[str, Step]] = {
    "LSTM": lstm_step, "GRU": gru_step, "RNN_TANH": tanh_step, "RNN_RELU": relu_step,
}  # fmt: skip
LAYERS: Final[dict[str, Step]] = {"LSTM": lstm_layer, "GRU": gru_layer}
"""What does all steps at once, of inputs [t, n, width]."""


def run(
    mode: str, x: Tensor, state: State, weights: Weights, batch: list[int] | None,
    reverse: bool,
) -> tuple[Tensor, State]:  # fmt: skip
    """All steps of one layer in one direction.

    Args:
        x: [t, n, inputs], or the rows of packed sequences.
        batch: how many sequences have each step, if they are packed.

    Returns: the results, in the form of `x`, and the state at each sequence's end.
    """
    whole = batch is None or is_worth_a_layer(batch, weights.hh.numel())
    if whole and mode in LAYERS and weights.hr is None:
        return _run_layer(LAYERS[mode], x, state, weights, batch, reverse)
    step, gates = STEPS[mode], from_input(x, weights)
    if batch is None:
        return _run_whole(step, gates, state, weights, reverse)
    return _run_packed(step, gates, state, weights, batch, reverse)


def _run_layer(
    layer: Step, x: Tensor, state: State, weights: Weights, batch: list[int] | None,
    reverse: bool,
) -> tuple[Tensor, State]:  # fmt: skip
    """All steps at once; each sequence is turned where the last step comes first."""
    if batch is None:
        after = layer(x.flip(0) if reverse else x, state, weights)
        y = after[0].flip(0) if reverse else after[0]
        return y, tuple(s[-1] for s in after)
    at = places_of(batch, reverse)
    after = layer(spread(x, at), state, weights)
    return gathered(after[0], at.places), tuple(gathered(s, at.ends) for s in after)


def _run_whole(
    step: Step, gates: Tensor, state: State, weights: Weights, reverse: bool
) -> tuple[Tensor, State]:
    parts = gates.unbind(0)
    results = []
    for part in reversed(parts) if reverse else parts:
        state = step(part, state, weights)
        results.append(state[0])
    return ft.stack(results[::-1] if reverse else results), state


def _run_packed(
    step: Step, gates: Tensor, state: State, weights: Weights, batch: list[int],
    reverse: bool,
) -> tuple[Tensor, State]:  # fmt: skip
    """Sequences end (backwards: begin) as steps go on, the last ones first."""
    parts: Any = gates.split(batch)
    results, ended, initial = [], [], state
    times = reversed(range(len(batch))) if reverse else range(len(batch))
    state = tuple(s[: batch[-1] if reverse else batch[0]] for s in state)
    for t in times:
        have, count = state[0].shape[0], batch[t]
        if count < have:
            ended.append(tuple(s[count:] for s in state))
            state = tuple(s[:count] for s in state)
        elif count > have:
            fresh = [s[have:count] for s in initial]
            state = tuple(ft.cat(pair) for pair in zip(state, fresh, strict=True))
        state = step(parts[t], state, weights)
        results.append(state[0])
    for part in reversed(ended):
        state = tuple(ft.cat(pair) for pair in zip(state, part, strict=True))
    return ft.cat(results[::-1] if reverse else results), state
