"""The error function, its complement and its inverse.

The bodies are polynomials by piece, evaluated everywhere and selected; one set of
coefficients serves both precisions.
"""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.dtypes import FLOAT, float64
from dovetail.engine.declare import op
from dovetail.engine.exact import BY_MPMATH, each
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import (
    exp,
    log,
    maximum,
    sqrt,
)
from dovetail.ops.bounds import minimum
from dovetail.ops.compare import isnan
from dovetail.ops.elementwise import abs, square
from dovetail.ops.formats import where
from dovetail.ops.rounding import copysign
from dovetail.ops.transcendental import polynomial
from dovetail.xp.normal_quantile import QUANTILE, Ratio

_FLOATS: Any = {"accepts": FLOAT, "promote": "float"}
_UNDERFLOWS: Final = 100  # erfc of it is below every format
_TWO_OVER_ROOT_PI: Final = 2 / math.sqrt(math.pi)


def _slope(x: Tensor) -> Tensor:
    """The derivative of erf."""
    return exp(-square(x)) * _TWO_OVER_ROOT_PI


# s_erf.c of fdlibm (Sun Microsystems 1993): erf on [0, 0.84375] as x + x P/Q(x²),
# on [0.84375, 1.25] as c + P/Q(x - 1), then exp(-x² - 0.5625 + P/Q(1/x²)) / x.
_ERX: Final = 8.45062911510467529297e-01
_PP: Final = (
    1.28379167095512558561e-01, -3.25042107247001499370e-01,
    -2.84817495755985104766e-02, -5.77027029648944159157e-03,
    -2.37630166566501626084e-05,
)  # fmt: skip
_QQ: Final = (
    1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02,
    5.08130628187576562776e-03, 1.32494738004321644526e-04,
    -3.96022827877536812320e-06,
)  # fmt: skip
_PA: Final = (
    -2.36211856075265944077e-03, 4.14856118683748331666e-01,
    -3.72207876035701323847e-01, 3.18346619901161753674e-01,
    -1.10894694282396677476e-01, 3.54783043256182359371e-02,
    -2.16637559486879084300e-03,
)  # fmt: skip
_QA: Final = (
    1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01,
    7.18286544141962662868e-02, 1.26171219808761642112e-01,
    1.36370839120290507362e-02, 1.19844998467991074170e-02,
)  # fmt: skip
_RA: Final = (
    -9.86494403484714822705e-03, -6.93858572707181764372e-01,
    -1.05586262253232909814e01, -6.23753324503260060396e01,
    -1.62396669462573470355e02, -1.84605092906711035994e02,
    -8.12874355063065934246e01, -9.81432934416914548592e00,
)  # fmt: skip
_SA: Final = (
    1.0, 1.96512716674392571292e01, 1.37657754143519042600e02,
    4.34565877475229228821e02, 6.45387271733267880336e02,
    4.29008140027567833386e02, 1.08635005541779435134e02,
    6.57024977031928170135e00, -6.04244152148580987438e-02,
)  # fmt: skip
_RB: Final = (
    -9.86494292470009928597e-03, -7.99283237680523006574e-01,
    -1.77579549177547519889e01, -1.60636384855821916062e02,
    -6.37566443368389627722e02, -1.02509513161107724954e03,
    -4.83519191608651397019e02,
)  # fmt: skip
_SB: Final = (
    1.0, 3.03380607434824582924e01, 3.25792512996573918826e02,
    1.53672958608443695994e03, 3.19985821950859553908e03,
    2.55305040643316442583e03, 4.74528541206955367215e02,
    -2.24409524465858183362e01,
)  # fmt: skip


def _erf_small(x: Tensor) -> Tensor:
    """erf(x) / x - 1 for |x| below 0.84375."""
    z = square(x)
    return polynomial(z, _PP) / polynomial(z, _QQ)


def _erf_middle(size: Tensor) -> Tensor:
    """erf(size) - _ERX for sizes from 0.84375 to 1.25."""
    s = size - 1
    return polynomial(s, _PA) / polynomial(s, _QA)


def _erfc_tail(size: Tensor) -> Tensor:
    """erfc(size) for sizes from 1.25 to 28."""
    s = 1 / square(size)
    near = size < 1 / 0.35
    ratio = where(
        near,
        polynomial(s, _RA) / polynomial(s, _SA),
        polynomial(s, _RB) / polynomial(s, _SB),
    )
    # exp(-size²) from a part of few bits, whose square is exact, and the rest.
    wide = size * (2.0**27 + 1 if size.dtype is float64 else 2.0**12 + 1)
    head = wide - (wide - size)
    rest = (head - size) * (head + size)
    return exp(-square(head) - 0.5625) * exp(rest + ratio) / size


@op(signed_zeros=True,
    **_FLOATS, torch="erf erf_", oracle=each(math.erf, lambda m, v: m.erf(v)),
    grad=lambda ct, input: ct * _slope(input))  # fmt: skip
def erf(input: Tensor) -> Tensor:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t²) up to it."""
    size = minimum(abs(input), 6)
    small = input + input * _erf_small(minimum(size, 0.84375))
    middle = _ERX + _erf_middle(maximum(minimum(size, 1.25), 0.84375))
    tail = 1 - _erfc_tail(maximum(size, 1.25))
    large = copysign(where(size < 1.25, middle, tail), input)
    return where(size < 0.84375, small, large)


def _precise_complement(m: Any, v: Any) -> Any:
    return m.erfc(v) if v < _UNDERFLOWS else m.zero


@op(**_FLOATS, torch="erfc erfc_", oracle=each(math.erfc, _precise_complement),
    grad=lambda ct, input: -ct * _slope(input))  # fmt: skip
def erfc(input: Tensor) -> Tensor:
    """1 - erf(input), accurate where it is small."""
    size = minimum(abs(input), 28)
    bounded = copysign(minimum(size, 0.84375), input)
    y = bounded * _erf_small(bounded)
    small = where(input < 0.25, 1 - (bounded + y), 0.5 - (bounded - 0.5 + y))
    middle = _erf_middle(maximum(minimum(size, 1.25), 0.84375))
    middle = where(input < 0, 1 + (_ERX + middle), (1 - _ERX) - middle)
    tail = _erfc_tail(maximum(size, 1.25))
    tail = where(input < 0, 2 - tail, tail)
    large = where(size < 1.25, middle, tail)
    return where(size < 0.84375, small, where(isnan(input), input, large))


@op(cancels=True, accepts=FLOAT, out=False, oracle=each(
    lambda v: math.erfc(-v * math.sqrt(0.5)) / 2,
    lambda m, v: _precise_complement(m, -v / m.sqrt(2)) / 2),
    grad=lambda ct, input: ct * normal_density(input))  # fmt: skip
def normal_cdf(input: Tensor) -> Tensor:
    """The normal distribution function, to the last place of 1."""
    return erfc(input * -math.sqrt(0.5)) * 0.5


def normal_density(x: Tensor) -> Tensor:
    """The derivative of `normal_cdf`."""
    return exp(square(x) * -0.5) * (1 / math.sqrt(2 * math.pi))


def _inverse_erf(v: float) -> float:
    import mpmath  # type: ignore[import-untyped]

    return float(_precise_inverse(mpmath.mp, mpmath.mpf(float(v))))


def _precise_inverse(m: Any, v: Any) -> Any:
    return m.erfinv(v) if -1 <= v <= 1 else m.nan


@op(largest=BY_MPMATH, **_FLOATS, domain=(-0.9, 0.9), torch="erfinv Tensor.erfinv_",
    oracle=each(_inverse_erf, _precise_inverse))  # fmt: skip
def erfinv(input: Tensor) -> Tensor:
    """The inverse of erf; infinite at ±1, NaN beyond."""
    size = abs(input)
    q = minimum(size, 0.85) * 0.5
    s = 0.180625 - square(q)
    middle = q * quotient(QUANTILE["middle"], s)
    r = sqrt(-log((1 - size) * 0.5))
    near, far = minimum(r, 5) - 1.6, minimum(maximum(r, 5), 30) - 5
    tail = where(
        r < 5,
        quotient(QUANTILE["near"], near),
        quotient(QUANTILE["far"], far),
    )
    y = where(size < 0.85, middle, tail) * math.sqrt(0.5)
    y = where(size == 1, float("inf"), where(size > 1, float("nan"), y))
    return copysign(y, input)


def quotient(polynomials: Ratio, x: Tensor) -> Tensor:
    """One polynomial over another."""
    above, below = polynomials
    return polynomial(x, above) / polynomial(x, below)


erfinv.grad(input=lambda ct, input: ct / _slope(erfinv(input)))
