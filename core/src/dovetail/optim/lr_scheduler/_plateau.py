"""A schedule that watches a measure of success."""

from __future__ import annotations

import math
from typing import Any

from dovetail.errors import ArgumentError

from ..optimizer import Optimizer
from ._base import LRScheduler


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a measure has not got better for `patience` epochs.

    Args:
        optimizer: whose rates are set.
        mode: "min" if a smaller measure is better, "max" if a larger one is.
        factor: below 1.
        patience: epochs without improvement that are waited for.
        threshold: how much better counts.
        threshold_mode: "rel" to the best so far, or "abs".
        cooldown: epochs after a change in which nothing is counted.
        min_lr: the least rate, or one for each group.
        eps: a change below it is not made.

    Examples:
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=1.0)
        >>> scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (3.0, 3.0, 3.0):
        ...     optimizer.step()
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        op = "ReduceLROnPlateau"
        if factor >= 1.0:
            raise ArgumentError(op, "factor", was=factor, needed="below 1")
        if mode not in ("min", "max"):
            raise ArgumentError(op, "mode", was=repr(mode), needed="'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentError(
                op, "threshold_mode", was=repr(threshold_mode), needed="'rel' or 'abs'"
            )
        groups = optimizer.param_groups
        floors = None if isinstance(min_lr, int | float) else list(min_lr)
        if floors is not None and len(floors) != len(groups):
            raise ArgumentError(
                op, "min_lr", was=f"{len(floors)} numbers", needed=f"{len(groups)}"
            )
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr = None if floors else min_lr
        self.min_lrs: list[Any] = floors or [min_lr] * len(groups)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._now()
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether nothing is counted for now, after a change."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Tell the measure of an epoch, and set the next one's rates."""
        measure = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(measure, self.best):
            self.best = measure
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._now()

    def _reduce(self) -> None:
        rates = []
        for old, floor in zip(self._now(), self.min_lrs, strict=True):
            new = max(float(old) * self.factor, floor)
            rates.append(new if float(old) - new > self.eps else old)
        self._set(rates)

    def is_better(self, a: float, best: float) -> bool:
        """Whether `a` beats `best` by more than the threshold."""
        sign = 1.0 if self.mode == "max" else -1.0
        if self.threshold_mode == "rel":
            margin = best * (1.0 + sign * self.threshold)
        else:
            margin = best + sign * self.threshold
        return a > margin if self.mode == "max" else a < margin
