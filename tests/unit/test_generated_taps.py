"""Generated weighted sums at any places: NumPy's bits, guards, indices outside."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.support.generated import guarded, untouched

import dovetail
from dovetail.codegen.eager_taps import Sampling, at_taps, grid_places
from dovetail.codegen.grid_places import Margin, Mode
from dovetail.codegen.runtime.machine import available
from dovetail.nn.functional import grid_sample
from dovetail.xp import grid as grid_kernels
from dovetail.xp import taps as tap_kernels
from dovetail_cpu.patience import CALLS

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

# n, channels, elements, taps, places.
SHAPES = [(2, 3, 50, 4, 700), (1, 1, 1, 1, 1), (3, 2, 9, 16, 33), (1, 5, 40, 2, 4000)]
PLAIN: dict[str, Any] = {
    "tap_sum": tap_kernels._tap_sum,
    "tap_spread": tap_kernels._tap_spread,
    "tap_dot": tap_kernels._tap_dot,
}
MODES: tuple[Mode, ...] = ("bilinear", "nearest", "bicubic")
MARGINS: tuple[Margin, ...] = ("zeros", "border", "reflection")


def drawn(dtype: str, *shape: int) -> Array:
    """Numbers, some of which are none."""
    values = np.random.default_rng(0).normal(size=shape).astype(dtype)
    values.reshape(-1)[::31] = np.nan
    return values


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("does", list(PLAIN))
def test_the_bits_are_those_of_numpys_kernels(does: Any, dtype: str) -> None:
    """Indices far outside count as 0, and nothing beside the result is written."""
    for n, c, m, k, p in SHAPES:
        index = np.random.default_rng(1).integers(-2, m + 2, (n, k, p))
        index.reshape(-1)[::7] = 2**62
        index.reshape(-1)[::11] = -(2**63)
        sizes = {"tap_sum": (m, k), "tap_spread": (p, k), "tap_dot": (p, m)}[does]
        x = drawn(dtype, n, c, sizes[0])
        other = drawn(dtype, n, c if does == "tap_dot" else sizes[1], p)
        if does == "tap_dot":
            other = drawn(dtype, n, c, m)
        more = (m,) if does == "tap_spread" else ()
        with np.errstate(all="ignore"):
            wanted = PLAIN[does](np, x, index, other, *more)
        memory, flat = guarded(wanted.size, dtype)
        y = flat.reshape(wanted.shape)
        y[...] = 0
        at_taps(does, x, index, other, y)
        np.testing.assert_array_equal(y, wanted)
        assert untouched(memory, flat)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("margin", MARGINS)
def test_places_have_the_bits_of_numpys_kernels(mode: Mode, margin: Margin) -> None:
    """Also those that are no numbers, and of axes of one element."""
    for sizes, aligned, dtype in itertools.product(
        [(5, 4), (1, 1), (2, 3, 7)], [True, False], ["float32", "float64"]
    ):
        if mode == "bicubic" and len(sizes) > 2:
            continue
        grid = 1.5 * drawn(dtype, 2, 30, 3, len(sizes))
        grid.reshape(-1)[::17] = np.inf
        sampling, backwards = Sampling(mode, margin, aligned), sizes[::-1]
        how = (sizes, mode, margin, aligned)
        with np.errstate(all="ignore"):
            weight, index = grid_kernels._grid_taps(np, grid, *how)
            slopes = grid_kernels._grid_taps_backward(np, weight * 3, grid, *how)
        mine = np.empty_like(weight), np.empty_like(index)
        grid_places(sampling, backwards, grid, *mine, slopes=False)
        np.testing.assert_array_equal(mine[0], weight)
        np.testing.assert_array_equal(mine[1], index)
        assert index.min() >= -1
        assert index.max() < np.prod(sizes)
        made = np.empty((len(sizes), *grid.shape[:-1]), dtype)
        grid_places(sampling, backwards, grid, weight * 3, made, slopes=True)
        np.testing.assert_array_equal(np.moveaxis(made, 0, -1), slopes)


def test_many_small_calls_give_what_the_first_gave() -> None:
    """The kernel that takes over gives the same bits."""
    x, grid = dovetail.rand(1, 2, 5, 4), dovetail.rand(1, 3, 3, 2) * 2 - 1
    first = grid_sample(x, grid, align_corners=False)
    for _ in range(CALLS + 2):
        again = grid_sample(x, grid, align_corners=False)
    assert first.tolist() == again.tolist()
