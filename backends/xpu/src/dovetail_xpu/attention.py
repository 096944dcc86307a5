"""Attention: two products, and between them weights in one launch."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from dovetail.codegen import pointwise
from dovetail.codegen.accumulation import accumulator
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store, Update
from dovetail.codegen.program import Step
from dovetail.codegen.values import (
    Term,
    apply,
    choose,
    compare,
    constant,
    index,
    load,
    parameter,
)
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, float32, float64
from dovetail.limits import finfo
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
        table.add("attention", Attention(launcher, dtype, products), dtypes=[dtype])


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
        self._kernels = [
            Launchable(partial(_weights, dtype, causal), _THREADS)
            for causal in (False, True)
        ]

    def __call__(
        self, q: XpuArray, k: XpuArray, v: XpuArray, mask: XpuArray | None,
        causal: bool, scale: Any,
    ) -> tuple[XpuArray, XpuArray]:  # fmt: skip
        """What queries get, and the weights of the values in it."""
        q = self.scale(q, numbers=(word(self.dtype.name, scale),))
        turned = (*k.shape[:-2], k.shape[-1], k.shape[-2])
        steps = (*k.strides[:-2], k.strides[-1], k.strides[-2])
        weights = self.products.matmul(q, k.seen_as(turned, steps))
        if mask is not None:
            weights = self.sum(weights, mask)
        if weights.size:
            queries, keys = weights.shape[-2:]
            rows = weights.size // keys
            words = [weights.address, keys, queries, 0, rows]
            kernel = self._kernels[bool(causal)]
            kernel.launch(weights.block.stream, words, min(rows, _BLOCKS))
        return self.products.matmul(weights, v), weights


def _weights(dtype: DType, causal: bool) -> Kernel:
    """Rows of scores become their softmax; zeros where all scores are -inf."""
    name = dtype.name
    x = Buffer("x", name, written=True)
    row, key = index("row"), index("key")
    keys, queries = parameter("keys"), parameter("queries")
    place = row * keys + key
    query = row - apply("div", row, queries) * queries
    top, total = accumulator("maximum", name), accumulator("add", name)

    def score() -> Term:
        found = load(x, place)
        if not causal:
            return found
        return choose(compare("le", key, query), found, constant(-float("inf"), name))

    lowest = constant(finfo(dtype).min, name)
    most = apply("maximum", Term(top.value), lowest)
    share = pointwise.done(Step("exp", (0,), name), [score() - most])
    whole = Term(total.value)
    whole = choose(compare("eq", whole, 0), constant(1, name), whole)
    zero, end = constant(0, "int64").value, keys.value
    body = (
        Loop("lane", key.value, zero, end, (Update(top, score().value),), (top,)),
        Loop("lane", key.value, zero, end, (Update(total, share.value),), (total,)),
        Loop(
            "lane", key.value, zero, end,
            (Store(x, place.value, apply("div", share, whole).value),),
        ),
    )  # fmt: skip
    grid = Loop("grid", row.value, FIRST, LAST, body)
    words = (("keys", "int64"), ("queries", "int64"))
    return Kernel("k", (x,), words, (grid,))
