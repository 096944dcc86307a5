"""Weighted sums at any places of NumPy arrays, by generated kernels."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, NamedTuple

from dovetail.codegen import runtime
from dovetail.codegen.arrays import Array, target
from dovetail.codegen.eager_sort import run
from dovetail.codegen.grid_places import Sampling
from dovetail.codegen.llvm_text import render
from dovetail.codegen.runtime.launch import Launch, launching
from dovetail.codegen.tap_kernels import (
    Does,
    grid_kernel,
    grid_slopes_kernel,
    taps_kernel,
)

_GRAIN: Final = 1 << 13  # products that a thread takes at a time
_REMEMBERED: Final = 512  # shapes
Ints = tuple[int, ...]


class _Plan(NamedTuple):
    """What calls of one shape have in common."""

    kernel: runtime.Kernel
    items: int
    grain: int
    words: Ints
    launch: Launch | None

    def run(self, *arrays: Array) -> None:
        """Run the kernel on arrays."""
        if self.launch is None or not self.launch(*arrays):
            run(self.kernel, self.items, self.grain, *arrays, *self.words)


def _planned(
    kernel: runtime.Kernel, arrays: int, work: int, items: int, words: Ints
) -> _Plan:
    """The plan for items of so much work each."""
    grain = max(_GRAIN // max(work, 1), 1)
    return _Plan(
        kernel, items, grain, words, launching(kernel, arrays, words, items, grain)
    )


@cache
def _taps(does: Does, dtype: str) -> runtime.Kernel:
    form = taps_kernel(does, dtype)
    return runtime.kernel(form.name, render(form, target()))


@cache
def _grid(slopes: bool, sampling: Sampling, axes: int, dtype: str) -> runtime.Kernel:
    form = (grid_slopes_kernel if slopes else grid_kernel)(sampling, axes, dtype)
    return runtime.kernel(form.name, render(form, target()))


def at_taps(does: Does, x: Array, index: Array, other: Array, y: Array) -> None:
    """Fill `y` with what `dovetail.ops.taps` says; all are row-major.

    Args:
        index: int64.
        y: zeros where sums go to elements; of more than no elements, as all of them.
    """
    one = y if does == "tap_spread" else (x if does == "tap_sum" else other)
    plan = _of_taps(does, x.dtype.name, one.shape, index.shape)
    plan.run(x, index, other, y)


@lru_cache(_REMEMBERED)
def _of_taps(does: Does, dtype: str, elements: Ints, index: Ints) -> _Plan:
    n, channels, size = elements
    _, taps, places = index
    if does == "tap_spread":
        items, parts, part_size = n * channels, 1, places
        work = taps * places
    else:
        parts, part_size = _parts(places, taps * channels)
        items, work = n * parts, part_size * taps * channels
    words = channels, size, taps, places, parts, part_size
    return _planned(_taps(does, dtype), 4, work, items, words)


def _parts(places: int, work: int) -> tuple[int, int]:
    """How many parts the places of a row have, and how long they are."""
    part_size = min(max(_GRAIN // max(work, 1), 64), places)
    return -(-places // part_size), part_size


def grid_places(
    sampling: Sampling, sizes: Ints, grid: Array, *others: Array, slopes: bool
) -> None:
    """Fill the weights and indices of a grid, or its gradient from the weights'.

    Args:
        grid: [n, …, axes], row-major, as `others` are.
        others: weights and int64 indices, or the weights' gradients and the grid's,
            [axes, n, …].
    """
    plan = _of_grid(sampling, sizes, grid.dtype.name, others[0].shape, slopes)
    plan.run(grid, *others)


@lru_cache(_REMEMBERED)
def _of_grid(
    sampling: Sampling, sizes: Ints, dtype: str, weights: Ints, slopes: bool
) -> _Plan:
    n, taps, places = weights
    parts, part_size = _parts(places, taps)
    words = places, parts, part_size, n * places, *sizes
    kernel = _grid(slopes, sampling, len(sizes), dtype)
    return _planned(kernel, 3, part_size * taps, n * parts, words)


__all__ = ["Sampling", "at_taps", "grid_places"]
