"""How far each element is from its target; `nn.functional` reduces these."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, NUMERIC, Array, float32
from dovetail.engine.attributes import NonNegative
from dovetail.engine.cases import values
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.ops.activation import sigmoid
from dovetail.ops.bounds import clamp
from dovetail.ops.elementwise import abs, sign
from dovetail.ops.primitive import cast, conj, exp, log, maximum, where
from dovetail.ops.transcendental import log1p


@op(autocast="float32", sums=True, accepts=NUMERIC,
    oracle=lambda input, target: (input - target) * (input - target),
    grad={
        "input": lambda ct, input, target: ct * conj((input - target) * 2),
        "target": lambda ct, input, target: ct * conj((target - input) * 2),
    })  # fmt: skip
def squared_error(input: Tensor, target: Tensor) -> Tensor:
    """(input - target)²."""
    d = input - target
    return d * d


@op(autocast="float32", accepts=FLOAT,
    cases=lambda _: [([2, 3], [2, 3]), ([4, 1], [3], 0.5), ([5], [5], 0.0)],
    grad={
        "input": lambda ct, input, target, beta: (
            ct * _smooth_l1_slope(input - target, beta)),
        "target": lambda ct, input, target, beta: (
            ct * _smooth_l1_slope(target - input, beta)),
    })  # fmt: skip
def smooth_l1_loss(input: Tensor, target: Tensor, beta: NonNegative = 1.0) -> Tensor:
    """d² / (2 beta) up to d = |input - target| = beta, from there d - beta / 2.

    Girshick 2015, arXiv:1504.08083, equation 3; beta = 0 is d.
    """
    d = abs(input - target)
    if beta == 0:
        return d
    return where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta)


def _smooth_l1_slope(d: Tensor, beta: float) -> Tensor:
    return sign(d) if beta == 0 else clamp(d * (1 / beta), -1, 1)


@smooth_l1_loss.oracle
def _(input: Array, target: Array, beta: float = 1.0) -> Array:
    d: Array = np.abs(input - target)
    if beta == 0:
        return d
    return np.where(d < beta, d * d / (2 * beta), d - beta / 2)


def _surprise(m: Any, input: Any, target: Any) -> Any:
    """The truth in the arithmetic `m`."""
    hit, miss = np.maximum(m.log(input), -100), np.maximum(m.log1p(-input), -100)
    return -(target * hit + (1 - target) * miss)


@op(autocast="float32", accepts=FLOAT, domain=(0.05, 0.95), oracle=exact(_surprise))
def binary_cross_entropy(input: Tensor, target: Tensor) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)), with logarithms of at least -100."""
    return (target - 1) * _log_missed(input) - target * _log_hit(input)


def _log_hit(p: Tensor) -> Tensor:
    return maximum(log(p), -100)


def _log_missed(p: Tensor) -> Tensor:
    return maximum(log1p(-p), -100)


def _through_probability(ct: Tensor, input: Tensor, target: Tensor) -> Tensor:
    """ct (p - t) / (p (1 - p)), whose least divisor is 0 in 16 bits."""
    if input.dtype in HALF:
        wide = (cast(x, float32) for x in (ct, input, target))
        return cast(_through_probability(*wide), input.dtype)
    share: Tensor = ct * (input - target) / maximum((1 - input) * input, 1e-12)
    return share


binary_cross_entropy.grad(
    input=_through_probability,
    target=lambda ct, input: ct * (_log_missed(input) - _log_hit(input)),
)


def _surprise_of_logits(m: Any, input: Any, target: Any, pos_weight: Any = 1) -> Any:
    """The truth in the arithmetic `m`: log(1 + exp(±x)) without overflow."""
    rest = m.log1p(m.exp(-np.abs(input)))
    hit, miss = rest + np.maximum(-input, 0), rest + np.maximum(input, 0)
    weight = 1 if pos_weight is None else pos_weight
    return weight * target * hit + (1 - target) * miss


def _through_logit(ct: Tensor, input: Tensor, target: Tensor, pos_weight: Any) -> Any:
    if pos_weight is None:
        return ct * (sigmoid(input) - target)
    scale = 1 + (pos_weight - 1) * target
    return ct * (1 - target - scale * sigmoid(-input))


def _through_label(ct: Tensor, input: Tensor, pos_weight: Any) -> Any:
    if pos_weight is None:
        return -(ct * input)
    return ct * ((pos_weight - 1) * _softplus_of_negative(input) - input)


@op(autocast="float32", cancels=True, accepts=FLOAT, oracle=exact(_surprise_of_logits),
    cases=lambda _: [
        ([2, 3], values(2, 3, low=0, high=1)),
        (values(4, low=-60, high=60), values(4, low=0, high=1)),
        ([2, 3], values(2, 3, low=0, high=1), values(3, low=0.5, high=2)),
        ([], values(low=0, high=1)),
    ],
    grad={
        "input": _through_logit,
        "target": _through_label,
        "pos_weight": lambda ct, input, target: (
            ct * target * _softplus_of_negative(input)),
    })  # fmt: skip
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, pos_weight: Tensor | None = None
) -> Tensor:
    """binary_cross_entropy of sigmoid(x); `pos_weight` scales the part where t is 1.

    With w = 1 + (pos_weight - 1) t: (1 - t) x + w log(1 + exp(-x)).
    """
    rest = _softplus_of_negative(input)
    if pos_weight is not None:
        rest = (1 + (pos_weight - 1) * target) * rest
    return (1 - target) * input + rest


def _softplus_of_negative(x: Tensor) -> Tensor:
    """log(1 + exp(-x)), without overflow."""
    return log1p(exp(-abs(x))) + maximum(-x, 0)


def _divergence(m: Any, input: Any, target: Any, log_target: bool = False) -> Any:
    """The truth in the arithmetic `m`."""
    if log_target:
        return m.exp(target) * (target - input)
    return target * m.log(np.where(target == 0, 1, target)) - target * input


@op(autocast="float32", accepts=FLOAT, domain=(0.1, 2.0), oracle=exact(_divergence),
    cases=lambda _: [([2, 3], [2, 3]), ([2, 3], [3], True)])  # fmt: skip
def kl_div(input: Tensor, target: Tensor, log_target: bool = False) -> Tensor:
    """t (log t - input), input being log probabilities, and with `log_target` t too."""
    if log_target:
        return exp(target) * (target - input)
    absent = target == 0
    safe = where(absent, 1, target)
    return where(absent, 0, safe * log(safe)) - target * input
