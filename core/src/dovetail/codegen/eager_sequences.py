"""Recurrent layers on NumPy arrays: a product and a generated kernel for each step.

Within a call, arrays lie by units, so that weights are multiplied as they lie. Gates
and cells stay so: views whose units are apart, for only gradients look at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen import products, runtime, sequence_kernels
from dovetail.codegen.arrays import Array, address, target
from dovetail.codegen.eager_copy import transposed
from dovetail.codegen.llvm_text import render
from dovetail.codegen.step_products import StepProducts

_GRAIN: Final = 1 << 11  # elements of a step that a thread takes at a time
_LINE: Final = 64  # bytes


class _Columns(NamedTuple):
    """An array by units: [units, columns], or a step of it.

    Attributes:
        first: the address of its first element.
        line: from unit to unit, in elements.
        pace: from step to step, in bytes.
        held: the array.
    """

    first: int
    line: int
    pace: int
    held: Array

    def place(self, step: int) -> tuple[int, int]:
        """Where a step begins, and how far it is from unit to unit."""
        return self.first + step * self.pace, self.line


def _new(units: int, steps: int, lanes: int, dtype: Any) -> tuple[Array, _Columns]:
    """A new array [steps, lanes, units] that lies by units.

    A line is an odd number of cache lines, for those that are a power of two apart
    share the same few places of a cache.
    """
    many = _LINE // dtype.itemsize
    line = (-(-steps * lanes // many) | 1) * many
    made = np.empty((units, line), dtype)
    spread = made[:, : steps * lanes].reshape(units, steps, lanes).transpose(1, 2, 0)
    return spread, _Columns(address(made), line, lanes * dtype.itemsize, made)


def _by_units(a: Array) -> _Columns:
    """An array [steps, lanes, units] by units, copied if it lies otherwise."""
    steps, lanes, units = a.shape
    turned = a.transpose(2, 0, 1)
    size = a.itemsize
    across, along, each = turned.strides
    if each == size and along == lanes * size and across >= steps * along:
        return _Columns(address(a), across // size, along, a)
    if a.flags.c_contiguous:
        held = _copied(a.reshape(steps * lanes, units).T)
    else:
        held = np.ascontiguousarray(turned)
    return _Columns(address(held), steps * lanes, lanes * size, held)


def _copied(a: Array) -> Array:
    y = transposed(a)
    return np.ascontiguousarray(a) if y is None else y


def _state(a: Array) -> _Columns:
    """A copy of a state [lanes, units] by units."""
    held = a.T.copy()
    return _Columns(address(held), a.shape[0], 0, held)


@cache
def _kernel(name: str, *given: Any) -> runtime.Kernel:
    form = getattr(sequence_kernels, name)(*given)
    return runtime.kernel(form.name, render(form, target()))


class _Passes:
    """What a kernel does at each step.

    Args:
        kernel: its name and what it is made for.
        sizes: units and lanes.
        lines: the words behind them, a row for each step.
        places: where each array begins, a row for each step.
    """

    def __init__(
        self, kernel: tuple[Any, ...], sizes: tuple[int, int],
        places: list[Sequence[int]], lines: list[Sequence[int]],
    ) -> None:  # fmt: skip
        rows = [(*p, *sizes, *n) for p, n in zip(places, lines, strict=True)]
        self._table = np.array(rows, np.int64)
        self._first, self._width = address(self._table), self._table.strides[0]
        self._units = sizes[0]
        self._grain = max(_GRAIN // sizes[1], 1)
        self._run = _kernel(*kernel).run

    def run(self, step: int) -> None:
        """Do one step."""
        self._run(self._first + step * self._width, self._units, self._grain)


def _rows_times(weight: Array, x: Array, out: Array) -> None:
    """What inputs [steps, lanes, width] add to gates, by units."""
    steps, lanes, width = x.shape
    columns = x.reshape(steps * lanes, width).T
    if products.matmul(weight, columns, out) is None:
        np.matmul(weight, columns, out=out)


def _as_rows(y: _Columns, shape: tuple[int, ...]) -> Array:
    """What lies by units in the order of a result."""
    steps, lanes, _ = shape
    return _copied(y.held[:, : steps * lanes].T).reshape(shape)


def lstm(
    x: Array, h: Array, c: Array, weight_ih: Array, weight_hh: Array,
    bias: Array | None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The results of a layer, its cells and gates; see `dovetail.ops.lstm`."""
    steps, lanes, _ = x.shape
    units, dtype = h.shape[1], x.dtype
    bias = np.zeros(4 * units, dtype) if bias is None else np.ascontiguousarray(bias)
    gates, by_gates = _new(4 * units, steps, lanes, dtype)
    cells, by_cells = _new(units, steps, lanes, dtype)
    _, by_y = _new(units, steps, lanes, dtype)
    _rows_times(weight_ih, x, by_gates.held[:, : steps * lanes])
    state, cell = _state(h), _state(c)
    cells_before = [cell.place(0), *map(by_cells.place, range(steps - 1))]
    at_gates = list(map(by_gates.place, range(steps)))
    weight = np.ascontiguousarray(weight_hh)
    product = StepProducts(weight, state.held, at_gates, adds=True)
    passes = _Passes(
        ("lstm_step", dtype.name), (units, lanes),
        [(at_gates[t][0], address(bias), cells_before[t][0],
          by_cells.place(t)[0], by_y.place(t)[0], state.first) for t in range(steps)],
        [(by_gates.line, cells_before[t][1], 0, 0) for t in range(steps)],
    )  # fmt: skip
    for t in range(steps):
        product.run(t)
        passes.run(t)
    return _as_rows(by_y, (steps, lanes, units)), cells, gates


def lstm_backward(
    c: Array, cells: Array, gates: Array, weight_hh: Array, ct_y: Array | None,
    ct_cells: Array | None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Slopes by what enters the gates, and by the first state and cells."""
    steps, lanes, units = cells.shape
    dtype = cells.dtype
    slopes, by_slopes = _new(4 * units, steps, lanes, dtype)
    by_gates, by_cells, cell = _by_units(gates), _by_units(cells), _state(c)
    if by_gates.line != by_slopes.line:
        by_gates = _lined(gates)
    ct = _by_units(np.zeros(cells.shape, dtype) if ct_y is None else ct_y)
    ct_c = ct
    if ct_cells is not None:
        ct, ct_c = (_plain(ct_y, cells), _plain(ct_cells, cells))
    before = [cell.place(0), *map(by_cells.place, range(steps - 1))]
    back_h, back_c = (np.zeros((units, lanes), dtype) for _ in range(2))
    step = np.empty((4 * units, lanes), dtype)
    to_h = [(address(back_h), lanes)] * steps
    product = StepProducts(_copied(weight_hh.T), step, to_h, adds=False)
    passes = _Passes(
        ("lstm_step_back", dtype.name, ct_cells is not None), (units, lanes),
        [(by_gates.place(t)[0], by_cells.place(t)[0], before[t][0], ct.place(t)[0],
          ct_c.place(t)[0], address(back_h), address(back_c),
          by_slopes.place(t)[0], address(step)) for t in range(steps)],
        [(by_slopes.line, before[t][1], ct.line, by_cells.line) for t in range(steps)],
    )  # fmt: skip
    for t in reversed(range(steps)):
        passes.run(t)
        product.run(t)
    return slopes, back_h.T, back_c.T


def _plain(a: Array | None, like: Array) -> _Columns:
    """By units without gaps, zeros for what there is not."""
    steps, lanes, units = like.shape
    if a is None:
        held = np.zeros((units, steps * lanes), like.dtype)
    else:
        held = np.ascontiguousarray(a.transpose(2, 0, 1))
    return _Columns(address(held), steps * lanes, lanes * like.itemsize, held)


def _lined(a: Array) -> _Columns:
    """By units, in lines of the length that new arrays have."""
    steps, lanes, units = a.shape
    made, columns = _new(units, steps, lanes, a.dtype)
    made[...] = a
    return columns


def gru(
    x: Array, h: Array, weight_ih: Array, weight_hh: Array, bias_ih: Array | None,
    bias_hh: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """The results of a layer and its gates; see `dovetail.ops.gru`."""
    steps, lanes, _ = x.shape
    units, dtype = h.shape[1], x.dtype
    bias = _gru_bias(units, dtype, bias_ih, bias_hh)
    gates, by_gates = _new(4 * units, steps, lanes, dtype)
    _, by_y = _new(units, steps, lanes, dtype)
    _rows_times(weight_ih, x, by_gates.held[: 3 * units, : steps * lanes])
    state = _state(h)
    hidden = np.empty((3 * units, lanes), dtype)
    weight = np.ascontiguousarray(weight_hh)
    to_hidden = [(address(hidden), lanes)] * steps
    product = StepProducts(weight, state.held, to_hidden, adds=False)
    passes = _Passes(
        ("gru_step", dtype.name), (units, lanes),
        [(by_gates.place(t)[0], address(bias), address(hidden), state.first,
          by_y.place(t)[0]) for t in range(steps)],
        [(by_gates.line, 0, 0, 0) for t in range(steps)],
    )  # fmt: skip
    for t in range(steps):
        product.run(t)
        passes.run(t)
    return _as_rows(by_y, (steps, lanes, units)), gates


def _gru_bias(
    units: int, dtype: Any, bias_ih: Array | None, bias_hh: Array | None
) -> Array:
    """What is added to the sums of two gates, and to both parts of the third."""
    bias = np.zeros((4, units), dtype)
    if bias_ih is not None:
        bias[:3] += bias_ih.reshape(3, units)
    if bias_hh is not None:
        bias[[0, 1, 3]] += bias_hh.reshape(3, units)
    return bias


def gru_backward(
    h: Array, y: Array, gates: Array, weight_hh: Array, ct_y: Array
) -> tuple[Array, Array]:
    """Slopes by what enters the gates, and by the first state."""
    steps, lanes, units = y.shape
    dtype = y.dtype
    slopes, by_slopes = _new(4 * units, steps, lanes, dtype)
    by_gates, by_y, ct = map(_by_units, (gates, y, ct_y))
    state = _state(h)
    if by_gates.line != by_slopes.line:
        by_gates = _lined(gates)
    before = [state.place(0), *map(by_y.place, range(steps - 1))]
    back = np.zeros((units, lanes), dtype)
    step = np.empty((3 * units, lanes), dtype)
    to_h = [(address(back), lanes)] * steps
    product = StepProducts(_copied(weight_hh.T), step, to_h, adds=True)
    passes = _Passes(
        ("gru_step_back", dtype.name), (units, lanes),
        [(by_gates.place(t)[0], before[t][0], ct.place(t)[0], address(back),
          by_slopes.place(t)[0], address(step)) for t in range(steps)],
        [(by_slopes.line, before[t][1], ct.line, 0) for t in range(steps)],
    )  # fmt: skip
    for t in reversed(range(steps)):
        passes.run(t)
        product.run(t)
    return slopes, back.T


__all__ = ["gru", "gru_backward", "lstm", "lstm_backward"]
