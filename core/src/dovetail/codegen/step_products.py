"""Products of one matrix with others that come one after the other in one place."""

from __future__ import annotations

import numpy as np

from dovetail.codegen import narrow_products
from dovetail.codegen.arrays import Array, address
from dovetail.codegen.products import AS_IT_IS, CHUNK, gemm_kernel, step_of
from dovetail.codegen.runtime.blas import blas
from dovetail.errors import NotSupported


class StepProducts:
    """Products of a row-major matrix with what is in another one at each step.

    Args:
        left: the matrix.
        right: where the others are, row-major.
        results: where each product begins, and how far it is from row to row.
        adds: whether products are added to what is there.

    Raises:
        NotSupported: there is no BLAS that is known.
    """

    def __init__(
        self, left: Array, right: Array, results: list[tuple[int, int]], adds: bool
    ) -> None:
        self._held = left, right
        self._work = left.size * right.shape[1] or 1
        code, rows, columns = left.dtype.char, len(left), right.shape[1]
        if narrow_products.fits(code, rows, left.shape[1], columns):
            self._narrow(results, adds)
        else:
            self._by_blas(results, adds)
        self._first, self._width = address(self._table), self._table.strides[0]
        self._grain = CHUNK * self._count // self._work or 1

    def _narrow(self, results: list[tuple[int, int]], adds: bool) -> None:
        """Read as it lies, for few columns that fill vectors."""
        left, right = self._held
        (rows, inner), columns, code = left.shape, right.shape[1], left.dtype.char
        tiles = columns // narrow_products.columns_of(code)
        a, b = address(left), address(right)
        words = [(a, b, c, inner, columns, line, inner, tiles) for c, line in results]
        self._table = np.array(words, np.int64)
        self._count = rows // narrow_products.ROWS
        self._run = narrow_products.kernel_of(code, adds).run

    def _by_blas(self, results: list[tuple[int, int]], adds: bool) -> None:
        """By BLAS, in pieces of rows."""
        found = blas()
        if found is None:
            raise NotSupported("product", was="asked for", needed="OpenBLAS")
        left, right = self._held
        (rows, inner), columns, code = left.shape, right.shape[1], left.dtype.char
        size, step = left.itemsize, step_of(rows, 1)
        words = []
        for c, line in results:
            words += [found.gemm[code], AS_IT_IS, max(inner, 1)]
            words += [AS_IT_IS, columns, line, inner]
            for i in range(0, rows, step):
                words += [address(left) + i * inner * size, address(right)]
                words += [c + i * line * size, min(step, rows - i), columns]
        self._table = np.array(words, np.int64).reshape(len(results), -1)
        self._count = -(-rows // step)
        self._run = gemm_kernel(code, found.bits, adds).run

    def run(self, step: int) -> None:
        """Compute the product of one step."""
        self._run(self._first + step * self._width, self._count, self._grain)
