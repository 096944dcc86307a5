"""Schedules made of other schedules, one after another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from dovetail.engine.scopes import perform
from dovetail.errors import ArgumentError, ArgumentTypeError

from ..optimizer import Optimizer
from ._base import LRScheduler, copied, set_rate
from ._plateau import ReduceLROnPlateau


class SequentialLR(LRScheduler):
    """One schedule up to each milestone, the next one from there.

    Args:
        optimizer: whose rates are set.
        schedulers: the schedules, all of that optimizer.
        milestones: the epochs at which the second, third, … begin.
        last_epoch: the epoch to go on from; -1 starts.

    Examples:
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=1.0)
        >>> warm = lr_scheduler.LinearLR(optimizer, 0.25, total_iters=2)
        >>> then = lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = lr_scheduler.SequentialLR(optimizer, [warm, then], [2])
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                "SequentialLR", "milestones",
                was=f"{len(milestones)} for {len(schedulers)} schedulers",
                needed="one fewer than schedulers, of which there is at least one",
            )  # fmt: skip
        for i, scheduler in enumerate(schedulers):
            if scheduler.optimizer is not optimizer:
                raise ArgumentError(
                    "SequentialLR", f"schedulers[{i}]", was="of another optimizer",
                    needed="all of the one given",
                )  # fmt: skip
        self.optimizer = optimizer
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # undo the others' first steps
            set_rate(group, group["initial_lr"])
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, and set its rates."""
        if epoch is not None:
            raise ArgumentError("SequentialLR.step", "epoch", was=epoch, needed="None")
        perform(self._next)

    def _next(self) -> None:
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._advance(0)  # its own beginning
        else:
            scheduler.step()
        self._last_lr = [copied(rate) for rate in scheduler.get_last_lr()]

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer, with the schedules' state dicts."""
        return states_of(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave, here and in the schedules."""
        load_states(self, state_dict)


class ChainedScheduler(LRScheduler):
    """Several schedules of one optimizer, each stepped in turn at every step.

    Args:
        schedulers: the schedules.
        optimizer: theirs; that of the first one if None.

    Examples:
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=1.0)
        >>> first = lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> second = lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = lr_scheduler.ChainedScheduler([first, second])
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ArgumentError(
                "ChainedScheduler", "schedulers", was="empty", needed="at least one"
            )
        for i, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ArgumentError(
                    "ChainedScheduler", f"schedulers[{i}]", was="ReduceLROnPlateau",
                    needed="one whose step needs no metrics",
                )  # fmt: skip
            if not isinstance(scheduler, LRScheduler):
                raise ArgumentTypeError(
                    "ChainedScheduler", f"schedulers[{i}]",
                    was=type(scheduler).__name__, needed="an LRScheduler",
                )  # fmt: skip
            if scheduler.optimizer is not (optimizer or schedulers[0].optimizer):
                raise ArgumentError(
                    "ChainedScheduler", f"schedulers[{i}]", was="of another optimizer",
                    needed="all of one",
                )  # fmt: skip
        self._schedulers = list(schedulers)
        self.optimizer = optimizer or schedulers[0].optimizer
        self._last_lr = [copied(rate) for rate in self._now()]

    def step(self, epoch: int | None = None) -> None:
        """Step all schedules."""
        if epoch is not None:
            raise ArgumentError(
                "ChainedScheduler.step", "epoch", was=epoch, needed="None"
            )
        perform(self._next)

    def _next(self) -> None:
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [copied(rate) for rate in self._now()]

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer, with the schedules' state dicts."""
        return states_of(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave, here and in the schedules."""
        load_states(self, state_dict)


def states_of(composed: Any) -> dict[str, Any]:
    """The state dict of a schedule made of others."""
    kept = {"optimizer", "_schedulers"}
    state = {k: v for k, v in composed.__dict__.items() if k not in kept}
    state["_schedulers"] = [s.state_dict() for s in composed._schedulers]
    return state


def load_states(composed: Any, state_dict: dict[str, Any]) -> None:
    """Take such a state dict."""
    rest = {k: v for k, v in state_dict.items() if k != "_schedulers"}
    composed.__dict__.update(rest)
    pairs = zip(composed._schedulers, state_dict["_schedulers"], strict=True)
    for scheduler, state in pairs:
        scheduler.load_state_dict(state)
