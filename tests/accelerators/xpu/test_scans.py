"""Scans on SYCL devices: sums, products and extremes so far, along any dim."""

from typing import Any

import numpy as np
import pytest

import dovetail as dt

pytestmark = pytest.mark.usefixtures("xpu")

DTYPES = (
    dt.float16, dt.bfloat16, dt.float32, dt.float64, dt.bool, dt.uint8, dt.int8,
    dt.int16, dt.int32, dt.int64,
)  # fmt: skip
# Rows longer than a block, columns in several tiles, few long columns, and none.
SHAPES: Any = (
    ((300,), 0), ((4, 70), 1), ((5, 3, 2), 1), ((9, 130), 0), ((1500, 3), 0),
    ((2, 0), 1), ((), 0),
)  # fmt: skip


def wide(x: dt.Tensor) -> Any:
    """What an array holds, to be compared with another one's."""
    return (x.cpu().double() if x.is_floating_point() else x.cpu()).numpy()


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scans_give_what_those_of_the_cpu_do(
    dtype: dt.dtype, shape: tuple[int, ...], dim: int
) -> None:
    """Sums of small whole numbers are exact; places are those of the last equals."""
    made = np.asarray(np.random.default_rng(4).integers(-3, 4, shape), np.float64)
    if dtype.is_floating_point and made.size > 200:
        made.reshape(-1)[[-200, -4]] = np.nan
    x = dt.tensor(made).to(dtype)
    y = x.to("xpu")
    for name in ("cummax", "cummin"):
        for found, expected in zip(
            getattr(y, name)(dim), getattr(x, name)(dim), strict=True
        ):
            np.testing.assert_array_equal(wide(found), wide(expected))
    np.testing.assert_array_equal(wide(y.cumsum(dim)), wide(x.cumsum(dim)))
    signs = x.sign() if dtype not in (dt.bool, dt.uint8) else x
    found, expected = signs.to("xpu").cumprod(dim), signs.cumprod(dim)
    np.testing.assert_array_equal(wide(found), wide(expected))


def test_scans_gather_in_the_dtype_that_is_asked_for() -> None:
    """Integers that are too large for it begin again from the least."""
    x = dt.full((40,), 100)
    for dtype in (dt.int8, dt.uint8, dt.float64, dt.bool):
        found = x.to("xpu").cumsum(0, dtype=dtype)
        expected = x.cumsum(0, dtype=dtype)
        assert found.dtype is expected.dtype
        assert np.array_equal(wide(found), wide(expected))


def test_long_sums_of_small_numbers_keep_their_digits() -> None:
    """Added up in float64, where the device has it."""
    x = dt.full((200_000,), 0.1)
    found = wide(x.to("xpu").cumsum(0))
    expected = np.cumsum(x.numpy(), dtype=np.float64)
    assert np.allclose(found, expected, rtol=1e-7, atol=0)
