"""What goes from element to element along a dim, and back."""

from __future__ import annotations

from typing import Any, Final

from dovetail.dtypes import HALF, INEXACT
from dovetail.xp.kernels import Kernels

kernels: Final = Kernels()


def _cumprod_backward(xp: Any, ct: Any, x: Any, y: Any, dim: int) -> Any:
    """From behind, as generated kernels have it."""
    if not ct.ndim or not ct.size:
        return ct.copy()
    found = xp.empty(ct.shape, ct.dtype)
    steps, ct, x, y = (xp.moveaxis(a, dim, 0) for a in (found, ct, x, y))
    total = ct[-1]
    steps[-1] = total
    for i in range(len(ct) - 2, -1, -1):
        total = x[i + 1] * total + ct[i]
        steps[i] = total
    steps[1:] *= y[:-1]
    return found


@kernels("cumprod_backward", INEXACT - HALF)
def _cumprod_slopes(xp: Any, ct: Any, x: Any, y: Any, dim: int) -> Any:
    return _cumprod_backward(xp, ct, x, y, dim)


@kernels("cumprod_backward", HALF)
def _cumprod_slopes_of_halves(xp: Any, ct: Any, x: Any, y: Any, dim: int) -> Any:
    wide = [a.astype("float32") for a in (ct, x, y)]
    return _cumprod_backward(xp, wide[0], wide[1], wide[2], dim).astype(ct.dtype)
