"""Attention by several heads at once (Vaswani et al. 2017, arXiv:1706.03762)."""

from __future__ import annotations

import math
from typing import Any

from dovetail import dtypes
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.nn.functional._attention import scaled_dot_product_attention
from dovetail.ops.create import full
from dovetail.ops.matmul import linear
from dovetail.ops.shape import cat
from dovetail.ops.softmax import softmax

_OP = "MultiheadAttention"


@public("F.multi_head_attention_forward")
def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int,
    num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None,
    bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool,
    dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None,
    training: bool = True, key_padding_mask: Tensor | None = None,
    need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """What `nn.MultiheadAttention` does with its weights.

    Args:
        query: [l, n, embed_dim] or [l, embed_dim]; key and value [s, n, width].
        embed_dim_to_check: width of queries and results.
        in_proj_weight: [3 * embed_dim, embed_dim], for all three; with
            `use_separate_proj_weight`, `q_proj_weight` and the others instead.
        bias_k, bias_v: [1, 1, embed_dim], a key and a value that are appended.
        add_zero_attn: zeros are appended to both.
        key_padding_mask: [n, s], True (or minus infinity) for keys to ignore.
        attn_mask: [l, s] or [n * num_heads, l, s], True where a query may not look.
        static_k, static_v: [n * num_heads, s, width of a head], in place of keys and
            values.
        average_attn_weights: weights are averaged over heads.
        is_causal: says that attn_mask is the causal one; it has to be given.

    Returns: [l, n, embed_dim], and weights [n, l, s] if they are needed.
    """
    _check(query, key, value, embed_dim_to_check, num_heads, is_causal, attn_mask)
    batched = query.ndim == 3
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    weights_of = (
        (q_proj_weight, k_proj_weight, v_proj_weight)
        if use_separate_proj_weight or in_proj_weight is None
        else in_proj_weight.chunk(3)
    )
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    inputs = (x.transpose(0, 1) for x in (query, key, value))
    q, k, v = (
        linear(x, w, b) for x, w, b in zip(inputs, weights_of, biases, strict=True)
    )
    mask = _mask(q, k, key_padding_mask, attn_mask, num_heads)
    k, v, mask = _extended(k, v, mask, bias_k, bias_v, add_zero_attn)
    q, k, v = (_by_head(x, num_heads) for x in (q, k, v))
    k = k if static_k is None else static_k.unflatten(0, (-1, num_heads))
    v = v if static_v is None else static_v.unflatten(0, (-1, num_heads))
    p = dropout_p if training else 0.0
    mixed, weights = _mixed(q, k, v, mask, p, need_weights)
    y = linear(mixed.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if batched:
        return y, weights
    return y.squeeze(1), None if weights is None else weights.squeeze(0)


def _check(
    query: Tensor, key: Tensor, value: Tensor, width: int, heads: int, causal: bool,
    attn_mask: Tensor | None,
) -> None:  # fmt: skip
    if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
        raise ShapeError(
            _OP, "query",
            was=f"{query.ndim}-dimensional, key and value {key.ndim} and {value.ndim}",
            needed="3 dimensions (batched) or 2 (unbatched) of all three",
        )  # fmt: skip
    if query.shape[-1] != width or width % heads:
        raise ShapeError(
            _OP, "query", was=f"of width {query.shape[-1]}",
            needed=f"embed_dim={width}, which num_heads={heads} divides",
        )  # fmt: skip
    if causal and attn_mask is None:
        raise ArgumentError(
            _OP, "attn_mask", was="None with is_causal=True",
            needed="the causal mask, of which is_causal only says what it is",
        )  # fmt: skip


def _by_head(x: Tensor, heads: int) -> Tensor:
    """[n, length, embed_dim] to [n, heads, length, width of one]."""
    parts: Tensor = x.unflatten(-1, (heads, -1))
    return parts.transpose(1, 2)


def _mask(
    q: Tensor, k: Tensor, padding: Tensor | None, attn_mask: Tensor | None, heads: int
) -> Tensor | None:
    """Both masks as numbers to add to the scores [n, heads, l, s]."""
    total = None
    if attn_mask is not None:
        total = _as_scores(attn_mask, q)
        if total.ndim == 3:
            total = total.unflatten(0, (q.shape[0], heads))
    if padding is not None:
        if tuple(padding.shape) != (k.shape[0], k.shape[1]):
            raise ShapeError(
                _OP, "key_padding_mask", was=tuple(padding.shape),
                needed=f"{(k.shape[0], k.shape[1])}: batch and keys",
            )  # fmt: skip
        scores = _as_scores(padding, q).unsqueeze(1).unsqueeze(1)
        total = scores if total is None else total + scores
    return total


def _as_scores(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as numbers to add: minus infinity where it is True."""
    if mask.dtype is not dtypes.bool_:
        return mask
    zeros = full(tuple(mask.shape), 0, like._kind)
    return zeros.masked_fill(mask, -math.inf)


def _extended(
    k: Tensor, v: Tensor, mask: Tensor | None, bias_k: Tensor | None,
    bias_v: Tensor | None, add_zero: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:  # fmt: skip
    """Keys and values with those appended that are no input."""
    extras: list[Any] = []
    if bias_k is not None and bias_v is not None:
        extras.append((bias_k, bias_v))
    if add_zero:
        extras.append((full((1, 1, k.shape[2]), 0, k._kind),) * 2)
    for extra_k, extra_v in extras:
        k = cat([k, extra_k.expand(k.shape[0], 1, -1)], 1)
        v = cat([v, extra_v.expand(v.shape[0], 1, -1)], 1)
        mask = None if mask is None else NAMESPACES["F"]["pad"](mask, (0, 1))
    return k, v, mask


def _mixed(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Values by the likeness of queries and keys; the weights only if needed."""
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, p), None
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores if mask is None else scores + mask
    weights = NAMESPACES["F"]["dropout"](softmax(scores, -1), p)
    return weights @ v, weights
