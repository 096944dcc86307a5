"""Values of kernels that are computed on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail.codegen.array_steps import Steps
from dovetail.codegen.values import bits, cast, choose, fma, parameter, unary

Array = np.ndarray[Any, Any]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_step_is_rounded_by_itself(dtype: Any) -> None:
    """A product and a sum are rounded twice, in the dtype of their operands."""
    x, y = (parameter(n, np.dtype(dtype).name) for n in "xy")
    a, b = np.random.default_rng(0).normal(size=(2, 500)).astype(dtype)
    (got,) = Steps(np, (x, y), [fma(x, y, 0.1)])(a, b)
    assert got.dtype == dtype
    assert np.array_equal(got, a * b + dtype(0.1))


def test_bits_casts_and_choices() -> None:
    """Bits are read as they are, casts convert, choices are by element."""
    x = parameter("x", "float32")
    whole = bits(x, "int32") & 0x7FFFFFFF
    steps = Steps(np, [x], [bits(whole, "float32"), cast(x, "int32"), -x, whole])
    a = np.array([-1.5, 2.5, -0.0], np.float32)
    size, cut, other, of_size = steps(a)
    assert size.tolist() == [1.5, 2.5, 0.0]
    assert cut.tolist() == [-1, 2, 0]
    assert np.array_equal(other, -a)
    assert of_size.dtype == np.int32
    root = unary("sqrt", bits(whole, "float32"))
    (chosen,) = Steps(np, [x], [choose(x < 0.0, root, x)])(a)
    assert np.array_equal(chosen, np.where(a < 0, np.sqrt(np.abs(a)), a))


def test_what_is_given_is_left_as_it_was() -> None:
    """Arrays of a call are read only, and may be results."""
    x = parameter("x", "float64")
    a = np.arange(3.0)
    same, twice = Steps(np, [x], [x, x + x])(a)
    assert same is a
    assert twice.tolist() == [0, 2, 4]
    assert a.tolist() == [0, 1, 2]
