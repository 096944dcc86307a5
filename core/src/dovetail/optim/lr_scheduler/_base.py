"""`LRScheduler`: counts epochs, and asks its subclass for the rates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dovetail.engine.scopes import perform
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, NotSupported

from ..optimizer import Optimizer


class LRScheduler:
    """Base class: a subclass gives the rates of all groups in `get_lr`.

    Args:
        optimizer: whose groups' "lr" is set.
        last_epoch: the epoch to go on from; -1 starts.

    Attributes:
        base_lrs: the rates that the schedule starts from.
        last_epoch: how often it has been stepped.
    """

    _get_closed_form_lr: Callable[[], list[Any]] | None = None

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(
                type(self).__name__, "optimizer", was=type(optimizer).__name__,
                needed="an Optimizer",
            )  # fmt: skip
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise InitialRateMissing(type(self).__name__, i, last_epoch)
        self.base_lrs = [copied(g["initial_lr"]) for g in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch, by a `step` that may be a user's own."""
        self._step_count = 0
        self._is_initial = True
        self._get_lr_called_within_step = False
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The rates of all groups in epoch `last_epoch`, from those they have now."""
        raise NotSupported(
            type(self).__name__, "get_lr", was="not defined", needed="a method"
        )

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, and set its rates.

        Args:
            epoch: the epoch to go to instead; deprecated, as in torch.
        """
        # A wrapper of others' does not say, as Accelerate's that has no `_opt_called`.
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", True):
            warnings.warn(
                f"{type(self).__name__}: lr_scheduler.step() is called before "
                "optimizer.step(); the first rate of the schedule is skipped",
                stacklevel=2,
            )
        if epoch is not None:
            warnings.warn(
                f"{type(self).__name__}.step: epoch is deprecated; call step() once "
                "an epoch",
                stacklevel=2,
            )
        perform(partial(self._advance, epoch))

    def _advance(self, epoch: int | None) -> None:
        self._step_count += 1
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = self._get_closed_form_lr
                rates = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates: Sequence[Any]) -> None:
        groups = self.optimizer.param_groups
        for group, rate in zip(groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = [copied(group["lr"]) for group in groups]

    def _now(self) -> list[Any]:
        """The rates that the groups have."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the attributes from what `state_dict` gave."""
        self.__dict__.update(state_dict)


class InitialRateMissing(ArgumentError, KeyError):
    """A schedule is to go on, but nobody kept the rate that it started from."""

    __str__ = Exception.__str__

    def __init__(self, op: str, group: int, last_epoch: int) -> None:
        super().__init__(
            op, "last_epoch",
            was=f"{last_epoch}, with no 'initial_lr' in param_groups[{group}]",
            needed="-1, or groups that have it",
            remedy="load the optimizer's state_dict first",
        )  # fmt: skip


def copied(rate: Any) -> Any:
    """A rate of its own, where it is a tensor."""
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Set a group's rate; a tensor keeps its identity."""
    if isinstance(group["lr"], Tensor):
        value = rate.item() if isinstance(rate, Tensor) else rate
        group["lr"].fill_(value)
    else:
        group["lr"] = rate
