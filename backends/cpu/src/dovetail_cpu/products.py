"""Products of matrices: NumPy's for small ones, cut for our threads for large ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime import available
from dovetail.codegen.runtime.blas import blas
from dovetail.codegen.runtime.machine import SWITCH
from dovetail.codegen.runtime.threads import get_num_threads
from dovetail.errors import NotSupported
from dovetail_cpu.onednn import kernels as onednn
from dovetail_cpu.onednn.by_size import Served

LEAST: Final = 1 << 21
"""Multiplications from which on two threads are faster than one."""
_chosen: Final = os.environ.get(SWITCH, "")
_least: Final = int(_chosen) if _chosen.isdecimal() else LEAST

Array = np.ndarray[Any, Any]


def numpy_with_pool() -> Any:
    """NumPy, its `matmul` such that threads of the pool share large products.

    BLAS has one thread from then on. NumPy itself where kernels cannot be compiled.
    """
    found = blas() if available() else None
    if found is None:
        return np
    found.set_threads(1)
    served = onednn.product()
    made = ModuleType(np.__name__)
    vars(made).update(vars(np), matmul=_matmul(served))
    if served is not None:
        made.__dict__["product_and_row"] = _product_and_row(served)
    return made


def _matmul(served: Served | None) -> Callable[..., Array]:
    """The product of arrays.

    Args:
        served: large products and batches of small ones, or gives None; None where
            there is no such thing.
    """
    least = LEAST if served is None else min(LEAST, onednn.least_work() ** 2)

    def matmul(a: Array, b: Array, out: Array | None = None) -> Array:
        # The first question is quick, and the answer of nearly all small products.
        if a.size * b.size >= least:
            y = None
            if served is not None and out is None and a.ndim > 1:
                y = served(a, b, None)
            if y is None and _is_large(a, b):
                y = _cut(a, b, out)
            if y is not None:
                return y
        found: Array = np.matmul(a, b, out) if out is not None else np.matmul(a, b)
        return found

    return matmul


def _product_and_row(served: Served) -> Callable[..., Array | None]:
    """A product with a matrix to whose rows another one is added; None for small ones.

    The first operand is a matrix, or a batch of matrices.
    """
    least = onednn.least_work() ** 2

    def product(a: Array, b: Array, row: Array) -> Array | None:
        if a.size * b.size < least or a.ndim < 2 or not a.size:
            return None
        flat = a if a.ndim == 2 else a.reshape(-1, a.shape[-1])
        found: Array | None = served(flat, b, row)
        if found is None or a.ndim == 2:
            return found
        return found.reshape(*a.shape[:-1], b.shape[1])

    return product


def _cut(a: Array, b: Array, out: Array | None) -> Array | None:
    """A large product by pieces; None where NumPy has to serve."""
    # With LLVM: nothing that a small program needs.
    from dovetail.codegen.products import matmul

    try:
        return matmul(a, b, out, _least)
    except NotSupported:  # LLVM is there and cannot be loaded
        found = blas()
        if found is not None:
            found.set_threads(get_num_threads())
        return None


def _is_large(a: Array, b: Array) -> bool:
    if a.ndim < 2 or b.ndim < 2:
        return False
    return max(a.size * b.shape[-1], b.size * a.shape[-2]) >= _least
