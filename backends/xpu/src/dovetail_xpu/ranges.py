"""Checks of indices: one launch, where there are no more than a few."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from dovetail.codegen.range_forms import any_outside
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bool_, int32, int64
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import XpuArray
from dovetail_xpu.primitives import copier

_MANY: Final = 1 << 16  # indices, for which one block of threads is too few


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    for dtype in sorted(claimed & {int32, int64}, key=str):
        table.add(
            "any_outside", Ranges(launcher, dtype), dtypes=[dtype],
            when=lambda facts: 0 < math.prod(facts.shape[0]) <= _MANY, reads=("shape",),
        )  # fmt: skip


class Ranges:
    """The kernels of one dtype, by how many numbers do not count."""

    def __init__(self, launcher: Launcher, dtype: DType) -> None:
        self.launcher = launcher
        self.dtype = dtype
        self.copy = copier(launcher)
        self._kernels: dict[int, Launchable] = {}

    def __call__(
        self, a: XpuArray, *, low: int, end: int, spared: tuple[int, ...]
    ) -> XpuArray:
        """Whether some index is out of range."""
        found = self._kernels.get(len(spared))
        if found is None:
            form = partial(any_outside, self.dtype.name, len(spared))
            found = self._kernels[len(spared)] = Launchable(form, THREADS)
        a = a if a.dense else self.copy(a)
        index = a.device.index
        made = self.launcher.fresh((), bool_, index)
        words = [a.address, made.address, low, end, *spared, a.size, 0, 1]
        found.launch(self.launcher.stream(index), words, 1)
        return made
