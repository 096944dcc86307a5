"""Hurwitz's zeta function, and the derivatives of digamma, which are made of it."""

from __future__ import annotations

import math
from typing import Any, Final, Literal

from dovetail.dtypes import FLOAT, HALF, float32
from dovetail.engine.declare import op
from dovetail.engine.exact import BY_MPMATH, each
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import float_pow, floor
from dovetail.ops.bounds import minimum
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import cast, where

# B_2k / (2k)!
_EULER: Final = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000,
)  # fmt: skip
_TERMS: Final = 12
_MOST: Final = 1e30  # whose powers are those of infinity
_PRODUCT: Final = 16  # the most factors that a power is multiplied of
_LARGEST_FACTORIAL: Final = 170  # that float64 holds
_FLOATS: Any = {
    "accepts": FLOAT, "promote": "float", "largest": BY_MPMATH,
    "undefined_on": ("extreme", "sweep", "wide", "few", "lone"),
}  # fmt: skip


def _power(q: Tensor, x: Tensor | int) -> Tensor:
    """q^-x for q > 0."""
    if not isinstance(x, int) or x > _PRODUCT:
        return float_pow(q, -x)
    bits = f"{x:b}"[::-1]
    squares = [1 / q]
    for _ in bits[1:]:
        squares.append(squares[-1] * squares[-1])
    factors = [s for s, bit in zip(squares, bits, strict=True) if bit == "1"]
    y = factors[0]
    for s in factors[1:]:
        y = y * s
    return y


def hurwitz(x: Tensor | int, q: Tensor) -> Tensor:
    """The sum of (q + k)^-x over k = 0, 1, …, for x > 1 (DLMF 25.11.1).

    Infinite at x = 1 and at poles, NaN for x < 1 and where negative numbers have no
    power. Below 0, the terms of negative numbers are those of positive ones, which go
    from the first above 0 to the last of them.

    Args:
        x: an order of derivatives is known beforehand, and is more than 2.
    """
    x = x if isinstance(x, int) else minimum(x, _MOST)
    size, whole = abs(q), floor(q)
    pole = (q <= 0) & (q == whole)
    below = (q < 0) & ~pole
    above = where(below, q - whole, where(pole, 1, q))
    y = _positive(x, above)
    first = where(below, size + (whole + 1), 1)  # of them the sum is exact
    terms = _positive(x, first) - _positive(x, where(below, size + 1, 1))
    if isinstance(x, int):
        y = where(below, y + terms if x % 2 == 0 else y - terms, y)
        return where(pole, math.inf, y)
    odd = x - floor(x * 0.5) * 2
    y = where(below, y + terms * (1 - odd * 2), y)
    y = where(below & (x != floor(x)), math.nan, y)
    y = where(pole | (x == 1), math.inf, y)
    return where(x < 1, math.nan, y)


def _positive(x: Tensor | int, q: Tensor) -> Tensor:
    """The same for q > 0, by Euler and Maclaurin (DLMF 25.11.28)."""
    y = _power(q, x)
    for k in range(1, _TERMS):
        y = y + _power(q + k, x)
    a = q + _TERMS
    rest = x - 1 if isinstance(x, int) else where(x == 1, 1, x - 1)
    lower = _power(a, x - 1)  # the last to underflow
    power = lower / a
    y = y + lower / rest + power * 0.5
    term = power / a * x
    for k, b in enumerate(_EULER):
        y = y + term * b
        term = term * ((x + (2 * k + 1)) / a) * ((x + (2 * k + 2)) / a)
    return y


def _precise_polygamma(m: Any, v: Any, order: int) -> Any:
    if v <= 0 and v == m.floor(v):
        return m.inf if order % 2 else -m.inf
    y = m.mpf(0)
    while v < 0:
        y, v = y + m.power(v, -order - 1), v + 1
    return m.psi(order, v) - (-1) ** order * m.factorial(order) * y


def _higher(v: float, order: int) -> float:
    import mpmath  # type: ignore[import-untyped]

    if math.isnan(v) or v == math.inf:
        return math.nan  # as torch has it
    if v <= 0 and v == math.floor(v):
        return math.inf if order % 2 else -math.inf
    with mpmath.workprec(120):
        return float(_precise_polygamma(mpmath.mp, mpmath.mpf(v), order))


def _slope(ct: Tensor, input: Tensor, order: int) -> Tensor:
    """In float32 of 16 bits, whose range the next derivative may leave by itself."""
    if input.dtype not in HALF:
        return ct * derived(input, order + 1)
    wide = derived(cast(input, float32), order + 1)
    return cast(cast(ct, float32) * wide, ct.dtype)


@op(**_FLOATS, domain=(0.2, 9.0),
    cases=lambda _: [([2, 3], 2), ([2, 3], 3), ([], 9)],
    oracle=each(_higher, _precise_polygamma),
    grad=_slope)  # fmt: skip
def polygamma_above(
    input: Tensor, order: Literal[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
) -> Tensor:
    """The derivative of digamma of an order from 2 to 15."""
    return _of_order(input, order)


def derived(x: Tensor, order: int) -> Tensor:
    """The derivative of digamma of an order of 2 or more (DLMF 25.11.12)."""
    if order < _PRODUCT:
        return polygamma_above(x, order)
    return _of_order(x, order)


def _of_order(x: Tensor, order: int) -> Tensor:
    small = order <= _LARGEST_FACTORIAL
    size = float(math.factorial(order)) if small else math.inf
    return hurwitz(order + 1, x) * (size if order % 2 else -size)
