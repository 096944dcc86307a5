"""Products of matrices by cuBLAS, for operands that lie in any way.

cuBLAS reads memory column by column. What lies there row by row is the transpose of
the matrix; so y = a @ b is computed as yᵀ = bᵀ @ aᵀ, and nothing is moved.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.device_api import KernelTable
from dovetail.dtypes import by_name
from dovetail_cupy.cublas import FORMATS, WIDE, Cublas, Format, Lies

Dims = tuple[int, ...]
_MOST: Final = (1 << 31) - 1  # what an `int` of C counts to
_REMEMBERED: Final = 512  # ways in which operands lie
DTYPES: Final = frozenset(map(by_name, FORMATS))
"""The dtypes of products."""


def install(table: KernelTable, products: Products) -> None:
    """Put products before those of a table."""
    table.add("bmm", products.bmm, dtypes=DTYPES, checks=True, rank=1)
    table.add("matmul", products.matmul, dtypes=DTYPES, checks=True, rank=1)
    table.add("linear", products.linear, dtypes=DTYPES, rank=1)


class _Way(NamedTuple):
    """What is the same in all products of operands of such shapes that lie so.

    Attributes:
        shape: of the result.
        dtype: of the result.
        fmt: of all.
        sizes, lie, count: as `Cublas.gemm` takes them.
    """

    shape: Dims
    dtype: Any
    fmt: Format
    sizes: tuple[int, int, int]
    lie: tuple[Lies, Lies, Lies]
    count: int


class _How(NamedTuple):
    """What may be asked of a product.

    Attributes:
        wide: the result is float32, of 16-bit floats.
        onto: what it is added to, else None.
        factor: what it is multiplied by, but 0.
    """

    wide: bool = False
    onto: Any = None
    factor: float = 1.0


_PLAIN: Final = _How()


class Products:
    """The kernels, each a method of the name of its op.

    Args:
        xp: makes and copies arrays.
        blas: multiplies.
    """

    def __init__(self, xp: Any, blas: Cublas) -> None:
        self._xp = xp
        self._blas = blas
        self._ways: dict[Any, _Way] = {}

    def bmm(self, a: Any, b: Any) -> Any:
        """Products of two batches of matrices."""
        if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0]:
            raise ValueError("not two batches of matrices")
        return self.matmul(a, b)

    @staticmethod
    def serves(a: Any, b: Any) -> bool:
        """Whether there are products of arrays of these dtypes."""
        return a.dtype == b.dtype and a.dtype.name in FORMATS

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        """A product as NumPy's: vectors, matrices, and batches that broadcast.

        Args:
            out: of the shape of the result, if it is to be there.
        """
        if out is not None:
            return self._product_into(a, b, out)
        left = a[None, :] if a.ndim == 1 else a
        right = b[:, None] if b.ndim == 1 else b
        if not left.ndim or not right.ndim or left.shape[-1] != right.shape[-2]:
            raise ValueError(f"shapes {a.shape} and {b.shape} do not fit")
        y = self._product(left, right, None)
        if a.ndim > 1 and b.ndim > 1:
            return y
        kept = y.shape[:-2] if a.ndim == 1 else y.shape[:-1]
        last = () if b.ndim == 1 else y.shape[-1:]
        return y.reshape(kept + last)

    def wide(self, a: Any, b: Any, onto: Any = None, factor: float = 1.0) -> Any:
        """Products of batches of matrices; of 16-bit floats, the sums in float32.

        Args:
            onto: of the shape of the result, in rows; it is added there.
            factor: what products are multiplied by.
        """
        if a.shape[-1] != b.shape[-2]:
            raise ValueError(f"shapes {a.shape} and {b.shape} do not fit")
        how = _How(a.dtype.name in WIDE, onto, factor or 1.0)
        y = self._product(a, b, None, how)
        return y if factor else y * y.dtype.type(0)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        """x @ wᵀ, added to a row where there is one; rounded once."""
        if w.ndim == 1:  # a row of weights, which leaves no dim
            y = self.matmul(x, w)
            return y if b is None else y + b
        if x.ndim == 1:
            return self._product(x[None, :], w.T, b)[0]
        return self._product(x, w.T, b)

    def _product(self, a: Any, b: Any, row: Any, how: _How = _PLAIN) -> Any:
        """The product of batches of matrices, which is added to a row."""
        key = a.shape, a.strides, b.shape, b.strides, a.dtype, how.wide
        way = self._ways.get(key)
        if way is None:
            return self._of_any(a, b, row, key, how)
        y = self._begun(way.shape, way.dtype, row, how)
        at = b.data.ptr, a.data.ptr, y.data.ptr
        adds = row is not None or how.onto is not None
        self._blas.gemm(way.fmt, way.sizes, at, way.lie, way.count, adds, how.factor)
        return y

    def _begun(self, shape: Dims, dtype: Any, row: Any, how: _How) -> Any:
        """What a product is written or added to."""
        if how.onto is not None:
            return how.onto
        y = self._xp.empty(shape, dtype)
        if row is not None:
            y[...] = row
        return y

    def _of_any(self, a: Any, b: Any, row: Any, key: Any, how: _How) -> Any:
        """The same for operands that may have to be copied; others are remembered."""
        n, lead = b.shape[-1], np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        fmt = (WIDE if how.wide else FORMATS)[a.dtype.name]
        dtype = np.dtype("float32") if how.wide else a.dtype
        if a.ndim > 2 and b.ndim == 2:  # one product, of all rows
            rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
            shape = (*a.shape[:-1], n)
            if how.onto is not None:
                how = how._replace(onto=how.onto.reshape(len(rows), n))
            y = self._product(rows, b, row, how).reshape(shape)
            way = self._ways.get((rows.shape, rows.strides, *key[2:]))
            if way is not None and a.flags.c_contiguous:
                self._remember(key, way._replace(shape=shape))
            return y
        m, k = a.shape[-2:]
        y = self._begun((*lead, m, n), dtype, row, how)
        adds = row is not None or how.onto is not None
        if not (y.size and k):
            if not adds:
                y[...] = 0
            return y
        first, at_a = _side(self._xp, a, lead)
        second, at_b = _side(self._xp, b, lead)
        count = math.prod(lead)
        if max(m, n, k, count, first.length, second.length) > _MOST:
            return self._by_parts(y, a, b, adds, how)
        lie = second, first, Lies(0, n, m * n)
        way = _Way(y.shape, dtype, fmt, (n, m, k), lie, count)
        at = at_b.data.ptr, at_a.data.ptr, y.data.ptr
        self._blas.gemm(fmt, way.sizes, at, lie, count, adds, how.factor)
        if at_a is a and at_b is b:
            self._remember(key, way)
        return y

    def _remember(self, key: Any, way: _Way) -> None:
        if len(self._ways) >= _REMEMBERED:
            self._ways.clear()
        self._ways[key] = way

    def _product_into(self, a: Any, b: Any, y: Any) -> Any:
        """The product of matrices, where the caller wants it; by a copy if it must."""
        lead, (m, k), n = y.shape[:-2], a.shape[-2:], b.shape[-1]
        third = _as_it_lies(y, lead)
        if not (y.size and k) or third is None or third.turned:
            y[...] = self._product(a, b, None)
            return y
        (first, at_a), (second, at_b) = (_side(self._xp, x, lead) for x in (a, b))
        at = at_b.data.ptr, at_a.data.ptr, y.data.ptr
        lie, count = (second, first, third), math.prod(lead)
        self._blas.gemm(FORMATS[a.dtype.name], (n, m, k), at, lie, count, False)
        return y

    def _by_parts(self, y: Any, a: Any, b: Any, adds: bool, how: _How) -> Any:
        """What is longer than an `int` counts, by CuPy in float32 or wider."""
        wide = "float32" if a.dtype.name in WIDE else a.dtype
        made = self._xp.matmul(a.astype(wide), b.astype(wide))
        if how.factor != 1.0:
            made *= made.dtype.type(how.factor)
        y[...] = made + y if adds else made
        return y


def _side(xp: Any, a: Any, lead: Dims) -> tuple[Lies, Any]:
    """How an operand lies, and the array that does: a copy where cuBLAS needs one.

    Rows that follow one another make what cuBLAS takes for columns: not turned.
    """
    found = _as_it_lies(a, lead)
    if found is None:
        a = xp.ascontiguousarray(xp.broadcast_to(a, lead + a.shape[-2:]))
        found = _as_it_lies(a, lead)
        assert found is not None
    return found, a


def _as_it_lies(a: Any, lead: Dims) -> Lies | None:
    """How matrices lie that cuBLAS can read; None for others."""
    size = a.dtype.itemsize
    strides = [s // size for s in a.strides]
    rows, columns = a.shape[-2:]
    down, across = strides[-2:]
    step = _one_step(a.shape[:-2], strides[:-2], lead)
    if step is None:
        return None
    if (across == 1 or columns == 1) and (down >= columns or rows == 1):
        return Lies(0, max(down if rows > 1 else columns, 1), step)
    if (down == 1 or rows == 1) and (across >= rows or columns == 1):
        return Lies(1, max(across if columns > 1 else rows, 1), step)
    return None


def _one_step(shape: Dims, strides: list[int], lead: Dims) -> int | None:
    """The step by which all matrices of a batch follow one another, None for none."""
    if math.prod(lead) == 1 or math.prod(shape) == 1:
        return 0
    if shape != lead:  # it broadcasts in some dims only
        return None
    kept = [(n, s) for n, s in zip(shape, strides, strict=True) if n > 1]
    for (_, outer), (n, inner) in pairwise(kept):
        if outer != n * inner:
            return None
    step = kept[-1][1]
    return step if step >= 0 else None
