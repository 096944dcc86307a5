"""Gamma values, which are proposed, and accepted or proposed anew."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.frontend.random_counts import accepted, uniform
from dovetail.limits import finfo


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
