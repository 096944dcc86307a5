"""The CPU's kernels: the shared ones on NumPy, and its own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.device_api import KernelTable
from dovetail.dtypes import STORED
from dovetail.xp import (
    activation,
    attention,
    columns_of_windows,
    conv,
    ctc,
    elementwise,
    fourier,
    frequency,
    grid,
    indexing,
    linalg,
    margins,
    matmul,
    movement,
    nn,
    optim,
    order,
    pool,
    pool_adaptive,
    random,
    recurrences,
    reduce,
    shape,
    taps,
    vector_products,
    views,
)  # fmt: skip
from dovetail_cpu import generated, lapack, libm, moves, products
from dovetail_cpu.onednn import kernels as onednn


def install(table: KernelTable) -> None:
    """Add every kernel of the CPU."""
    plain, with_onednn = KernelTable(table.backend), KernelTable(table.backend)
    _install_plain(plain)
    onednn.install(with_onednn, plain)
    generated.install(table, with_onednn)


def _install_plain(table: KernelTable) -> None:
    """Add NumPy's kernels."""
    multiplying = products.numpy_with_pool()
    elementwise.install(table, np)
    activation.install(table, np, chunk=1 << 14)
    reduce.install(table, np)
    order.install(table, np)
    frequency.kernels.install(table, np)
    movement.install(table, np)
    indexing.install(table, np)
    shape.install(table, moves.numpy_with_moves())
    views.install(table, np)
    random.install(table, np)
    conv.install(table, multiplying)
    pool.install(table, np)
    pool_adaptive.kernels.install(table, np)
    margins.kernels.install(table, np)
    optim.install(table, np)
    matmul.install(table, multiplying)
    nn.install(table, multiplying)
    attention.install(table, multiplying)
    fourier.install(table, np)
    linalg.install(table, np)
    lapack.install(table)
    grid.kernels.install(table, np)
    taps.install(table, np)
    ctc.kernels.install(table, np)
    columns_of_windows.kernels.install(table, np)
    recurrences.kernels.install(table, np)
    vector_products.kernels.install(table, np)
    libm.install(table)
    table.add("native_slice", operator.getitem, dtypes=STORED)
    table.add("view", _view, dtypes=STORED, binds=True)


def _view(shape: tuple[int, ...]) -> Callable[[Any], Any]:
    def view(a: np.ndarray[Any, Any]) -> Any:
        """What is contiguous is never copied, and the keyword takes 0.3 µs to read."""
        if a.flags.c_contiguous:
            return a.reshape(shape)
        return a.reshape(shape, copy=False)

    return view
