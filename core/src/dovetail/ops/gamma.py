"""The logarithm of the gamma function, and its derivatives."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.dtypes import FLOAT
from dovetail.engine.declare import op
from dovetail.engine.exact import BY_MPMATH, each
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import (
    cos,
    floor,
    log,
    maximum,
    sin,
)
from dovetail.ops.bounds import minimum
from dovetail.ops.elementwise import abs, square
from dovetail.ops.formats import where
from dovetail.ops.transcendental import polynomial

_FLOATS: Any = {"accepts": FLOAT, "promote": "float"}


def _lgamma(v: float) -> float:
    if v <= 0 and v == math.floor(v):
        return math.inf
    try:
        return math.lgamma(v)
    except OverflowError:
        return math.inf


def _precise_lgamma(m: Any, v: Any) -> Any:
    if v > 0:
        return m.loggamma(v)
    if v == m.floor(v):
        return m.inf
    # mpmath would count up from v, one by one.
    return m.log(m.pi / m.fabs(m.sinpi(v))) - m.loggamma(1 - v)


def _polygamma(order: int) -> Any:
    """An oracle of a derivative of lgamma's, by mpmath."""

    def psi(v: Any) -> float:
        import mpmath  # type: ignore[import-untyped]

        v = float(v)
        if v == -math.inf:
            return math.nan
        if v <= 0 and v == math.floor(v):  # a pole
            return math.inf if order else math.nan if v else -math.copysign(math.inf, v)
        if math.isnan(v):
            return math.nan
        with mpmath.workprec(160):
            return float(precise(mpmath.mp, mpmath.mpf(v)))

    def precise(m: Any, v: Any) -> Any:
        if v >= 0:
            return m.psi(order, v)
        if v == m.floor(v):
            return m.inf if order else m.nan
        # As of lgamma: reflected, DLMF 5.5.4 and its derivative.
        y, turn = m.psi(order, 1 - v), m.pi / m.sinpi(v)
        return turn**2 - y if order else y - turn * m.cospi(v)

    return each(psi, precise)


# lgamma(1 + e) / (e (e - 1)) for 0 <= e <= 1, in e - 0.5: an interpolant at Chebyshev
# points, from values of 50 digits.
LGAMMA: Final = (
    0.4831289505409809, -0.14595989591430608, 0.06291140107456439,
    -0.031308487501010646, 0.01679709863127416, -0.009425622448525798,
    0.005446457839126065, -0.0032120740737152814, 0.0019229163127905161,
    -0.0011644145847310124, 0.000711519067515296, -0.00043799307479613914,
    0.00027131373861446925, -0.0001689178215524898, 0.00010535512483785591,
    -6.614136022346414e-05, 4.30276814976503e-05, -2.7201673025504752e-05,
    1.3186019073996835e-05, -8.355075869795273e-06, 1.2140008083973407e-05,
    -7.760660152513446e-06,
)  # fmt: skip
_REDUCED: Final = 10  # from here on the asymptotic series are exact enough
_HALF_LOG_2PI: Final = 0.5 * math.log(2 * math.pi)


def _circle(size: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine, up to one common sign, of pi times a magnitude."""
    part = size - floor(size)
    beyond = part > 0.5
    near = where(beyond, 1 - part, part) * math.pi
    return where(beyond, -cos(near), cos(near)), sin(near)


@op(largest=BY_MPMATH, **_FLOATS, domain=(0.2, 9.0), oracle=_polygamma(1))
def trigamma(input: Tensor) -> Tensor:
    """The derivative of digamma (DLMF 5.15)."""
    negative = input < 0
    at: Tensor = where(negative, 1 - input, input)
    y: Any = 0
    for _ in range(_REDUCED):
        low = at < _REDUCED
        y = where(low, 1 / square(where(low, at, 1)) + y, y)
        at = where(low, at + 1, at)
    r = 1 / at
    s = square(r)
    series = polynomial(
        s, (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
    )
    y = y + r + s * 0.5 + series * s * r
    # Where it is not chosen, its derivatives must not leave the format.
    _, sine = _circle(where(negative, abs(input), 0.5))
    return where(negative, square(math.pi / sine) - y, y)


def _third_derivative(ct: Tensor, input: Tensor) -> Tensor:
    """That of lgamma (DLMF 5.15.8, and 5.15.6 differentiated)."""
    negative = input < 0
    at: Tensor = where(negative, 1 - input, input)
    y: Any = 0
    for _ in range(_REDUCED):
        low = at < _REDUCED
        held = where(low, at, 1)
        y = where(low, 2 / (square(held) * held) + y, y)
        at = where(low, at + 1, at)
    r = 1 / at
    s = square(r)
    series = polynomial(s, (1 / 2, -1 / 6, 1 / 6, -3 / 10, 5 / 6, -691 / 210, 35 / 2))
    y = y + s + s * r + series * square(s)
    cosine, sine = _circle(where(negative, abs(input), 0.5))
    turned = 2 * math.pi**3 * (cosine / sine) / square(sine)
    return ct * where(negative, turned - y, -y)


trigamma.grad(input=_third_derivative)


@op(largest=BY_MPMATH, **_FLOATS, domain=(0.2, 9.0), torch="digamma Tensor.digamma_",
    oracle=_polygamma(0), grad=lambda ct, input: ct * trigamma(input))  # fmt: skip
def digamma(input: Tensor) -> Tensor:
    """The derivative of lgamma (DLMF 5.5.2, 5.5.4, 5.11.2)."""
    negative = input < 0
    at: Tensor = where(negative, 1 - input, input)
    y: Any = 0
    for _ in range(_REDUCED):
        low = at < _REDUCED
        y = where(low, -1 / where(low, at, 1) + y, y)
        at = where(low, at + 1, at)
    r = 1 / at
    series = polynomial(
        square(r),
        (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12),
    )
    y = y + log(at) - r * 0.5 - series * square(r)
    cosine, sine = _circle(abs(input))
    reflected = y + math.pi * (cosine / sine)
    reflected = where(sine == 0, float("nan"), reflected)
    y = where(negative, reflected, y)
    return where(input == 0, -1 / input, y)  # infinite, by the sign of zero


@op(**_FLOATS, domain=(0.2, 9.0), torch="lgamma Tensor.lgamma_",
    oracle=each(_lgamma, _precise_lgamma),
    grad=lambda ct, input: ct * digamma(input))  # fmt: skip
def lgamma(input: Tensor) -> Tensor:
    """The logarithm of |gamma(input)|: recurrence, Stirling's series, reflection."""
    size = abs(input)
    whole = _lgamma_positive(size)
    _, sine = _circle(size)
    reflected = math.log(math.pi) - log(size) - log(sine) - whole
    # Next to 0 both sides are -log|input|; the product with pi would lose bits there.
    y = where((input < 0) & (size > 1e-20), reflected, whole)
    y = where((input < 0) & (sine == 0), float("inf"), y)  # a pole
    return where(size == float("inf"), size, y)


def _lgamma_positive(x: Tensor) -> Tensor:
    at = minimum(x, _REDUCED)
    product = at * 0 + 1
    for _ in range(_REDUCED - 2):
        above = at > 2
        product = where(above, product * (at - 1), product)
        at = where(above, at - 1, at)
    below = at < 1
    e = where(below, at, at - 1)
    small = e * (e - 1) * polynomial(e - 0.5, LGAMMA)
    small = small + where(below, -log(where(below, at, 1)), log(product))
    large = maximum(x, _REDUCED)
    return where(x < _REDUCED, small, _stirling(large))


def _stirling(x: Tensor) -> Tensor:
    """DLMF 5.11.1."""
    r = 1 / x
    series = polynomial(
        square(r),
        (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156),
    )
    return (x - 0.5) * (log(x) - 1) + (_HALF_LOG_2PI - 0.5) + series * r
