"""Attention: a mixture of values by the likeness of queries and keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, Array, Sizes, float32, int32
from dovetail.engine import signature as sig
from dovetail.engine.arrival import summed_to
from dovetail.engine.attributes import Scalar
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.limits import finfo
from dovetail.ops.extremes import amax
from dovetail.ops.matmul import matmul
from dovetail.ops.primitive import cast, exp, iota, maximum, where
from dovetail.ops.softmax import softmax_backward, sum_along
from dovetail.ops.sums import sum_to
from dovetail.ops.view import reshape, transpose

_SCORES = sig.parse("(l,e),(s,e)->(l,s)")
_MIXED = sig.parse("(l,s),(s,v)->(l,v)")
# The oracle has all weights in memory, as many as lengths by lengths.
_LARGEST = 1 << 13


def _shape(
    q: Sizes, k: Sizes, v: Sizes, mask: Any, name: str = "attention", **_: Any
) -> Any:
    (weights,) = sig.infer(_SCORES, name, (q, k), ("q", "k"), {})
    if mask is not None:
        scores, shapes = weights[-2:], (weights, tuple(mask))
        weights = sig.broadcast(name, shapes, ("the scores", "mask"))
        if weights[-2:] != scores:
            raise ShapeError(
                name, "mask", was=f"of shape {tuple(mask)}",
                needed=f"to expand to {scores}, queries by keys",
            )  # fmt: skip
    (y,) = sig.infer(_MIXED, name, (weights, v), ("the scores", "v"), {})
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


def _mixed(q: Sizes, k: Sizes, v: Sizes, mask: Any, **_: Any) -> Any:
    return _shape(q, k, v, mask, "mixture")[0]


@op(autocast="lower", cancels=True, shape=_mixed, accepts=FLOAT, promote="equal",
    largest=_LARGEST, levels={"scale": (0.0, -1.0, 2.0)})  # fmt: skip
def mixture(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: Scalar
) -> Tensor:
    """`attention` without its weights, which need not be in memory at once.

    A kernel may make them a block of queries after the other, and backward anew
    (Rabe & Staats 2021; Dao et al. 2022).
    """
    return attention(q, k, v, mask, causal, scale)[0]


def _like_inputs(ct: Sizes, q: Sizes, k: Sizes, v: Sizes, mask: Any, **_: Any) -> Any:
    y = tuple(_shape(q, k, v, mask, "mixture_backward")[0])
    if tuple(ct) != y:
        raise ShapeError(
            "mixture_backward", "ct", was=f"of shape {tuple(ct)}", needed=str(y)
        )
    return q, k, v


def _differing(
    ct: Array, q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: float
) -> Any:
    """What the gradients are differences of: the same, all of one sign.

    What scores are sent adds up to 0 but for its roundings, which keys multiply.
    """
    _, p = attention.op.oracle(q, k, v, mask, causal, scale)  # type: ignore[misc]
    ct, q, k, v = (np.abs(x) for x in (ct, q, k, v))
    through = np.einsum("...lv,...sv->...ls", ct, v)
    scores = p * (through + (p * through).sum(-1, keepdims=True)) * abs(scale)
    return _gradients(p, scores, ct, q, k, v)


@op(cancels=_differing, shape=_like_inputs, accepts=FLOAT, promote="equal",
    domain=(-1.0, 1.0), largest=_LARGEST, outputs=("gq", "gk", "gv"),
    levels={"scale": (0.0, -1.0, 2.0)})  # fmt: skip
def mixture_backward(
    ct: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool,
    scale: Scalar,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of queries, keys and values of `mixture`."""
    if q._kind.dtype in HALF:  # where the body itself is recorded
        wide = [x if x is None else cast(x, float32) for x in (ct, q, k, v, mask)]
        found = mixture_backward(*wide, causal, scale)
        gq, gk, gv = (cast(g, q._kind.dtype) for g in found)
        return gq, gk, gv
    _, weights = attention(q, k, v, mask, causal, scale)
    gv = _to(matmul(transpose(weights, -2, -1), ct), v)
    through = _to(matmul(ct, transpose(v, -2, -1)), weights)
    scores = softmax_backward(through, weights, -1) * scale
    gk = _to(matmul(transpose(scores, -2, -1), q), k)
    return _to(matmul(scores, k), q), gk, gv


@mixture.vjp
def _(
    ct: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, need: Any,
    causal: bool, scale: float,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    gq = gk = gv = gm = None
    if need[0] or need[1] or need[2]:
        gq, gk, gv = mixture_backward(ct, q, k, v, mask, causal, scale)
    if need[3] and mask is not None:
        _, weights = attention(q, k, v, mask, causal, scale)
        through = _to(matmul(ct, transpose(v, -2, -1)), weights)
        gm = _to(softmax_backward(through, weights, -1), mask)
    return gq, gk, gv, gm


def _to(g: Tensor, x: Tensor) -> Tensor:
    shape = tuple(x._a.shape)
    return g if tuple(g._a.shape) == shape else summed_to(g, shape)


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
def _cases(make: Any) -> Any:
    yield case(make(2, 3), make(4, 3), make(4, 5), None, False, 0.5)
    yield case(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), None, True, 0.5)
    yield case(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), make(3, 3), False, 1.0)
    yield case(make(2, 1, 3, 2), make(4, 2), make(3, 4, 2), make(4), True, 1.0)
    yield case(make(2, 1, 3, 2), make(1, 4, 2), make(4, 2), make(5, 1, 4), False, 1.0)


@mixture.oracle
def _(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: float) -> Any:
    return attention.op.oracle(q, k, v, mask, causal, scale)[0]  # type: ignore[misc]


@mixture_backward.oracle
def _(
    ct: Array, q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: float
) -> Any:
    _, p = attention.op.oracle(q, k, v, mask, causal, scale)  # type: ignore[misc]
    through = np.einsum("...lv,...sv->...ls", ct, v)
    scores = p * (through - (p * through).sum(-1, keepdims=True)) * scale
    return _gradients(p, scores, ct, q, k, v)


def _gradients(
    p: Array, scores: Array, ct: Array, q: Array, k: Array, v: Array
) -> tuple[Array, ...]:
    """Of weights and of what scores are sent, by NumPy."""
    gq = np.einsum("...ls,...se->...le", scores, k)
    gk = np.einsum("...ls,...le->...se", scores, q)
    gv = np.einsum("...ls,...lv->...sv", p, ct)
    return tuple(_summed(g, x.shape) for g, x in ((gq, q), (gk, k), (gv, v)))


def _summed(g: Array, shape: Sizes) -> Array:
    g = np.broadcast_to(g, np.broadcast_shapes(g.shape, shape))
    g = g.sum(tuple(range(g.ndim - len(shape))))
    y: Array = g.sum(tuple(d for d, n in enumerate(shape) if n == 1), keepdims=True)
    return y


@mixture.cases
def _(make: Any) -> Any:
    yield from _cases(make)


@mixture_backward.cases
def _(make: Any) -> Any:
    for each in _cases(make):
        y, _ = _shapes_of(*each.args[:4])
        yield case(make(*y), *each.args)


def _shapes_of(q: Array, k: Array, v: Array, mask: Any) -> tuple[Sizes, Sizes]:
    """The shapes of attention's results."""
    whole = None if mask is None else mask.shape
    found: tuple[Sizes, Sizes] = _shape(q.shape, k.shape, v.shape, whole)
    return found
