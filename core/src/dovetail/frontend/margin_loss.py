"""torch's names for losses with a margin."""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend.export import torch_name
from dovetail.frontend.loss import reduced
from dovetail.ops import create
from dovetail.ops.activation import logsigmoid
from dovetail.ops.primitive import eq, take_along, where
from dovetail.ops.view import reshape, unsqueeze

_PLAIN: Final[dict[str, Any]] = {"method": False, "out": False}


@torch_name("hinge_embedding_loss", **_PLAIN)
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean"
) -> Tensor:
    """`input` where the target is 1, max(0, margin - input) where it is -1."""
    apart = where(eq(target, 1), 0.0, (margin - input).clamp(min=0))
    losses = apart + where(eq(target, -1), 0.0, input)
    return reduced("hinge_embedding_loss", losses, reduction)


@torch_name("margin_ranking_loss", **_PLAIN)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, -target (input1 - input2) + margin)."""
    losses = (-target * (input1 - input2) + margin).clamp(min=0)
    return reduced("margin_ranking_loss", losses, reduction)


@torch_name("soft_margin_loss", **_PLAIN)
def soft_margin_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target input))."""
    losses = (-target * input).exp().log1p()
    return reduced("soft_margin_loss", losses, reduction)


@torch_name("cosine_embedding_loss", **_PLAIN)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    if input1.ndim != target.ndim + 1 or input1.shape[-1] != input2.shape[-1]:
        raise ShapeError(
            "cosine_embedding_loss", "target", was=f"of shape {tuple(target.shape)}",
            needed=f"one for each vector of {tuple(input1.shape)}",
        )  # fmt: skip
    # torch adds this to the squares, so that the norm of zeros divides nothing
    tiny = 1e-12
    squares = (input1 * input1).sum(-1) + tiny, (input2 * input2).sum(-1) + tiny
    cosine = (input1 * input2).sum(-1) / (squares[0] * squares[1]).sqrt()
    same = where(eq(target, 1), 1 - cosine, 0.0)
    losses = same + where(eq(target, -1), (cosine - margin).clamp(min=0), 0.0)
    return reduced("cosine_embedding_loss", losses, reduction)


@torch_name("triplet_margin_loss", **_PLAIN)
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0,
    p: float = 2, eps: float = 1e-6, swap: bool = False, *, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return _distance(a, b, p, eps)

    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=distance, margin=margin,
        swap=swap, reduction=reduction,
    )  # fmt: skip


@torch_name("triplet_margin_with_distance_loss", **_PLAIN)
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """triplet_margin_loss with another distance; `swap` is Balntas et al. 2016."""
    if margin <= 0:
        raise ArgumentError(
            "triplet_margin_loss", "margin", was=margin, needed="greater than 0"
        )
    distance = distance_function or (lambda a, b: _distance(a, b, 2.0, 1e-6))
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced("triplet_margin_loss", (near - far + margin).clamp(min=0), reduction)


def _distance(a: Tensor, b: Tensor, p: float, eps: float) -> Tensor:
    found: Tensor = ((a - b + eps).abs() ** p).sum(-1) ** (1 / p)
    return found


@torch_name("multilabel_soft_margin_loss", **_PLAIN)
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over the last dim of the cross entropies of each label by itself."""
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced("multilabel_soft_margin_loss", losses.mean(-1), reduction)


@torch_name("multi_margin_loss", **_PLAIN)
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0,
    weight: Tensor | None = None, *, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over other classes of max(0, margin - x[target] + x[other])^p."""
    if p not in (1, 2):
        raise ArgumentError("multi_margin_loss", "p", was=p, needed="1 or 2")
    x = input if input.ndim == 2 else reshape(input, (1, -1))
    labels = reshape(target, (-1, 1))
    if input.ndim not in (1, 2) or labels.shape[0] != x.shape[0] or not x.shape[1]:
        raise ShapeError(
            "multi_margin_loss", "input and target",
            was=f"of shapes {tuple(input.shape)} and {tuple(target.shape)}",
            needed="[n, classes] and [n]: inconsistent target size",
        )  # fmt: skip
    apart = (margin - take_along(x, labels, 1) + x).clamp(min=0)
    apart = apart * apart if p == 2 else apart
    if weight is not None:
        apart = apart * unsqueeze(weight[reshape(target, (-1,))], 1)
    numbers = create.arange(0, 1, x.shape[1], target._kind)
    losses = where(eq(labels, numbers), 0.0, apart).sum(1) / x.shape[1]
    losses = losses if target.ndim else reshape(losses, ())
    return reduced("multi_margin_loss", losses, reduction)
