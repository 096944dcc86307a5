"""Sums and extremes over dims, in two stages where there are few results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dovetail.codegen import reduction_form
from dovetail.codegen.accumulation import Combine
from dovetail.codegen.formats import computed_in, narrowed
from dovetail.codegen.ir import Kernel
from dovetail.codegen.reduction_form import Shape, Split, Stored, Work
from dovetail.codegen.values import Term, cast, compare
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bool_, by_name, int64
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import Ints, XpuArray, row_major
from dovetail_xpu.primitives import converted, filler

_SPLIT: Final = Split(lanes=1 << 13, whole=64)


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
        if not math.prod(a.shape):
            made = self.launcher.fresh(shape, result, a.device.index)
            self.fill(made, 0)  # of nothing there are only sums
            return made
        # Parts are kept in the format of arithmetic, and rounded when they meet.
        wide = bool_ if result is bool_ else by_name(computed_in(result.name))
        work = reduction_form.work(
            combine, [a.dtype.name], wide.name, result.name, a.shape, [a.strides],
            inner, _SPLIT,
        )  # fmt: skip
        if work.parts == 1:
            return self._launch(work, a, shape, result)
        found = self._launch(work, a, work.made, wide)
        kept = [d for d in range(len(work.made)) if d != work.left]
        return self._gathered(combine, found, kept, (work.left,), result)

    def _launch(self, work: Work, a: XpuArray, shape: Ints, dtype: DType) -> XpuArray:
        made = self.launcher.fresh(shape, dtype, a.device.index)
        found = self._kernels.get(work.shape)
        if found is None:
            found = self._kernels[work.shape] = Launchable(lambda: form(work.shape))
        stream = self.launcher.stream(made.device.index)
        words = [a.address, made.address, *work.numbers, 0, work.lanes]
        found.launch(stream, words, -(-work.lanes // THREADS))
        return made


def form(shape: Shape) -> Kernel:
    """The kernel as loops."""
    gathered = _gathered_in(shape)
    return reduction_form.form(
        shape, gathered, lambda x: _as_gathered(shape, x, gathered),
        Stored(lambda y: _as_stored(shape, y)),
    )  # fmt: skip


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
