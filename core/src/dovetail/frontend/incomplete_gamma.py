"""The incomplete gamma functions P and Q: shares of the gamma integral.

Below the peak the series of P (DLMF 8.11.4), above it the continued fraction of Q
(8.9.2), and next to the peak of large `a` Temme's uniform expansion (8.12.3). Each is
computed in float64 where the device has it. Derivatives are the density's.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

from dovetail.dtypes import bool_, float32, float64, get_default_dtype
from dovetail.engine.modes import grad_enabled, no_grad
from dovetail.engine.promotion import result_type
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import AutogradError, DTypeError
from dovetail.ops import gamma
from dovetail.ops.arithmetic import exp, log, sqrt
from dovetail.ops.create import full
from dovetail.ops.elementwise import abs
from dovetail.ops.error_function import erfc
from dovetail.ops.formats import cast, where
from dovetail.ops.transcendental import polynomial

_TERMS: Final = 90  # of the series, for x up to a + 1 with a up to 20, or up to 0.6 a
_STEPS: Final = 90  # of the continued fraction, for x from 1.5 or from 1.5 a on
_LARGE: Final = 20.0  # from this a on the expansion next to the peak is exact enough
_NEAR: Final = 0.45  # of (x - a) / a
_POWERS: Final = 24  # of eta
_ORDERS: Final = 12  # of 1 / a


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


# (mu - log(1 + mu)) / mu² by its series, for |mu| below _NEAR.
_BEND: Final = tuple((-1) ** k / (k + 2) for k in range(46))


def _next_to_peak(a: Tensor, mu: Tensor) -> tuple[Tensor, Tensor]:
    """P and Q where x = a (1 + mu) is near a large `a`."""
    eta = mu * sqrt(polynomial(mu, _BEND) * 2)
    row = [polynomial(eta, powers) for powers in _temme()]
    over, inner = 1 / a, row[-1]
    for one in reversed(row[:-1]):
        inner = inner * over + one
    rest = exp(a * eta * eta * -0.5) / sqrt(a * (2 * math.pi)) * inner
    side = eta * sqrt(a * 0.5)
    return erfc(-side) * 0.5 - rest, erfc(side) * 0.5 + rest


def _density(a: Tensor, x: Tensor) -> Tensor:
    """x^a exp(-x) / gamma(a + 1), whose logarithm is small where it counts."""
    large = a >= 10
    wide, narrow = where(large, a, 10), where(large, 1, a)
    share = x / wide
    over = 1 / wide
    square = over * over
    correction = over * polynomial(square, (1 / 12, -1 / 360, 1 / 1260, -1 / 1680))
    bend = log(share) - (share - 1)
    far = wide * bend - log(wide * (2 * math.pi)) * 0.5 - correction
    near = narrow * log(x) - x - gamma.lgamma(narrow + 1)
    return exp(where(large, far, near))


def _below_peak(a: Tensor, x: Tensor) -> Tensor:
    """P by its series."""
    term, total = x * 0 + 1, x * 0 + 1
    for n in range(1, _TERMS):
        term = term * (x / (a + n))
        total = total + term
    return total * _density(a, x)


def _above_peak(a: Tensor, x: Tensor) -> Tensor:
    """Q by its continued fraction, from the innermost step outwards."""
    y = x + (2 * _STEPS + 1) - a
    for n in reversed(range(1, _STEPS + 1)):
        y = x + (2 * n - 1) - a - (n - a) * n / y
    return _density(a, x) * a / y


def _shares(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """P and Q; where nothing else is said, of a > 0 and x > 0 that are finite."""
    plain = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    a_, x_ = where(plain, a, 1), where(plain, x, 1)
    mu = (x_ - a_) / a_
    near = (a_ >= _LARGE) & (abs(mu) < _NEAR)
    low = ~near & ((x_ < 1.5) | (x_ < a_ + 1))
    p_near, q_near = _next_to_peak(where(near, a_, _LARGE), where(near, mu, 0))
    p_low = _below_peak(where(low, a_, 1), where(low, x_, 1))
    high = ~(near | low)
    q_high = _above_peak(where(high, a_, 1), where(high, x_, 3))
    p = where(near, p_near, where(low, p_low, 1 - q_high))
    q = where(near, q_near, where(low, 1 - p_low, q_high))
    start = (a > 0) & (x == 0)
    end = ((a == 0) & (x > 0)) | ((a < math.inf) & (a > 0) & (x == math.inf))
    start = start | ((a == math.inf) & (x >= 0) & (x < math.inf))
    p = where(plain, p, where(start, 0, where(end, 1, math.nan)))
    return p, where(plain, q, where(start, 1, where(end, 0, math.nan)))


def _kept_from(name: str, a: Tensor, y: Tensor) -> Tensor:
    """`y`, whose backward raises, for it would need a gradient for `a`."""

    def refuse(_: Tensor) -> None:
        raise AutogradError(
            name, "input", was="one that requires grad",
            needed="a tensor outside the graph: the derivative for it is not "
            "implemented", remedy="use input.detach()",
        )  # fmt: skip

    marked = a.view_as(a)
    marked.register_hook(refuse)
    always = full(tuple(y._a.shape), True, y._kind.with_dtype(bool_))
    return where(always, y, cast(marked, y.dtype))


def _gamma_share(name: str, input: Tensor, other: Tensor, upper: bool) -> Tensor:
    dtype = result_type((input, other))
    dtype = dtype if dtype.is_inexact else get_default_dtype()
    if dtype.is_complex:
        raise DTypeError(name, "input", was=dtype.name, needed="real numbers")
    wide = float64 if float64 in input._kind.backend.dtypes else float32
    a, x = cast(input, wide), cast(other, wide)
    with no_grad():
        b, z = a.detach(), x.detach()
        value = _shares(b, z)[upper]
    y = value
    recorded = grad_enabled()
    if recorded and x.requires_grad:
        # What has this value and these first and second derivatives at x.
        with no_grad():
            slope = exp((b - 1) * log(z) - z - gamma.lgamma(b))
            bend = slope * ((b - 1) / z - 1)
            sign = -1 if upper else 1
        off = x - z
        y = value + off * (slope * sign) + off * off * (bend * (sign * 0.5))
    if recorded and a.requires_grad:
        y = _kept_from(name, a, y)
    return cast(y, dtype)


@public("torch.igamma special.gammainc Tensor.igamma Tensor.igamma_", out=True)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """The share of the gamma integral of `input` that lies below `other`: P(a, x).

    Its derivative by `other` is that of a gamma distribution; by `input` there is none.
    """
    return _gamma_share("igamma", input, other, False)


@public("torch.igammac special.gammaincc Tensor.igammac Tensor.igammac_", out=True)
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """The share of the gamma integral of `input` that lies above `other`: Q(a, x)."""
    return _gamma_share("igammac", input, other, True)
