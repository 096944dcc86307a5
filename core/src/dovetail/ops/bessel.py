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
from dovetail.ops.arithmetic import cos, log, maximum, sin, sqrt
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


def _by_mpmath(name: str, order: int) -> Any:
    """An oracle of a function of mpmath's; that of the second kind is NaN below 0."""
    second = name == "bessely"

    def precise(m: Any, v: Any) -> Any:
        if second and v <= 0:
            return -m.inf if v == 0 else m.nan
        return getattr(m, name)(order, v)

    def plain(v: float) -> float:
        import mpmath

        if math.isnan(v) or (second and v < 0):
            return math.nan
        if math.isinf(v):
            return 0.0
        with mpmath.workprec(120):
            return float(precise(mpmath.mp, mpmath.mpf(v)))

    return each(plain, precise)


def _declared(name: str, words: str, body: Any, oracle: Any) -> Any:
    """A function of real numbers as an op."""

    def function(input: Tensor) -> Tensor:
        found: Tensor = body(input)
        return found

    function.__name__, function.__doc__ = name, f"{words} (DLMF 10)."
    function.__module__ = __name__
    return op(
        **_FLOATS, domain=(0.5, 20.0), torch=f"special.{name}", oracle=oracle,
        undefined_on=("extreme", "sweep", "wide"), cancels=True,
    )(function)  # fmt: skip


j0, j1 = (
    _declared(
        f"bessel_j{n}", f"The Bessel function of the first kind, of order {n}",
        partial(first_kind, order=n), _by_mpmath("besselj", n),
    )
    for n in (0, 1)
)  # fmt: skip
y0, y1 = (
    _declared(
        f"bessel_y{n}", f"The Bessel function of the second kind, of order {n}",
        partial(second_kind, order=n), _by_mpmath("bessely", n),
    )
    for n in (0, 1)
)  # fmt: skip


def _slope_of_first(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    zero = input == 0
    return ct * where(zero, 0.5, j0(input) - y / where(zero, 1, input))


# DLMF 10.6.2
j0.grad(input=lambda ct, input: -ct * j1(input))
j1.grad(input=_slope_of_first)
y0.grad(input=lambda ct, input: -ct * y1(input))
y1.grad(input=lambda ct, input, y: ct * (y0(input) - y / input))
