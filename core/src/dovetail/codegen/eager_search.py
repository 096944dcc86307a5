"""Places in sorted rows of NumPy arrays, found by generated kernels."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from dovetail.codegen import runtime, search_kernels
from dovetail.codegen.eager import Array, target
from dovetail.codegen.eager_sort import run
from dovetail.codegen.llvm_text import render

_GRAIN: Final = 1 << 12  # values that a thread takes at a time


@cache
def _kernel(dtype: str, right: bool) -> runtime.Kernel:
    form = search_kernels.places(dtype, right)
    return runtime.kernel(form.name, render(form, target()))


def places(sorted_rows: Array, values: Array, dtype: str, right: bool) -> Array:
    """Where values go in sorted rows: before equal ones, or after; NaN at the end.

    Args:
        sorted_rows: row-major, [rows, size], or [1, size] for all values.
        values: row-major, [rows, lanes].
        dtype: of both, one of `sort_kernels.DTYPES`.
    """
    rows, lanes = values.shape
    size = sorted_rows.shape[1]
    found = np.empty(values.shape, np.int64)
    parts = -(-lanes // _GRAIN)
    part_size = -(-lanes // parts)
    run(
        _kernel(dtype, right), rows * parts, max(_GRAIN // part_size, 1), sorted_rows,
        values, found, size, size if len(sorted_rows) > 1 else 0, lanes, parts,
        part_size, size.bit_length(),
    )  # fmt: skip
    return found
