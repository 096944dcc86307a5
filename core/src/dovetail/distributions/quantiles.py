"""Distributions whose samples are their quantiles at uniform numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.limits import finfo

from .distribution import Distribution

EULER: Final = 0.5772156649015329


def uniform_like(x: Tensor, shape: Sequence[int]) -> Any:
    """Uniform numbers in (0, 1), of the dtype and device of `x`."""
    drawn = ft.rand(tuple(shape), dtype=x.dtype, device=x.device)
    return ft.clamp(drawn, min=finfo(x.dtype).tiny)


class ByQuantile(Distribution):
    """Distributions whose samples are `icdf` of uniform numbers."""

    has_rsample = True

    def _draw(self, shape: Size) -> Any:
        first = getattr(self, self._given()[0])
        return self.icdf(uniform_like(first, shape))
