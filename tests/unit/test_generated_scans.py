"""Generated kernels of scans: what came up to each element, along any dim."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.generated import guarded, untouched

import dovetail
from dovetail.codegen import eager_scan
from dovetail_cpu.generated_scans import SCANS, Generated

Array = np.ndarray[Any, Any]

# Rows around a vector and its parts, columns around a piece, and one long row.
CALLS = [
    ((1100, 16), 1), ((1100, 17), 1), ((1, 70_001), 1), ((70_001,), 0),
    ((300, 63), 0), ((300, 65), 0), ((7, 33, 90), 1), ((2000, 3, 16), 0),
]  # fmt: skip


def drawn(*shape: int, dtype: str = "float32") -> Array:
    """Numbers of both signs, many of them equal."""
    found = np.random.default_rng(5).integers(-9, 10, shape)
    return (found / 8 if dtype.startswith("f") else found).astype(dtype)


@pytest.mark.parametrize(
    ("shape", "dim", "dtype"),
    [
        (*c, ("float32", "int32", "float64", "int64")[i % 4])
        for i, c in enumerate(CALLS)
    ],
)
def test_each_element_has_what_came_up_to_it(
    shape: tuple[int, ...], dim: int, dtype: str
) -> None:
    """Sums, and extremes with their last places, are exactly those of one by one."""
    x = drawn(*shape, dtype=dtype)
    t = dovetail.from_numpy(x)
    wide = x.astype(np.float64 if dtype.startswith("f") else np.int64)
    np.testing.assert_array_equal(t.cumsum(dim).numpy(), wide.cumsum(dim))
    along = np.arange(shape[dim]).reshape(-1, *(1,) * (x.ndim - 1 - dim))
    for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
        values, places = getattr(t, name)(dim)
        best = ufunc.accumulate(x, dim)
        last = np.maximum.accumulate(np.where(x == best, along, 0), dim)
        np.testing.assert_array_equal(values.numpy(), best)
        np.testing.assert_array_equal(places.numpy(), last)


@pytest.mark.parametrize("dim", [0, 1])
def test_products_keep_their_digits(dim: int) -> None:
    """Products of many numbers near one are those of float64."""
    x = 1 + drawn(400, 300) / 1000
    got = dovetail.from_numpy(x).cumprod(dim).numpy()
    want = x.astype(np.float64).cumprod(dim)
    np.testing.assert_allclose(got, want, rtol=2e-7)


@pytest.mark.parametrize("dim", [0, 1])
def test_nan_stays_and_the_last_zero_is_taken(dim: int) -> None:
    """From a NaN on there is NaN; of equal zeros the last one shows its sign."""
    x = -np.abs(drawn(200, 200))
    x[50] = x[:, 50] = 0.0
    x[60] = x[:, 60] = -0.0
    x[70, 70] = x[90, 90] = np.nan
    values, places = dovetail.from_numpy(x).cummax(dim)
    lines, found, at = (
        np.moveaxis(a, dim, 1) for a in (x, values.numpy(), places.numpy())
    )
    np.testing.assert_array_equal(found, np.take_along_axis(lines, at, 1))
    assert np.signbit(found[0, [55, 60]]).tolist() == [False, True]
    assert np.isnan(found[70, 70:]).all()
    assert at[70, 85] == 70


@pytest.mark.parametrize("width", [1, 15, 16, 17, 64, 65])
def test_no_byte_beside_the_results_is_written(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and columns of any length leave the memory around results alone."""
    memories = []

    def empty(shape: Any, dtype: Any) -> Array:
        memory, inner = guarded(int(np.prod(shape)), np.dtype(dtype).name)
        memories.append((memory, inner))
        return inner.reshape(shape)

    shape, dim = ((3, width + 20), 1) if width == 1 else ((3, 19, width), 1)
    scan = eager_scan.Scan("maximum", "float32", "float32", "float32", places=True)
    scans = eager_scan.Scans("guarded", scan, across=width > 1)
    monkeypatch.setattr(eager_scan, "np", SimpleNamespace(empty=empty, int64=np.int64))
    scans(drawn(*shape), dim)
    assert len(memories) == 2
    assert all(untouched(*m) for m in memories)


@pytest.mark.parametrize("op", SCANS)
def test_every_scan_is_generated(op: str) -> None:
    """None of the scans is left to NumPy in silence, along no dim."""
    for dim in (0, 1):
        assert Generated(op, dim)(drawn(100, 100)) is not None


def test_kernels_serve_scans_of_some_hundred_elements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand numbers are summed up by a kernel, a hundred are not."""
    served: list[int] = []
    call = eager_scan.Scans.__call__

    def noted(scans: eager_scan.Scans, x: Array, dim: int) -> tuple[Array, ...]:
        served.append(x.size)
        return call(scans, x, dim)

    monkeypatch.setattr(eager_scan.Scans, "__call__", noted)
    for size in (100, 1000):
        dovetail.ones(size).cumsum(0)
    assert served == [1000]
