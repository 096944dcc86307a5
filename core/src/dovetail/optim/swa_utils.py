"""Averages of a model's parameters on its way (SWA and EMA)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.nn.batchnorm import _BatchNorm
from dovetail.nn.module import Module

from .lr_scheduler._base import LRScheduler
from .lr_scheduler._one_cycle import each
from .optimizer import Optimizer

AverageOne = Callable[[Tensor, Tensor, Any], Tensor]
AverageMany = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn",
    "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip


def get_ema_avg_fn(decay: float = 0.999) -> AverageOne:
    """A function that takes a share of `1 - decay` of each new value.

    Raises: ArgumentError if decay is not in 0 … 1.
    """
    if not 0.0 <= decay <= 1.0:
        raise ArgumentError("get_ema_avg_fn", "decay", was=decay, needed="in [0, 1]")

    @no_grad()
    def average(mean: Tensor, value: Tensor, count: Any) -> Tensor:
        found: Tensor = mean * decay + value * (1 - decay)
        return found

    return average


def get_swa_avg_fn() -> AverageOne:
    """A function that gives all values the same share."""

    @no_grad()
    def average(mean: Tensor, value: Tensor, count: Any) -> Tensor:
        found: Tensor = mean + (value - mean) / (count + 1)
        return found

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageMany:
    """`get_ema_avg_fn` for lists, written in place."""
    return _for_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> AverageMany:
    """`get_swa_avg_fn` for lists, written in place."""
    return _for_lists(get_swa_avg_fn())


def _for_lists(average: AverageOne) -> AverageMany:
    @no_grad()
    def update(means: Sequence[Tensor], values: Sequence[Tensor], count: Any) -> None:
        for mean, value in zip(means, values, strict=True):
            mean.copy_(average(mean, value, count))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages (Izmailov et al. 2018).

    Args:
        model: whose parameters are averaged.
        device: where the averages are.
        avg_fn: `avg_fn(mean, value, count)` is the new mean of a parameter.
        multi_avg_fn: the same for lists, written in place; one of both at most. With
            neither all values have the same share.
        use_buffers: whether buffers are averaged too, instead of copied.

    Attributes:
        module: the copy.
        n_averaged: how often parameters were taken in.

    Examples:
        >>> model = nn.Linear(1, 1, bias=False)
        >>> averaged = optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 2.0, 6.0):
        ...     _ = nn.init.constant_(model.weight, value)
        ...     averaged.update_parameters(model)
        >>> averaged.module.weight.item()
        3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageOne | None = None,
        multi_avg_fn: AverageMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError(
                "AveragedModel", "multi_avg_fn", was="given, and so is avg_fn",
                needed="one of them",
            )  # fmt: skip
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        count = ft.tensor(0, dtype=dtypes.int64, device=device)
        self.register_buffer("n_averaged", count)
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the averages; at first copy them."""
        means = _averaged(self.module, self.use_buffers)
        values = _averaged(model, self.use_buffers)
        values = [v.to(m.device) for m, v in zip(means, values, strict=True)]
        if not self.n_averaged.item():
            for mean, value in zip(means, values, strict=True):
                mean.copy_(value)
        elif means:
            self._average(means, values)
        if not self.use_buffers:
            buffers = zip(self.module.buffers(), model.buffers(), strict=True)
            for mine, theirs in buffers:
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1

    def _average(self, means: list[Tensor], values: list[Tensor]) -> None:
        one = get_swa_avg_fn() if self.avg_fn is None else self.avg_fn
        update = self.multi_avg_fn or _for_lists(one)
        alike: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        for mean, value in zip(means, values, strict=True):
            found = alike.setdefault(mean._kind, ([], []))
            found[0].append(mean)
            found[1].append(value)
        for some, others in alike.values():
            update(some, others, self.n_averaged.to(some[0].device))


def _averaged(model: Module, buffers: bool) -> list[Tensor]:
    """What of a model is averaged."""
    found = chain(model.parameters(), model.buffers() if buffers else ())
    return [x.detach() for x in found]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch norms anew, in one pass over data.

    Args:
        loader: gives batches, of which the first item is the input if they are
            sequences.
        model: in which mode it is, it stays.
        device: where inputs are moved to.
    """
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    try:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        for batch in loader:
            given = batch[0] if isinstance(batch, list | tuple) else batch
            model(given if device is None else given.to(device))
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the present rate to `swa_lr`, where it stays.

    Args:
        optimizer: whose rates are set.
        swa_lr: the last rate, or one for each group.
        anneal_epochs: how many epochs it takes.
        anneal_strategy: "cos" or "linear".
        last_epoch: the epoch to go on from; -1 starts.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: Any = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                "SWALR", "anneal_strategy", was=repr(anneal_strategy),
                needed="'cos' or 'linear'",
            )  # fmt: skip
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentError(
                "SWALR", "anneal_epochs", was=anneal_epochs, needed="an int >= 0"
            )
        for group, rate in each(optimizer, "swa_lr", swa_lr):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """How much of the way is done at a share `t` of the epochs."""
        return (
            t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2
        )

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._done(step - 1), self._done(step)
        return [
            group["swa_lr"] * now + _start(group, before) * (1 - now)
            for group in self.optimizer.param_groups
        ]

    def _done(self, step: int) -> float:
        return self.anneal_func(max(0.0, min(1.0, step / max(1, self.anneal_epochs))))


def _start(group: dict[str, Any], done: float) -> Any:
    """The rate that a group had when the annealing began."""
    if done == 1:
        return group["swa_lr"]
    return (group["lr"] - done * group["swa_lr"]) / (1 - done)
