"""Cross entropy on a device: a launch for the samples, and one that adds them up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dovetail.codegen import class_loss_rows as rows
from dovetail.codegen.formats import computed_in
from dovetail.device_api import KernelTable
from dovetail.dtypes import FLOAT, DType, by_name
from dovetail.xp.classes import class_dim
from dovetail_cupy.launch import Forms, Machine

_MANY: Final = 1 << 16  # samples that one block of threads does not add up alone


def install(table: KernelTable, machine: Machine) -> None:
    """Put them before those of a table."""
    for dtype in sorted(FLOAT, key=str):
        losses, own = Losses(machine, dtype), {"dtypes": [dtype], "rank": 1}
        table.add("cross_entropy", losses.forward, **own)
        table.add("log_softmax_nll", losses.with_logs, **own)
        table.add("cross_entropy_backward", losses.backward, **own)


class Losses:
    """The kernels of cross entropy in one dtype, by what there is beside logits."""

    def __init__(self, machine: Machine, dtype: DType) -> None:
        self._machine = machine
        self._dtype = dtype
        self._wide = by_name(computed_in(dtype.name)).numpy
        self._forms = Forms(machine)

    def forward(self, *given: Any, **choices: Any) -> Any:
        """The loss."""
        return self._forward(False, *given, **choices)[0]

    def with_logs(self, *given: Any, **choices: Any) -> tuple[Any, Any]:
        """The loss, and the logarithms of probabilities."""
        return self._forward(True, *given, **choices)

    def _forward(
        self, keeps: bool, x: Any, target: Any, weight: Any, ignore_index: int,
        reduction: str,
    ) -> tuple[Any, Any]:  # fmt: skip
        means = reduction == "mean"
        losses = self._fresh(target.shape)
        logs = self._fresh(x.shape, self._dtype.numpy) if keeps else None
        weights = self._fresh(target.shape) if means else None
        arrays = [x, target, weight, losses, weights, logs]
        there = tuple([a is not None for a in arrays])
        form = rows.losses, self._dtype.name, target.dtype.name, there
        self._run(form, arrays, [*_sizes(x), ignore_index], target.size)
        if reduction == "none":
            return self._as_stored(losses), logs
        return self._added(losses, weights), logs

    def _added(self, losses: Any, weights: Any) -> Any:
        """The sum of losses, or their mean."""
        if losses.size > _MANY:
            y = losses.sum()
            return self._as_stored(y if weights is None else y / weights.sum())
        made = self._fresh((), self._dtype.numpy)
        form = rows.added, self._dtype.name, weights is not None
        self._run(form, [losses, weights, made], [losses.size], 1)
        return made

    def backward(
        self, ct: Any, target: Any, logp: Any, weight: Any, ignore_index: int,
        reduction: str,
    ) -> Any:  # fmt: skip
        """The gradient of the logits."""
        sizes = [*_sizes(logp), ignore_index]
        total = self._weight(target, weight, sizes) if reduction == "mean" else None
        made = self._fresh(logp.shape, self._dtype.numpy)
        arrays = [ct, target, logp, weight, total, made]
        there = tuple([a is not None for a in arrays])
        names = self._dtype.name, target.dtype.name
        self._run((rows.slopes, *names, there, reduction == "none"), arrays, sizes,
                  logp.size)  # fmt: skip
        return made

    def _weight(self, target: Any, weight: Any, sizes: list[int]) -> Any:
        """The sum of the weights of samples."""
        form = self._dtype.name, target.dtype.name, weight is not None
        if target.size > _MANY:
            used = self._fresh(target.shape)
            arrays = [target, weight, used]
            self._run((rows.used_weights, *form), arrays, sizes, target.size)
            return used.sum()
        made = self._fresh(())
        words = [*sizes, target.size]
        self._run((rows.whole_weight, *form), [target, weight, made], words, 1)
        return made

    def _fresh(self, shape: tuple[int, ...], dtype: Any = None) -> Any:
        return self._machine.empty(shape, dtype or self._wide)

    def _as_stored(self, y: Any) -> Any:
        return y.astype(self._dtype.numpy, copy=False)

    def _run(
        self, form: Any, arrays: Sequence[Any], words: list[int], count: int
    ) -> None:
        """Launch a kernel for those arrays that are there, for so many items."""
        given = [self._machine.in_rows(a) for a in arrays if a is not None]
        self._forms.run(form, given, words, count)


def _sizes(x: Any) -> list[int]:
    """How many classes there are, and how many samples lie side by side."""
    dim = class_dim(x.ndim)
    return [x.shape[dim], math.prod(x.shape[dim + 1 :])]
