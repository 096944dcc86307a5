"""Cross entropy: a block of threads for each sample, and no memory for probabilities.

Backward, a thread for each logit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dovetail.codegen import class_loss_rows as rows
from dovetail.codegen.ir import Kernel
from dovetail.codegen.values import apply
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, float32, float64
from dovetail.xp.classes import class_dim
from dovetail_xpu.elementwise import Elementwise
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import XpuArray
from dovetail_xpu.primitives import copier
from dovetail_xpu.reductions import Reductions

_BLOCK: Final = 64
_BLOCKS: Final = 1 << 16


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    for dtype in sorted(claimed & {float32, float64}, key=str):
        losses = Losses(launcher, dtype)
        table.add("cross_entropy", losses.forward, dtypes=[dtype])
        table.add("log_softmax_nll", losses.with_logs, dtypes=[dtype])
        table.add("cross_entropy_backward", losses.backward, dtypes=[dtype])


class Losses:
    """The kernels of cross entropy in one dtype, by what there is beside logits."""

    def __init__(self, launcher: Launcher, dtype: DType) -> None:
        self.launcher = launcher
        self.dtype = dtype
        self.copy = copier(launcher)
        self.reduce = Reductions(launcher)
        self.divide = Elementwise(
            launcher, lambda a, b: apply("div", a, b), (dtype, dtype), dtype
        )
        self._kernels: dict[Any, Launchable] = {}

    def forward(self, *given: Any, **choices: Any) -> XpuArray:
        """The loss."""
        return self._forward(False, *given, **choices)[0]

    def with_logs(self, *given: Any, **choices: Any) -> tuple[XpuArray, XpuArray]:
        """The loss, and the logarithms of probabilities."""
        y, logs = self._forward(True, *given, **choices)
        assert logs is not None
        return y, logs

    def _forward(
        self, keeps: bool, x: XpuArray, target: XpuArray, weight: XpuArray | None,
        ignore_index: int, reduction: str,
    ) -> tuple[XpuArray, XpuArray | None]:  # fmt: skip
        x, target = self._dense(x), self._dense(target)
        losses = self._fresh(target)
        logs = self._fresh(x) if keeps else None
        means = reduction == "mean"
        weights = self._fresh(target) if means else None
        arrays = [x, target, weight, losses, weights, logs]
        words = [*_sizes(x), ignore_index]
        there = tuple([a is not None for a in arrays])
        key = rows.losses, self.dtype.name, target.dtype.name, there
        blocks = min(target.size, _BLOCKS)
        self._launch(key, _BLOCK, arrays, words, target.size, blocks)
        if reduction == "none":
            return losses, logs
        y = self._total(losses)
        if weights is not None:
            y = self.divide(y, self._total(weights))
        return y, logs

    def backward(
        self, ct: XpuArray, target: XpuArray, logp: XpuArray, weight: XpuArray | None,
        ignore_index: int, reduction: str,
    ) -> XpuArray:  # fmt: skip
        """The gradient of the logits."""
        ct, target, logp = self._dense(ct), self._dense(target), self._dense(logp)
        total = None
        words = [*_sizes(logp), ignore_index]
        if reduction == "mean":
            used = self._fresh(target)
            arrays = [target, weight, used]
            names = self.dtype.name, target.dtype.name
            key = rows.used_weights, *names, weight is not None
            self._flat(key, arrays, words, target.size)
            total = self._total(used)
        made = self._fresh(logp)
        arrays = [ct, target, logp, weight, total, made]
        there = tuple([a is not None for a in arrays])
        names = self.dtype.name, target.dtype.name
        key = rows.slopes, *names, there, reduction == "none"
        self._flat(key, arrays, words, logp.size)
        return made

    def _total(self, x: XpuArray) -> XpuArray:
        return self.reduce("add", x, None, False, self.dtype)

    def _dense(self, x: XpuArray) -> XpuArray:
        return x if x.dense else self.copy(x)

    def _fresh(self, like: XpuArray) -> XpuArray:
        return self.launcher.fresh(like.shape, self.dtype, like.device.index)

    def _flat(self, key: Any, arrays: Any, words: list[int], count: int) -> None:
        self._launch(key, THREADS, arrays, words, count, -(-count // THREADS))

    def _launch(
        self, key: Any, threads: int, arrays: Any, words: list[int], count: int,
        blocks: int,
    ) -> None:  # fmt: skip
        if not count:
            return
        found = self._kernels.get(key)
        if found is None:
            form: Callable[[], Kernel] = partial(*key)
            found = self._kernels[key] = Launchable(form, threads)
        given = [self._dense(a) for a in arrays if a is not None]
        stream = self.launcher.stream(given[0].device.index)
        found.launch(stream, [*[a.address for a in given], *words, 0, count], blocks)


def _sizes(x: XpuArray) -> list[int]:
    """How many classes there are, and how many samples lie side by side."""
    dim = class_dim(len(x.shape))
    return [x.shape[dim], math.prod(x.shape[dim + 1 :])]
