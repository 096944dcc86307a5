"""Activations, with gradients that keep one tensor and are cheap."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail.dtypes import FLOAT, INEXACT, REAL
from dovetail.engine.attributes import Scalar
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.compare import ge, le
from dovetail.ops.elementwise import abs, clamp, minimum, neg, square
from dovetail.ops.primitive import bitwise_and, conj, exp, log, lt, maximum, where
from dovetail.ops.special import erfc
from dovetail.ops.transcendental import expm1, log1p, tanh

Array = np.ndarray[Any, Any]
Pair = tuple[Any, Any]
_SQRT_HALF: Final = math.sqrt(0.5)
_TANH_SCALE: Final = math.sqrt(2 / math.pi)
_TANH_CUBE: Final = 0.044715


# ---- relu


@op(accepts=REAL, exact=True, out=False, torch="relu relu_ F.relu_",
    oracle=lambda x: np.where(x <= 0, 0, x).astype(x.dtype))  # fmt: skip
def relu(input: Tensor) -> Tensor:
    """The greater of `input` and 0; NaN stays."""
    return maximum(input, 0)


relu.grad(
    input=lambda ct, y: where(le(y, 0), 0, ct),
    backward=True,
    oracle=lambda ct, y: np.where(y <= 0, 0, ct),
)


@op(accepts=FLOAT)
def leaky_relu(x: Tensor, negative_slope: Scalar = 0.01) -> Tensor:
    """`x`, times `negative_slope` below zero (Maas et al. 2013)."""
    return where(lt(0, x), x, x * negative_slope)


@leaky_relu.vjp
def _(ct: Tensor, x: Tensor, negative_slope: Any) -> Tensor:
    return where(lt(0, x), ct, ct * negative_slope)


@leaky_relu.oracle
def _(x: Array, negative_slope: Any = 0.01) -> Array:
    return np.where(x > 0, x, x * negative_slope)


@op(accepts=FLOAT)
def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """`x`, times `weight` below zero; both broadcast (He et al. 2015)."""
    return where(lt(0, x), x, x * weight)


@prelu.vjp
def _(ct: Tensor, x: Tensor, weight: Tensor, need: Any) -> Pair:
    positive = lt(0, x)
    gx = where(positive, ct, ct * weight) if need[0] else None
    return gx, where(positive, 0, ct * x) if need[1] else None


@prelu.oracle
def _(x: Array, weight: Array) -> Array:
    return np.where(x > 0, x, x * weight)


@op(accepts=FLOAT)
def elu(
    x: Tensor, alpha: Scalar = 1.0, scale: Scalar = 1.0, input_scale: Scalar = 1.0
) -> Tensor:
    """`scale * x`, and `scale * alpha * expm1(input_scale * x)` below zero.

    ELU (Clevert et al. 2015), SELU (Klambauer et al. 2017) and CELU (Barron 2017).
    """
    below = expm1(minimum(x, 0) * input_scale) * (alpha * scale)
    return where(lt(0, x), x * scale, below)


@elu.vjp
def _(ct: Tensor, x: Tensor, alpha: Any, scale: Any, input_scale: Any) -> Tensor:
    slope = exp(minimum(x, 0) * input_scale) * (alpha * scale * input_scale)
    return ct * where(lt(0, x), scale, slope)


@elu.oracle
def _(x: Array, alpha: Any = 1.0, scale: Any = 1.0, input_scale: Any = 1.0) -> Array:
    below = scale * alpha * np.expm1(np.minimum(x, 0) * input_scale)
    y: Array = np.where(x > 0, scale * x, below)
    return y


# ---- sigmoid and its kin


@op(accepts=INEXACT, promote="float")
def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), without overflow."""
    if x.dtype.is_complex:
        return 1 / (1 + exp(neg(x)))
    e = exp(neg(abs(x)))
    return where(lt(x, 0), e, 1) / (1 + e)


@sigmoid.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    return sigmoid_grad(ct, y)


@sigmoid.oracle
def _(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@op(accepts=INEXACT, outputs=("gx",))
def sigmoid_grad(g: Tensor, y: Tensor) -> Tensor:
    """The gradient `g` taken through sigmoid, by its result."""
    c = conj(y)
    return g * (c - square(c))


@sigmoid_grad.vjp(g="y", y=("g", "y"))
def _(ct: Tensor, g: Any, y: Any, need: Any) -> Pair:
    first = sigmoid_grad(ct, conj(y)) if need[0] else None
    return first, conj(ct) * g * (1 - conj(y) * 2) if need[1] else None


@sigmoid_grad.oracle
def _(g: Array, y: Array) -> Array:
    found: Array = g * np.conj(y * (1 - y))
    return found


@op(accepts=FLOAT)
def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return minimum(x, 0) - log1p(exp(neg(abs(x))))


@logsigmoid.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct * sigmoid(neg(x))


@logsigmoid.oracle
def _(x: Array) -> Array:
    return -np.logaddexp(0, -x)


@op(accepts=FLOAT, promote="float", domain=(0.1, 0.9))
def logit(x: Tensor, eps: Scalar | None = None) -> Tensor:
    """log(x / (1 - x)), with `x` kept at least `eps` from 0 and 1."""
    if eps is not None:
        x = clamp(x, eps, 1 - eps)
    return log(x / (1 - x))


@logit.vjp
def _(ct: Tensor, x: Tensor, eps: Any) -> Tensor:
    g = ct / (x * (1 - x))
    if eps is None:
        return g
    return where(bitwise_and(ge(x, eps), le(x, 1 - eps)), g, 0)


@logit.oracle
def _(x: Array, eps: Any = None) -> Array:
    x = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(x) - np.log1p(-x)


@op(accepts=FLOAT)
def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x) (Hendrycks & Gimpel 2016; Elfwing et al. 2017)."""
    e = exp(neg(abs(x)))
    return where(lt(x, 0), x * e, x) / (1 + e)


@silu.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return silu_grad(ct, x)


@op(undefined_on=("wide",), accepts=FLOAT)
def silu_grad(g: Tensor, x: Tensor) -> Tensor:
    """The gradient `g` taken through silu."""
    s = sigmoid(x)
    return g * (s + x * s * (1 - s))


@silu_grad.oracle
def _(g: Array, x: Array) -> Array:
    s = 1 / (1 + np.exp(-x))
    return g * (s + x * s * (1 - s))


@silu.oracle
def _(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    y: Array = np.where(x < 0, x * e, x) / (1 + e)
    return y


@op(accepts=FLOAT)
def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x)) (Misra 2019)."""
    return x * tanh(softplus(x))


@mish.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    t = tanh(softplus(x))
    return ct * (t + x * sigmoid(x) * (1 - square(t)))


@mish.oracle
def _(x: Array) -> Array:
    return x * np.tanh(np.logaddexp(0, x))


@op(accepts=FLOAT)
def softplus(x: Tensor, beta: Scalar = 1.0, threshold: Scalar = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta, and `x` where beta x is above `threshold`."""
    z = x * beta
    y = (maximum(z, 0) + log1p(exp(neg(abs(z))))) * (1 / beta)
    return where(lt(threshold, z), x, y)


@softplus.vjp
def _(ct: Tensor, x: Tensor, beta: Any, threshold: Any) -> Tensor:
    z = x * beta
    return where(lt(threshold, z), ct, ct * sigmoid(z))


@softplus.oracle
def _(x: Array, beta: Any = 1.0, threshold: Any = 20.0) -> Array:
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


@op(accepts=FLOAT, promote="float")
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return x / (1 + abs(x))


@softsign.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / square(1 + abs(x))


@softsign.oracle
def _(x: Array) -> Array:
    y: Array = x / (1 + np.abs(x))
    return y


# ---- gelu


@op(cancels=True, accepts=FLOAT)
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function (Hendrycks & Gimpel 2016).

    `approximate="tanh"` takes tanh(sqrt(2/pi) (x + 0.044715 x³)) in place of erf.
    """
    if approximate == "tanh":
        return x * 0.5 * (1 + tanh(_inner(x)))
    return x * (erfc(x * -_SQRT_HALF) * 0.5)


def _inner(x: Tensor) -> Tensor:
    return (x + square(x) * x * _TANH_CUBE) * _TANH_SCALE


@gelu.vjp
def _(ct: Tensor, x: Tensor, approximate: str) -> Tensor:
    return gelu_grad(ct, x, approximate)


@op(cancels=True, accepts=FLOAT)
def gelu_grad(g: Tensor, x: Tensor, approximate: str = "none") -> Tensor:
    """The gradient `g` taken through gelu."""
    if approximate == "tanh":
        t = tanh(_inner(x))
        slope = (1 + square(x) * (3 * _TANH_CUBE)) * _TANH_SCALE
        return g * ((1 + t) * 0.5 + x * 0.5 * (1 - square(t)) * slope)
    density = exp(square(x) * -0.5) * (1 / math.sqrt(2 * math.pi))
    return g * (erfc(x * -_SQRT_HALF) * 0.5 + x * density)


@gelu_grad.oracle
def _(g: Array, x: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        c = math.sqrt(2 / math.pi)
        t = np.tanh(c * (x + 0.044715 * x**3))
        y: Array = g * (
            0.5 + 0.5 * t + 0.5 * x * (1 - t**2) * c * (1 + 0.134145 * x**2)
        )
        return y
    cdf = np.frompyfunc(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), 1, 1)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return g * (np.asarray(cdf(x), np.float64) + x * density)


@gelu_grad.cases
def _(make: Any) -> Any:
    for shape in ((2, 3), (), (0, 2)):
        yield case(make(*shape), make(*shape))
    yield case(make(4), make(4), approximate="tanh")


@gelu.oracle
def _(x: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        y: Array = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        return y
    cdf = np.frompyfunc(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), 1, 1)
    return x * np.asarray(cdf(x), np.float64)


# ---- piecewise linear


@op(accepts=REAL)
def hardtanh(x: Tensor, min_val: Scalar = -1.0, max_val: Scalar = 1.0) -> Tensor:
    """`x` between two bounds; the gradient at a bound is 0, unlike that of clamp."""
    return clamp(x, min_val, max_val)


@hardtanh.vjp
def _(ct: Tensor, x: Tensor, min_val: Any, max_val: Any) -> Tensor:
    return where(bitwise_and(lt(min_val, x), lt(x, max_val)), ct, 0)


@hardtanh.oracle
def _(x: Array, min_val: Any = -1.0, max_val: Any = 1.0) -> Array:
    return np.clip(x, min_val, max_val).astype(x.dtype)


@op(accepts=FLOAT)
def hardsigmoid(x: Tensor) -> Tensor:
    """x / 6 + 1 / 2 between 0 and 1 (Howard et al. 2019)."""
    return clamp(x + 3, 0, 6) * (1 / 6)


@hardsigmoid.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return where(bitwise_and(lt(-3, x), lt(x, 3)), ct * (1 / 6), 0)


@hardsigmoid.oracle
def _(x: Array) -> Array:
    y: Array = np.clip(x + 3, 0, 6) / 6
    return y


@op(accepts=FLOAT)
def hardswish(x: Tensor) -> Tensor:
    """x * hardsigmoid(x) (Howard et al. 2019)."""
    return x * clamp(x + 3, 0, 6) * (1 / 6)


@hardswish.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    middle = where(le(x, -3), 0, ct * (x * (1 / 3) + 0.5))
    return where(lt(x, 3), middle, ct)


@hardswish.oracle
def _(x: Array) -> Array:
    y: Array = x * np.clip(x + 3, 0, 6) / 6
    return y


@op(accepts=REAL)
def threshold(x: Tensor, threshold: Scalar, value: Scalar) -> Tensor:
    """`x` above the threshold, else `value`."""
    return where(le(x, threshold), value, x)


@threshold.vjp
def _(ct: Tensor, x: Tensor, threshold: Any) -> Tensor:
    return where(le(x, threshold), 0, ct)


@threshold.oracle
def _(x: Array, threshold: Any, value: Any) -> Array:
    # Both numbers are of the dtype of `x`: a negative one wraps, if that is unsigned.
    least = np.asarray(threshold).astype(x.dtype)
    return np.where(x <= least, np.asarray(value).astype(x.dtype), x)


@op(accepts=FLOAT)
def softshrink(x: Tensor, lambd: Scalar = 0.5) -> Tensor:
    """`x` moved towards zero by `lambd`, and 0 within it."""
    return where(lt(lambd, x), x - lambd, where(lt(x, -lambd), x + lambd, x * 0))


@softshrink.vjp
def _(ct: Tensor, x: Tensor, lambd: Any) -> Tensor:
    return where(le(abs(x), lambd), 0, ct)


@softshrink.oracle
def _(x: Array, lambd: Any = 0.5) -> Array:
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, 0 * x))


@op(accepts=FLOAT, exact=True)
def hardshrink(x: Tensor, lambd: Scalar = 0.5) -> Tensor:
    """`x`, and 0 where its magnitude is at most `lambd`."""
    return where(le(abs(x), lambd), 0, x)


@hardshrink.vjp
def _(ct: Tensor, x: Tensor, lambd: Any) -> Tensor:
    return where(le(abs(x), lambd), 0, ct)


@hardshrink.oracle
def _(x: Array, lambd: Any = 0.5) -> Array:
    return np.where(np.abs(x) <= lambd, 0, x)


# ---- sample calls of those that take numbers


def _cases(*calls: dict[str, Any]) -> Any:
    def cases(make: Any) -> Any:
        yield case(make(2, 3), **calls[0])
        yield case(make(), **calls[-1])
        yield case(make(0, 2), **calls[0])
        for call in calls:
            yield case(make.distinct(4, 3) + make.dtype.numpy.type(0.125), **call)

    return cases


leaky_relu.cases(_cases({}, {"negative_slope": 0.25}))
elu.cases(_cases({}, {"alpha": 1.5, "scale": 0.5, "input_scale": 2.0}))
softplus.cases(_cases({}, {"beta": 2.0, "threshold": 1.0}))
gelu.cases(_cases({}, {"approximate": "tanh"}))
softshrink.cases(_cases({}, {"lambd": 1.0}))
hardshrink.cases(_cases({}, {"lambd": 1.0}))


@logit.cases
def _(make: Any) -> Any:
    if not make.dtype.is_inexact:
        yield case(make(2, 3, low=0, high=2))
    else:
        yield case(make(2, 3))
        yield case(make(5, low=0.0, high=1.0), eps=0.2)


@hardtanh.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), 1, 2)
    yield case(make(), 0.5 if make.dtype.is_inexact else 0, 1)


@threshold.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), 1, 2)
    yield case(make(), -1, 0)
