"""Kernels of the CPU where a shortcut would show: tails, ties, and large numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dt
from dovetail.nn import functional

LARGE = [-6.0, -13.0, -1e3, -1e10, -1e30]


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.bfloat16])
def test_gelu_of_large_negative_numbers_is_next_to_0(
    approximate: Any, dtype: Any
) -> None:
    """The rounding of erf is not multiplied by the argument."""
    y = functional.gelu(dt.tensor(LARGE, dtype=dtype), approximate=approximate)
    assert (abs(y) <= 4e-7).all(), y
    assert (abs(y[1:]) < 1e-30).all(), y


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [dt.float32, dt.bfloat16])
def test_the_slope_of_gelu_is_0_or_1_far_out(approximate: Any, dtype: Any) -> None:
    """Also where the square of the argument leaves the format."""
    x = dt.tensor([-3e38, -1e20, -50.0, 50.0, 1e20, 3e38], dtype=dtype)
    x.requires_grad = True
    functional.gelu(x, approximate=approximate).backward(dt.ones_like(x))
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma"])
def test_special_functions_are_the_c_librarys(name: str, dtype: str) -> None:
    """Rounded once to narrower formats, poles and infinities included."""
    at = [-math.inf, -1e38, -3.0, -2.5, -0.0, 0.0, 0.3, 4.0, 30.0, math.inf, math.nan]
    x = dt.tensor(at, dtype=getattr(dt, dtype))
    for part in (x, x[3], x.reshape(1, -1).t()):
        y = getattr(dt, name)(part)
        assert y.shape == part.shape
        want = [_by_c(name, v) for v in part.double().reshape(-1).tolist()]
        rounded = dt.tensor(want, dtype=dt.float64).to(y.dtype).double().numpy()
        found = y.double().reshape(-1).numpy()
        np.testing.assert_allclose(found, rounded, rtol=4e-7 if dtype == "float32" else
                                   1e-12 if dtype == "float64" else 0)  # fmt: skip


def _by_c(name: str, v: float) -> float:
    if name == "lgamma" and v <= 0 and (v == -math.inf or v == math.floor(v)):
        return math.inf
    found: float = getattr(math, name)(v)
    return found


@given(value=st.floats(-(2.0**50), 2.0**50, width=32), count=st.integers(2, 40))
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_equal_numbers_have_no_variance(dtype: str, value: float, count: int) -> None:
    """Exactly none, although their mean is rounded."""
    x = dt.tensor(np.full((3, count), value, dtype))
    assert x.var(1).tolist() == [0.0] * 3
    assert x.std().item() == 0


def test_rows_of_equal_numbers_leave_others_as_they_are() -> None:
    """What is done again for them is right for all."""
    random = np.random.default_rng(0)
    x = random.normal(size=(4, 50))
    x[1] = 0.1
    found = dt.tensor(x).var(1).numpy()
    assert found[1] == 0
    want = [math.fsum((v - math.fsum(r) / 50) ** 2 for v in r) / 49 for r in x]
    np.testing.assert_allclose(found, want, rtol=1e-14, atol=1e-30)
