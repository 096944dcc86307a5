"""The incomplete gamma functions P and Q: shares of the gamma integral.

Below the peak the series of P (DLMF 8.11.4), above it the continued fraction of Q
(8.9.2), and next to the peak of large `a` Temme's uniform expansion (8.12.3). Each is
computed in float64 where the device has it. Series and fraction go from the innermost
step outwards, as numerators over denominators, which are divided before they leave the
format.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final, NamedTuple

from dovetail.dtypes import FLOAT, float32, float64
from dovetail.engine.declare import op
from dovetail.engine.exact import each
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import exp, log, sqrt
from dovetail.ops.bounds import minimum
from dovetail.ops.elementwise import abs as size
from dovetail.ops.error_function import erfc
from dovetail.ops.formats import cast, where
from dovetail.ops.gamma import LGAMMA, lgamma
from dovetail.ops.transcendental import expm1, polynomial

_LARGE: Final = 20.0  # from this a on the expansion next to the peak is exact enough
_NEAR: Final = 0.45  # of (x - a) / a
_ETA: Final = 0.545  # the most that eta is there
_POWERS: Final = 24  # of eta
_ORDERS: Final = 12  # of 1 / a
_BEND: Final = 46  # powers of mu
_VANISHES: Final = 1e5  # from here on the density is 0, unless x is next to the peak
_SMALL_TERMS: Final = 24  # of 1.5^n / n!
_HUGE: Final = 1e6  # of oracles
_TERMS: Final = 1_000_000  # at most, of oracles' series
_APART: Final = {float64: 45, float32: 6}  # steps, each by _VANISHES at most


class _Digits(NamedTuple):
    """What results need.

    Attributes:
        least: of sums, what may be left out.
        terms: of the series, for x up to a + 1 with a up to 20, or up to 0.55 a.
        steps: of the continued fraction, for x from 1.5 or from 1.45 a on.
    """

    least: float
    terms: int
    steps: int


_DOUBLE: Final = _Digits(2.0**-60, 68, 80)
_SINGLE: Final = _Digits(2.0**-34, 40, 28)


@cache
def _temme() -> tuple[tuple[float, ...], ...]:
    """Coefficients of eta's powers for each order of 1 / a (DLMF 8.12.9, 8.12.11).

    With eta²/2 = mu - log(1 + mu), the first is 1/mu - 1/eta, and each of the others
    the slope of the one before over eta, without its pole.
    """
    count = _POWERS + 2 * _ORDERS + 2
    mu = [0.0, 1.0]
    for n in range(2, count + 2):
        inner = math.fsum(mu[i] * mu[n + 1 - i] for i in range(2, n))
        mu.append(mu[n - 1] / (n + 1) - inner / 2)
    over = [1.0]  # of eta / mu
    for n in range(1, count + 1):
        over.append(-math.fsum(mu[i + 1] * over[n - i] for i in range(1, n + 1)))
    rows = [over[1:]]
    for _ in range(1, _ORDERS):
        last = rows[-1]
        rows.append([
            (n + 2) * last[n + 2] - last[1] * over[n + 1] for n in range(len(last) - 2)
        ])  # fmt: skip
    return tuple(tuple(row[:_POWERS]) for row in rows)


@cache
def _expansion(least: float) -> tuple[tuple[float, ...], ...]:
    """The same without what is nowhere as large as `least`."""
    rows = []
    for k, row in enumerate(_temme()):
        sizes = [abs(c) * _ETA**n / _LARGE**k for n, c in enumerate(row)]
        rows.append(row[: sum(max(sizes[n:]) >= least for n in range(_POWERS))])
    return tuple(row for row in rows if row)


@cache
def _bend(least: float) -> tuple[float, ...]:
    """(mu - log(1 + mu)) / mu² by its series, for |mu| below _NEAR."""
    series = [(-1) ** k / (k + 2) for k in range(_BEND)]
    return tuple(c for k, c in enumerate(series) if abs(c) * _NEAR**k >= least)


def _next_to_peak(a: Tensor, mu: Tensor, upper: bool, least: float) -> Tensor:
    """P or Q where x = a (1 + mu) is near a large `a`."""
    eta = mu * sqrt(polynomial(mu, _bend(least)) * 2)
    first, *rows = _expansion(least)
    over, inner = 1 / a, eta * 0
    for powers in reversed(rows):
        inner = (inner + _sum(eta, powers)) * over
    inner = inner + _sum(eta, first)
    rest = exp(a * eta * eta * -0.5) / sqrt(a * (2 * math.pi)) * inner
    side = eta * sqrt(a * 0.5)
    y: Tensor = erfc(side) * 0.5 + rest if upper else erfc(-side) * 0.5 - rest
    return y


def _sum(x: Tensor, powers: tuple[float, ...]) -> Any:
    return polynomial(x, powers) if len(powers) > 1 else powers[0]


_STIRLING: Final = (  # DLMF 5.11.1
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
    -3617 / 122400,
)  # fmt: skip


def _density(a: Tensor, x: Tensor) -> Tensor:
    """x^a exp(-x) / gamma(a + 1), whose logarithm is small where it counts."""
    large = a >= 10
    wide, narrow = where(large, a, 10), where(large, 1, a)
    share = x / wide
    over = 1 / wide
    square = over * over
    correction = over * polynomial(square, _STIRLING)
    bend = log(share) - (share - 1)
    far = wide * bend - log(wide * (2 * math.pi)) * 0.5 - correction
    near = narrow * log(x) - x - lgamma(narrow + 1)
    return exp(where(large, far, near))


def _below_peak(a: Tensor, x: Tensor, terms: int) -> Tensor:
    """P over the density, by its series."""
    a, x = minimum(a, _VANISHES), minimum(x, _VANISHES)
    above = below = x * 0 + 1
    for n in reversed(range(1, terms)):
        below, above = below * (a + n), below * (a + n) + above * x
        if n % _APART[x.dtype] == 0:
            above, below = above / below, x * 0 + 1
    return above / below


def _above_peak(a: Tensor, x: Tensor, steps: int) -> Tensor:
    """Q over the density, by its continued fraction."""
    a, x = minimum(a, _VANISHES), minimum(x, _VANISHES)
    start = x - a
    above, below = start + (2 * steps + 1), x * 0 + 1
    for n in reversed(range(1, steps + 1)):
        above, below = (start + (2 * n - 1)) * above - (n - a) * n * below, above
        if n % _APART[x.dtype] == 0:
            above, below = above / below, x * 0 + 1
    return a * below / above


def _above_small(a: Tensor, x: Tensor) -> Tensor:
    """Q for a < 1 and x < 1.5, where 1 - P would have no digits (DLMF 8.7.3)."""
    grown = a * log(x) - a * (a - 1) * polynomial(a - 0.5, LGAMMA)
    term, total = x * 0 + 1, x * 0
    for n in range(1, _SMALL_TERMS):
        term = term * x * (-1 / n)
        total = total + term / (a + n)
    return -expm1(grown) - exp(grown) * (a * total)


def _inside(a: Tensor, x: Tensor, upper: bool, digits: _Digits) -> Tensor:
    """P or Q of a > 0 and x > 0 that are finite."""
    mu = (x - a) / a
    near = (a >= _LARGE) & (size(mu) < _NEAR)
    low = (x < 1.5) | (x < a + 1)
    high = ~(near | low)
    least, terms, steps = digits
    centre = _next_to_peak(where(near, a, _LARGE), where(near, mu, 0), upper, least)
    aside = where(near, 1, a)
    p = _below_peak(where(low, aside, 1), where(low & ~near, x, 1), terms)
    q = _above_peak(where(high, a, 1), where(high, x, 3), steps)
    side = where(low, p, q) * _density(aside, where(near, 1, x))
    side = where(high, side, 1 - side) if upper else where(low, side, 1 - side)
    if upper:
        small = (a < 1) & (x < 1.5)
        held = where(small, a, 0.5), where(small, x, 0.5)
        side = where(small, _above_small(*held), side)
    return where(near, centre, side)


def _share(a: Tensor, x: Tensor, upper: bool) -> Tensor:
    wide = float64 if float64 in a._kind.backend.dtypes else float32
    dtype, a, x = a.dtype, cast(a, wide), cast(x, wide)
    plain = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    digits = _DOUBLE if dtype is float64 else _SINGLE
    y = _inside(where(plain, a, 1), where(plain, x, 1), upper, digits)
    start = (a > 0) & (x == 0)
    end = ((a == 0) & (x > 0)) | ((a < math.inf) & (a > 0) & (x == math.inf))
    start = start | ((a == math.inf) & (x >= 0) & (x < math.inf))
    edge = where(start, float(upper), where(end, float(not upper), math.nan))
    return cast(where(plain, y, edge), dtype)


def _of_huge(m: Any, a: Any, x: Any, upper: bool) -> Any:
    """Two terms of DLMF 8.12.3, beside which others are below every format's."""
    with m.workprec(500):
        mu = x / a - 1
        eta = m.sign(mu) * m.sqrt(2 * (mu - m.log1p(mu)))
        first, second = -m.one / 3, -m.one / 540
        if mu:  # 8.12.9 and 8.12.10
            first = 1 / mu - 1 / eta
            second = 1 / eta**3 - 1 / mu**3 - 1 / mu**2 - 1 / (12 * mu)
        whole = first + second / a
        rest = m.exp(-a * eta**2 / 2) / m.sqrt(2 * m.pi * a) * whole
        side = eta * m.sqrt(a / 2)
        return m.erfc(side) / 2 + rest if upper else m.erfc(-side) / 2 - rest


def _by_mpmath(upper: bool) -> Any:
    """An oracle of P or Q."""

    def precise(m: Any, a: Any, x: Any) -> Any:
        if a < 0 or x < 0 or (a == 0 and x == 0):
            return m.nan
        if a == 0 or x == 0:
            return m.mpf((a == 0) != upper)
        if max(a, x) > _VANISHES and not a / 2 < x < 2 * a:  # below every format
            return m.mpf((x > a) != upper)
        if a > _HUGE:
            return _of_huge(m, a, x, upper)
        if x > a:  # whose series converges slowly
            beyond = m.gammainc(a, x, m.inf, regularized=True)
            return beyond if upper else 1 - beyond
        with m.workprec(m.prec + max(-m.frexp(a)[1], 0)):  # 1 less about as little
            density = m.exp(a * m.log(x) - x - m.loggamma(a + 1))
            below = density * m.hyp1f1(1, a + 1, x, maxterms=_TERMS)
            return 1 - below if upper else below

    def plain(a: float, x: float) -> float:
        import mpmath  # type: ignore[import-untyped]

        if not (a >= 0 and x >= 0) or (a == math.inf and x == math.inf):
            return math.nan
        if math.inf in (a, x):
            return float((a == math.inf) == upper)
        with mpmath.workprec(120):
            return float(precise(mpmath.mp, mpmath.mpf(a), mpmath.mpf(x)))

    return each(plain, precise)


_DECLARED: Any = {  # mpmath takes 10 ms an element
    "accepts": FLOAT, "promote": "float", "nondifferentiable": True,
    "largest": 64, "domain": (0.2, 9.0),
    "undefined_on": ("extreme", "sweep", "wide"),
}  # fmt: skip


@op(**_DECLARED, oracle=_by_mpmath(False))
def gamma_share_below(input: Tensor, other: Tensor) -> Tensor:
    """The share of the gamma integral of `input` that lies below `other`: P(a, x)."""
    return _share(input, other, False)


@op(**_DECLARED, oracle=_by_mpmath(True))
def gamma_share_above(input: Tensor, other: Tensor) -> Tensor:
    """The share of the gamma integral of `input` that lies above `other`: Q(a, x)."""
    return _share(input, other, True)
