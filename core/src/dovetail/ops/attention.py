"""Attention: a mixture of values by the likeness of queries and keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, Array, Sizes, int32
from dovetail.engine import signature as sig
from dovetail.engine.attributes import Scalar
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.limits import finfo
from dovetail.ops.extremes import amax
from dovetail.ops.matmul import matmul
from dovetail.ops.primitive import exp, iota, maximum, where
from dovetail.ops.softmax import softmax_backward, sum_along
from dovetail.ops.sums import sum_to
from dovetail.ops.view import reshape, transpose

_SCORES = sig.parse("(l,e),(s,e)->(l,s)")
_MIXED = sig.parse("(l,s),(s,v)->(l,v)")


def _shape(q: Sizes, k: Sizes, v: Sizes, mask: Any, **_: Any) -> Any:
    (weights,) = sig.infer(_SCORES, "attention", (q, k), ("q", "k"), {})
    if mask is not None:
        shapes = (weights, tuple(mask))
        weights = sig.broadcast("attention", shapes, ("the scores", "mask"))
    (y,) = sig.infer(_MIXED, "attention", (weights, v), ("the scores", "v"), {})
    return y, weights


@op(autocast="lower", cancels=True, shape=_shape, accepts=FLOAT, promote="equal",
    outputs=("y", "weights"), levels={"scale": (0.0, -1.0, 2.0)})  # fmt: skip
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: Scalar
) -> tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ + mask) v, and these weights (Vaswani et al. 2017).

    `causal` hides the keys after a query's own place. A query from which every key is
    hidden gets zeros.
    """
    scores = matmul(q * scale, transpose(k, -2, -1))
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = where(_later(scores), -float("inf"), scores)
    weights = _weights(scores)
    return matmul(weights, v), weights


def _later(scores: Tensor) -> Tensor:
    """True where a key comes after the query."""
    rows, columns = scores._a.shape[-2:]
    whole = scores._kind.with_dtype(int32)
    return reshape(iota(rows, whole), (rows, 1)) < iota(columns, whole)


def _weights(scores: Tensor) -> Tensor:
    """softmax over the last dim, with zeros where all is -inf."""
    if 0 in scores._a.shape:
        return scores
    last = scores.ndim - 1
    top = amax(scores, last, True)
    e = exp(scores - maximum(top, finfo(scores.dtype).min))
    total = sum_along(e, last)
    return e / where(total == 0, 1, total)


@attention.vjp
def _(
    ct: Any, q: Tensor, k: Tensor, v: Tensor, mask_shape: Any, weights: Tensor,
    need: Any, scale: float,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    ct_y, ct_weights = ct
    gq = gk = gv = gm = None
    if ct_y is not None:
        if need[2]:
            gv = _to(matmul(transpose(weights, -2, -1), ct_y), v)
        through = _to(matmul(ct_y, transpose(v, -2, -1)), weights)
        ct_weights = through if ct_weights is None else ct_weights + through
    if ct_weights is None or not (need[0] or need[1] or need[3]):
        return None, None, gv, None
    scores = softmax_backward(ct_weights, weights, -1)
    if need[3]:
        gm = sum_to(scores, mask_shape)
    scores = scores * scale
    if need[0]:
        gq = _to(matmul(scores, k), q)
    if need[1]:
        gk = _to(matmul(transpose(scores, -2, -1), q), k)
    return gq, gk, gv, gm


def _to(g: Tensor, x: Tensor) -> Tensor:
    shape = tuple(x._a.shape)
    return g if tuple(g._a.shape) == shape else sum_to(g, shape)


@attention.oracle
def _(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: float) -> Any:
    scores = np.einsum("...le,...se->...ls", q * scale, k)
    scores = scores + (0 if mask is None else mask)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    top = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    scores = scores - np.where(top == -np.inf, 0, top)
    e = exact("exp")(scores)
    weights = e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300)
    return np.einsum("...ls,...sv->...lv", weights, v), weights


@attention.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), make(4, 3), make(4, 5), None, False, 0.5)
    qkv = (make(2, 3, 4), make(2, 3, 4), make(2, 3, 4))
    yield case(*qkv, None, True, 0.5)
    yield case(*qkv, make(3, 3), False, 1.0)
    yield case(make(2, 1, 3, 2), make(4, 2), make(3, 4, 2), make(4), True, 1.0)
    yield case(make(2, 1, 3, 2), make(1, 4, 2), make(4, 2), make(5, 1, 4), False, 1.0)
