"""Products of matrices by the library's own, which is BLAS where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import HALF, NUMERIC
from dovetail.xp.orders import rows

_LINES = (1, 2)  # dims of weights


def install(table: KernelTable, xp: Any) -> None:
    """Add products to a table."""
    for name, make in (("bmm", _bmm), ("matmul", _matmul), ("linear", _linear)):
        kernel = make(xp)
        table.add(name, kernel, dtypes=NUMERIC - HALF, checks=True)
        table.add(name, _widened(kernel), dtypes=HALF, checks=True)


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
    matmul, product = _matmul(xp), xp.matmul
    # Of libraries that add while they store: None where it is not worth it.
    product_and_row = getattr(xp, "product_and_row", None)

    def linear(x: Any, w: Any, b: Any) -> Any:
        if not x.ndim or w.ndim not in _LINES or x.shape[-1] != w.shape[-1]:
            raise ValueError("not rows, and a matrix with as many columns")
        if b is None:
            return matmul(x, w.T)
        if product_and_row is not None and b.shape == w.shape[:-1]:
            y = product_and_row(x, w.T, b)
            if y is not None:
                return y
        y = product(x, w.T) if x.ndim == 2 else matmul(x, w.T)
        if not y.ndim:  # a number, to which nothing can be added in place
            if b.ndim:
                raise ValueError("a bias of more dims than the product")
            return y + b
        y += b
        return y

    return linear
