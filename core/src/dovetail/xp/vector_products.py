"""Vector products, a component at a time."""

from __future__ import annotations

from typing import Any, Final

from dovetail.dtypes import HALF, NUMERIC
from dovetail.xp.kernels import Kernels

kernels: Final = Kernels()


@kernels("cross", NUMERIC - HALF, checks=True)
def _cross(xp: Any, a: Any, b: Any, dim: int | None) -> Any:
    """As a sum of two products each; the last dims of both broadcast."""
    along = a.shape.index(3) if dim is None else dim
    if a.ndim != b.ndim or a.shape[along] != 3 or b.shape[along] != 3:
        raise ValueError("not vectors of three along one dim")
    y = xp.empty(a.shape if a.shape == b.shape else xp.broadcast(a, b).shape, a.dtype)
    moved = [
        xp.moveaxis(v, along, 0) if along not in (0, -v.ndim) else v for v in (y, a, b)
    ]
    # With `...` also the components of a single vector are arrays, which is written.
    (y0, y1, y2), (a0, a1, a2), (b0, b1, b2) = (
        (v[0, ...], v[1, ...], v[2, ...]) for v in moved
    )
    for to, p, q, r, s in (
        (y0, a1, b2, a2, b1), (y1, a2, b0, a0, b2), (y2, a0, b1, a1, b0)
    ):  # fmt: skip
        xp.subtract(p * q, r * s, out=to)
    return y
