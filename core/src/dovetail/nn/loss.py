"""Losses as modules; the functions of the same name have the mathematics."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, ShapeError

from . import functional as F
from .functional._reduction import reduction_of
from .linear import Linear
from .module import Module

# Of cross entropy, by default: it has a shorter way, without them.
_PLAIN: Final = (-100, "mean", 0.0)


class _Loss(Module):
    """A loss with a reduction: "mean", "sum" or "none"."""

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.reduction = reduction_of(name, reduction, size_average, reduce)


class _WeightedLoss(_Loss):
    """A loss with fixed weights, kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """The absolute difference of input and target.

    Examples:
        >>> nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference of input and target.

    Examples:
        >>> nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Half the squared difference over `beta` up to there, then linear.

    Girshick 2015, arXiv:1504.08083, equation 3.

    Examples:
        >>> nn.SmoothL1Loss()(torch.tensor([0.0, 0.0]), torch.tensor([0.5, 3.0]))
        tensor(1.3125)
    """

    def __init__(
        self,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squared difference up to `delta`, then linear (Huber 1964)."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, int | float):
            raise ArgumentTypeError(
                "HuberLoss", "delta", was=type(delta).__name__, needed="a float"
            )
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """Minus the log probability of the target class.

    Args:
        weight: [classes] factors.
        ignore_index: the class number that does not count.

    Shape:
        [n, classes, ...] log probabilities and [n, ...] class numbers -> []

    Examples:
        >>> logp = F.log_softmax(torch.zeros(2, 4), dim=1)
        >>> nn.NLLLoss()(logp, torch.tensor([0, 3]))
        tensor(1.3863)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, self.weight,
            ignore_index=self.ignore_index, reduction=self.reduction,
        )  # fmt: skip


class NLLLoss2d(NLLLoss):
    """`NLLLoss` by its old name."""


class CrossEntropyLoss(_WeightedLoss):
    """Minus the log probability that logits give to the target.

    Args:
        weight: [classes] factors.
        ignore_index: the class number that does not count.
        label_smoothing: how much of the target is spread over all classes.

    Shape:
        [n, classes, ...] logits and [n, ...] class numbers -> []; or the target as
        probabilities in the shape of the logits

    Examples:
        >>> import dovetail
        >>> loss = dovetail.nn.CrossEntropyLoss()
        >>> loss(dovetail.zeros(1, 4), dovetail.tensor([2]))
        tensor(1.3863)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        options = self.ignore_index, self.reduction, self.label_smoothing
        if options == _PLAIN:
            return F.cross_entropy(input, target, self.weight)
        return F.cross_entropy(
            input, target, self.weight,
            ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of a linear map of the input, which the loss owns.

    Args:
        in_features: width of the input.
        num_classes: how many classes.
        out_features: further dims of the logits behind the classes.
        bias: whether the map has one.
        weight: [classes] factors.
        ignore_index: the class number that does not count.
        label_smoothing: how much of the target is spread over all classes.
        options: a `LinearCrossEntropyOptions`, by which logits are made in chunks.

    Shape:
        [n, in_features] and [n, *out_features] class numbers -> []
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(
                "LinearCrossEntropyLoss", "weight", was=tuple(weight.shape),
                needed=f"({num_classes},)",
            )  # fmt: skip
        if not 0.0 <= label_smoothing <= 1.0:
            raise ArgumentError(
                "LinearCrossEntropyLoss", "label_smoothing", was=label_smoothing,
                needed="0.0 to 1.0",
            )  # fmt: skip
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(
            in_features, num_classes * math.prod(out_features), bias, device, dtype
        )
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        dims = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*dims, -1), target,
            linear_bias=None if bias is None else bias.reshape(dims),
            weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing,
            options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class BCELoss(_WeightedLoss):
    """Minus the log probability of 0 / 1 targets, given probabilities of one."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(
            input, target, self.weight, reduction=self.reduction
        )


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of sigmoids of logits, exact where that would round.

    Args:
        weight: factors for each element.
        pos_weight: factors for the part of each element where the target is one.

    Examples:
        >>> nn.BCEWithLogitsLoss()(torch.zeros(2), torch.ones(2))
        tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight,
            reduction=self.reduction, pos_weight=self.pos_weight,
        )  # fmt: skip
