"""Losses as torch's own room has them, whose reductions are numbers."""

from __future__ import annotations

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.nn.functional import _loss, _margin_loss
from dovetail.nn.functional._reduction import REDUCTIONS


def _named(op: str, reduction: int) -> str:
    """The reduction of a number: none, mean or sum."""
    if not 0 <= reduction < len(REDUCTIONS):
        needed = f"0 to 2, for one of {REDUCTIONS}"
        raise ArgumentError(op, "reduction", was=reduction, needed=needed)
    return REDUCTIONS[reduction]


@public("torch.kl_div", autocast="float32")
def kl_div(
    input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    """`nn.functional.kl_div`, its reduction 0 for none, 1 for mean or 2 for sum."""
    how = _named("kl_div", reduction)
    return _loss.kl_div(input, target, reduction=how, log_target=log_target)


@public("torch.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None,
    pos_weight: Tensor | None = None, reduction: int = 1,
) -> Tensor:  # fmt: skip
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2 (sum)."""
    how = _named("binary_cross_entropy_with_logits", reduction)
    return _loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=how, pos_weight=pos_weight
    )


@public("torch.poisson_nll_loss", autocast="float32")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float,
    reduction: int,
) -> Tensor:  # fmt: skip
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2 (sum)."""
    how = _named("poisson_nll_loss", reduction)
    return _loss.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=how
    )


@public("torch.hinge_embedding_loss", autocast="float32")
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1
) -> Tensor:
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2 (sum)."""
    how = _named("hinge_embedding_loss", reduction)
    return _margin_loss.hinge_embedding_loss(input, target, margin, reduction=how)


@public("torch.margin_ranking_loss", autocast="float32")
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
    reduction: int = 1,
) -> Tensor:  # fmt: skip
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2 (sum)."""
    how = _named("margin_ranking_loss", reduction)
    return _margin_loss.margin_ranking_loss(
        input1, input2, target, margin, reduction=how
    )


@public("torch.cosine_embedding_loss", autocast="float32")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
    reduction: int = 1,
) -> Tensor:  # fmt: skip
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2 (sum)."""
    how = _named("cosine_embedding_loss", reduction)
    return _margin_loss.cosine_embedding_loss(
        input1, input2, target, margin, reduction=how
    )


@public("torch.triplet_margin_loss", autocast="float32")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0,
    p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: int = 1,
) -> Tensor:  # fmt: skip
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2 (sum)."""
    how = _named("triplet_margin_loss", reduction)
    return _margin_loss.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=how
    )
