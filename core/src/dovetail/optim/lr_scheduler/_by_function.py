"""Schedules whose factor is a function of the epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from dovetail.errors import ArgumentError

from ..optimizer import Optimizer
from ._base import LRScheduler

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """`lr_lambda(epoch)` times the rate at the start.

    Args:
        optimizer: whose rates are set.
        lr_lambda: a function, or one for each group. A state dict keeps callable
            objects' attributes, but no functions.
        last_epoch: the epoch to go on from; -1 starts.

    Examples:
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=1.0)
        >>> scheduler = lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.125]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Factor | Sequence[Factor],
        last_epoch: int = -1,
    ) -> None:
        self.lr_lambdas = self._one_each(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _one_each(
        self, optimizer: Optimizer, given: Factor | Sequence[Factor]
    ) -> list[Factor]:
        groups = len(optimizer.param_groups)
        if callable(given):
            return [given] * groups
        if len(given) != groups:
            raise ArgumentError(
                type(self).__name__, "lr_lambda", was=f"{len(given)} functions",
                needed=f"one, or {groups}: one for each group",
            )  # fmt: skip
        return list(given)

    def get_lr(self) -> list[Any]:
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * factor(self.last_epoch) for base, factor in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer, with the state of callable objects."""
        state = super().state_dict()
        state.pop("lr_lambdas")
        state["lr_lambdas"] = [
            None if isinstance(factor, FunctionType) else dict(factor.__dict__)
            for factor in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave; functions stay those of the constructor."""
        rest = {k: v for k, v in state_dict.items() if k != "lr_lambdas"}
        super().load_state_dict(rest)
        pairs = zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True)
        for factor, state in pairs:
            if state is not None:
                factor.__dict__.update(state)


class MultiplicativeLR(LambdaLR):
    """`lr_lambda(epoch)` times the rate of the epoch before."""

    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._now()
        pairs = zip(self._now(), self.lr_lambdas, strict=True)
        return [rate * factor(self.last_epoch) for rate, factor in pairs]
