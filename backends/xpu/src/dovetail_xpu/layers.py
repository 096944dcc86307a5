"""Products and gathers as layers call them: of any rank, with what is around them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail.codegen.layout import walked
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import HALF, DType
from dovetail_xpu.elementwise import ByDtypes, Elementwise, broadcast, spread
from dovetail_xpu.launch import Launcher
from dovetail_xpu.memory import Ints, XpuArray, row_major
from dovetail_xpu.moving import adder, taker
from dovetail_xpu.primitives import FLOATS, INTS, copier, filler

Product = Callable[[XpuArray, XpuArray], XpuArray]


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table, which has the products of batches."""
    for dtype in sorted(claimed & FLOATS, key=str):
        bmm = table.select("bmm", dtype)[0].function
        layers = Products(launcher, bmm)
        table.add("matmul", layers.matmul, dtypes=[dtype])
        if dtype not in HALF:  # whose sums are rounded once in all
            table.add("linear", layers.linear, dtypes=[dtype])
    gathers = Gathers(launcher)
    table.add("embedding", gathers.embedding, dtypes=claimed)
    summed = claimed & (FLOATS | INTS) - HALF
    table.add(
        "index_sum", gathers.index_sum, dtypes=summed,
        deterministic=False, when=_has_dims, reads=("ndim",),
    )  # fmt: skip


def _has_dims(facts: Facts) -> bool:
    """Whether the first array has any."""
    return bool(facts.ndim[0])


class Products:
    """Products of matrices in one dtype, as views of what `bmm` computes."""

    def __init__(self, launcher: Launcher, bmm: Product) -> None:
        self.bmm = bmm
        self.copy = copier(launcher)
        self._sum = ByDtypes(
            lambda given: Elementwise(launcher, lambda a, b: a + b, given, given[0])
        )

    def matmul(self, a: XpuArray, b: XpuArray) -> XpuArray:
        """Vectors count as a row on the left, as a column on the right."""
        row, column = len(a.shape) == 1, len(b.shape) == 1
        a = a.seen_as((1, *a.shape), (0, *a.strides)) if row else a
        b = b.seen_as((*b.shape, 1), (*b.strides, 0)) if column else b
        lead, (n, k), m = a.shape[:-2], a.shape[-2:], b.shape[-1]
        if len(b.shape) == 2:
            left = self.merged(a, len(a.shape) - 1)
            left = left.seen_as((1, *left.shape), (0, *left.strides))
            right = b.seen_as((1, *b.shape), (0, *b.strides))
        else:
            lead = broadcast([lead, b.shape[:-2]])
            left = self.merged(spread_to(a, (*lead, n, k)), len(lead))
            right = self.merged(spread_to(b, (*lead, k, m)), len(lead))
        y = self.bmm(left, right)
        shape = (*lead, *(() if row else (n,)), *(() if column else (m,)))
        return y.seen_as(shape, row_major(shape))

    def linear(self, x: XpuArray, weight: XpuArray, bias: XpuArray | None) -> XpuArray:
        """The product with a layer's weights, and its bias."""
        y = self.matmul(x, weight.seen_as(weight.shape[::-1], weight.strides[::-1]))
        if bias is not None:
            self._sum.of((y.dtype, y.dtype)).into(y, y, bias)
        return y

    def merged(self, x: XpuArray, count: int) -> XpuArray:
        """The first dims of an array as one, in its own memory where that can be."""
        shape, rest = x.shape[:count], x.shape[count:]
        whole = (math.prod(shape), *rest)
        walk = walked(shape, [x.strides[:count]]) if x.size and count else []
        if len(walk) > 1 or not walk:
            x = x if x.dense else self.copy(x)
            return x.seen_as(whole, row_major(whole))
        return x.seen_as(whole, (walk[0][1][0], *x.strides[count:]))


def spread_to(x: XpuArray, shape: Ints) -> XpuArray:
    """An array as one of a larger shape, its elements being repeated."""
    return x if x.shape == shape else x.seen_as(shape, spread(x, shape))


class Gathers:
    """Slices of arrays that indices name, and sums of slices where they say."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self.take = taker(launcher)
        self.add = adder(launcher)
        self.fill = filler(launcher)
        self.copy = copier(launcher)

    def embedding(self, weight: XpuArray, indices: XpuArray, **_: Any) -> XpuArray:
        """Rows of a matrix."""
        shape, width = (*indices.shape, weight.shape[1]), weight.shape[1]
        indices = indices if indices.dense else self.copy(indices)
        rows = self.take(weight, indices.seen_as((indices.size, width), (1, 0)), 0)
        return rows.seen_as(shape, row_major(shape))

    def index_sum(
        self, source: XpuArray, index: XpuArray, size: int, dim: int
    ) -> XpuArray:
        """Slices along a dim, added up in others."""
        shape = (*source.shape[:dim], size, *source.shape[dim + 1 :])
        made = self.launcher.fresh(shape, source.dtype, source.device.index)
        if not made.size:
            return made
        self.fill(made, 0)
        step = index.strides[0] if index.shape else 0
        steps = tuple([step if d == dim else 0 for d in range(len(shape))])
        self.add(made, index.seen_as(source.shape, steps), source, dim)
        return made
