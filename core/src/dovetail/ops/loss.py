"""How far an element is from its target, each by itself; frontends reduce them."""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, NUMERIC, float32
from dovetail.engine.attributes import Scalar
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.activation import sigmoid
from dovetail.ops.elementwise import abs, clamp, neg, sign
from dovetail.ops.primitive import cast, conj, eq, exp, log, lt, maximum, where
from dovetail.ops.transcendental import log1p

Array = np.ndarray[Any, Any]
Pair = tuple[Any, Any]


@op(sums=True, accepts=NUMERIC)
def squared_error(a: Tensor, b: Tensor) -> Tensor:
    """(a - b)²."""
    d = a - b
    return d * d


@squared_error.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    ga = ct * conj((a - b) * 2)
    return ga, neg(ga) if need[1] else None


@squared_error.oracle
def _(a: Array, b: Array) -> Array:
    y: Array = (a - b) * (a - b)
    return y


@op(accepts=FLOAT)
def smooth_l1(a: Tensor, b: Tensor, beta: Scalar = 1.0) -> Tensor:
    """(a - b)² / (2 beta) up to |a - b| = beta, from there |a - b| - beta / 2.

    Girshick 2015, equation 3; beta = 0 is |a - b|.
    """
    d = abs(a - b)
    if beta == 0:
        return d
    return where(lt(d, beta), d * d * (0.5 / beta), d - 0.5 * beta)


@smooth_l1.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, beta: float, need: Any) -> Pair:
    d = a - b
    ga = ct * (sign(d) if beta == 0 else clamp(d * (1 / beta), -1, 1))
    return ga, neg(ga) if need[1] else None


@smooth_l1.oracle
def _(a: Array, b: Array, beta: float = 1.0) -> Array:
    d: Array = np.abs(a - b)
    if beta == 0:
        return d
    y: Array = np.where(d < beta, d * d / (2 * beta), d - beta / 2)
    return y


@smooth_l1.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), make(2, 3))
    yield case(make(4, 1), make(3), beta=0.5)
    yield case(make(5), make(5), beta=0.0)


@op(accepts=FLOAT, domain=(0.05, 0.95))
def binary_cross_entropy(p: Tensor, target: Tensor) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)), with logarithms of at least -100."""
    hit = maximum(log(p), -100)
    miss = maximum(log1p(neg(p)), -100)
    return (target - 1) * miss - target * hit


@binary_cross_entropy.vjp
def _(ct: Tensor, p: Tensor, target: Tensor, need: Any) -> Pair:
    gp = gt = None
    if need[0]:
        gp = _through_probability(ct, p, target)
    if need[1]:
        gt = ct * (maximum(log1p(neg(p)), -100) - maximum(log(p), -100))
    return gp, gt


def _through_probability(ct: Tensor, p: Tensor, target: Tensor) -> Tensor:
    """ct (p - t) / (p (1 - p)), whose least divisor is 0 in 16 bits."""
    if p.dtype in HALF:
        wide = (cast(x, float32) for x in (ct, p, target))
        narrowed: Tensor = cast(_through_probability(*wide), p.dtype)
        return narrowed
    share: Tensor = ct * (p - target) / maximum((1 - p) * p, 1e-12)
    return share


@binary_cross_entropy.oracle
def _(p: Array, target: Array) -> Array:
    hit, miss = np.maximum(np.log(p), -100), np.maximum(np.log1p(-p), -100)
    y: Array = -(target * hit + (1 - target) * miss)
    return y


@op(cancels=True, accepts=FLOAT)
def binary_cross_entropy_with_logits(
    x: Tensor, target: Tensor, pos_weight: Tensor | None = None
) -> Tensor:
    """binary_cross_entropy of sigmoid(x); `pos_weight` scales the part where t is 1.

    With w = 1 + (pos_weight - 1) t: (1 - t) x + w log(1 + exp(-x)).
    """
    # log(1 + exp(-x)) without overflow: log1p(exp(-|x|)) + max(-x, 0)
    rest = log1p(exp(neg(abs(x)))) + maximum(neg(x), 0)
    if pos_weight is not None:
        rest = (1 + (pos_weight - 1) * target) * rest
    return (1 - target) * x + rest


@binary_cross_entropy_with_logits.vjp
def _(
    ct: Tensor, x: Tensor, target: Tensor, pos_weight: Any, need: Any
) -> tuple[Any, Any, Any]:
    gx = gt = gw = None
    if pos_weight is None:
        gx = ct * (sigmoid(x) - target) if need[0] else None
        gt = neg(ct * x) if need[1] else None
        return gx, gt, None
    if need[0]:
        scale = 1 + (pos_weight - 1) * target
        gx = ct * (1 - target - scale * sigmoid(neg(x)))
    if need[1] or need[2]:
        rest = log1p(exp(neg(abs(x)))) + maximum(neg(x), 0)
        gt = ct * ((pos_weight - 1) * rest - x)
        gw = ct * target * rest
    return gx, gt, gw


@binary_cross_entropy_with_logits.oracle
def _(x: Array, target: Array, pos_weight: Array | None = None) -> Array:
    weight = 1.0 if pos_weight is None else pos_weight
    hit, miss = np.logaddexp(0, -x), np.logaddexp(0, x)
    return np.asarray(weight * target * hit + (1 - target) * miss)


@binary_cross_entropy_with_logits.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), make(2, 3, low=0, high=1))
    yield case(make(4, low=-60, high=60), make(4, low=0, high=1))
    yield case(make(2, 3), make(2, 3, low=0, high=1), make(3, low=0.5, high=2))
    yield case(make(), make(low=0, high=1))


@op(accepts=FLOAT, domain=(0.1, 2.0))
def kl_div(x: Tensor, target: Tensor, log_target: bool = False) -> Tensor:
    """t (log t - x) for log probabilities `x`; `log_target` says that t is one too."""
    if log_target:
        return exp(target) * (target - x)
    absent = eq(target, 0)
    safe = where(absent, 1, target)
    return where(absent, 0, safe * log(safe)) - target * x


@kl_div.oracle
def _(x: Array, target: Array, log_target: bool = False) -> Array:
    if log_target:
        y: Array = np.exp(target) * (target - x)
        return y
    safe = np.where(target == 0, 1, target)
    y = target * np.log(safe) - target * x
    return y


@kl_div.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), make(2, 3))
    yield case(make(2, 3), make(3), log_target=True)
