"""torch's names for softmax, distances and attention; losses and norms beside them."""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

import math
from typing import Any, Final

from dovetail import dtypes
from dovetail.dtypes import DType
from dovetail.engine.signature import broadcast
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend import norm  # noqa: F401
from dovetail.frontend.export import NAMES, torch_name
from dovetail.ops import create
from dovetail.ops import softmax as s
from dovetail.ops.attention import attention
from dovetail.ops.primitive import cast, eq, where
from dovetail.ops.view import expand, reshape, unsqueeze

_PLAIN: Final[dict[str, Any]] = {"method": False, "out": False}


def _cast(input: Tensor, dtype: DType | None) -> Tensor:
    return input if dtype is None or input.dtype is dtype else cast(input, dtype)


@torch_name()
def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Exponentials along `dim`, scaled to sum to one; `dtype` is cast to first."""
    y: Tensor = s.softmax(_cast(input, dtype), dim)
    return y


@torch_name()
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax, without its rounding."""
    y: Tensor = s.log_softmax(_cast(input, dtype), dim)
    return y


@torch_name("softmin", **_PLAIN)
def softmin(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """softmax of the negated input."""
    return softmax(-input, dim, dtype)


# ---- distances


@torch_name("cosine_similarity", **_PLAIN)
def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8
) -> Tensor:
    """The cosine between vectors along `dim`, their norms taken as at least `eps`."""
    shape = broadcast(
        "cosine_similarity", (tuple(x1.shape), tuple(x2.shape)), ("x1", "x2")
    )
    x1, x2 = expand(x1, shape), expand(x2, shape)
    n1 = _at_least(_norm(x1, 2.0, dim, True), eps)
    n2 = _at_least(_norm(x2, 2.0, dim, True), eps)
    y: Tensor = ((x1 / n1) * (x2 / n2)).sum(dim)
    return y


@torch_name("pairwise_distance", **_PLAIN)
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The `p` norm of x1 - x2 + eps over the last dim."""
    return _norm(x1 - x2 + eps, p, -1, keepdim)


@torch_name(method=False, out=False)
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:  # fmt: skip
    """The `p` norm distance of each row of `x1` to each row of `x2`."""
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            "cdist", "x1 and x2",
            was=f"of shapes {tuple(x1.shape)} and {tuple(x2.shape)}",
            needed="at least two dims, the last of one size",
        )  # fmt: skip
    if p < 0:
        raise ArgumentError("cdist", "p", was=p, needed="a non-negative p value")
    return _norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p, -1, False)


def _norm(x: Tensor, p: float, dim: int, keepdim: bool) -> Tensor:
    """The `p` norm along a dim, whose gradient at zero is zero."""
    if p == 0:
        counted = where(eq(x, 0), create.filled(x, 0), create.filled(x, 1))
        y: Tensor = counted.sum(dim, keepdim)
        return y
    if p == math.inf:
        y = x.abs().amax(dim, keepdim)
        return y
    if p == 1:
        y = x.abs().sum(dim, keepdim)
        return y
    total = (x * x if p == 2 else x.abs() ** p).sum(dim, keepdim)
    zero = eq(total, 0)
    root = where(zero, 1.0, total)
    root = root.sqrt() if p == 2 else root ** (1 / p)
    found: Tensor = where(zero, 0.0, root)
    return found


def _at_least(x: Tensor, low: float) -> Tensor:
    y: Tensor = x.clamp(min=low)
    return y


# ---- attention


@torch_name("scaled_dot_product_attention", **_PLAIN)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(scale query keyᵀ + mask) value (Vaswani et al. 2017).

    Args:
        attn_mask: added to the scores; if bool, False hides a key from a query.
        dropout_p: the probability with which a weight is zeroed.
        is_causal: hides the keys after a query's own place.
        scale: 1 / sqrt of the query's width unless given.
        enable_gqa: each head of keys and values serves several of queries.
    """
    _check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = _shared(query, key), _shared(query, value)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    mask = None if attn_mask is None else _as_scores(attn_mask, query)
    y, weights = attention(query, key, value, mask, is_causal, scale)
    if dropout_p > 0.0:
        weights = NAMES["dropout"](weights, dropout_p, True)
        found: Tensor = weights @ value
        return found
    result: Tensor = y
    return result


def _check_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool
) -> None:
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2:
            raise ShapeError(
                "scaled_dot_product_attention", name, was=f"{x.ndim}-dimensional",
                needed="at least 2 dims: [..., length, width]",
            )  # fmt: skip
    if mask is not None and causal:
        raise ArgumentError(
            "scaled_dot_product_attention", "attn_mask", was="given with is_causal",
            needed="one of the two: Explicit attn_mask should not be set when "
            "is_causal=True",
        )  # fmt: skip


def _as_scores(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as numbers to add: minus infinity where it is False."""
    if mask.dtype is not dtypes.bool_:
        return mask
    zeros = create.full(tuple(mask.shape), 0, like._kind)
    scores: Tensor = where(mask, zeros, -math.inf)
    return scores


def _shared(query: Tensor, x: Tensor) -> Tensor:
    """Heads (dim -3) repeated so that there is one for each of the query's."""
    heads, own = query.shape[-3], x.shape[-3]
    if own == 0 or heads % own:
        raise ShapeError(
            "scaled_dot_product_attention", "heads", was=f"{own} for {heads} queries",
            needed="a divisor of the number of query heads",
        )  # fmt: skip
    *lead, _, length, width = x.shape
    wide = expand(unsqueeze(x, -3), (*lead, own, heads // own, length, width))
    return reshape(wide, (*lead, heads, length, width))
