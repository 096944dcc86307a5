"""Kernels of ranks, which part rows, and of extremes, which turn narrow ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail.xp import order, reduce

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64", "int32", "int8")
SHAPES = (((24,), 0), ((3, 24), 1), ((24, 3), 0), ((2, 30, 3), 1))


def drawn(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    """Few or many different numbers, among floats no NaN, one in 50, or many."""
    a = rng.integers(0, rng.choice([4, 1000]), shape).astype(dtype)
    if a.dtype.kind == "f":
        a[rng.random(shape) < rng.choice([0, 0.02, 0.4])] = np.nan
    return a


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_greatest_are_those_of_a_stable_sort(
    dtype: str, shape: tuple[int, ...], dim: int
) -> None:
    """In their order, the first of equal ones, NaN being the greatest."""
    rng = np.random.default_rng(len(shape))
    for turn in range(60):
        a, k, largest = drawn(rng, dtype, shape), 1 + turn % 5, bool(turn % 2)
        values, places = order._topk(np, k, dim, largest, True)(a)
        wanted = order._order(np, a, dim, largest).take(range(k), dim)
        np.testing.assert_array_equal(places, wanted)
        np.testing.assert_array_equal(values, np.take_along_axis(a, wanted, dim))


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks_are_those_of_a_stable_sort(
    dtype: str, shape: tuple[int, ...], dim: int
) -> None:
    """Among equal ones and NaN, too; or the first NaN, where it wins."""
    rng = np.random.default_rng(len(shape))
    for turn in range(60):
        a, rank = drawn(rng, dtype, shape), turn % shape[dim]
        wanted = a.argsort(dim, kind="stable").take(rank, dim)
        np.testing.assert_array_equal(order._ranked(np, rank, dim, False)(a), wanted)
        nan = a != a  # noqa: PLR0124
        wanted = np.where(nan.any(dim), nan.argmax(dim), wanted)
        np.testing.assert_array_equal(order._ranked(np, rank, dim, True)(a), wanted)


@pytest.mark.parametrize("largest", [True, False])
def test_equal_ones_do_not_make_up_for_nan(largest: bool) -> None:
    """As many equal ones too many as there are NaN, in one line or in two."""
    row = np.array([np.nan, 5, 3, 3, *range(-20, 0)], np.float32)
    ties = np.array([9, 9, -99, -99, *range(20)], np.float32)
    pair = np.stack([np.full(24, np.nan, np.float32), ties])
    for a, k in ((row, 3), (pair, 1)):
        _, places = order._topk(np, k, a.ndim - 1, largest, True)(a)
        wanted = order._order(np, a, a.ndim - 1, largest)[..., :k]
        np.testing.assert_array_equal(places, wanted)


@pytest.mark.parametrize("shape", [(40, 7), (3, 30, 32), (40, 33), (300, 1), (2, 3)])
@pytest.mark.parametrize("dtype", [*DTYPES, "float16"])
def test_extremes_of_narrow_rows(dtype: str, shape: tuple[int, ...]) -> None:
    """Rows that are reduced side by side give what NumPy gives; NaN wins."""
    a = drawn(np.random.default_rng(3), dtype, shape)
    for name, whole in (("maximum", np.max), ("minimum", np.min)):
        for keepdim in (False, True):
            for x in (a, np.ascontiguousarray(a.T).T):
                y = reduce._extreme(np, name, (len(shape) - 1,), keepdim)(x)
                assert y.flags.c_contiguous
                assert y.dtype == x.dtype
                np.testing.assert_array_equal(y, whole(x, -1, keepdims=keepdim))
