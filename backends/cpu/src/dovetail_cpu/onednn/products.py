"""Products of matrices by oneDNN, which sums those of bfloat16 in float32.

The work is cut along the batch, the rows or the columns of the result, whichever there
are many of.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen.runtime.pool import default_size
from dovetail.errors import NotSupported
from dovetail_cpu.onednn.finite import is_known
from dovetail_cpu.onednn.parts import runs
from dovetail_cpu.onednn.primitives import (
    Argument,
    Description,
    Primitive,
    row_major,
    strided,
)
from dovetail_cpu.onednn.programs import Place, Program

Array = np.ndarray[Any, Any]

_LEFT, _RIGHT, _RESULT, _BIAS = range(4)  # operands of programs
_BATCH, _ROWS, _COLUMNS = range(3)  # dims of a result
_FEW: Final = 4  # of a batch: fewer than these are not shared among threads
_BLOCK: Final = 16  # rows or columns of a part, at least
_ENOUGH: Final = 1 << 27  # multiplications of a part: more are cut once more
_MOST: Final = 4  # parts for each thread of the machine


# Which dims of the result each operand has.
_CUTS: Final = ((_BATCH, _ROWS), (_BATCH, _COLUMNS), (_BATCH, _ROWS, _COLUMNS),
                (_COLUMNS,))  # fmt: skip


class Factors(NamedTuple):
    """Two batches of matrices, by size, and how they lie.

    Attributes:
        batch, rows, inner, columns: their sizes.
        dtype: of all elements.
        left, right: strides in elements.
    """

    batch: int
    rows: int
    inner: int
    columns: int
    dtype: str
    left: tuple[int, ...]
    right: tuple[int, ...]

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return 4 if self.dtype == "float32" else 2

    def cut(self) -> tuple[int, int]:
        """Along which dim of the result the work is cut, and how many make a unit."""
        if self.batch >= _FEW:
            return _BATCH, 1
        along = _ROWS if self.rows >= self.columns else _COLUMNS
        length = max(self.rows, self.columns)
        parts = default_size()  # for each thread as much, and no more than it must read
        work = self.rows * self.inner * self.columns // parts
        parts *= max(1, min(_MOST, work // _ENOUGH))
        return along, max(length // parts, min(_BLOCK, length))


class Product:
    """A product of batches of matrices.

    Args:
        factors: their sizes.
        bias: whether something is added to each row.
    """

    def __init__(self, factors: Factors, bias: bool) -> None:
        self.factors, self.with_bias = factors, bias
        self.shape = (factors.batch, factors.rows, factors.columns)
        self.along, self.unit = factors.cut()
        self.runs = [(start, self._made(*sizes)) for start, *sizes in self._runs()]
        self.whole = self.runs[0][1] if len(self.runs) == 1 else None

    def _runs(self) -> list[tuple[int, int, int]]:
        """Parts of equal size along the dim that is cut: where, how large, how many."""
        whole, rest = divmod(self.shape[self.along], self.unit)
        if self.along != _BATCH:
            found = [(0, self.unit, whole)]
            return [*found, (whole * self.unit, rest, 1)] if rest else found
        others = math.prod(self.shape) // self.shape[self.along] + self.factors.inner
        found = [
            (run.start * self.unit, run.images * self.unit, run.parts)
            for run in runs(whole, self.factors.item * self.unit * others)
        ]
        return [*found, (whole * self.unit, rest, 1)] if rest else found

    def _place(
        self, operand: int, shape: tuple[int, ...], strides: tuple[int, ...], size: int
    ) -> Place:
        """Where a part of an operand lies, `size` of it along the dim that is cut."""
        sizes = list(shape)
        pace = 0
        if self.along in _CUTS[operand]:
            sizes[self.along] = size
            pace = self.factors.item * size * strides[self.along]
        return Place(strided(sizes, self.factors.dtype, strides), operand, pace)

    def _made(self, size: int, count: int) -> Program:
        f = self.factors
        left = self._place(_LEFT, (f.batch, f.rows, f.inner), f.left, size)
        right = self._place(_RIGHT, (f.batch, f.inner, f.columns), f.right, size)
        result = self._place(_RESULT, self.shape, row_major(self.shape), size)
        bias = self._place(_BIAS, (1, 1, f.columns), (f.columns, f.columns, 1), size)
        does = Description(
            "matmul", left.format, right.format,
            bias.format if self.with_bias else None, result.format,
        )  # fmt: skip
        program = Program(count, 4)
        arguments = {
            Argument.SOURCE: left, Argument.WEIGHT: right, Argument.RESULT: result,
        }  # fmt: skip
        if self.with_bias:
            arguments[Argument.BIAS] = bias
        program.add(Primitive(does), arguments)
        return program

    def __call__(self, a: Array, b: Array, bias: Array | None = None) -> Array:
        """The product, of arrays [batch, rows, inner] and [batch, inner, columns]."""
        y = np.empty(self.shape, a.dtype)
        row = b if bias is None else np.ascontiguousarray(bias)
        if self.whole is not None:
            self.whole.run(a, b, y, row)
            return y
        added = row if bias is None else row[None, None]
        for start, program in self.runs:
            operands = [a, b, y, added]
            for operand, array in enumerate(operands):
                if start and self.along in _CUTS[operand]:
                    at = (slice(None),) * self.along + (slice(start, None),)
                    operands[operand] = array[at]
            program.run(*operands)
        return y


class Products:
    """A product for factors of some sizes, however they lie.

    Args:
        sizes: batch, rows, inner, columns.
        shape: of the result.
    """

    def __init__(self, sizes: tuple[int, int, int, int], shape: Any) -> None:
        self.sizes, self.shape = sizes, shape
        self.made: dict[Any, Product | None] = {}
        # Of two matrices as they lie: nothing is to be asked or copied.
        self.known: dict[Any, Product] = {}

    def __call__(self, a: Array, b: Array, bias: Array | None = None) -> Array | None:
        """The product of a batch of matrices; None where others know it."""
        lie = a.strides, b.strides, bias is None
        known = self.known.get(lie)
        if known is not None:
            return known(a, b, bias).reshape(self.shape)
        batch, rows, inner, columns = self.sizes
        left, right = a.reshape(batch, rows, inner), b.reshape(batch, inner, columns)
        x, w = _matrices(left), _matrices(right)
        key = x.strides, w.strides, bias is None
        if key not in self.made:
            self.made[key] = self._make(x, w, bias is not None)
        found = self.made[key]
        if found is None:
            return None
        as_they_lie = x is left and w is right and a.ndim == b.ndim == 2
        if as_they_lie and found.whole is not None and a.dtype.char == "f":
            self.known[lie] = found
        y = found(x, w, bias)
        return y.reshape(self.shape) if is_known(y) else None

    def _make(self, a: Array, b: Array, bias: bool) -> Product | None:
        left, right = (tuple(s // x.itemsize for s in x.strides) for x in (a, b))
        try:
            return Product(Factors(*self.sizes, a.dtype.name, left, right), bias)
        except NotSupported:
            return None


def _matrices(x: Array) -> Array:
    """Matrices whose rows or columns have no gaps, and do not overlap."""
    rows, columns = x.shape[1:]
    whole, down, across = (s // x.itemsize for s in x.strides)
    if len(x) == 1:
        whole = x.size * max(down, across)  # is of no matter
    by_rows = across == 1 and down >= columns and whole >= rows * down
    by_columns = down == 1 and across >= rows and whole >= columns * across
    return x if by_rows or by_columns else np.ascontiguousarray(x)
