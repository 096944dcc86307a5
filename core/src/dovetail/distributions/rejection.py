"""Random values that are proposed, and accepted or proposed anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.limits import finfo

# The rate from which Poisson values are proposed, and not counted up to.
_LARGE: Final = 10.0


@no_grad()
def standard_gamma(shape_parameter: Tensor) -> Any:
    """Gamma values of rate 1, one for each shape parameter.

    Marsaglia & Tsang 2000, A simple method for generating gamma variables; shapes
    below 1 are those of one more, times a power of a uniform number.
    """
    a = shape_parameter
    small = a < 1
    d = ft.where(small, a + 1, a) - 1 / 3
    c = 1 / ft.sqrt(9 * d)

    def propose() -> tuple[Any, Any]:
        x = ft.randn_like(a)
        v = (1 + c * x) ** 3
        safe = ft.where(v > 0, v, ft.ones_like(v))
        bound = 0.5 * x * x + d - d * v + d * ft.log(safe)
        return d * v, (v > 0) & (ft.log(uniform(a)) < bound)

    drawn = accepted(a, propose)
    lifted = drawn * ft.exp(ft.log(uniform(a)) / ft.where(small, a, ft.ones_like(a)))
    return ft.clamp(ft.where(small, lifted, drawn), min=finfo(a.dtype).tiny)


@no_grad()
def poisson(rate: Tensor) -> Any:
    """Poisson values, one for each rate."""
    large = rate >= _LARGE
    few = _counted_up(ft.where(large, ft.zeros_like(rate), rate))
    if not bool(large.any().item()):
        return few
    many = _transformed(ft.where(large, rate, ft.full_like(rate, _LARGE)))
    return ft.where(large, many, few)


def _counted_up(rate: Tensor) -> Any:
    """By inversion: the first count up to which the probabilities reach a number."""
    drawn = uniform(rate.double())
    count = ft.zeros_like(drawn)
    one = reached = ft.exp(-rate.double())
    while bool((reached < drawn).any().item()):
        more = reached < drawn
        count = ft.where(more, count + 1, count)
        one = one * rate / ft.clamp(count, min=1)
        reached = ft.where(more, reached + one, reached)
        if bool((one < finfo(one.dtype).tiny).all().item()):
            break  # rounding: the probabilities sum to a little less than one
    return count.to(rate.dtype)


def _transformed(rate: Tensor) -> Any:
    """Hörmann 1993, The transformed rejection method for Poisson variables (PTRS)."""
    b = 0.931 + 2.53 * ft.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse, quick = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)

    def propose() -> tuple[Any, Any]:
        u, v = uniform(rate) - 0.5, uniform(rate)
        us = ft.clamp(0.5 - ft.abs(u), min=finfo(rate.dtype).eps)
        k = ft.floor((2 * a / us + b) * u + rate + 0.43)
        at = ft.clamp(k, min=0)
        density = at * ft.log(rate) - rate - ft.lgamma(at + 1)
        below = ft.log(v * inverse / (a / (us * us) + b)) <= density
        possible = (k >= 0) & ~((us < 0.013) & (v > us))
        return k, ((us >= 0.07) & (v <= quick)) | (possible & below)

    return accepted(rate, propose)


def accepted(like: Tensor, propose: Callable[[], tuple[Any, Any]]) -> Any:
    """The first proposals that are accepted, element by element."""
    found, open_ = ft.zeros_like(like), ft.ones_like(like, dtype=dtypes.bool_)
    while bool(open_.any().item()):
        value, good = propose()
        found = ft.where(open_ & good, value, found)
        open_ = open_ & ~good
    return found


def uniform(like: Tensor) -> Any:
    """Uniform numbers in (0, 1)."""
    return ft.clamp(ft.rand_like(like), min=finfo(like.dtype).tiny)
