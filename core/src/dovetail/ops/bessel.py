"""Bessel functions of order 0 and 1, modified and not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dovetail.dtypes import FLOAT
from dovetail.engine.declare import op
from dovetail.engine.exact import BY_MPMATH, each
from dovetail.engine.tensor import Tensor
from dovetail.ops import bessel_tables as c
from dovetail.ops.arithmetic import cos, exp, log, maximum, sin, sqrt
from dovetail.ops.bounds import minimum
from dovetail.ops.chebyshev import chebyshev
from dovetail.ops.elementwise import abs, sign
from dovetail.ops.formats import where

_EDGE: Final = 8.0
_FAR: Final = 1e8  # from here on the first terms of the asymptotic series are exact
_FLOATS: Any = {"accepts": FLOAT, "promote": "float", "largest": BY_MPMATH}


def _scaled_by_mpmath(order: int) -> Any:
    """An oracle of exp(-|x|) I(x)."""

    def precise(m: Any, v: Any) -> Any:
        size = m.fabs(v)
        if size > _FAR:  # DLMF 10.40.1
            y = (1 - (4 * order - 1) / (8 * size)) / m.sqrt(2 * m.pi * size)
        else:
            y = m.besseli(order, size) * m.exp(-size)
        return -y if order and v < 0 else y

    def plain(v: float) -> float:
        import mpmath  # type: ignore[import-untyped]

        if math.isnan(v):
            return v
        if math.isinf(v):
            return math.copysign(0.0, v) if order else 0.0
        with mpmath.workprec(120):
            return float(precise(mpmath.mp, mpmath.mpf(v)))

    return each(plain, precise)


def _both(x: Tensor, near: Sequence[float], far: Sequence[float]) -> Any:
    """Both pieces of exp(-x) I(x) for x of 0 or more, the near one over x^order."""
    low, high = minimum(x, _EDGE), maximum(x, _EDGE)
    y = chebyshev(low * 0.25 - 1, near)
    return low, y, chebyshev(16 / high - 1, far) / sqrt(high)


def _i0e_rule(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    return ct * (i1e(input) - sign(input) * y)


@op(**_FLOATS, domain=(-20.0, 20.0), torch="special.i0e", grad=_i0e_rule,
    oracle=_scaled_by_mpmath(0))  # fmt: skip
def i0e(input: Tensor) -> Tensor:
    """exp(-|x|) times the modified Bessel function I of order 0 (DLMF 10.25)."""
    size = abs(input)
    _, near, far = _both(size, c.I0E_NEAR, c.I0E_FAR)
    return where(size > _EDGE, far, near)


def _i1e_rule(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    zero = input == 0
    slope = i0e(input) - y * (sign(input) + 1 / where(zero, 1, input))
    return ct * where(zero, 0.5, slope)


@op(**_FLOATS, domain=(-20.0, 20.0), torch="special.i1e", grad=_i1e_rule,
    oracle=_scaled_by_mpmath(1))  # fmt: skip
def i1e(input: Tensor) -> Tensor:
    """exp(-|x|) times the modified Bessel function I of order 1 (DLMF 10.25)."""
    size = abs(input)
    low, near, far = _both(size, c.I1E_NEAR, c.I1E_FAR)
    return where(size > _EDGE, far, low * near) * sign(input)


def first_kind(x: Tensor, order: int) -> Tensor:
    """J of order 0 or 1 (DLMF 10.2)."""
    size = abs(x)
    low = minimum(size, _EDGE)
    near = chebyshev(low * low * (1 / 32) - 1, c.J1_NEAR if order else c.J0_NEAR)
    near = low * near if order else near
    y = where(size > _EDGE, _waves(size, order, False), near)
    return y * sign(x) if order else y


def second_kind(x: Tensor, order: int) -> Tensor:
    """Y of order 0 or 1 (DLMF 10.8): NaN below 0, and -inf there."""
    low = minimum(maximum(x, 0), _EDGE)
    smooth = chebyshev(low * low * (1 / 32) - 1, c.Y1_NEAR if order else c.Y0_NEAR)
    turn = log(low) * first_kind(low, order)
    if order:
        near = low * smooth + (turn - 1 / low) * (2 / math.pi)
    else:
        near = smooth + turn * (2 / math.pi)
    y = where(x > _EDGE, _waves(maximum(x, _EDGE), order, True), near)
    y = where(x == 0, -math.inf, y)
    return where(x < 0, math.nan, y)


def _waves(x: Tensor, order: int, second: bool) -> Tensor:
    """Hankel's expansions (DLMF 10.17), which end at infinity as 0."""
    endless = x == math.inf
    high = where(endless, _EDGE, maximum(x, _EDGE))
    r = _EDGE / high
    u = r * r * 2 - 1
    p, q = (chebyshev(u, t) for t in ((c.P1, c.Q1) if order else (c.P0, c.Q0)))
    q = q / high
    s, w = sin(high), cos(high)
    # Of the angle less pi / 4, and less another pi / 2 for order 1, times root 2.
    cosine, sine = (s - w, -s - w) if order else (w + s, s - w)
    y = p * sine + q * cosine if second else p * cosine - q * sine
    return where(endless, 0, y / sqrt(high * math.pi))


def third_kind(x: Tensor, order: int, scaled: bool) -> Tensor:
    """The modified K of order 0 or 1 (DLMF 10.25), also times exp(x)."""
    low = minimum(maximum(x, 0), 2)
    smooth = chebyshev(low * low * 0.5 - 1, c.K1_NEAR if order else c.K0_NEAR)
    grown = (i1e if order else i0e)(low) * exp(low)
    if order:
        near = smooth / low + log(low * 0.5) * grown
    else:
        near = smooth - log(low * 0.5) * grown
    high = maximum(x, 2)
    far = chebyshev(4 / high - 1, c.K1_FAR if order else c.K0_FAR) / sqrt(high)
    near, far = (near * exp(low), far) if scaled else (near, far * exp(-high))
    y = where(x > 2, far, near)
    y = where(x == 0, math.inf, y)
    return where(x < 0, math.nan, y)


j0, j1 = partial(first_kind, order=0), partial(first_kind, order=1)
y0, y1 = partial(second_kind, order=0), partial(second_kind, order=1)
