"""Recurrences along a dim of NumPy arrays, by generated kernels."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.arrays import Array, target
from dovetail.codegen.eager_sort import run
from dovetail.codegen.llvm_text import render
from dovetail.codegen.recurrence_kernels import product_slopes

_GRAIN = 1 << 13  # elements that a thread takes at a time


@cache
def _kernel(dtype: str, wide: bool) -> runtime.Kernel:
    form = product_slopes(dtype, wide)
    return runtime.kernel(form.name, render(form, target()))


def slopes_of_products(ct: Array, x: Array, y: Array, dim: int) -> Array:
    """The gradient of products so far along a dim; all are row-major, of one shape."""
    found = np.empty(ct.shape, ct.dtype)
    outer, inner = math.prod(ct.shape[:dim]), math.prod(ct.shape[dim + 1 :])
    size = ct.shape[dim]
    grain = max(_GRAIN // (size * inner), 1)
    kernel = _kernel(ct.dtype.name, inner > 1)
    run(kernel, outer, grain, ct, x, y, found, size, inner)
    return found


__all__ = ["slopes_of_products"]
