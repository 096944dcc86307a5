"""Products of one matrix with others that come one after the other, by BLAS."""

from __future__ import annotations

import numpy as np

from dovetail.codegen.arrays import Array, address
from dovetail.codegen.products import AS_IT_IS, CHUNK, gemm_kernel, step_of
from dovetail.codegen.runtime.blas import blas
from dovetail.errors import NotSupported


class StepProducts:
    """Products of one matrix with matrices that come one after the other.

    Args:
        left: a row-major matrix.
        given: where each of the others begins, and how far it is from row to row.
        results: the same of what is written.
        columns: of these.
        adds: whether products are added to what is there.

    Raises:
        NotSupported: there is no BLAS that is known.
    """

    def __init__(
        self, left: Array, given: list[tuple[int, int]],
        results: list[tuple[int, int]], columns: int, adds: bool,
    ) -> None:  # fmt: skip
        found = blas()
        if found is None:
            raise NotSupported("product", was="asked for", needed="OpenBLAS")
        rows, inner = left.shape
        step = step_of(rows, 1)
        starts = range(0, rows, step)
        words = []
        for (b, b_line), (c, c_line) in zip(given, results, strict=True):
            words += [found.gemm[left.dtype.char], AS_IT_IS, max(inner, 1)]
            words += [AS_IT_IS, b_line, c_line, inner]
            for i in starts:
                words += [address(left) + i * left.strides[0], b]
                words += [c + i * c_line * left.itemsize, min(step, rows - i), columns]
        self._left, self._count = left, len(starts)
        self._table = np.array(words, np.int64).reshape(len(given), -1)
        self._first, self._width = address(self._table), self._table.strides[0]
        self._run = gemm_kernel(left.dtype.char, found.bits, adds).run
        self._grain = CHUNK * self._count // (rows * inner * columns or 1) or 1

    def run(self, step: int) -> None:
        """Compute the product of one step."""
        self._run(self._first + step * self._width, self._count, self._grain)
