"""The one-cycle policy."""

from __future__ import annotations

import math
from typing import Any

from dovetail.errors import ArgumentError

from ..optimizer import Optimizer
from ._base import LRScheduler


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and down to almost nothing, stepped after every batch.

    Smith & Topin 2017, arXiv:1708.07120; momentum goes the other way.

    Args:
        optimizer: whose rates are set.
        max_lr: the highest rate, or one for each group.
        total_steps: batches in the cycle; or give `epochs` and `steps_per_epoch`.
        pct_start: the part of the cycle that goes up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: whether momentum, or the first beta, is set too.
        base_momentum, max_momentum: its ends, or one for each group.
        div_factor: max_lr over the first rate.
        final_div_factor: the first rate over the last.
        three_phase: whether the way down stops at the first rate before the last.
        last_epoch: the batch to go on from; -1 starts.

    Examples:
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=1.0)
        >>> scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.9504846320134737]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not 0 <= pct_start <= 1:
            raise ArgumentError(
                "OneCycleLR", "pct_start", was=pct_start, needed="in [0, 1]"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                "OneCycleLR", "anneal_strategy", was=repr(anneal_strategy),
                needed="'cos' or 'linear'",
            )  # fmt: skip
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, top in each(optimizer, "max_lr", max_lr):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _start_momentum(
        self, optimizer: Optimizer, base: Any, top: Any, last_epoch: int
    ) -> None:
        if not {"momentum", "betas"} & optimizer.defaults.keys():
            raise ArgumentError(
                "OneCycleLR", "optimizer",
                was=f"{type(optimizer).__name__}, which has no momentum",
                needed="one with momentum or betas", remedy="cycle_momentum=False",
            )  # fmt: skip
        self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch != -1:
            return
        for group, value in each(optimizer, "max_momentum", top):
            self._set_momentum(group, value)
            group["max_momentum"] = value
        for group, value in each(optimizer, "base_momentum", base):
            group["base_momentum"] = value

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def get_lr(self) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ArgumentError(
                "OneCycleLR.step", "number of calls", was=step + 1,
                needed=f"at most total_steps={self.total_steps}",
            )  # fmt: skip
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        done = (step - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            ends = group[phase["start_lr"]], group[phase["end_lr"]]
            rates.append(self._between(*ends, done))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(*ends, done))
        return rates

    def _between(self, start: float, end: float, done: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * done + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * done) + 1)


def _total_steps(
    total: int | None, epochs: int | None, steps_per_epoch: int | None
) -> int:
    asked = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total is not None:
        asked = {"total_steps": total}
    for name, value in asked.items():
        if not isinstance(value, int) or value <= 0:
            raise ArgumentError(
                "OneCycleLR", name, was=value, needed="a positive int",
                remedy="give total_steps, or both epochs and steps_per_epoch",
            )  # fmt: skip
    return math.prod(value for value in asked.values() if value is not None)


def _phases(total: int, pct_start: float, three: bool) -> list[dict[str, Any]]:
    """The ends of the phases, and between which rates and momenta each goes."""
    up = float(pct_start * total) - 1
    down = [float(2 * pct_start * total) - 2] if three else []
    ends = [up, *down, total - 1]
    rates = ["initial_lr", "max_lr", *(["initial_lr"] if three else []), "min_lr"]
    momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
    return [
        {
            "end_step": end,
            "start_lr": rates[i],
            "end_lr": rates[i + 1],
            "start_momentum": momenta[i],
            "end_momentum": momenta[i + 1],
        }
        for i, end in enumerate(ends)
    ]


def each(
    optimizer: Optimizer, name: str, value: Any
) -> list[tuple[dict[str, Any], Any]]:
    """The groups, each with its value of what may be one number for all."""
    groups = optimizer.param_groups
    values = list(value) if isinstance(value, list | tuple) else [value] * len(groups)
    if len(values) != len(groups):
        raise ArgumentError(
            "scheduler", name, was=f"{len(values)} numbers",
            needed=f"one, or {len(groups)}: one for each group",
        )  # fmt: skip
    return list(zip(groups, values, strict=True))
