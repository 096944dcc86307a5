"""Sums and extremes over dims: lanes of threads that each gather some, in two stages.

A thread gathers every so-manieth element, so that neighbours read what lies side by
side. Where there are few results, each has several threads, whose parts a second launch
gathers. How many depends on sizes alone: a sum always has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from dovetail.codegen.accumulation import Combine, Level, Sums, accumulator, blocked
from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
from dovetail.codegen.ir import Buffer, Kernel, Statement, Store, Update
from dovetail.codegen.layout import walked
from dovetail.codegen.values import (
    Term,
    apply,
    cast,
    compare,
    constant,
    load,
    parameter,
)
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bool_, by_name, int64
from dovetail_xpu.lanes import Layout, lane, lane_kernel, offsets, parameters, placed
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import Ints, XpuArray, row_major
from dovetail_xpu.primitives import converted, filler

_LANES: Final = 1 << 13  # threads that keep a device busy
_FEWEST: Final = 32  # elements that are worth a thread
_DIMS: Final = 4  # reduced ones that a kernel walks


class Shape(NamedTuple):
    """What the code of a reduction depends on."""

    combine: Combine
    source: str
    result: str
    kept: Layout
    reduced: int
    parts: bool


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    reduce = Reductions(launcher)

    def total(a: XpuArray, dim: Any, keepdim: bool, dtype: DType | None) -> XpuArray:
        result = dtype or (a.dtype if a.dtype.is_inexact else int64)
        combine: Combine = "maximum" if result is bool_ else "add"
        return reduce(combine, a, dim, keepdim, result)

    def greatest(a: XpuArray, dim: Any, keepdim: bool) -> XpuArray:
        return reduce("maximum", a, dim, keepdim, a.dtype)

    def least(a: XpuArray, dim: Any, keepdim: bool) -> XpuArray:
        return reduce("minimum", a, dim, keepdim, a.dtype)

    table.add("sum", total, dtypes=claimed)
    table.add("amax", greatest, dtypes=claimed)
    table.add("amin", least, dtypes=claimed)


class Reductions:
    """Gathers elements of arrays that lie in any way."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self.fill = filler(launcher)
        self._kernels: dict[Shape, Launchable] = {}

    def __call__(
        self, combine: Combine, a: XpuArray, dim: Any, keepdim: bool, result: DType
    ) -> XpuArray:
        """The elements over some dims, or over all, as one."""
        nd = len(a.shape)
        if isinstance(dim, int):
            dim = (dim,)
        dims = {d % nd for d in dim} if dim and nd else set(range(nd))
        kept = [d for d in range(nd) if d not in dims]
        inner = [d for d in range(nd) if d in dims]
        made = self._gathered(combine, a, kept, inner, result)
        if not keepdim:
            return made
        shape = tuple([1 if d in dims else n for d, n in enumerate(a.shape)])
        return made.seen_as(shape, row_major(shape))

    def _gathered(
        self, combine: Combine, a: XpuArray, kept: Sequence[int], inner: Sequence[int],
        result: DType,
    ) -> XpuArray:  # fmt: skip
        shape = tuple([a.shape[d] for d in kept])
        sizes = tuple([a.shape[d] for d in inner])
        results, each = math.prod(shape), math.prod(sizes)
        index = a.device.index
        if not results or not each:
            made = self.launcher.fresh(shape, result, index)
            self.fill(made, 0)  # of nothing there are only sums
            return made
        walk = walked(sizes, [tuple([a.strides[d] for d in inner])])
        last = walk[-1][0]
        parts = min(max(_LANES // results, 1), max(last // _FEWEST, 1))
        if parts == 1:
            made = self.launcher.fresh(shape, result, index)
            self._launch(combine, a, made, kept, walk, 1)
            return made
        # Parts are kept in the format of arithmetic, and rounded when they meet.
        wide = bool_ if result is bool_ else by_name(computed_in(result.name))
        found = self.launcher.fresh((*shape, parts), wide, index)
        self._launch(combine, a, found, kept, walk, parts)
        return self._gathered(combine, found, range(len(shape)), (len(shape),), result)

    def _launch(
        self, combine: Combine, a: XpuArray, out: XpuArray, kept: Sequence[int],
        walk: list[tuple[int, Ints]], parts: int,
    ) -> None:  # fmt: skip
        shape = tuple([a.shape[d] for d in kept])
        steps = tuple([a.strides[d] for d in kept])
        count = math.prod(shape) * parts
        if parts > 1:
            shape, steps = (*shape, parts), (*steps, 0)
        layout, words = placed(shape, [steps, out.strides], count)
        key = Shape(combine, a.dtype.name, out.dtype.name, layout, len(walk), parts > 1)
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = Launchable(lambda: form(key))
        inner = [x for size, (step,) in walk for x in (size, step)]
        words += [*inner, parts] if parts > 1 else inner
        stream = self.launcher.stream(out.device.index)
        found.launch(
            stream, [a.address, out.address, *words, 0, count], -(-count // THREADS)
        )


def form(shape: Shape) -> Kernel:
    """The kernel as loops."""
    at = lane()
    source = Buffer("x", in_memory(shape.source))
    out = Buffer("y", in_memory(shape.result), written=True)
    begin, place = offsets(shape.kept, at)
    words = parameters(shape.kept)
    for d in range(shape.reduced):
        words += [(f"inner{d}", "int64"), (f"along{d}", "int64")]
    levels = _levels(shape, at)
    if shape.parts:
        words.append(("parts", "int64"))
    gathered = _gathered_in(shape)

    def added(sums: Sums) -> list[Statement]:
        there = begin
        for v in levels:
            there = there + _along(shape, v, at) * parameter(f"along{v.dim}")
        value = widened(load(source, there), shape.source)
        return [Update(sums[0], _as_gathered(shape, value, gathered).value)]

    loop, sums = blocked(levels, lambda: [accumulator(shape.combine, gathered)], added)
    store = Store(out, place.value, _as_stored(shape, Term(sums[0].value)).value)
    return lane_kernel([source, out], words, at, [loop, store])


def _levels(shape: Shape, at: Term) -> list[Level]:
    zero = constant(0, "int64")
    levels = [Level(d, zero, parameter(f"inner{d}")) for d in range(shape.reduced)]
    if shape.parts:
        last = levels[-1]
        left = last.end - _part(at) + (parameter("parts") - 1)
        end = apply("div", left, parameter("parts"))
        levels[-1] = Level(last.dim, zero, end, last.index)
    return levels


def _part(at: Term) -> Term:
    """Which of the parts of a result a thread gathers."""
    parts = parameter("parts")
    return at - apply("div", at, parts) * parts


def _along(shape: Shape, level: Level, at: Term) -> Term:
    """The place along a reduced dim."""
    if shape.parts and level.dim == shape.reduced - 1:
        return level.index * parameter("parts") + _part(at)
    return level.index


def _gathered_in(shape: Shape) -> str:
    """The dtype of what is gathered, which no bool can be."""
    found = computed_in(shape.result)
    return "uint8" if found == "bool" else found


def _as_gathered(shape: Shape, x: Term, gathered: str) -> Term:
    """An element in that dtype."""
    if shape.result == "bool":
        truth = x if x.dtype == "bool" else cast(x, "bool")
        return cast(truth, gathered)
    if x.dtype == gathered:
        return x
    return converted(x, gathered)


def _as_stored(shape: Shape, y: Term) -> Term:
    if shape.result == "bool":
        return compare("ne", y, 0)
    return narrowed(y, shape.result)


__all__ = ["Reductions", "install"]
