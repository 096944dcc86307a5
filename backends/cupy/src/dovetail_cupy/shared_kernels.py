"""The kernels of `dovetail.xp` that CuPy serves, on any library with its interface."""

from __future__ import annotations

from typing import Any, Final

from dovetail.device_api import Kernel, KernelTable
from dovetail.dtypes import ANY, FLOAT, DType
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
from dovetail_cupy.narrow import narrowed

DTYPES: Final[frozenset[DType]] = ANY
"""What CuPy stores; see `narrow` for how it computes with bfloat16."""
# Steps of optimizers are left out: those of `dovetail.xp` go through a CPU's cache.
_FAMILIES: Final = (
    elementwise, activation, reduce, order, movement, shape, views, random, conv, pool,
    matmul, nn, attention, fourier, linalg,
)  # fmt: skip
# CuPy's solvers say nothing of a matrix that is singular; of two equal zeros, its
# neighbours give the first, and bodies the second, as C has it.
_UNTOLD: Final = {"solve_linear", "cholesky_factor", "nextafter"}
# These ask the array itself, which of several NaNs names any.
_FIRST_OF_NAN: Final = {"max_along", "min_along"}
# Threads write, and add, in the order that they come in.
_ANY_ORDER: Final = {
    "index_add", "index_copy", "index_put", "index_put_", "index_sum", "scatter",
    "scatter_add", "scatter_add_", "scatter_reduce", "scatter_set_",
}  # fmt: skip

WAITS: Final = frozenset(
    {
        # how much there is, values say
        "masked_scatter", "masked_select", "nonzero", "random_integers", "unique",
    }
)  # fmt: skip
"""Ops whose shared kernels read values, for which the host waits."""


def install(table: KernelTable, cupy: Any, products: Any = None) -> None:
    """Add the shared kernels, on CuPy or on what has its interface.

    Args:
        products: what multiplies matrices, if not the library; see `Products`.
    """
    xp, shared = interface(cupy, products), KernelTable(table.backend)
    for family in _FAMILIES:
        family.install(shared, xp)
    indexing.install(shared, xp)
    for op in shared.names():
        for kernel in shared.rivals(op):
            for part in narrowed(_as_far_as_served(kernel)):
                add_again(table, part)


def interface(cupy: Any, products: Any = None) -> Completed:
    """The library as shared kernels see it."""
    xp = Completed(cupy)
    if products is not None:
        xp.multiply_by(products)
    return xp


def _as_far_as_served(kernel: Kernel) -> Kernel:
    """The kernel, for those calls that the library is right for."""
    if kernel.op in _ANY_ORDER:
        kernel = kernel._replace(deterministic=False)
    if kernel.op in _UNTOLD:
        return kernel._replace(dtypes=frozenset())
    if kernel.op in _FIRST_OF_NAN:
        return kernel._replace(dtypes=kernel.dtypes - FLOAT)
    # There are no atomic products, and extremes of float64 are float32's.
    if kernel.op == "scatter_reduce":
        return kernel._replace(
            when=lambda facts: facts.reduce in ("sum", "mean"), reads=("reduce",)
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
