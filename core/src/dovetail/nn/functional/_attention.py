"""Attention under torch's name and signature."""

from __future__ import annotations

import math
from typing import Final

from dovetail import dtypes
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend.dropout import dropped
from dovetail.frontend.random_mask import probability
from dovetail.nn.functional._attention_choice import keeps_weights
from dovetail.ops import create
from dovetail.ops.attention import attention, mixture
from dovetail.ops.primitive import where
from dovetail.ops.view import expand, reshape, unsqueeze

_FEW: Final = 1 << 13
"""Weights that are kept for backward, which else makes them anew."""


@public("F.scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(scale query keyᵀ + mask) value (Vaswani et al. 2017).

    Args:
        attn_mask: added to the scores; if bool, False hides a key from a query.
        dropout_p: the probability with which a weight is zeroed.
        is_causal: hides the keys after a query's own place; beside a mask only of
            4-dimensional operands without dropout.
        scale: 1 / sqrt of the query's width unless given.
        enable_gqa: each head of keys and values serves several of queries.

    >>> q, k, v = torch.randn(3, 2, 4, 5, 8).unbind()
    >>> F.scaled_dot_product_attention(q, k, v, is_causal=True).shape
    dovetail.Size([2, 4, 5, 8])
    """
    _check_attention(query, key, value, attn_mask, is_causal, dropout_p)
    if enable_gqa:
        key, value = shared_heads(query, key), shared_heads(query, value)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    mask = None if attn_mask is None else _as_scores(attn_mask, query)
    few = query.numel() * key.shape[-2] <= _FEW * query.shape[-1]
    if not keeps_weights(few, dropout_p > 0.0):
        return mixture(query, key, value, mask, is_causal, scale)
    if dropout_p > 0.0:
        p = probability("scaled_dot_product_attention", dropout_p)
        _, weights = attention(query, key, value, mask, is_causal, scale)
        return dropped(weights, p) @ value
    return attention(query, key, value, mask, is_causal, scale)[0]


def _check_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool,
    dropout_p: float,
) -> None:  # fmt: skip
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2:
            raise ShapeError(
                "scaled_dot_product_attention", name, was=f"{x.ndim}-dimensional",
                needed="at least 2 dims: [..., length, width]",
            )  # fmt: skip
    if mask is None or not causal:
        return
    # Where torch has kernels of its own for the CPU it takes both, and refuses else.
    if query.ndim != 4 or dropout_p > 0.0 or mask.requires_grad:
        raise ArgumentError(
            "scaled_dot_product_attention", "attn_mask", was="given with is_causal",
            needed="one of the two, but for 4-dimensional operands without dropout and "
            "a mask without gradients: Explicit attn_mask should not be set when "
            "is_causal=True",
        )  # fmt: skip


def _as_scores(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as numbers to add: minus infinity where it is False."""
    if mask.dtype is not dtypes.bool_:
        return mask
    zeros = create.full(tuple(mask.shape), 0, like._kind)
    return where(mask, zeros, -math.inf)


def shared_heads(query: Tensor, x: Tensor) -> Tensor:
    """Heads (dim -3) repeated so that there is one for each of the query's."""
    if query.ndim < 3 or x.ndim < 3:
        raise ShapeError(
            "scaled_dot_product_attention", "heads", was="missing",
            needed="at least 3 dims with enable_gqa: [..., heads, length, width]",
        )  # fmt: skip
    heads, own = query.shape[-3], x.shape[-3]
    if own == 0 or heads % own:
        raise ShapeError(
            "scaled_dot_product_attention", "heads", was=f"{own} for {heads} queries",
            needed="a divisor of the number of query heads",
        )  # fmt: skip
    *lead, _, length, width = x.shape
    wide = expand(unsqueeze(x, -3), (*lead, own, heads // own, length, width))
    return reshape(wide, (*lead, heads, length, width))
