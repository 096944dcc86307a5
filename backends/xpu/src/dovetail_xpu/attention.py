"""Attention: two products, and between them weights in one launch."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from dovetail.codegen import attention_rows
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import DType, float32, float64
from dovetail_xpu.bodies import word
from dovetail_xpu.elementwise import Elementwise
from dovetail_xpu.launch import Launchable, Launcher
from dovetail_xpu.layers import Products
from dovetail_xpu.memory import XpuArray

_THREADS: Final = 64
_BLOCKS: Final = 1 << 16


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add it to a table, which has the products of batches."""
    for dtype in sorted(claimed & {float32, float64}, key=str):
        products = Products(launcher, table.select("bmm", dtype)[0].function)
        own = Attention(launcher, dtype, products)
        table.add("attention", own, dtypes=[dtype])
        table.add("mixture", own.mixed, dtypes=[dtype])
        table.add(
            "mixture_backward", own.backward, dtypes=[dtype],
            when=_is_plain, reads=("shape",),
        )  # fmt: skip


def _is_plain(facts: Facts) -> bool:
    """Whether no batch is repeated, so that no gradient is a sum."""
    ct, q, k, v = facts.shape[:4]
    return bool(ct[:-1] == q[:-1] and k[:-1] == v[:-1] and k[:-2] == q[:-2])


class Attention:
    """Attention in one dtype."""

    def __init__(self, launcher: Launcher, dtype: DType, products: Products) -> None:
        self.launcher = launcher
        self.dtype = dtype
        self.products = products
        self.scale = Elementwise(
            launcher, lambda a, b: a * b, (dtype,), dtype, (dtype.name,)
        )
        self.sum = Elementwise(launcher, lambda a, b: a + b, (dtype, dtype), dtype)
        self._kernels = {
            (form, causal): Launchable(partial(form, dtype.name, causal), _THREADS)
            for form in (attention_rows.weights, attention_rows.slopes)
            for causal in (False, True)
        }

    def __call__(
        self, q: XpuArray, k: XpuArray, v: XpuArray, mask: XpuArray | None,
        causal: bool, scale: Any,
    ) -> tuple[XpuArray, XpuArray]:  # fmt: skip
        """What queries get, and the weights of the values in it."""
        weights = self._scores(q, k, mask, scale)
        self._run(attention_rows.weights, causal, [weights])
        return self.products.matmul(weights, v), weights

    def mixed(self, *given: Any, **choices: Any) -> XpuArray:
        """What queries get."""
        return self(*given, **choices)[0]

    def backward(
        self, ct: XpuArray, q: XpuArray, k: XpuArray, v: XpuArray,
        mask: XpuArray | None, causal: bool, scale: Any,
    ) -> tuple[XpuArray, XpuArray, XpuArray]:  # fmt: skip
        """The gradients of queries, keys and values; weights are computed again."""
        product = self.products.matmul
        weights, slopes = self._scores(q, k, mask, scale), product(ct, turned(v))
        number = word(self.dtype.name, scale)
        self._run(attention_rows.slopes, causal, [weights, slopes], number)
        gv = product(turned(weights), ct)
        return product(slopes, k), product(turned(slopes), q), gv

    def _scores(
        self, q: XpuArray, k: XpuArray, mask: XpuArray | None, scale: Any
    ) -> XpuArray:
        q = self.scale(q, numbers=(word(self.dtype.name, scale),))
        scores = self.products.matmul(q, turned(k))
        return scores if mask is None else self.sum(scores, mask)

    def _run(
        self, form: Any, causal: bool, arrays: list[XpuArray], *numbers: int
    ) -> None:
        """Launch a kernel for all rows of scores, which are the first array."""
        scores = arrays[0]
        if scores.size:
            queries, keys = scores.shape[-2:]
            rows = scores.size // keys
            addresses = [a.address for a in arrays]
            words = [*addresses, keys, queries, 0, *numbers, 0, rows]
            stream = scores.block.stream
            kernel = self._kernels[form, bool(causal)]
            kernel.launch(stream, words, min(rows, _BLOCKS))


def turned(x: XpuArray) -> XpuArray:
    """Matrices with their rows as columns."""
    *lead, n, m = x.shape
    *steps, row, column = x.strides
    return x.seen_as((*lead, m, n), (*steps, column, row))
