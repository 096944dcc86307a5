"""Losses under torch's names and signatures, with its old `reduce` arguments."""

# What the frontend offers is known by name at run time; these give it types.

from __future__ import annotations

import warnings

from dovetail import frontend as ft
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

REDUCTIONS = ("none", "mean", "sum")

# Those the frontend has whole; torch's old flags are not among their arguments.


def reduction_of(
    op: str, size_average: bool | None, reduce: bool | None, reduction: str
) -> str:
    """The reduction asked for, by its name or by torch's two old flags."""
    if size_average is not None or reduce is not None:
        if reduce is False:
            reduction = "none"
        else:
            reduction = "sum" if size_average is False else "mean"
        warnings.warn(
            f"{op}: size_average and reduce are deprecated; give "
            f"reduction={reduction!r} instead",
            stacklevel=3,
        )
    if reduction not in REDUCTIONS:
        raise ArgumentError(
            op, "reduction", was=repr(reduction), needed=f"one of {REDUCTIONS}"
        )
    return reduction


@public("F.cross_entropy")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the log probability that the logits `input` give to `target`.

    Args:
        input: `[n, classes, ...]` or `[classes]` logits.
        target: `[n, ...]` class numbers, or probabilities in the shape of `input`.
        weight: `[classes]` factors.
        ignore_index: the class number that does not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: how much of the target is spread over all classes
            (Szegedy et al. 2015).
    """
    if ignore_index >= 0 and target.is_floating_point():
        raise ArgumentError(
            "cross_entropy", "ignore_index", was=f"{ignore_index} with probabilities",
            needed="class numbers as the target", remedy="weigh that class with 0",
        )  # fmt: skip
    y: Tensor = ft.cross_entropy(
        input, target, weight,
        ignore_index=ignore_index,
        reduction=reduction_of("cross_entropy", size_average, reduce, reduction),
        label_smoothing=label_smoothing,
    )  # fmt: skip
    return y


@public("F.nll_loss")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the entries of the log probabilities `input` at the classes `target`."""
    y: Tensor = ft.nll_loss(
        input, target, weight,
        ignore_index=ignore_index,
        reduction=reduction_of("nll_loss", size_average, reduce, reduction),
    )  # fmt: skip
    return y


@public("F.mse_loss")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared differences; with `weight`, each times its weight.

    The mean with weights is the weighted one: the sum over that of the weights.
    """
    reduction = reduction_of("mse_loss", size_average, reduce, reduction)
    if weight is None:
        y: Tensor = ft.mse_loss(input, target, reduction=reduction)
        return y
    losses = ft.mse_loss(input, target, reduction="none")
    return _weighted(losses, weight, reduction)


@public("F.l1_loss")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute differences; with `weight`, as in `mse_loss`."""
    reduction = reduction_of("l1_loss", size_average, reduce, reduction)
    if weight is None:
        y: Tensor = ft.l1_loss(input, target, reduction=reduction)
        return y
    return _weighted(ft.l1_loss(input, target, reduction="none"), weight, reduction)


@public("F.smooth_l1_loss")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Half the squared difference over `beta` up to there, then linear."""
    reduction = reduction_of("smooth_l1_loss", size_average, reduce, reduction)
    y: Tensor = ft.smooth_l1_loss(input, target, reduction=reduction, beta=beta)
    return y


@public("F.huber_loss")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared difference up to `delta`, then linear (Huber 1964)."""
    reduction = reduction_of("huber_loss", None, None, reduction)
    if weight is None:
        y: Tensor = ft.huber_loss(input, target, reduction=reduction, delta=delta)
        return y
    losses = ft.huber_loss(input, target, reduction="none", delta=delta)
    return _weighted(losses, weight, reduction)


def _weighted(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    weighted = losses * weight
    if reduction == "none":
        return weighted
    total: Tensor = weighted.sum()
    if reduction != "sum":
        total = total / weight.expand_as(losses).sum()
    return total


@public("F.binary_cross_entropy")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log probability of `target` where `input` is that of one."""
    y: Tensor = ft.binary_cross_entropy(
        input, target, weight,
        reduction=reduction_of("binary_cross_entropy", size_average, reduce, reduction),
    )  # fmt: skip
    return y


@public("F.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, exact where that would round.

    Args:
        weight: factors for each element.
        pos_weight: factors for the part of each element where `target` is one.
    """
    op = "binary_cross_entropy_with_logits"
    y: Tensor = ft.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight=pos_weight,
        reduction=reduction_of(op, size_average, reduce, reduction),
    )  # fmt: skip
    return y
