"""Generated kernels for weighted sums at any places, and the places of `grid_sample`.

They have the bits of NumPy's kernels, but in NaN, so that after enough small calls
they serve all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.codegen.grid_places import Sampling
from dovetail.device_api import Kernel
from dovetail_cpu.patience import patient

Array = np.ndarray[Any, Any]
Serve = Callable[..., Any]

_EARLY: Final = 5  # halvings of the least size: NumPy takes a pass for each step


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    return patient(own, max(least >> _EARLY, 1), TAP_OPS[own.op])


@cache
def _eager() -> Any:
    """What computes, with LLVM's text. An import takes longer than to ask this."""
    from dovetail.codegen import eager_taps

    return eager_taps


def _tap_sum(x: Array, index: Array, weight: Array) -> Array | None:
    return _filled(
        "tap_sum", np.empty, (*x.shape[:2], index.shape[2]), x, index, weight
    )


def _tap_spread(x: Array, index: Array, weight: Array, size: int) -> Array | None:
    return _filled("tap_spread", np.zeros, (*x.shape[:2], size), x, index, weight)


def _tap_dot(x: Array, index: Array, other: Array) -> Array | None:
    return _filled("tap_dot", np.empty, index.shape, x, index, other)


def _filled(
    does: str, new: Any, shape: tuple[int, ...], x: Array, index: Array, other: Array
) -> Array | None:
    """The result; None where there is nothing to add, or indices are others."""
    if not (x.size and index.size and other.size and math.prod(shape)):
        return None
    y: Array = new(shape, x.dtype)
    _eager().at_taps(does, x, index.astype(np.int64, copy=False), other, y)
    return y


def _grid_taps(
    grid: Array, sizes: Any, mode: Any, margin: Any, aligned: bool
) -> tuple[Array, Array] | None:
    if not grid.size:
        return None
    sampling = Sampling(mode, margin, aligned)
    axes = grid.shape[-1]
    places = math.prod(grid.shape[1:-1])
    shape = grid.shape[0], sampling.taps(axes), places
    weight, index = np.empty(shape, grid.dtype), np.empty(shape, np.int64)
    backwards = tuple(sizes)[::-1]
    _eager().grid_places(sampling, backwards, grid, weight, index, slopes=False)
    return weight, index


def _grid_taps_backward(
    ct: Array, grid: Array, sizes: Any, mode: Any, margin: Any, aligned: bool
) -> Array | None:
    if not grid.size:
        return None
    sampling = Sampling(mode, margin, aligned)
    made = np.empty((grid.shape[-1], *grid.shape[:-1]), grid.dtype)
    backwards = tuple(sizes)[::-1]
    _eager().grid_places(sampling, backwards, grid, ct, made, slopes=True)
    return np.ascontiguousarray(made.transpose(*range(1, grid.ndim), 0))


TAP_OPS: Final[dict[str, Serve]] = {
    "tap_sum": _tap_sum,
    "tap_spread": _tap_spread,
    "tap_dot": _tap_dot,
    "grid_taps": _grid_taps,
    "grid_taps_backward": _grid_taps_backward,
}
"""What serves large arrays, by the op; None of it where NumPy's kernel has to serve."""
