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
from dovetail.device_api import Facts, KernelTable
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
        self._kernels = [
            Launchable(partial(_weights, dtype, causal), _THREADS)
            for causal in (False, True)
        ]
        self._slopes = Launchable(partial(_slopes, dtype.name), _THREADS)

    def __call__(
        self, q: XpuArray, k: XpuArray, v: XpuArray, mask: XpuArray | None,
        causal: bool, scale: Any,
    ) -> tuple[XpuArray, XpuArray]:  # fmt: skip
        """What queries get, and the weights of the values in it."""
        q = self.scale(q, numbers=(word(self.dtype.name, scale),))
        weights = self.products.matmul(q, turned(k))
        if mask is not None:
            weights = self.sum(weights, mask)
        if weights.size:
            queries, keys = weights.shape[-2:]
            rows = weights.size // keys
            words = [weights.address, keys, queries, 0, rows]
            kernel = self._kernels[bool(causal)]
            kernel.launch(weights.block.stream, words, min(rows, _BLOCKS))
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
        _, weights = self(q, k, v, mask, causal, scale)
        slopes = product(ct, turned(v))
        if slopes.size:
            keys = slopes.shape[-1]
            rows = slopes.size // keys
            number = word(self.dtype.name, scale)
            words = [slopes.address, weights.address, keys, number, 0, rows]
            stream = slopes.block.stream
            self._slopes.launch(stream, words, min(rows, _BLOCKS))
        gv = product(turned(weights), ct)
        return product(slopes, k), product(turned(slopes), q), gv


def turned(x: XpuArray) -> XpuArray:
    """Matrices with their rows as columns."""
    *lead, n, m = x.shape
    *steps, row, column = x.strides
    return x.seen_as((*lead, m, n), (*steps, column, row))


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


def _slopes(name: str) -> Kernel:
    """Rows of what weights are sent become what scores are, times the scale."""
    x, p = Buffer("x", name, written=True), Buffer("p", name)
    row, key, keys = index("row"), index("key"), parameter("keys")
    place = row * keys + key
    total = accumulator("add", name)
    weight, sent = load(p, place), load(x, place)
    slope = weight * (sent - Term(total.value)) * parameter("scale", name)
    zero, end = constant(0, "int64").value, keys.value
    added = Update(total, (weight * sent).value)
    body = (
        Loop("lane", key.value, zero, end, (added,), (total,)),
        Loop("lane", key.value, zero, end, (Store(x, place.value, slope.value),)),
    )
    grid = Loop("grid", row.value, FIRST, LAST, body)
    return Kernel("k", (x, p), (("keys", "int64"), ("scale", name)), (grid,))
