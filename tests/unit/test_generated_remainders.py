"""Generated kernels of `fmod` give C's bits, whatever the operands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.codegen.eager import Pointwise
from dovetail.codegen.program import Program, Step
from dovetail.codegen.runtime import available

if not available():
    pytest.skip("no kernels here", allow_module_level=True)

Array = np.ndarray[Any, Any]
_COUNT = 20_000  # of which on kernels serve, whatever they compute


def drawn(dtype: str) -> dict[str, tuple[Array, Array]]:
    """Pairs of operands, by what their quotients are like."""
    rng = np.random.default_rng(3)
    bits = np.uint32 if dtype == "float32" else np.uint64
    kind = np.dtype(dtype).type

    def anything() -> Array:
        most = np.iinfo(bits).max
        return rng.integers(0, most, _COUNT, bits, endpoint=True).view(dtype)

    near = rng.normal(size=(2, _COUNT)).astype(dtype) * kind(100)
    limits = np.finfo(dtype)
    ends = [0.0, 1.0, 3.0, math.inf, math.nan, limits.max, limits.tiny,
            limits.smallest_subnormal, 0.1, 2.0**22, 2.0**51]  # fmt: skip
    special = np.array([*ends, *[-x for x in ends]], dtype)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    whole = rng.integers(0, 1 << 21, _COUNT).astype(dtype)
    return {
        "near": (near[0], near[1]),
        "any bits": (anything(), anything()),
        "special": (np.resize(x, _COUNT), np.resize(y, _COUNT)),
        "multiples": (whole * kind(0.1), np.full(_COUNT, 0.1, dtype)),
    }


def assert_c_s_bits(got: Array, x: Array, y: Array) -> None:
    """The bits are those of `fmod` of the C library, but for those of NaN."""
    with np.errstate(all="ignore"):
        want = np.fmod(x, y)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), ~known)
    assert got[known].tobytes() == want[known].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["near", "any bits", "special", "multiples"])
def test_fmod_is_exact(kind: str, dtype: str) -> None:
    """Quotients that a division says, larger ones, none, and those of subnormals."""
    x, y = drawn(dtype)[kind]
    got = dt.fmod(dt.tensor(x), dt.tensor(y))
    assert_c_s_bits(got.numpy(), x, y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_remainder_for_all_lanes(dtype: str) -> None:
    """A remainder that is the same in all lanes is computed once, as in each."""
    steps = (Step("float_fmod", (0, 1), dtype, ()), Step("add", (2, 3), dtype, ()))
    program = Program((dtype, dtype, dtype), steps, ((4, dtype),))
    added = np.arange(3_000, dtype=dtype).reshape(30, 100)
    x, y = np.array(7.5, dtype), np.array(-2.0, dtype)
    got = Pointwise("fmod_and_add", program)(x, y, added)
    assert got is not None
    np.testing.assert_array_equal(got, added + np.fmod(x, y))
