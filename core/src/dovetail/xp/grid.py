"""The taps of `grid_sample`, with the arithmetic that generated kernels have too."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.codegen.grid_places import Sampling
from dovetail.dtypes import FLOAT, HALF
from dovetail.xp.kernels import Kernels

kernels: Final = Kernels()


class _Arrays:
    """Arithmetic on a library's arrays."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.floor = xp.floor

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        return self.xp.where(condition, a, b)

    def ones(self, x: Any) -> Any:
        return self.xp.ones_like(x)

    def number(self, n: Any, x: Any) -> Any:
        return n

    def whole(self, x: Any) -> Any:
        return x.astype("int64")


def _coordinates(xp: Any, grid: Any) -> list[Any]:
    n, *places, axes = grid.shape
    flat = xp.ascontiguousarray(xp.moveaxis(grid, -1, 0))
    return list(flat.reshape(axes, n, math.prod(places)))


@kernels("grid_taps", FLOAT - HALF)
def _grid_taps(
    xp: Any, grid: Any, sizes: Any, mode: Any, margin: Any, aligned: bool
) -> Any:
    at = _coordinates(xp, grid)
    sampling = Sampling(mode, margin, aligned)
    index, weight = sampling.found(_Arrays(xp), at, tuple(sizes)[::-1])
    return xp.stack(weight, 1), xp.stack(index, 1)


@kernels("grid_taps_backward", FLOAT - HALF)
def _grid_taps_backward(
    xp: Any, ct: Any, grid: Any, sizes: Any, mode: Any, margin: Any, aligned: bool
) -> Any:
    at = _coordinates(xp, grid)
    sampling = Sampling(mode, margin, aligned)
    parts = [ct[:, k] for k in range(ct.shape[1])]
    found = sampling.slopes(_Arrays(xp), at, tuple(sizes)[::-1], parts)
    return xp.stack(found, -1).reshape(grid.shape)
