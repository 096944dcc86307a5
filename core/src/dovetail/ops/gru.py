"""Gated recurrent units: all steps of a layer."""

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


def _gru_shape(
    x: Sizes, h: Sizes, weight_ih: Sizes, weight_hh: Sizes, bias_ih: Any, bias_hh: Any
) -> Any:
    name = "gru_sequence"
    steps, count, width, units = layer_sizes(name, x, h)
    gates = 3 * units
    check_shapes(
        name, weight_ih=(weight_ih, (gates, width)),
        weight_hh=(weight_hh, (gates, units)), bias_ih=(bias_ih, (gates,)),
        bias_hh=(bias_hh, (gates,)),
    )  # fmt: skip
    return (steps, count, units), (steps, count, 4 * units)


@op(autocast="state", cancels=True, shape=_gru_shape, accepts=FLOAT, promote="equal",
    domain=(-1.0, 1.0), largest=1 << 10, undefined_on=UNDEFINED,
    row_major=False, outputs=("y", "gates"))  # fmt: skip
def gru_sequence(
    x: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor,
    bias_ih: Tensor | None, bias_hh: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """All steps of a layer of gated recurrent units (Cho et al. 2014, arXiv:1406.1078).

    Args:
        x: [t, n, width].
        h: the state before the first step, [n, units].
        weight_ih, weight_hh: [3 * units, width] and [3 * units, units], of the reset,
            update and new gates.
        bias_ih, bias_hh: what is added beside, [3 * units].

    Returns: the states behind each step, [t, n, units], and the gates with what the
    state adds to the new one, [t, n, 4 * units].
    """
    if x._kind.dtype in HALF:
        given = wide(x, h, weight_ih, weight_hh, bias_ih, bias_hh)
        return narrow(gru_sequence(*given), x)  # type: ignore[no-any-return]
    entering = from_input(x, weight_ih, bias_ih)
    weight = transpose(weight_hh, 0, 1)
    states, gates = [], []
    for step in range(x._a.shape[0]):
        hidden = matmul(h, weight)
        hidden = hidden if bias_hh is None else hidden + bias_hh
        r, z, part = parts(hidden, 3)
        x_r, x_z, x_n = parts(basic_index(entering, (step,)), 3)
        r, z = sigmoid(x_r + r), sigmoid(x_z + z)
        n = tanh(x_n + r * part)
        h = n + z * (h - n)
        states.append(h)
        gates.append(cat([r, z, n, part], -1))
    return stack(states), stack(gates)


def _gru_back_shape(
    h: Sizes, y: Sizes, gates: Sizes, weight_hh: Sizes, ct_y: Any, ct_gates: Any
) -> Any:
    name = "gru_sequence_backward"
    check_shapes(name, y=(y, (None, None, None)))
    steps, count, units = y
    check_shapes(
        name, h=(h, (count, units)), gates=(gates, (steps, count, 4 * units)),
        weight_hh=(weight_hh, (3 * units, units)), ct_y=(ct_y, tuple(y)),
        ct_gates=(ct_gates, tuple(gates)),
    )  # fmt: skip
    return gates, h


@op(cancels=True, shape=_gru_back_shape, accepts=FLOAT, promote="equal",
    domain=(-1.0, 1.0), largest=1 << 10, undefined_on=UNDEFINED,
    row_major=False, outputs=("slopes", "gh"))  # fmt: skip
def gru_sequence_backward(
    h: Tensor, y: Tensor, gates: Tensor, weight_hh: Tensor, ct_y: Tensor | None,
    ct_gates: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradients of `gru_sequence` by what enters its gates, and by h.

    Slopes are those of the reset and the update gate, and of what the state and what
    the input adds to the new one.
    """
    if h._kind.dtype in HALF:
        given = wide(h, y, gates, weight_hh, ct_y, ct_gates)
        return narrow(gru_sequence_backward(*given), h)  # type: ignore[no-any-return]
    slopes: list[Tensor] = []
    back = full(tuple(h._a.shape), 0, h._kind)
    for step in reversed(range(y._a.shape[0])):
        r, z, n, part = parts(basic_index(gates, (step,)), 4)
        before = basic_index(y, (step - 1,)) if step else h
        ct_h = added(back, at_step(ct_y, step))
        by_r, by_z, by_n, by_part = None, ct_h * (before - n), ct_h * (1 - z), None
        if ct_gates is not None:
            by_r, more_z, more_n, by_part = parts(basic_index(ct_gates, (step,)), 4)
            by_z, by_n = by_z + more_z, by_n + more_n
        new = by_n * (1 - n * n)
        own = [
            added(new * part, by_r) * (r * (1 - r)), by_z * (z * (1 - z)),
            added(new * r, by_part),
        ]  # fmt: skip
        slopes.append(cat([*own, new], -1))
        back = ct_h * z + matmul(cat(own, -1), weight_hh)
    return stack(slopes[::-1]), back


@gru_sequence.vjp
def _(
    ct: Any, x: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, y: Tensor,
    gates: Tensor, need: Any,
) -> tuple[Any, ...]:  # fmt: skip
    slopes, gh = gru_sequence_backward(h, y, gates, weight_hh, *ct)
    units = h._a.shape[1]
    by_state = basic_index(slopes, (..., slice(3 * units)))
    by_input: Any = None
    if need[0] or need[2] or need[4]:
        gated = basic_index(slopes, (..., slice(2 * units)))
        by_input = cat([gated, basic_index(slopes, (..., slice(3 * units, None)))], -1)
    return (
        input_gradient(by_input, weight_ih) if need[0] else None, gh,
        weight_gradient(by_input, x) if need[2] else None,
        state_weight_gradient(by_state, h, y) if need[3] else None,
        bias_gradient(by_input) if need[4] else None,
        bias_gradient(by_state) if need[5] else None,
    )  # fmt: skip


@gru_sequence.oracle
def _(x: Array, h: Array, wi: Array, wh: Array, bias_ih: Any, bias_hh: Any) -> Any:
    found = []
    for row in x:
        entering = np.split(row @ wi.T + (0 if bias_ih is None else bias_ih), 3, -1)
        hidden = np.split(h @ wh.T + (0 if bias_hh is None else bias_hh), 3, -1)
        r, z = (sigmoid_truth(entering[k] + hidden[k]) for k in range(2))
        n = tanh_truth(entering[2] + r * hidden[2])
        h = (1 - z) * n + z * h
        found.append((h, np.concatenate([r, z, n, hidden[2]], -1)))
    return tuple(map(np.stack, zip(*found, strict=True)))


@gru_sequence.cases
def _(make: Any) -> Any:
    for steps, count, width, units, biased in (
        (3, 5, 2, 4, (True, True)), (1, 1, 3, 2, (False, False)),
        (2, 9, 2, 1, (True, False)), (2, 0, 1, 2, (False, True)),
    ):  # fmt: skip
        h = make(count, units)
        gates = 3 * h.shape[1]
        # Slopes of many steps are powers of weights: their number does not grow.
        shapes = (steps, h.shape[0], width), (gates, width), (gates, h.shape[1])
        x, *weights = map(make.exactly, shapes)
        biases = [make.exactly((gates,)) if there else None for there in biased]
        yield case(x, h, *weights, *biases)


@gru_sequence_backward.oracle
def _(h: Array, y: Array, gates: Array, weight: Array, ct_y: Any, ct_gates: Any) -> Any:
    slopes = np.zeros(gates.shape, (gates[:0] + weight[:0, :1].sum()).dtype)
    back = np.zeros_like(h)
    for step in range(len(y) - 1, -1, -1):
        r, z, n, part = np.split(gates[step], 4, -1)
        more = [0] * 4 if ct_gates is None else np.split(ct_gates[step], 4, -1)
        dh = back + (0 if ct_y is None else ct_y[step])
        before = y[step - 1] if step else h
        new = (dh * (1 - z) + more[2]) * (1 - n) * (1 + n)
        own = [
            (new * part + more[0]) * r * (1 - r),
            (dh * (before - n) + more[1]) * z * (1 - z), new * r + more[3],
        ]  # fmt: skip
        slopes[step] = np.concatenate([*own, new], -1)
        back = dh * z + np.concatenate(own, -1) @ weight
    return slopes, back


@gru_sequence_backward.cases
def _(make: Any) -> Any:
    for steps, count, units, there in (
        (3, 5, 4, (True, False)), (1, 1, 3, (False, True)), (2, 9, 1, (True, True)),
    ):  # fmt: skip
        h = make(count, units)
        y, gates = (steps, *h.shape), (steps, h.shape[0], 4 * h.shape[1])
        shapes = zip((y, gates), there, strict=True)
        yield case(
            h, make.exactly(y), make.exactly(gates, low=0.0, high=1.0),
            make.exactly((3 * h.shape[1], h.shape[1])),
            *[make.exactly(shape) if given else None for shape, given in shapes],
        )  # fmt: skip
