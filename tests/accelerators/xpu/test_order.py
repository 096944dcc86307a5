"""Sorting and searching on SYCL devices: the order, and what is kept of it."""

from typing import Any

import numpy as np
import pytest

import dovetail as dt

pytestmark = pytest.mark.usefixtures("xpu")

DTYPES = (
    dt.float16, dt.bfloat16, dt.float32, dt.float64, dt.bool, dt.uint8, dt.int8,
    dt.int16, dt.int32, dt.int64,
)  # fmt: skip
SIZES = (1, 2, 31, 32, 33, 65, 200)  # around chunks of 32, and runs of several


def numbers(*shape: int, dtype: dt.dtype) -> dt.Tensor:
    """Numbers with many equals among them; of floats, with NaN and both zeros."""
    made = np.random.default_rng(3).integers(-9, 9, shape).astype(np.float64)
    if dtype.is_floating_point and made.size > 5:
        made.reshape(-1)[:5] = [np.nan, -0.0, 0.0, -np.inf, np.nan]
    return dt.tensor(made).to(dtype)


def bits(x: dt.Tensor) -> Any:
    """What an array holds, to be compared with another one's."""
    wide = x.cpu().double() if x.is_floating_point() else x.cpu()
    return wide.numpy()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_are_sorted_as_on_the_cpu(dtype: dt.dtype, size: int) -> None:
    """Along any dim, in both directions; equal elements keep their order."""
    x = numbers(3, size, 2, dtype=dtype)
    y = x.to("xpu")
    for descending in (False, True):
        for dim in range(3):
            found = y.sort(dim, descending, stable=True)
            expected = x.sort(dim, descending, stable=True)
            assert np.array_equal(bits(found.indices), bits(expected.indices))
            np.testing.assert_array_equal(bits(found.values), bits(expected.values))
        found = y.topk(size // 2, 1, largest=descending)
        order = x.sort(1, descending, stable=True).indices[:, : size // 2]
        assert np.array_equal(bits(found.indices), bits(order))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_are_found_as_on_the_cpu(dtype: dt.dtype, right: bool) -> None:
    """In a row for each of their own, and in one for all."""
    rows = numbers(3, 40, dtype=dtype).sort(1).values
    values = numbers(3, 25, dtype=dtype)
    for row in (rows, rows[1], rows[:, ::1], rows[1, :0]):
        found = dt.searchsorted(row.to("xpu"), values.to("xpu"), right=right)
        expected = dt.searchsorted(row, values, right=right)
        assert np.array_equal(bits(found), bits(expected))


def test_launches_grow_with_the_logarithm_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A launch for keys, for chunks, for each merge, and for the result."""
    from dovetail_xpu.launch import Launchable

    launched = []
    launch = Launchable.launch
    monkeypatch.setattr(
        Launchable, "launch", lambda self, *a: launched.append(launch(self, *a))
    )
    for size, merges in ((32, 0), (33, 1), (1024, 5), (1025, 6)):
        x = dt.zeros(2, size, device="xpu")
        launched.clear()
        dt.argsort(x)
        assert len(launched) == 3 + merges
