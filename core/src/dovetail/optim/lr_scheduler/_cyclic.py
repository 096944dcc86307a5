"""Schedules that go round: up and down, or down and back at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from dovetail.engine.scopes import perform
from dovetail.errors import ArgumentError

from ..optimizer import Optimizer
from ._base import LRScheduler, set_rate
from ._one_cycle import each

# How the height of a cycle changes: by the number of the cycle, or of the batch.
_MODES: Final[dict[str, tuple[str, Callable[[float, float], float]]]] = {
    "triangular": ("cycle", lambda x, gamma: 1.0),
    "triangular2": ("cycle", lambda x, gamma: 1 / 2.0 ** (x - 1)),
    "exp_range": ("iterations", lambda x, gamma: gamma**x),
}


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` and down again, stepped after every batch.

    Smith 2015, arXiv:1506.01186; momentum goes the other way.

    Args:
        optimizer: whose rates are set.
        base_lr, max_lr: the ends of a cycle, or one for each group.
        step_size_up, step_size_down: batches on each way; down as up if None.
        mode: "triangular" keeps the height, "triangular2" halves it each cycle,
            "exp_range" multiplies it with `gamma` each batch.
        gamma: for "exp_range".
        scale_fn: the height as a function of the cycle's number or of the batch's;
            `mode` is ignored then.
        scale_mode: which of them: "cycle" or "iterations".
        cycle_momentum: whether momentum, or the first beta, is set too.
        base_momentum, max_momentum: its ends, or one for each group.
        last_epoch: the batch to go on from; -1 starts.

    Examples:
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), momentum=0.9)
        >>> scheduler = lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=4)
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if mode not in _MODES and scale_fn is None:
            raise ArgumentError(
                "CyclicLR", "mode", was=repr(mode), needed=f"one of {sorted(_MODES)}",
                remedy="or give a scale_fn",
            )  # fmt: skip
        lows = [low for _, low in each(optimizer, "base_lr", base_lr)]
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows, strict=True):
                set_rate(group, low)
        self.max_lrs = [top for _, top in each(optimizer, "max_lr", max_lr)]
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _MODES[mode][0]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def _start_momentum(
        self, optimizer: Optimizer, base: Any, top: Any, last_epoch: int
    ) -> None:
        if not {"momentum", "betas"} & optimizer.defaults.keys():
            raise ArgumentError(
                "CyclicLR", "optimizer",
                was=f"{type(optimizer).__name__}, which has no momentum",
                needed="one with momentum or betas", remedy="cycle_momentum=False",
            )  # fmt: skip
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = [b for _, b in each(optimizer, "base_momentum", base)]
        self.max_momentums = [t for _, t in each(optimizer, "max_momentum", top)]
        if last_epoch == -1:
            groups = optimizer.param_groups
            ends = zip(groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in ends:
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def scale_fn(self, x: float) -> float:
        """The height of cycle `x`, or at batch `x`, relative to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return _MODES[self.mode][1](x, self.gamma)

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        up = x <= self.step_ratio
        part = x / self.step_ratio if up else (x - 1) / (self.step_ratio - 1)
        part *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            ends = zip(groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in ends:
                self._set_momentum(group, high - (high - low) * part)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * part for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer; of a `scale_fn`, those of an object."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        saved = custom is not None and not isinstance(custom, FunctionType)
        state["_scale_fn_custom"] = custom.__dict__.copy() if saved else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the attributes from what `state_dict` gave."""
        rest = {k: v for k, v in state_dict.items() if k != "_scale_fn_custom"}
        super().load_state_dict(rest)
        saved = state_dict.get("_scale_fn_custom")
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to `eta_min` along half a cosine, and back to the rate at once.

    SGDR (Loshchilov & Hutter 2016, arXiv:1608.03983).

    Args:
        optimizer: whose rates are set.
        T_0: epochs of the first way down.
        T_mult: by how much each way down is longer than the one before.
        eta_min: the lowest rate.
        last_epoch: the epoch to go on from; -1 starts.

    Examples:
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=1.0)
        >>> scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: Any,  # noqa: N803  torch spells it so
        T_mult: Any = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        for name, value in {"T_0": T_0, "T_mult": T_mult}.items():
            if not isinstance(value, int) or value < 1:
                raise ArgumentError(
                    "CosineAnnealingWarmRestarts", name, was=value, needed="an int >= 1"
                )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (b - self.eta_min) * height for b in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to any one, which may lie between two.

        Args:
            epoch: e.g. `epoch + batch / batches`.
        """
        if epoch is not None and epoch < 0:
            raise ArgumentError(
                "CosineAnnealingWarmRestarts.step",
                "epoch",
                was=epoch,
                needed="0 or more",
            )
        perform(lambda: self._advance(epoch))

    def _advance(self, epoch: float | None) -> None:
        self._step_count += 1
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())

    def _go_to(self, epoch: float) -> None:
        """Set how far an epoch is into which way down."""
        self.T_i, self.T_cur = self.T_0, epoch
        while self.T_cur >= self.T_i:
            if self.T_mult == 1:
                self.T_cur %= self.T_i
            else:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
