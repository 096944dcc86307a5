"""One step of a recurrent network as a kernel: what gates and states become.

Arrays lie by units, [units, columns], a column for each sequence at each step, so that
a step's part is a block of columns. A kernel runs for units `first` to `last`, with
lanes along the sequences. What products need of a step is written side by side, too.
"""

from __future__ import annotations

from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store
from dovetail.codegen.mathematics import FUNCTIONS
from dovetail.codegen.values import Term, constant, index, load, parameter

_ROW, _LANE = index("row"), index("lane")


class _Array:
    """An array of a step: blocks of units, from line to line `line` elements.

    Args:
        line: the parameter that says so.
        lanes: whether a unit has an element for each sequence, or one for all.
    """

    def __init__(
        self, name: str, dtype: str, line: str, written: bool = False,
        lanes: bool = True,
    ) -> None:  # fmt: skip
        self.buffer = Buffer(name, dtype, written)
        self.line = parameter(line)
        self.lanes = lanes

    def _place(self, block: int) -> Term:
        row = _ROW + parameter("units") * block if block else _ROW
        if not self.lanes:
            return row
        return row * self.line + _LANE

    def __getitem__(self, block: int) -> Term:
        return load(self.buffer, self._place(block))

    def put(self, value: Term, block: int = 0) -> Store:
        """Write the value of each unit of a block."""
        return Store(self.buffer, self._place(block).value, value.value)


def _sigmoid(x: Term) -> Term:
    e: Term = FUNCTIONS["exp"].make(-x)
    return 1.0 / (1.0 + e)


def _tanh(x: Term) -> Term:
    found: Term = FUNCTIONS["tanh"].make(x)
    return found


def _kernel(name: str, dtype: str, arrays: list[_Array], stores: list[Store]) -> Kernel:
    """The kernel as loops over units and sequences."""
    zero, lanes = constant(0, "int64").value, parameter("lanes").value
    inner = Loop("lane", _LANE.value, zero, lanes, tuple(stores))
    outer = Loop("grid", _ROW.value, FIRST, LAST, (inner,))
    words = tuple((word, "int64") for word in WORDS)
    buffers = tuple(a.buffer for a in arrays)
    return Kernel(f"{name}_{dtype}", buffers, words, (outer,))


WORDS = ("units", "lanes", "line", "before_line", "ct_line", "cells_line")
"""Behind the addresses: units of a block, sequences, and how far it is from line to
line of gates, of the state before, of the cotangents, and of the cells."""


def lstm_step(dtype: str) -> Kernel:
    """Gates before their functions become those behind them; the next cells and state.

    Input, forget, cell and output gates are blocks of one array.
    """
    gates = _Array("gates", dtype, "line", written=True)
    bias = _Array("bias", dtype, "line", lanes=False)
    before = _Array("before", dtype, "before_line")
    cells = _Array("cells", dtype, "line", written=True)
    y = _Array("y", dtype, "line", written=True)
    state = _Array("state", dtype, "lanes", written=True)
    i, f, g, o = (gates[k] + bias[k] for k in range(4))
    i, f, g, o = _sigmoid(i), _sigmoid(f), _tanh(g), _sigmoid(o)
    c = f * before[0] + i * g
    stores = [gates.put(x, k) for k, x in enumerate((i, f, g, o))]
    h = o * _tanh(c)
    stores += [cells.put(c), y.put(h), state.put(h)]
    arrays = [gates, bias, before, cells, y, state]
    return _kernel("lstm_step", dtype, arrays, stores)


def lstm_step_back(dtype: str, of_cells: bool) -> Kernel:
    """The slopes by gates before their functions, and by the cells before.

    Args:
        of_cells: whether cells have a cotangent of their own.
    """
    gates = _Array("gates", dtype, "line")
    cells = _Array("cells", dtype, "cells_line")
    before = _Array("before", dtype, "before_line")
    ct = _Array("ct", dtype, "ct_line")
    ct_cells = _Array("ct_cells", dtype, "ct_line")
    ct_h = _Array("ct_h", dtype, "lanes")
    ct_c = _Array("ct_c", dtype, "lanes", written=True)
    slopes = _Array("slopes", dtype, "line", written=True)
    step = _Array("step", dtype, "lanes", written=True)
    i, f, g, o = (gates[k] for k in range(4))
    through = ct[0] + ct_h[0]
    bent = _tanh(cells[0])
    c = ct_c[0] + through * o * (1.0 - bent * bent)
    if of_cells:
        c = c + ct_cells[0]
    found = (
        c * g * (i * (1.0 - i)), c * before[0] * (f * (1.0 - f)),
        c * i * (1.0 - g * g), through * bent * (o * (1.0 - o)),
    )  # fmt: skip
    stores = [a.put(x, k) for k, x in enumerate(found) for a in (slopes, step)]
    arrays = [gates, cells, before, ct, ct_cells, ct_h, ct_c, slopes, step]
    name = "lstm_step_back_cells" if of_cells else "lstm_step_back"
    return _kernel(name, dtype, arrays, [*stores, ct_c.put(c * f)])


def gru_step(dtype: str) -> Kernel:
    """Reset, update and new gates and the next state.

    What the input adds to the three gates becomes the gates, and a fourth block what
    the state adds to the new one; `hidden` is what it adds to all three.
    """
    gates = _Array("gates", dtype, "line", written=True)
    bias = _Array("bias", dtype, "line", lanes=False)
    hidden = _Array("hidden", dtype, "lanes")
    state = _Array("state", dtype, "lanes", written=True)
    y = _Array("y", dtype, "line", written=True)
    r = _sigmoid(gates[0] + hidden[0] + bias[0])
    z = _sigmoid(gates[1] + hidden[1] + bias[1])
    part = hidden[2] + bias[3]
    n = _tanh(gates[2] + bias[2] + r * part)
    stores = [gates.put(x, k) for k, x in enumerate((r, z, n, part))]
    h = n + z * (state[0] - n)
    stores += [y.put(h), state.put(h)]
    return _kernel("gru_step", dtype, [gates, bias, hidden, state, y], stores)


def gru_step_back(dtype: str) -> Kernel:
    """The slopes by what enters the gates, and the part of the state's that is direct.

    Blocks are the reset and the update gate, what the state and what the input adds to
    the new one.
    """
    gates = _Array("gates", dtype, "line")
    before = _Array("before", dtype, "before_line")
    ct = _Array("ct", dtype, "ct_line")
    ct_h = _Array("ct_h", dtype, "lanes", written=True)
    slopes = _Array("slopes", dtype, "line", written=True)
    step = _Array("step", dtype, "lanes", written=True)
    r, z, n, part = (gates[k] for k in range(4))
    through = ct[0] + ct_h[0]
    new = through * (1.0 - z) * (1.0 - n * n)
    found = (
        new * part * (r * (1.0 - r)), through * (before[0] - n) * (z * (1.0 - z)),
        new * r, new,
    )  # fmt: skip
    stores = [slopes.put(x, k) for k, x in enumerate(found)]
    stores += [step.put(x, k) for k, x in enumerate(found[:3])]
    stores.append(ct_h.put(through * z))
    arrays = [gates, before, ct, ct_h, slopes, step]
    return _kernel("gru_step_back", dtype, arrays, stores)


__all__ = ["WORDS", "gru_step", "gru_step_back", "lstm_step", "lstm_step_back"]
