"""Attention whose scores a function of the user's changes, and masks by blocks.

Scores and masks are computed whole, by `vmap` of the functions: what they say is right,
and takes the memory of all weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.nn.functional._attention import shared_heads

from .block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE,  # noqa: F401  programs import it
    BlockMask,
    and_masks,
    by_places,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    places,
)

# Of a score and the indices of batch, head, query and key: the score to take.
ScoreMod = Callable[[Any, Any, Any, Any, Any], Any]


class AuxRequest(NamedTuple):
    """What else is asked for: the logarithms of sums, the greatest scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What else was asked for; None where it was not."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None,
    enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None,
    *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """softmax(score_mod(scale query keyᵀ)) value (Dong et al. 2024, arXiv:2412.05496).

    Args:
        query: [batch, heads, length, width]; key and value alike, of their own length.
        score_mod: changes a score, by its place.
        block_mask: which keys are seen; a query that sees none gives zeros.
        scale: 1 / sqrt of the query's width unless given.
        enable_gqa: each head of keys and values serves several of queries.
        kernel_options: taken as torch takes them, and without effect.
        return_aux: gives what is asked for as well.

    Examples:
        >>> from dovetail.nn.attention.flex_attention import flex_attention
        >>> q = torch.randn(1, 2, 4, 8)
        >>> flex_attention(q, q, q, lambda s, b, h, i, j: s - (i - j).abs()).shape
        dovetail.Size([1, 2, 4, 8])
    """
    _check(query, key, value, enable_gqa)
    if enable_gqa:
        key, value = shared_heads(query, key), shared_heads(query, value)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    scores = (query @ key.mT) * scale
    shape = tuple(scores.shape)
    if score_mod is not None:
        scores = by_places(score_mod, 1)(scores, *places(shape, query.device))
    if block_mask is not None:
        scores = ft.where(block_mask.seen(shape), scores, -math.inf)
    greatest = scores.amax(-1, keepdim=True)
    nothing = greatest == -math.inf
    weights = ft.exp(scores - ft.where(nothing, 0.0, greatest).detach())
    total = weights.sum(-1, keepdim=True)
    result = (weights / ft.where(nothing, 1.0, total)).to(value.dtype) @ value
    if return_aux is None and not return_lse:
        return result
    lse = (ft.log(total) + ft.where(nothing, 0.0, greatest)).squeeze(-1)
    if return_aux is None:
        return result, lse
    most = greatest.squeeze(-1)
    return result, AuxOutput(
        lse if return_aux.lse else None, most if return_aux.max_scores else None
    )


def _check(query: Tensor, key: Tensor, value: Tensor, grouped: bool) -> None:
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim != 4:
            raise ShapeError(
                "flex_attention", name, was=f"{x.ndim}-dimensional",
                needed="[batch, heads, length, width]",
            )  # fmt: skip
        if x.dtype != query.dtype:
            raise ArgumentError(
                "flex_attention", name, was=x.dtype, needed=f"the query's {query.dtype}"
            )
    if not grouped and query.shape[1] != key.shape[1]:
        raise ShapeError(
            "flex_attention", "heads", was=f"{key.shape[1]} for {query.shape[1]}",
            needed="as many as the query's", remedy="enable_gqa=True",
        )  # fmt: skip


__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask",
    "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip
