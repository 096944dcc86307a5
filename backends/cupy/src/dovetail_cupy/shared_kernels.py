"""The kernels of `dovetail.xp` that CuPy serves, on any library with its interface."""

from __future__ import annotations

from typing import Any, Final

from dovetail.device_api import Kernel, KernelTable
from dovetail.dtypes import ANY, FLOAT, DType, bfloat16
from dovetail.xp import (
    activation,
    attention,
    conv,
    elementwise,
    fourier,
    indexing,
    linalg,
    matmul,
    movement,
    nn,
    order,
    pool,
    random,
    reduce,
    shape,
    views,
)  # fmt: skip
from dovetail_cupy.completed import Completed

DTYPES: Final[frozenset[DType]] = ANY - {bfloat16}
"""What CuPy computes with: of bfloat16 it has no products of batches."""
# Steps of optimizers are left out: those of `dovetail.xp` go through a CPU's cache.
_FAMILIES: Final = (
    elementwise, activation, reduce, order, movement, shape, views, random, conv, pool,
    matmul, nn, attention, fourier, linalg,
)  # fmt: skip
# CuPy's solvers say nothing of a matrix that is singular; bodies do.
_UNTOLD: Final = {"solve_linear", "cholesky_factor"}
# These ask the array itself, which of several NaNs names any.
_FIRST_OF_NAN: Final = {"max_along", "min_along"}

WAITS: Final = frozenset(
    {
        # how much there is, values say
        "masked_scatter", "masked_select", "nonzero", "random_integers", "unique",
    }
)  # fmt: skip
"""Ops whose shared kernels read values, for which the host waits."""


def install(table: KernelTable, cupy: Any) -> None:
    """Add the shared kernels, on CuPy or on what has its interface."""
    xp, shared = Completed(cupy), KernelTable(table.backend)
    for family in _FAMILIES:
        family.install(shared, xp)
    indexing.install(shared, xp)
    for op in shared.names():
        for kernel in shared.rivals(op):
            add_again(table, _as_far_as_served(kernel))


def _as_far_as_served(kernel: Kernel) -> Kernel:
    """The kernel, for those calls that the library is right for."""
    if kernel.op in _UNTOLD:
        return kernel._replace(dtypes=frozenset())
    if kernel.op in _FIRST_OF_NAN:
        return kernel._replace(dtypes=kernel.dtypes - FLOAT)
    if kernel.op == "scatter_reduce":  # there are no atomic products
        return kernel._replace(
            when=lambda facts: facts.reduce != "prod", reads=("reduce",)
        )
    return kernel


def add_all(table: KernelTable, shared: KernelTable) -> None:
    """Add the kernels of another table as they are."""
    for op in shared.names():
        for kernel in shared.rivals(op):
            add_again(table, kernel)


def add_again(table: KernelTable, kernel: Kernel) -> None:
    """Add a kernel of another table, as the table's own owner."""
    if kernel.dtypes:
        options = kernel._asdict()
        del options["owner"]
        table.add(**options)
