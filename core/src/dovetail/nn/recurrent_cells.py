"""Cells: one step of a recurrent network."""

from __future__ import annotations

import math
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError, ShapeError

from . import init
from .module import Module
from .recurrent_steps import STEPS, State, Weights, from_input


class RNNCellBase(Module):
    """The weights that cells have.

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        bias: whether anything is added to the gates.
        num_chunks: gates of the cell.

    Attributes:
        weight_ih, weight_hh: [num_chunks * hidden_size, width], uniform between
            -1/sqrt(hidden_size) and +1/sqrt(hidden_size), as are the biases
            bias_ih and bias_hh.
    """

    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        kind = {"device": device, "dtype": dtype}
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(ft.empty((rows, input_size), **kind))
        self.weight_hh = Parameter(ft.empty((rows, hidden_size), **kind))
        for name in ("bias_ih", "bias_hh"):
            made = Parameter(ft.empty(rows, **kind)) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else f"{text}, bias={self.bias}"

    def _stepped(self, mode: str, input: Tensor, state: State | None) -> State:
        """The state after one step, with a batch or without."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ArgumentError(
                name, "input", was=f"{input.ndim}-dimensional",
                needed="[n, input_size] or [input_size]",
            )  # fmt: skip
        batched = input.ndim == 2
        x = input if batched else input.unsqueeze(0)
        if x.shape[1] != self.input_size:
            raise ShapeError(
                name, "input", was=f"of width {x.shape[1]}",
                needed=f"input_size={self.input_size}",
            )  # fmt: skip
        if state is None:
            size = (x.shape[0], self.hidden_size)
            zeros = ft.zeros(size, dtype=x.dtype, device=x.device)
            state = (zeros,) * (2 if mode == "LSTM" else 1)
        else:
            for h in state:
                if h.ndim not in (1, 2):
                    raise ArgumentError(
                        name, "hx", was=f"{h.ndim}-dimensional",
                        needed="[n, hidden_size] or [hidden_size]",
                    )  # fmt: skip
            if not batched:
                state = tuple(h.unsqueeze(0) for h in state)
            for h in state:
                if tuple(h.shape) != (x.shape[0], self.hidden_size):
                    raise ShapeError(
                        name, "hx", was=f"of shape {tuple(h.shape)}",
                        needed=f"{(x.shape[0], self.hidden_size)}",
                    )  # fmt: skip
        weights = Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        after = STEPS[mode](from_input(x, weights), state, weights)
        return after if batched else tuple(h.squeeze(0) for h in after)


class RNNCell(RNNCellBase):
    """One step of `RNN`.

    Args:
        nonlinearity: "tanh" or "relu".

    Shape:
        [n, input_size] and a state [n, hidden_size], or both without n -> the state
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(
                "RNNCell", "nonlinearity", was=repr(self.nonlinearity),
                needed="'tanh' or 'relu'",
            )  # fmt: skip
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._stepped(mode, input, None if hx is None else (hx,))[0]

    def extra_repr(self) -> str:
        text = super().extra_repr()
        if self.nonlinearity == "tanh":
            return text
        return f"{text}, nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """One step of `LSTM`.

    Shape:
        [n, input_size] and a pair of states [n, hidden_size], or all without n -> that
        pair

    Examples:
        >>> h, c = nn.LSTMCell(4, 8)(torch.ones(3, 4))
        >>> h.shape, c.shape
        (dovetail.Size([3, 8]), dovetail.Size([3, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = self._stepped("LSTM", input, hx)
        return h, c


class GRUCell(RNNCellBase):
    """One step of `GRU`.

    Shape:
        [n, input_size] and a state [n, hidden_size], or both without n -> the state
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._stepped("GRU", input, None if hx is None else (hx,))[0]
