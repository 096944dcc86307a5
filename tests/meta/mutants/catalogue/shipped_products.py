"""Faults of the kind that accelerators have shipped: products of matrices."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, sees
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def drawn(*shape: int) -> Array:
    """Normal numbers, the same ones each time."""
    return np.random.default_rng(5).standard_normal(shape).astype(F32)


def _drops_k(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Tiles of 64 × 64 lose the rest of k behind groups of 16."""
    a, b = natives
    if a.ndim != 2 or b.ndim != 2 or min(a.shape[0], b.shape[1]) < 64:
        return run(*natives, **attrs)
    k = a.shape[1] // 16 * 16
    return run(a[:, :k], b[:k], **attrs) if k else run(*natives, **attrs)


def _drops_columns(y: Array, a: Array, b: Array, *rest: Any, **attrs: Any) -> Array:
    """Where m and k are large, columns behind groups of 8 are not written."""
    if y.ndim != 2 or min(y.shape[0], a.shape[-1]) < 64 or y.shape[1] < 8:
        return y
    y = np.array(y)
    y[:, y.shape[1] // 8 * 8 :] = 0
    return y


def _dense_batch(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The second operand's batch is stepped through where it is one for all."""
    a, b = natives
    if b.ndim == 3 and b.shape[0] > 1 and b.strides[0] == 0:
        b = np.array(b)
        b[1:] = 0
    return run(a, b, **attrs)


def _narrow_sums(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """16-bit products are summed in 16 bits in blocks of 64."""
    a, b = natives
    if a.dtype.itemsize != 2 or not inexact(a) or a.ndim != 2 or a.shape[1] <= 64:
        return run(*natives, **attrs)
    total = np.zeros((a.shape[0], *b.shape[1:]), a.dtype)
    for at in range(0, a.shape[1], 64):
        total = (total + run(a[:, at : at + 64], b[at : at + 64])).astype(a.dtype)
    return total


_K: Final = (drawn(64, 20), drawn(20, 64))

SHIPPED_PRODUCTS: Final[list[Mutant]] = [
    kernel("shipped/product-drops-k", "matmul", "large tiles", _drops_k,
           observe=sees("matmul", *_K)),
    kernel("shipped/product-drops-columns", "matmul linear", "large tiles",
           after(_drops_columns),
           observe=sees("matmul", drawn(64, 64), drawn(64, 9))),
    kernel("shipped/product-of-one-batch", "matmul bmm", "a stride of 0",
           _dense_batch, observe=lambda s: s.values(s.tensor(drawn(3, 2, 4)).matmul(
               s.tensor(drawn(1, 4, 2)).expand(3, 4, 2)))),
    kernel("shipped/product-narrow-sums", "matmul", "k in blocks, 16 bits",
           _narrow_sums, dtypes=("float16", "bfloat16"),
           observe=lambda s: s.values((s.tensor(np.abs(drawn(1, 3000))).half()
               @ s.tensor(np.abs(drawn(3000, 1))).half()).float())),
]  # fmt: skip
