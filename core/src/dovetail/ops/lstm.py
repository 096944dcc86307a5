"""Long short-term memory: all steps of a layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, Array, Sizes
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.activation import sigmoid
from dovetail.ops.create import full
from dovetail.ops.matmul import matmul
from dovetail.ops.recurrent import (
    UNDEFINED,
    added,
    at_step,
    bias_gradient,
    check_shapes,
    from_input,
    input_gradient,
    layer_sizes,
    narrow,
    parts,
    sigmoid_truth,
    state_weight_gradient,
    tanh_truth,
    weight_gradient,
    wide,
)
from dovetail.ops.shape import cat, stack
from dovetail.ops.transcendental import tanh
from dovetail.ops.view import basic_index, transpose


def _lstm_shape(
    x: Sizes, h: Sizes, c: Sizes, weight_ih: Sizes, weight_hh: Sizes, bias: Any
) -> Any:
    name = "lstm_sequence"
    steps, count, width, units = layer_sizes(name, x, h)
    gates = 4 * units
    check_shapes(
        name, c=(c, (count, units)), weight_ih=(weight_ih, (gates, width)),
        weight_hh=(weight_hh, (gates, units)), bias=(bias, (gates,)),
    )  # fmt: skip
    y = (steps, count, units)
    return y, y, (steps, count, gates)


@op(autocast="lower", cancels=True, shape=_lstm_shape, accepts=FLOAT, promote="equal",
    domain=(-1.0, 1.0), largest=1 << 10, undefined_on=UNDEFINED,
    row_major=False, outputs=("y", "cells", "gates"))  # fmt: skip
def lstm_sequence(
    x: Tensor, h: Tensor, c: Tensor, weight_ih: Tensor, weight_hh: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """All steps of a layer of long short-term memory (Hochreiter & Schmidhuber 1997).

    Args:
        x: [t, n, width].
        h, c: the state and the cells before the first step, [n, units].
        weight_ih, weight_hh: [4 * units, width] and [4 * units, units], of the input,
            forget, cell and output gates.
        bias: of the gates, [4 * units].

    Returns: the states and the cells behind each step, [t, n, units], and the gates,
    [t, n, 4 * units].
    """
    if x._kind.dtype in HALF:
        given = wide(x, h, c, weight_ih, weight_hh, bias)
        return narrow(lstm_sequence(*given), x)  # type: ignore[no-any-return]
    entering = from_input(x, weight_ih, bias)
    weight = transpose(weight_hh, 0, 1)
    states, cells, gates = [], [], []
    for step in range(x._a.shape[0]):
        i, f, g, o = parts(basic_index(entering, (step,)) + matmul(h, weight), 4)
        i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
        c = f * c + i * g
        h = o * tanh(c)
        states.append(h)
        cells.append(c)
        gates.append(cat([i, f, g, o], -1))
    return stack(states), stack(cells), stack(gates)


def _lstm_back_shape(
    c: Sizes, cells: Sizes, gates: Sizes, weight_hh: Sizes, ct_y: Any, ct_cells: Any,
    ct_gates: Any,
) -> Any:  # fmt: skip
    name = "lstm_sequence_backward"
    check_shapes(name, cells=(cells, (None, None, None)))
    steps, count, units = cells
    check_shapes(
        name, c=(c, (count, units)), gates=(gates, (steps, count, 4 * units)),
        weight_hh=(weight_hh, (4 * units, units)), ct_y=(ct_y, tuple(cells)),
        ct_cells=(ct_cells, tuple(cells)), ct_gates=(ct_gates, tuple(gates)),
    )  # fmt: skip
    return gates, c, c


@op(cancels=True, shape=_lstm_back_shape, accepts=FLOAT, promote="equal",
    domain=(-1.0, 1.0), largest=1 << 10, undefined_on=UNDEFINED,
    row_major=False, outputs=("slopes", "gh", "gc"))  # fmt: skip
def lstm_sequence_backward(
    c: Tensor, cells: Tensor, gates: Tensor, weight_hh: Tensor,
    ct_y: Tensor | None, ct_cells: Tensor | None, ct_gates: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of `lstm_sequence` by what enters its gates, and by h and c."""
    if c._kind.dtype in HALF:
        given = wide(c, cells, gates, weight_hh, ct_y, ct_cells, ct_gates)
        return narrow(lstm_sequence_backward(*given), c)  # type: ignore[no-any-return]
    slopes: list[Tensor] = []
    back_h = back_c = full(tuple(c._a.shape), 0, c._kind)
    for step in reversed(range(cells._a.shape[0])):
        i, f, g, o = parts(basic_index(gates, (step,)), 4)
        before = basic_index(cells, (step - 1,)) if step else c
        ct_h = added(back_h, at_step(ct_y, step))
        bent = tanh(basic_index(cells, (step,)))
        ct_c = back_c + ct_h * o * (1 - bent * bent)
        ct_c = added(ct_c, at_step(ct_cells, step))
        by_gates = cat([ct_c * g, ct_c * before, ct_c * i, ct_h * bent], -1)
        by_gates = added(by_gates, at_step(ct_gates, step))
        slope = cat([i * (1 - i), f * (1 - f), 1 - g * g, o * (1 - o)], -1)
        slopes.append(by_gates * slope)
        back_c = ct_c * f
        back_h = matmul(slopes[-1], weight_hh)
    return stack(slopes[::-1]), back_h, back_c


@lstm_sequence.vjp
def _(
    ct: Any, x: Tensor, h: Tensor, c: Tensor, weight_ih: Tensor, weight_hh: Tensor,
    y: Tensor, cells: Tensor, gates: Tensor, need: Any,
) -> tuple[Any, ...]:  # fmt: skip
    slopes, gh, gc = lstm_sequence_backward(c, cells, gates, weight_hh, *ct)
    return (
        input_gradient(slopes, weight_ih) if need[0] else None, gh, gc,
        weight_gradient(slopes, x) if need[3] else None,
        state_weight_gradient(slopes, h, y) if need[4] else None,
        bias_gradient(slopes) if need[5] else None,
    )  # fmt: skip


@lstm_sequence.oracle
def _(x: Array, h: Array, c: Array, wi: Array, wh: Array, bias: Any) -> Any:
    found = []
    for row in x:
        entering = row @ wi.T + h @ wh.T + (0 if bias is None else bias)
        i, f, g, o = np.split(entering, 4, -1)
        i, f, g, o = sigmoid_truth(i), sigmoid_truth(f), tanh_truth(g), sigmoid_truth(o)
        c = f * c + i * g
        h = o * tanh_truth(c)
        found.append((h, c, np.concatenate([i, f, g, o], -1)))
    return tuple(map(np.stack, zip(*found, strict=True)))


@lstm_sequence.cases
def _(make: Any) -> Any:
    for steps, count, width, units, biased in (
        (3, 5, 2, 4, True), (1, 1, 3, 2, False), (2, 9, 2, 1, True), (2, 0, 1, 2, True),
    ):  # fmt: skip
        h, c = make(count, units), make(count, units)
        gates = 4 * h.shape[1]
        # Slopes of many steps are powers of weights: their number does not grow.
        shapes = (steps, h.shape[0], width), (gates, width), (gates, h.shape[1])
        x, *weights = map(make.exactly, shapes)
        yield case(x, h, c, *weights, make.exactly((gates,)) if biased else None)


@lstm_sequence_backward.oracle
def _(
    c: Array, cells: Array, gates: Array, weight: Array, ct_y: Any, ct_cells: Any,
    ct_gates: Any,
) -> Any:  # fmt: skip
    def given(ct: Any, step: int) -> Any:
        return 0 if ct is None else ct[step]

    slopes = np.zeros(gates.shape, (gates[:0] + weight[:0, :1].sum()).dtype)
    back_h, back_c = np.zeros_like(c), np.zeros_like(c)
    for step in range(len(cells) - 1, -1, -1):
        i, f, g, o = np.split(gates[step], 4, -1)
        before = cells[step - 1] if step else c
        bent = tanh_truth(cells[step])
        dh = given(ct_y, step) + back_h
        dc = given(ct_cells, step) + back_c + dh * o * (1 - bent) * (1 + bent)
        by_gates = np.concatenate([dc * g, dc * before, dc * i, dh * bent], -1)
        by_gates = by_gates + given(ct_gates, step)
        own = [i * (1 - i), f * (1 - f), (1 - g) * (1 + g), o * (1 - o)]
        slopes[step] = by_gates * np.concatenate(own, -1)
        back_h, back_c = slopes[step] @ weight, dc * f
    return slopes, back_h, back_c


@lstm_sequence_backward.cases
def _(make: Any) -> Any:
    for steps, count, units, there in (
        (3, 5, 4, (True, False, False)), (1, 1, 3, (False, True, True)),
        (2, 9, 1, (True, True, False)), (2, 3, 2, (False, False, False)),
    ):  # fmt: skip
        c = make(count, units)
        cells, gates = (steps, *c.shape), (steps, c.shape[0], 4 * c.shape[1])
        shapes = zip((cells, cells, gates), there, strict=True)
        yield case(
            c, make.exactly(cells), make.exactly(gates, low=0.0, high=1.0),
            make.exactly((gates[2], c.shape[1])),
            *[make.exactly(shape) if given else None for shape, given in shapes],
        )  # fmt: skip
