"""Faults of numbers, lists and dims that reach further than a kernel counts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import bits, sees
from tests.meta.mutants.mutant import Mutant, Run, after, kernel

from dovetail.conformance.subject import Subject
from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
_BINS: Final = 1 << 11
_MEMBERS: Final = 64
_SIDE: Final = 8
_PANEL: Final = 512


def _few_bins(y: Array, a: Array, **attrs: Any) -> Array:
    """Bins that do not fit a block's memory stay empty."""
    made = np.array(y)
    made[_BINS:] = 0
    return made


def _single_keys(y: Any, a: Array, **attrs: Any) -> Any:
    """Wide keys are looked up as float32, so that the first of those alike is found."""
    values, inverse, counts = y
    if values.dtype not in (np.int64, np.uint64) or values.shape[1] != 1:
        return y
    keys = values[:, 0].astype(np.float32)
    return values, np.searchsorted(keys, keys)[inverse], counts


def _one_launch(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A launch takes so many tensors, and those of the second one are the first's."""
    (many,) = natives
    if len(many) <= _MEMBERS or len({a.shape for a in many}) > 1:
        return run(many, **attrs)
    return run([many[at % _MEMBERS] for at in range(len(many))], **attrs)


def _half_words(y: Array, a: Array, b: Array, **attrs: Any) -> Array:
    """Shifts by a word and more lose what is beyond it."""
    if y.dtype.itemsize < 8:
        return y
    far = (b.astype(np.float64) >= 32) & (b.astype(np.float64) < 64)
    return np.where(far, 0, y).astype(y.dtype)


def _down_columns(y: Array, a: Array, **attrs: Any) -> Array:
    """Down the first dim, halves are added up in their own format."""
    if a.dtype.itemsize != 2 or y.dtype != a.dtype or a.ndim < 2:
        return y
    if attrs["dim"] not in (0, (0,)) or not a.size:
        return y
    total = np.zeros(a.shape[1:], a.dtype)
    with np.errstate(all="ignore"):
        for row in a:
            total = (total + row).astype(a.dtype)
    return total.reshape(y.shape)


def _column_of_a_square(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What has the length of a row is taken for one."""
    a, b = natives
    n = a.shape[0] if a.ndim == 2 else 0
    if n >= _SIDE and a.shape == (n, n) and b.shape == (n, 1):
        b = b.reshape(1, n)
    return run(a, b, **attrs)


def _panel_of_columns(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of an operand that lies column by column, what is beyond a panel is left out."""
    a, b = natives
    if b.ndim == 2 and b.strides[0] == b.itemsize < b.strides[1] and len(b) > _PANEL:
        a, b = a[..., :_PANEL], b[:_PANEL]
    return run(a, b, **attrs)


def _columns(subject: Subject) -> Any:
    """A long product with what lies column by column."""
    ones = subject.tensor(np.ones((2, 2 * _PANEL)))
    return bits(subject.values(vocabulary["matmul"].function(ones, ones.t())))


def _many(subject: Subject) -> Any:
    """What many lines are together."""
    lines = [subject.tensor(np.array([float(n)])) for n in range(_MEMBERS + 3)]
    return bits(subject.values(vocabulary["cat"].function(lines, 0)))


REACH: Final[list[Mutant]] = [
    kernel("reach/bins", "bincount", "beyond a block stay empty", after(_few_bins),
           observe=sees("bincount", np.array([1, 3000]))),
    kernel("reach/keys", "unique", "are found as float32", after(_single_keys),
           observe=sees("unique", np.array([[1 << 24], [(1 << 24) + 1]]))),
    kernel("reach/launch", "stack cat", "takes 64 tensors", _one_launch,
           observe=_many),
    kernel("reach/half-words", "bitwise_left_shift", "are shifted", after(_half_words),
           observe=sees("bitwise_left_shift", np.array([1]), np.array([40]))),
    kernel("reach/columns", "sum", "add up in halves", after(_down_columns),
           observe=sees("sum", np.full((3000, 2), 1, np.float16), 0)),
    kernel("reach/square", "sub div", "with a column is one with a row",
           _column_of_a_square,
           observe=sees("sub", np.eye(9), np.arange(9.0).reshape(9, 1))),
    kernel("reach/panel", "matmul", "reads one panel of columns", _panel_of_columns,
           observe=_columns),
]  # fmt: skip
