"""Modified Bessel functions of the third kind K, and the spherical one of order 0."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

from dovetail.dtypes import FLOAT
from dovetail.engine.declare import op
from dovetail.engine.exact import BY_MPMATH, each
from dovetail.engine.tensor import Tensor
from dovetail.ops import bessel_tables as c
from dovetail.ops.arithmetic import cos, exp, log, maximum, sin, sqrt
from dovetail.ops.bessel import i0e, i1e
from dovetail.ops.bounds import minimum
from dovetail.ops.chebyshev import chebyshev
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import where
from dovetail.ops.transcendental import polynomial

_FLOATS: Any = {"accepts": FLOAT, "promote": "float"}
_FAR: Final = 50  # of oracles: from here on the asymptotic series ends below e^-100
_TINY: Final = 2.0**-10
_LOST: Final = 200  # bits that the series near 0 may lose there


def _third_kind(x: Tensor, order: int, scaled: bool) -> Tensor:
    """The modified K of order 0 or 1 (DLMF 10.25), also times exp(x)."""
    low = minimum(maximum(x, 0), 2)
    # The half of a subnormal number is another one's.
    tiny = low < _TINY
    half = log(where(tiny, low, low * 0.5))
    half = where(tiny, half - math.log(2), half)
    smooth = chebyshev(low * low * 0.5 - 1, c.K1_NEAR if order else c.K0_NEAR)
    grown = (i1e if order else i0e)(low) * exp(low)
    if order:
        near = smooth / low + half * grown
    else:
        near = smooth - half * grown
    high = maximum(x, 2)
    far = chebyshev(4 / high - 1, c.K1_FAR if order else c.K0_FAR) / sqrt(high)
    near, far = (near * exp(low), far) if scaled else (near, far * exp(-high))
    y = where(x > 2, far, near)
    y = where(x == 0, math.inf, y)
    return where(x < 0, math.nan, y)


def _precise(m: Any, v: Any, order: int, scaled: bool) -> Any:
    """In bounded time, which mpmath's own function does not keep."""
    if v < 0:
        return m.nan
    if v > _FAR:  # DLMF 10.40.2
        term = total = m.one
        for k in range(1, 2 * _FAR):
            term = term * (4 * order - (2 * k - 1) ** 2) / (8 * k * v)
            total += term
        y = m.sqrt(m.pi / (2 * v)) * total
        return y if scaled else y * m.exp(-v)
    with m.workprec(m.prec + _LOST):
        y = _near(m, v, order)
        return y * m.exp(v) if scaled else y


def _near(m: Any, v: Any, order: int) -> Any:
    """DLMF 10.31.1 and 10.31.2, with those of I (10.25.2)."""
    q, turn = v * v / 4, m.log(v / 2) + m.euler
    term, harmonic, total = m.one, m.mpf(0), m.mpf(0)
    for k in range(4 * _FAR):
        if order:
            rest = harmonic + m.one / (2 * (k + 1)) - turn
            total += term * rest
            term = term * q / ((k + 1) * (k + 2))
        else:
            total += term * (harmonic - turn)
            term = term * q / (k + 1) ** 2
        harmonic += m.one / (k + 1)
        if term < m.eps * m.eps:
            break
    return 1 / v - total * v / 2 if order else total


def _plain(v: float, order: int, scaled: bool) -> float:
    import mpmath  # type: ignore[import-untyped]

    if math.isnan(v) or v < 0:
        return math.nan
    if v == 0:
        return math.inf
    if v == math.inf:
        return 0.0
    with mpmath.workprec(120):
        return float(_precise(mpmath.mp, mpmath.mpf(v), order, scaled))


def _declared(order: int, scaled: bool) -> Any:
    """K of an order as an op, also times exp(input)."""

    def function(input: Tensor) -> Tensor:
        return _third_kind(input, order, scaled)

    words = f"The modified Bessel function K of order {order}"
    function.__name__ = f"{'scaled_' * scaled}modified_bessel_k{order}"
    function.__doc__ = f"{words}{', times exp(input)' * scaled} (DLMF 10.25)."
    function.__module__ = __name__
    oracle = each(
        partial(_plain, order=order, scaled=scaled),
        partial(_precise, order=order, scaled=scaled),
    )
    return op(
        **_FLOATS, domain=(0.5, 20.0), torch=f"special.{function.__name__}",
        largest=BY_MPMATH, oracle=oracle,
    )(function)  # fmt: skip


k0, k1 = _declared(0, False), _declared(1, False)
k0e, k1e = _declared(0, True), _declared(1, True)
# DLMF 10.29.3, 10.29.2
k0.grad(input=lambda ct, input: -ct * k1(input))
k1.grad(input=lambda ct, input, y: -ct * (k0(input) + y / input))
k0e.grad(input=lambda ct, input, y: ct * (y - k1e(input)))
k1e.grad(input=lambda ct, input, y: ct * (y - k0e(input) - y / input))


def _precise_spherical(m: Any, v: Any) -> Any:
    return m.sin(v) / v


def _spherical(v: float) -> float:
    if not v:
        return 1.0
    return 0.0 if math.isinf(v) else math.sin(v) / v


def _spherical_rule(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    """Next to 0 by its series, where the difference of the two terms loses digits."""
    small, endless = abs(input) < _SMALL, abs(input) == math.inf
    near, far = where(small, input, 0), where(small | endless, 1, input)
    slope = (cos(far) - where(small | endless, 1, y)) / far
    return ct * where(
        endless, 0, where(small, near * polynomial(near * near, _SLOPE), slope)
    )


_SMALL: Final = 0.5
_SERIES: Final = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(8))
_SLOPE: Final = tuple(2 * (k + 1) * c for k, c in enumerate(_SERIES[1:]))


@op(**_FLOATS, domain=(0.5, 20.0), torch="special.spherical_bessel_j0",
    oracle=each(_spherical, _precise_spherical), grad=_spherical_rule)  # fmt: skip
def spherical_bessel_j0(input: Tensor) -> Tensor:
    """sin(input) / input, which is 1 at 0 and 0 at infinity (DLMF 10.49.3)."""
    zero, endless = input == 0, abs(input) == math.inf
    held = where(zero | endless, 1, input)
    return where(zero, 1, where(endless, 0, sin(held) / held))
