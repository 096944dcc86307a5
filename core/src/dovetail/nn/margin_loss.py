"""Losses with a margin; the functions of the same name have the mathematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from . import functional as F
from .distance import PairwiseDistance
from .loss import _Loss, _WeightedLoss


class _MarginLoss(_Loss):
    """A loss with a margin."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_MarginLoss):
    """max(0, -target (input1 - input2) + margin).

    Examples:
        >>> a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 1.0])
        >>> nn.MarginRankingLoss()(a, b, torch.ones(2))
        tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class HingeEmbeddingLoss(_MarginLoss):
    """The input where the target is 1, max(0, margin - input) where it is -1."""

    def __init__(
        self,
        margin: float = 1.0,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(
            input, target, margin=self.margin, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target input))."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """How far labels are from a margin above all that are none.

    Shape:
        [n, classes] or [classes], and labels of the same shape, which end at -1
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over labels of the cross entropy of each by itself."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(
            input, target, self.weight, reduction=self.reduction
        )


class MultiMarginLoss(_WeightedLoss):
    """The mean over other classes of max(0, margin - x[target] + x[other])^p.

    Args:
        p: 1 or 2.
        margin: how far the target is to be above the others.
        weight: [classes] factors.
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ArgumentError("MultiMarginLoss", "p", was=p, needed="1 or 2")
        if weight is not None and weight.ndim != 1:
            raise ArgumentError(
                "MultiMarginLoss", "weight", was=f"{weight.ndim}-dimensional",
                needed="one dimension: [classes]",
            )  # fmt: skip
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight,
            reduction=self.reduction,
        )  # fmt: skip


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the `p` norm.

    Args:
        swap: the nearer of anchor and positive to the negative counts.

    Shape:
        [n, width] or [width], three times

    Examples:
        >>> a, n = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])
        >>> nn.TripletMarginLoss(margin=6.0)(a, a, n).item() > 0.99
        True
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _require_margin("TripletMarginLoss", margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps,
            swap=self.swap, reduction=self.reduction,
        )  # fmt: skip


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with another distance (the Euclidean, unless given)."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _require_margin("TripletMarginWithDistanceLoss", margin)
        self.distance_function = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip


def _require_margin(op: str, margin: float) -> None:
    if margin <= 0:
        raise ArgumentError(op, "margin", was=margin, needed="greater than 0")
