"""Products of matrices by the library's own, which is BLAS where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import HALF, NUMERIC
from dovetail.xp.orders import rows


def install(table: KernelTable, xp: Any) -> None:
    """Add products to a table."""
    for name, make in (("bmm", _bmm), ("matmul", _matmul), ("linear", _linear)):
        kernel = make(xp)
        checks = name != "linear"
        table.add(name, kernel, dtypes=NUMERIC - HALF, checks=checks)
        table.add(name, _widened(kernel), dtypes=HALF, checks=checks)


def _widened(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def call(*inputs: Any) -> Any:
        """16-bit floats are multiplied and summed in float32, and rounded once."""
        wide = [None if a is None else a.astype("float32") for a in inputs]
        return kernel(*wide).astype(inputs[0].dtype)

    return call


def _bmm(xp: Any) -> Callable[..., Any]:
    matmul = xp.matmul

    def bmm(a: Any, b: Any) -> Any:
        if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0]:
            raise ValueError("not two batches of matrices")
        return matmul(a, b)

    return bmm


def _matmul(xp: Any) -> Callable[..., Any]:
    product = xp.matmul

    def matmul(a: Any, b: Any) -> Any:
        """One product for a batch of matrices times one matrix."""
        if a.ndim > 2 and b.ndim == 2 and a.size and a.shape[-1] == b.shape[0]:
            flat = product(a.reshape(-1, a.shape[-1]), b)
            return flat.reshape(*a.shape[:-1], b.shape[1])
        y = product(a, b)
        return rows(y) if b.ndim > 3 or a.ndim > 3 else y

    return matmul


def _linear(xp: Any) -> Callable[..., Any]:
    matmul = _matmul(xp)
    # Of libraries that add while they store: None where it is not worth it.
    product_and_row = getattr(xp, "product_and_row", None)

    def linear(x: Any, w: Any, b: Any) -> Any:
        if product_and_row is not None and b is not None and x.ndim > 1 and x.size:
            y = product_and_row(x.reshape(-1, x.shape[-1]), w.T, b)
            if y is not None:
                return y.reshape(*x.shape[:-1], w.shape[0])
        y = matmul(x, w.T)
        if b is None:
            return y
        if not y.ndim:
            return y + b
        y += b
        return y

    return linear
