"""Special functions that are none of Bessel's."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.dtypes import FLOAT
from dovetail.engine.declare import op
from dovetail.engine.exact import BY_MPMATH, each
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import exp, floor, log, lt, maximum, sqrt
from dovetail.ops.bounds import minimum
from dovetail.ops.chebyshev import chebyshev
from dovetail.ops.compare import isnan
from dovetail.ops.elementwise import abs, square
from dovetail.ops.error_function import quotient
from dovetail.ops.formats import where
from dovetail.xp.normal_quantile import QUANTILE

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
    """ct (2 x y - 2/√π); y goes in front below 0, where it may be very large."""
    negative = lt(input, 0)
    large, rest = where(negative, y, 1), where(negative, 1, y)
    return ct * large * (input * rest * 2 - 2 / _ROOT_PI / large)


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


_NEWTONS: Final = 9  # steps, each of which doubles the digits


def _precise_quantile(m: Any, v: Any) -> Any:
    """By Newton's method on the logarithm of the lesser side."""
    if not 0 <= v <= 1:
        return m.nan
    side = v if v <= 0.5 else 1 - v
    if side == 0:
        return -m.inf if v <= 0.5 else m.inf
    if side == 0.5:
        return m.mpf(0)
    wanted = m.log(side)
    x = -m.sqrt(-2 * wanted) if side < 0.1 else (side - m.mpf("0.5")) * 2
    for _ in range(_NEWTONS):
        whole = m.ncdf(x)
        x = x - (m.log(whole) - wanted) * whole / m.npdf(x)
    return x if v <= 0.5 else -x


def _quantile(v: float) -> float:
    import mpmath

    return float(_precise_quantile(mpmath.mp, mpmath.mpf(float(v))))


@op(accepts=FLOAT, promote="float", largest=BY_MPMATH, domain=(0.001, 1.0),
    torch="special.ndtri", oracle=each(_quantile, _precise_quantile))  # fmt: skip
def normal_quantile(input: Tensor) -> Tensor:
    """Where the normal distribution has the value of `input` (Wichura 1988, AS 241)."""
    off = input - 0.5
    inner = abs(off) <= 0.425
    held = where(inner, off, 0)
    middle = held * quotient(QUANTILE["middle"], 0.180625 - square(held))
    side = where(off > 0, 1 - input, input)
    inside = (side > 0) & ~inner
    r = sqrt(-log(where(inside, side, 0.05)))
    near, far = minimum(r, 5) - 1.6, minimum(maximum(r, 5), 30) - 5
    tail = where(
        r <= 5, quotient(QUANTILE["near"], near), quotient(QUANTILE["far"], far)
    )
    tail = where(side == 0, math.inf, tail)
    y = where(inner, middle, where(off > 0, tail, -tail))
    return where((side < 0) | isnan(input), math.nan, y)


normal_quantile.grad(
    input=lambda ct, y: ct * (math.sqrt(2 * math.pi) * exp(square(y) * 0.5))
)
