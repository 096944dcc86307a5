"""Special functions that are none of Bessel's: erfcx, and Hurwitz's zeta."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.dtypes import FLOAT
from dovetail.engine.declare import op
from dovetail.engine.exact import BY_MPMATH, each
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import exp, float_pow, floor, maximum
from dovetail.ops.bounds import minimum
from dovetail.ops.chebyshev import chebyshev
from dovetail.ops.compare import isnan
from dovetail.ops.elementwise import abs, square
from dovetail.ops.formats import where

_ERFCX: Final = (
    1.1775789345674017, -0.004590054580646478, -0.08424913336651792,
    0.05920993999819189, -0.026658668435305753, 0.009074997670705265,
    -0.002413163540417608, 0.0004907758365258087, -6.916973302501204e-05,
    4.139027986072935e-06, 7.74038306619695e-07, -2.1886401049252756e-07,
    1.0764999465516042e-08, 4.521959811141094e-09, -7.754400208585763e-10,
    -6.3180883290891e-11, 2.8687950282742498e-11, 1.9455885897355245e-13,
    -9.654695563566506e-13, 3.252550763267929e-14, 3.347804557956166e-14,
    -1.8647126647656036e-15, -1.2509725228339416e-15, 7.403392299096231e-17,
    5.060921744364332e-17,
)  # fmt: skip
_ROOT_PI: Final = math.sqrt(math.pi)
_LARGE: Final = 1e7


def _precise_erfcx(m: Any, v: Any) -> Any:
    if v > _LARGE:
        return (1 - 1 / (2 * v * v)) / (v * m.sqrt(m.pi))
    if v < -60:
        return m.inf
    return m.exp(v * v) * m.erfc(v)


def _erfcx(v: float) -> float:
    import mpmath  # type: ignore[import-untyped]

    if math.isnan(v):
        return v
    if math.isinf(v):
        return 0.0 if v > 0 else math.inf
    with mpmath.workprec(160):
        return float(_precise_erfcx(mpmath.mp, mpmath.mpf(v)))


def _erfcx_rule(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    return ct * (input * y * 2 - 2 / _ROOT_PI)


@op(accepts=FLOAT, promote="float", largest=BY_MPMATH, domain=(-3.0, 9.0),
    torch="special.erfcx", grad=_erfcx_rule,
    oracle=each(_erfcx, _precise_erfcx))  # fmt: skip
def erfcx(input: Tensor) -> Tensor:
    """exp(x²) erfc(x), which falls as 1 / x (Shepherd and Laframboise 1981)."""
    size = abs(input)
    bounded = minimum(size, _LARGE)
    t = (bounded - 3.75) / (bounded + 3.75)
    y = chebyshev(t, _ERFCX) / (1 + 2 * bounded)
    y = where(size > _LARGE, (1 / _ROOT_PI) / maximum(size, _LARGE), y)
    # What the square of a rounded number lacks is added in the exponent.
    whole = floor(maximum(input, -30) * 16) * (1 / 16)
    rest = maximum(input, -30) - whole
    grown = exp(square(whole)) * exp(rest * (whole * 2 + rest))
    y = where(input < 0, 2 * grown - y, y)
    return where(isnan(input), input, y)


# B_2k / (2k)!
_EULER: Final = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000,
)  # fmt: skip
_TERMS: Final = 12


def hurwitz(x: Tensor, q: Tensor) -> Tensor:
    """The sum of (q + k)^-x over k = 0, 1, …, for x > 1 (DLMF 25.11.1).

    Infinite at x = 1 and at poles, NaN for x < 1 and where negative numbers have no
    power. Below 0, the terms of negative numbers are those of positive ones, which go
    from the first above 0 to the last of them.
    """
    size, whole = abs(q), floor(q)
    pole = (q <= 0) & (q == whole)
    below = (q < 0) & ~pole
    above = where(below, q - whole, where(pole, 1, q))
    y = _positive(x, above)
    first = where(below, size + whole + 1, 1)
    terms = _positive(x, first) - _positive(x, where(below, size + 1, 1))
    odd = x - floor(x * 0.5) * 2
    y = where(below, y + terms * (1 - odd * 2), y)
    y = where(below & (x != floor(x)), math.nan, y)
    y = where(pole | (x == 1), math.inf, y)
    return where(x < 1, math.nan, y)


def _positive(x: Tensor, q: Tensor) -> Tensor:
    """The same for q > 0, by Euler and Maclaurin (DLMF 25.11.28)."""
    y = float_pow(q, -x)
    for k in range(1, _TERMS):
        y = y + float_pow(q + k, -x)
    a = q + _TERMS
    power = float_pow(a, -x)
    y = y + power * a / where(x == 1, 1, x - 1) + power * 0.5
    factor, power = x, power / a
    for k, b in enumerate(_EULER):
        y = y + power * factor * b
        factor = factor * (x + (2 * k + 1)) * (x + (2 * k + 2))
        power = power / (a * a)
    return y
