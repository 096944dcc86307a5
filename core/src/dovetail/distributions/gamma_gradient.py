"""Gamma values with gradients by their shape parameter.

The probability of values up to x stays as it is: so the slope of x by the shape a is
-dP(a, x)/da over the density (implicit reparameterisation: Figurnov et al. 2018,
arXiv:1805.08498). P and its derivative are series near the mean and below, continued
fractions above (DLMF 8.7.1, 8.9.2), and expansions of the quantile for great shapes.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail import frontend as ft
from dovetail.autograd.function import Function, once_differentiable
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor

from . import rejection

_GREAT: Final = 1e4  # shapes from which the quantile's expansion is taken
_FRACTIONS: Final = 120
_ROUNDS: Final = 12
_SMALL: Final = 1e-17


class _StandardGamma(Function):
    """Gamma values of rate 1."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        """Draw values."""
        x = rejection.standard_gamma(a)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, ct: Tensor) -> Any:
        """The slope of each value by its shape."""
        a, x = ctx.saved_tensors
        return ct * gamma_slope(x, a)


def standard_gamma(shape_parameter: Tensor) -> Any:
    """Gamma values of rate 1, one for each shape, with gradients by it."""
    return _StandardGamma.apply(shape_parameter)


@no_grad()
def gamma_slope(x: Tensor, a: Tensor) -> Any:
    """By how much a gamma value x grows with its shape a, at the same probability."""
    y, b = x.double(), a.double()
    great = b >= _GREAT
    shape = ft.where(great, 1.0, b)
    above = y > shape + ft.sqrt(shape) + 1
    low = _by_series(ft.where(great | above, shape, y), shape)
    high = _by_fraction(ft.where(great | ~above, shape + 10.0, y), shape)
    usual = ft.where(above, high, low)
    if not bool(great.any().item()):
        return usual.to(x.dtype)
    far = ft.where(great, b, _GREAT)
    expanded = _by_expansion(ft.where(great, y, far), far)
    return ft.where(great, expanded, usual).to(x.dtype)


def _by_series(x: Tensor, a: Tensor) -> Any:
    """x sum of x^n / (a ... (a + n)) (digamma(a + n + 1) - log x)."""
    log, slope = ft.log(x), ft.digamma(a + 1)
    term = 1 / a
    total, found, n = term, term * (slope - log), 0
    while bool((term > _SMALL * total).any().item()):
        n += 1
        term = term * x / (a + n)
        slope = slope + 1 / (a + n)
        total, found = total + term, found + term * (slope - log)
    return x * found


def _by_fraction(x: Tensor, a: Tensor) -> Any:
    """x (h (log x - digamma(a)) + dh/da), with h the fraction of Q(a, x)."""
    f = x + (1 + 2 * _FRACTIONS) - a
    slope = -ft.ones_like(f)
    for k in range(_FRACTIONS, 0, -1):
        ratio = k * (k - a) / f
        slope = -1 + k / f + ratio * slope / f
        f = x + (2 * k - 1) - a - ratio
    h = 1 / f
    return x * (h * (ft.log(x) - ft.digamma(a)) - slope * h * h)


def _by_expansion(x: Tensor, a: Tensor) -> Any:
    """By the quantile as a polynomial of a normal one (Cornish & Fisher 1938)."""
    root = ft.sqrt(a)
    z = (x - a) / root
    for _ in range(_ROUNDS):
        z = (x - a - _excess(z, root)) / root
    by_half = (z**3 - 7 * z) / (72 * root**3)
    by_one = (3 * z**4 + 7 * z**2 - 16) / (810 * a**2)
    return 1 + z / (2 * root) - by_half + by_one


def _excess(z: Any, root: Tensor) -> Any:
    """What a quantile is beyond a + z sqrt(a)."""
    first = (z**2 - 1) / 3 + (z**3 - 7 * z) / (36 * root)
    return first - (3 * z**4 + 7 * z**2 - 16) / (810 * root**2)


__all__ = ["gamma_slope", "standard_gamma"]
