"""Smooth activations, with gradients that keep one tensor and are cheap."""

from __future__ import annotations

import math
from typing import Any, Final, Literal

import numpy as np

from dovetail.dtypes import FLOAT, INEXACT
from dovetail.engine.attributes import Element, Factor, NonZero, Scalar
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import bitwise_and, exp, log, lt, maximum
from dovetail.ops.bounds import clamp, minimum
from dovetail.ops.compare import ge, le
from dovetail.ops.complex import real
from dovetail.ops.elementwise import abs, neg, square
from dovetail.ops.error_function import erfc, normal_cdf, normal_density
from dovetail.ops.formats import conj, where
from dovetail.ops.piecewise import corners
from dovetail.ops.transcendental import expm1, log1p, tanh
from dovetail.xp.exponential import SELU_ALPHA, SELU_SCALE

_TANH_SCALE: Final = math.sqrt(2 / math.pi)
_TANH_CUBE: Final = 0.044715
_TANH_FLAT: Final = 100.0


def _scaled_elu(
    m: Any, x: Any, alpha: Any = 1.0, scale: Any = 1.0, input_scale: Any = 1.0
) -> Any:
    below = scale * alpha * m.expm1(np.minimum(x, 0) * input_scale)
    return np.where(x > 0, scale * x, below)


@op(accepts=FLOAT, oracle=exact(_scaled_elu),
    cases=corners({}, {"alpha": 1.5, "scale": 0.5, "input_scale": 2.0}))  # fmt: skip
def scaled_elu(
    input: Tensor, alpha: Scalar = 1.0, scale: Scalar = 1.0, input_scale: Scalar = 1.0
) -> Tensor:
    """`scale * x`, and `scale * alpha * expm1(input_scale * x)` below zero."""
    below = expm1(minimum(input, 0) * input_scale) * (alpha * scale)
    return where(lt(0, input), input * scale, below)


def _elu_slope(input: Tensor, alpha: Any, scale: Any, input_scale: Any) -> Tensor:
    slope = exp(minimum(input, 0) * input_scale) * (alpha * scale * input_scale)
    return where(lt(0, input), scale, slope)


@scaled_elu.vjp
def _(ct: Tensor, input: Tensor, alpha: Any, scale: Any, input_scale: Any) -> Tensor:
    return ct * _elu_slope(input, alpha, scale, input_scale)


@op(accepts=FLOAT, out=False, torch="F.elu(inplace) F.elu_", oracle=exact(_scaled_elu),
    cases=corners({}, {"alpha": 1.5}))  # fmt: skip
def elu(input: Tensor, alpha: Factor = 1.0) -> Tensor:
    """`input`, and alpha * expm1(input) below zero (Clevert et al. 2015)."""
    return where(lt(0, input), input, expm1(minimum(input, 0)) * alpha)


@elu.vjp
def _(ct: Tensor, input: Tensor, alpha: Any) -> Tensor:
    return ct * _elu_slope(input, alpha, 1.0, 1.0)


@op(accepts=FLOAT, out=False, torch="torch.selu torch.selu_ F.selu(inplace) F.selu_",
    oracle=exact(lambda m, x: _scaled_elu(m, x, SELU_ALPHA, SELU_SCALE)))  # fmt: skip
def selu(input: Tensor) -> Tensor:
    """ELU scaled so that activations normalise themselves (Klambauer et al. 2017)."""
    return scaled_elu(input, SELU_ALPHA, SELU_SCALE)


@op(accepts=FLOAT, out=False, torch="torch.celu torch.celu_ F.celu(inplace) F.celu_",
    oracle=exact(lambda m, x, alpha=1.0: _scaled_elu(m, x, alpha, 1.0, 1 / alpha)),
    cases=corners({}, {"alpha": 1.5}))  # fmt: skip
def celu(input: Tensor, alpha: NonZero = 1.0) -> Tensor:
    """`input`, and alpha * expm1(input / alpha) below zero (Barron 2017)."""
    below = expm1(minimum(input, 0) * (1 / alpha)) * alpha
    return where(lt(0, input), input, below)


@celu.vjp
def _(ct: Tensor, input: Tensor, alpha: Any) -> Tensor:
    return ct * _elu_slope(input, alpha, 1.0, 1 / alpha)


@op(accepts=INEXACT, promote="float", torch="sigmoid sigmoid_ F.sigmoid",
    oracle=exact(lambda m, x: 1 / (1 + m.exp(-x))))  # fmt: skip
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input)), without overflow.

    Returns: floats; integers and bools become the default dtype.

    >>> torch.sigmoid(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """
    if input.dtype.is_complex:
        return 1 / (1 + exp(neg(input)))
    e = exp(neg(abs(input)))
    return where(lt(input, 0), e, 1) / (1 + e)


sigmoid.grad(
    input=lambda ct, y: ct * (conj(y) - square(conj(y))),
    backward=True,
    oracle=exact(lambda m, ct, y: ct * np.conj(y * (1 - y))),
)


@op(accepts=FLOAT, out=False, torch="F.logsigmoid", row_major=True,
    oracle=exact(lambda m, x: -_softplus(m, -x, 1.0, math.inf)),
    grad=lambda ct, input: ct * sigmoid(neg(input)))  # fmt: skip
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), without overflow."""
    return minimum(input, 0) - log1p(exp(neg(abs(input))))


def _logit(m: Any, x: Any, eps: Any = None) -> Any:
    x = x if eps is None else np.clip(x, eps, 1 - eps)
    return m.log(x) - m.log1p(-x)


@op(accepts=FLOAT, promote="float", domain=(0.1, 0.9), torch="logit logit_",
    oracle=exact(_logit))  # fmt: skip
def logit(input: Tensor, eps: Element | None = None) -> Tensor:
    """log(input / (1 - input)), with `input` kept at least `eps` from 0 and 1."""
    if eps is not None:
        input = clamp(input, eps, 1 - eps)
    return log(input / (1 - input))


@logit.vjp
def _(ct: Tensor, input: Tensor, eps: Any) -> Tensor:
    g = ct / (input * (1 - input))
    if eps is None:
        return g
    return where(bitwise_and(ge(input, eps), le(input, 1 - eps)), g, 0)


@logit.cases
def _(make: Any) -> Any:
    if not make.dtype.is_inexact:
        yield case(make(2, 3, low=0, high=2))
    else:
        yield case(make(2, 3))
        yield case(make(5, low=0.0, high=1.0), eps=0.2)


@op(accepts=INEXACT, out=False, torch="F.silu(inplace)",
    oracle=exact(lambda m, x: x / (1 + m.exp(-x))))  # fmt: skip
def silu(input: Tensor) -> Tensor:
    """input * sigmoid(input) (Hendrycks & Gimpel 2016; Elfwing et al. 2017)."""
    if input.dtype.is_complex:
        return input / (1 + exp(neg(input)))
    e = exp(neg(abs(input)))
    return where(lt(input, 0), input * e, input) / (1 + e)


def _silu_gradient(ct: Tensor, input: Tensor) -> Tensor:
    """ct s (1 + x (1 - s)), of s two roots, which stay in the format where s does not.

    At 0 the derivative is that of positive numbers, which is everybody's.
    """
    if input.dtype.is_complex:
        share = sigmoid(input)
        return ct * conj(share * (1 + input * (1 - share)))
    below = lt(input, 0)
    root = exp(where(below, input, neg(input)) * 0.5)
    e = square(root)
    factor = where(below, root, 1)
    share = 1 / (1 + e)
    rest = where(below, share, e * share)
    return (1 + input * rest) * (factor * share) * ct * factor


def _silu_backward(m: Any, ct: Any, x: Any) -> Any:
    s = 1 / (1 + m.exp(-x))
    return ct * np.conj(s + x * s * (1 - s))


silu.grad(
    input=_silu_gradient,
    backward={"undefined_on": ("wide",)},
    oracle=exact(_silu_backward),
)


@op(accepts=FLOAT, out=False, torch="F.mish(inplace)",
    oracle=exact(lambda m, x: x * m.tanh(_softplus(m, x))))  # fmt: skip
def mish(input: Tensor) -> Tensor:
    """input * tanh(softplus(input)) (Misra 2019, arXiv:1908.08681)."""
    return input * tanh(softplus(input))


@mish.vjp
def _(ct: Tensor, input: Tensor) -> Tensor:
    t = tanh(softplus(input))
    return ct * (t + input * sigmoid(input) * (1 - square(t)))


def _softplus(m: Any, x: Any, beta: Any = 1.0, threshold: Any = 20.0) -> Any:
    z = x * beta
    y = np.maximum(z, 0) + m.log1p(m.exp(-np.abs(z)))
    return np.where(z > threshold, x, y / beta)


@op(accepts=FLOAT, out=False, torch="F.softplus", oracle=exact(_softplus),
    cases=corners({}, {"beta": 2.0, "threshold": 1.0}),
    levels={"beta": (0.5,)})  # fmt: skip
def softplus(input: Tensor, beta: Factor = 1.0, threshold: Factor = 20.0) -> Tensor:
    """log(1 + exp(beta input)) / beta, and `input` where that is above `threshold`."""
    z = input * beta
    y = (maximum(z, 0) + log1p(exp(neg(abs(z))))) / beta
    return where(lt(threshold, z), input, y)


@softplus.vjp
def _(ct: Tensor, input: Tensor, beta: Any, threshold: Any) -> Tensor:
    z = input * beta
    return where(lt(threshold, z), ct, ct * sigmoid(z))


def _softsign_gradient(ct: Tensor, input: Tensor) -> Tensor:
    size = abs(input)
    if not input.dtype.is_complex:
        return ct / square(1 + size)
    # Of (dx - x d|x| / (1 + |x|)) / (1 + |x|), where d|x| = Re(conj(x) dx) / |x|.
    along = real(conj(ct) * input) / where(size == 0, 1, size)
    return (ct - input * (along / (1 + size))) / (1 + size)


@op(accepts=INEXACT, out=False, promote="float", torch="F.softsign",
    oracle=lambda x: x / (1 + np.abs(x)), grad=_softsign_gradient)  # fmt: skip
def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return input / (1 + abs(input))


def _cdf(m: Any, x: Any) -> Any:
    """The normal distribution function."""
    return erfc.op.oracle(-x / m.sqrt(2)) / 2  # type: ignore[misc]


def _gelu(m: Any, x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return x * _cdf(m, x)
    return x * (1 + m.tanh(m.sqrt(2 / m.pi) * (x + 0.044715 * x * x * x))) / 2


@op(cancels=True, accepts=FLOAT, out=False, torch="F.gelu", oracle=exact(_gelu),
    cases=corners({}, {"approximate": "tanh"}))  # fmt: skip
def gelu(input: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """`input` times the normal distribution function (Hendrycks & Gimpel 2016).

    `"tanh"` takes tanh(sqrt(2 / pi) (x + 0.044715 x³)) in place of erf.

    Raises: ArgumentError for another `approximate`.

    >>> import dovetail as dt
    >>> dt.nn.functional.gelu(dt.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate == "tanh":
        return input * 0.5 * (1 + tanh(_inner(input)))
    return input * normal_cdf(input)


def _inner(x: Tensor) -> Tensor:
    return (x + square(x) * x * _TANH_CUBE) * _TANH_SCALE


def _gelu_slope(x: Tensor, approximate: str) -> Tensor:
    if approximate == "tanh":
        t = tanh(_inner(x))
        # Far out 1 - t² is 0, but x² may leave the format.
        near = maximum(minimum(x, _TANH_FLAT), -_TANH_FLAT)
        slope = (1 + square(near) * (3 * _TANH_CUBE)) * _TANH_SCALE
        return (1 + t) * 0.5 + (1 - square(t)) * slope * x * 0.5
    return normal_cdf(x) + x * normal_density(x)


def _gelu_backward(m: Any, ct: Any, x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return ct * (_cdf(m, x) + x * m.exp(-x * x / 2) / m.sqrt(2 * m.pi))
    c = m.sqrt(2 / m.pi)
    t = m.tanh(c * (x + 0.044715 * x * x * x))
    return ct * ((1 + t) / 2 + x / 2 * (1 - t * t) * c * (1 + 0.134145 * x * x))


gelu.grad(
    input=lambda ct, input, approximate: ct * _gelu_slope(input, approximate),
    backward={"cancels": True, "undefined_on": ("extreme",)},
    oracle=exact(_gelu_backward),
)
