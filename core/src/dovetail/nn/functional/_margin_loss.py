"""Losses with a margin under torch's names and signatures."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.engine.elements import stored
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, ShapeError
from dovetail.nn.functional._reduction import Losses, loss, reduced, reduction_of
from dovetail.ops import create
from dovetail.ops.activation import logsigmoid
from dovetail.ops.primitive import eq, take_along, where
from dovetail.ops.view import reshape, unsqueeze


@loss("hinge_embedding_loss", autocast="float32")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0) -> Losses:
    """`input` where the target is 1, max(0, margin - input) where it is -1."""
    margin = stored("hinge_embedding_loss", input.dtype, margin, "margin")
    apart = where(eq(target, 1), 0, (margin - input).clamp(min=0))
    return apart + where(eq(target, -1), 0, input)


def _require_one_ndim(op: str, **tensors: Tensor) -> None:
    """Raise for tensors of different numbers of dims."""
    counts = {name: x.ndim for name, x in tensors.items()}
    first = next(iter(counts))
    for name, count in counts.items():
        if count != counts[first]:
            raise ShapeError(
                op, name, was=f"{count}-d", needed=f"{counts[first]}-d, as {first} is"
            )


@loss("margin_ranking_loss", autocast="float32")
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0
) -> Losses:
    """max(0, -target (input1 - input2) + margin)."""
    _require_one_ndim(
        "margin_ranking_loss", input1=input1, input2=input2, target=target
    )
    return (-target * (input1 - input2) + margin).clamp(min=0)


@loss("soft_margin_loss", autocast="float32")
def soft_margin_loss(input: Tensor, target: Tensor) -> Losses:
    """log(1 + exp(-target input))."""
    losses: Tensor = -logsigmoid(input * target)
    if losses._a.shape != input._a.shape:
        raise ShapeError(
            "soft_margin_loss", "target", was=f"of shape {tuple(target.shape)}",
            needed=f"one that broadcasts to {tuple(input.shape)}, that of input",
        )  # fmt: skip
    return losses


@loss("cosine_embedding_loss", autocast="float32")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0
) -> Losses:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    Args:
        input1, input2: [n, width] or [width] vectors.
        target: [n] or [].
    """
    whole = input1.ndim == input2.ndim == target.ndim + 1
    if not whole or input1.shape[-1] != input2.shape[-1]:
        raise ShapeError(
            "cosine_embedding_loss", "target", was=f"of shape {tuple(target.shape)}",
            needed=f"one for each vector of {tuple(input1.shape)}",
        )  # fmt: skip
    # torch adds this to the squares, so that the norm of zeros divides nothing
    tiny = 1e-12
    squares = (input1 * input1).sum(-1) + tiny, (input2 * input2).sum(-1) + tiny
    cosine = (input1 * input2).sum(-1) / (squares[0] * squares[1]).sqrt()
    same = where(eq(target, 1), 1 - cosine, 0.0)
    return same + where(eq(target, -1), (cosine - margin).clamp(min=0), 0.0)


@loss("triplet_margin_loss", autocast="float32")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0,
    p: float = 2, eps: float = 1e-6, swap: bool = False,
) -> Losses:  # fmt: skip
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the `p` norm.

    Balntas et al. 2016; with `swap`, the nearer of anchor and positive counts.
    """

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return _distance(a, b, p, eps)

    return _of_triplets(distance, anchor, positive, negative, margin, swap)


@public("F.triplet_margin_with_distance_loss")
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with another distance (the Euclidean, unless given)."""
    distance = _euclidean if distance_function is None else distance_function
    if not callable(distance):
        raise ArgumentTypeError(
            "triplet_margin_with_distance_loss", "distance_function",
            was=repr(distance), needed="a function of two tensors",
        )  # fmt: skip
    losses = _of_triplets(distance, anchor, positive, negative, margin, swap)
    how = reduction_of("triplet_margin_with_distance_loss", reduction)
    return reduced(losses, how)


def _euclidean(a: Tensor, b: Tensor) -> Tensor:
    return _distance(a, b, 2.0, 1e-6)


def _of_triplets(
    distance: Callable[[Tensor, Tensor], Tensor], anchor: Tensor, positive: Tensor,
    negative: Tensor, margin: float, swap: bool,
) -> Tensor:  # fmt: skip
    if margin <= 0:
        raise ArgumentError(
            "triplet_margin_loss", "margin", was=margin, needed="greater than 0"
        )
    _require_one_ndim(
        "triplet_margin_loss", anchor=anchor, positive=positive, negative=negative
    )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return (near - far + margin).clamp(min=0)


def _distance(a: Tensor, b: Tensor, p: float, eps: float) -> Tensor:
    return ((a - b + eps).abs() ** p).sum(-1) ** (1 / p)


@loss("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None
) -> Losses:
    """The mean over the last dim of the cross entropies of each label by itself."""
    if not input.ndim:
        raise ShapeError(
            "multilabel_soft_margin_loss", "input", was="of no dims",
            needed="[..., labels]",
        )  # fmt: skip
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return (losses if weight is None else losses * weight).mean(-1)


@loss("multi_margin_loss", autocast="float32")
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0,
    weight: Tensor | None = None,
) -> Losses:  # fmt: skip
    """The mean over other classes of max(0, margin - x[target] + x[other])^p.

    Args:
        input: [n, classes], [classes] or [] for one class.
        target: [n] or [] classes.
        p: 1 or 2.
        weight: [classes] factors.
    """
    if p not in (1, 2):
        raise ArgumentError("multi_margin_loss", "p", was=p, needed="1 or 2")
    x = input if input.ndim == 2 else reshape(input, (1, -1))
    labels = reshape(target, (-1, 1))
    if input.ndim > 2 or labels.shape[0] != x.shape[0] or not x.shape[1]:
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
    return losses if target.ndim else reshape(losses, ())


@loss("multilabel_margin_loss", autocast="float32")
def multilabel_margin_loss(input: Tensor, target: Tensor) -> Losses:
    """The sum over labels and others of max(0, 1 - (x[label] - x[other])) / classes.

    Args:
        input: [n, classes], [classes] or [] for one class.
        target: the same shape: labels, which end at the first -1.
    """
    one = input.ndim < 2 and target.ndim < 2 and input.numel() == target.numel()
    if not one and (input.ndim != 2 or target.shape != input.shape):
        raise ShapeError(
            "multilabel_margin_loss", "target", was=f"of shape {tuple(target.shape)}",
            needed=f"{tuple(input.shape)}, the shape of input, [n, classes] or "
            "[classes]: inconsistent target size",
        )  # fmt: skip
    x = input if input.ndim == 2 else reshape(input, (1, -1))
    labels = reshape(target, tuple(x.shape))
    given = (labels < 0).cumsum(1) == 0  # before the first -1
    places = where(given, labels, 0)
    classes = create.arange(0, 1, x.shape[1], target._kind)
    hit = eq(unsqueeze(places, 2), classes) & unsqueeze(given, 2)
    other = ~hit.any(1)
    apart = (1 - unsqueeze(take_along(x, places, 1), 2) + unsqueeze(x, 1)).clamp(min=0)
    counted = unsqueeze(given, 2) & unsqueeze(other, 1)
    losses = where(counted, apart, 0.0).sum((1, 2)) / x.shape[1]
    return losses if input.ndim == 2 else reshape(losses, ())
