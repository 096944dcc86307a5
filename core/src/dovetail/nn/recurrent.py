"""Recurrent networks over whole sequences, padded or packed."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar, Final

from dovetail import frontend as ft
from dovetail.engine.checks import values_of
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, ShapeError

from . import functional as F
from . import init
from .module import Module
from .recurrent_steps import State, Weights, run
from .utils.rnn import PackedSequence

_GATES: Final = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What recurrent networks share.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size: width of the input.
        hidden_size: width of the state.
        num_layers: layers, each of which takes the results of the one before.
        bias: whether anything is added to the gates.
        batch_first: whether the batch is the first axis instead of the second.
        dropout: the probability with which results of all layers but the last are
            zeroed in training.
        bidirectional: whether each layer reads sequences backwards, too.
        proj_size: width to which the state of an LSTM is projected; 0 for none.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0 and so on, for
            layers l0, l1, …, backwards with the suffix _reverse; uniform between
            -1/sqrt(hidden_size) and +1/sqrt(hidden_size).
    """

    _states: ClassVar[int] = 1

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if mode not in _GATES:
            raise ArgumentError(
                "RNNBase", "mode", was=repr(mode), needed=f"one of {tuple(_GATES)}"
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check()
        self.dropout = float(dropout)
        self._flat_weights_names: list[str] = []
        for layer in range(num_layers):
            for suffix in self._suffixes():
                self._add_weights(layer, suffix, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _check(self) -> None:
        op = type(self).__name__
        for name in ("bias", "batch_first"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentTypeError(
                    op, name, was=repr(getattr(self, name)), needed="True or False"
                )
        for name in ("input_size", "hidden_size", "num_layers"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise ArgumentTypeError(op, name, was=repr(value), needed="an int")
            if value <= 0:
                raise ArgumentError(op, name, was=value, needed="1 or more")
        if not 0 <= self.proj_size < self.hidden_size:
            raise ArgumentError(
                op, "proj_size", was=self.proj_size,
                needed=f"0 to {self.hidden_size - 1}, less than hidden_size",
            )  # fmt: skip
        rate: Any = self.dropout
        if (
            isinstance(rate, bool)
            or not isinstance(rate, int | float)
            or not (0 <= rate <= 1)
        ):
            raise ArgumentError(
                op, "dropout", was=repr(rate), needed="a number from 0 to 1"
            )
        if rate > 0 and self.num_layers == 1:
            warnings.warn(
                f"{op}: dropout={rate} has no effect with one layer: it zeroes "
                "results of all layers but the last",
                stacklevel=5,
            )

    def _suffixes(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _add_weights(self, layer: int, suffix: str, kind: dict[str, Any]) -> None:
        """The weights of a layer in one direction, uninitialised."""
        hidden, out = self.hidden_size, self.proj_size or self.hidden_size
        rows = _GATES[self.mode] * hidden
        width = out * len(self._suffixes()) if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, width),
            "weight_hh": (rows, out),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (out, hidden)
        for name, shape in shapes.items():
            full_name = f"{name}_l{layer}{suffix}"
            setattr(self, full_name, Parameter(ft.empty(shape, **kind)))
            self._flat_weights_names.append(full_name)

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: there is no form of weights that is faster."""

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        count = len(self._flat_weights_names) // (
            self.num_layers * len(self._suffixes())
        )
        flat = self._flat_weights
        return [flat[i : i + count] for i in range(0, len(flat), count)]

    def _weights(self, layer: int, suffix: str) -> Weights:
        def get(name: str) -> Any:
            return getattr(self, f"{name}_l{layer}{suffix}", None)

        return Weights(
            get("weight_ih"), get("weight_hh"), get("bias_ih"), get("bias_hh"),
            get("weight_hr") if self.proj_size else None,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False,
            "dropout": 0, "bidirectional": False,
        }  # fmt: skip
        for name, value in usual.items():
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        return text

    def _sizes(self, count: int) -> list[tuple[int, int, int]]:
        """The shapes that the tensors of a state have."""
        rows = self.num_layers * len(self._suffixes())
        widths = (self.proj_size or self.hidden_size, self.hidden_size)
        return [(rows, count, width) for width in widths[: self._states]]

    def _run(self, input: Any, state: State | None) -> tuple[Any, State]:
        """Results and the last state, in the form of what is given."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, state)
        name = type(self).__name__
        if input.ndim not in (2, 3):
            raise ArgumentError(
                name, "input", was=f"{input.ndim}-dimensional",
                needed="3 dimensions (batched) or 2 (unbatched)",
            )  # fmt: skip
        batched = input.ndim == 3
        axis = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(axis)
        if state is not None:
            for h in state:
                if h.ndim != input.ndim:
                    raise ShapeError(
                        name, "hx", was=f"{h.ndim}-dimensional",
                        needed=f"{input.ndim} dimensions, as the input has",
                    )  # fmt: skip
            state = state if batched else tuple(h.unsqueeze(1) for h in state)
        steps = x.transpose(0, 1) if self.batch_first else x
        state = self._checked(steps, steps.shape[1], state)
        y, after = self._layers(steps, state, None)
        y = y.transpose(0, 1) if self.batch_first else y
        if batched:
            return y, after
        return y.squeeze(axis), tuple(h.squeeze(1) for h in after)

    def _run_packed(
        self, input: PackedSequence, state: State | None
    ) -> tuple[PackedSequence, State]:
        data, sizes, order, back = input
        batch = [int(n) for n in values_of(sizes, type(self).__name__).tolist()]
        if state is not None and order is not None:
            state = tuple(h.index_select(1, order) for h in state)
        state = self._checked(data, batch[0], state)
        y, after = self._layers(data, state, batch)
        if back is not None:
            after = tuple(h.index_select(1, back) for h in after)
        return PackedSequence(y, sizes, order, back), after

    def _checked(self, x: Tensor, count: int, state: State | None) -> State:
        """The state, zeros if none is given, if all fits together."""
        name = type(self).__name__
        if x.shape[-1] != self.input_size:
            raise ShapeError(
                name, "input", was=f"of width {x.shape[-1]}",
                needed=f"input.size(-1) must be equal to input_size={self.input_size}",
            )  # fmt: skip
        if not x.shape[0]:
            raise ShapeError(
                name, "input", was="without a step",
                needed="one step or more: Expected sequence length to be larger than 0",
            )  # fmt: skip
        sizes = self._sizes(count)
        if state is None:
            return tuple(
                ft.zeros(size, dtype=x.dtype, device=x.device) for size in sizes
            )
        for i, (h, size) in enumerate(zip(state, sizes, strict=True)):
            if tuple(h.shape) != size:
                raise ShapeError(
                    name, f"hidden[{i}]" if len(sizes) > 1 else "hidden",
                    was=f"of size {tuple(h.shape)}",
                    needed=f"{size}: Expected hidden size",
                )  # fmt: skip
        return state

    def _layers(
        self, x: Tensor, state: State, batch: list[int] | None
    ) -> tuple[Tensor, State]:
        """All layers, of [t, n, width] or of packed rows."""
        ends: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            results = []
            for suffix in self._suffixes():
                own = tuple(h[len(ends)] for h in state)
                weights = self._weights(layer, suffix)
                y, end = run(self.mode, x, own, weights, batch, bool(suffix))
                results.append(y)
                ends.append(end)
            x = ft.cat(results, -1) if self.bidirectional else results[0]
        return x, tuple(ft.stack(each) for each in zip(*ends, strict=True))


class RNN(RNNBase):
    """A network of simple recurrent layers (Elman 1990); `RNNBase` has the rest.

    Args:
        nonlinearity: "tanh" or "relu".

    Shape:
        [t, n, input_size] and a state [layers * directions, n, hidden_size]
        -> [t, n, directions * hidden_size] and the last state

    Examples:
        >>> y, h = nn.RNN(3, 5, num_layers=2)(torch.ones(4, 2, 3))
        >>> y.shape, h.shape
        (dovetail.Size([4, 2, 5]), dovetail.Size([2, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(
                "RNN", "nonlinearity", was=repr(nonlinearity),
                needed="'tanh' or 'relu'",
            )  # fmt: skip
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias,
            batch_first, dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        y, (h,) = self._run(input, None if hx is None else (hx,))
        return y, h


class LSTM(RNNBase):
    """Layers of long short-term memory (Hochreiter & Schmidhuber 1997).

    `RNNBase` has the arguments; projections are of Sak et al. 2014, arXiv:1402.1128.

    Shape:
        [t, n, input_size] and a pair of states [layers * directions, n, width] ->
        [t, n, directions * width] and the last pair

    Examples:
        >>> y, (h, c) = nn.LSTM(3, 5, batch_first=True)(torch.ones(2, 4, 3))
        >>> y.shape, h.shape, c.shape
        (dovetail.Size([2, 4, 5]), dovetail.Size([1, 2, 5]), dovetail.Size([1, 2, 5]))
    """

    _states = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, proj_size, device, dtype,
        )  # fmt: skip

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        y, (h, c) = self._run(input, hx)
        return y, (h, c)


class GRU(RNNBase):
    """Layers of gated recurrent units (Cho et al. 2014); `RNNBase` has the arguments.

    Shape:
        [t, n, input_size] and a state [layers * directions, n, hidden_size]
        -> [t, n, directions * hidden_size] and the last state
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, 0, device, dtype,
        )  # fmt: skip

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        y, (h,) = self._run(input, None if hx is None else (hx,))
        return y, h
