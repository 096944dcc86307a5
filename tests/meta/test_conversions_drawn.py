"""What casts are tried on: each way of rounding wrongly meets numbers that tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.meta.mutants.mutant import Fault, Run, installed, with_faults
from tests.meta.planted import verdict_on

from dovetail.conformance.verdicts import Outcome


def over_double(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """Integers become float32 by way of float64, and are rounded twice."""
    a = natives[0]
    if a.dtype.kind == "i" and attrs["dtype"].name == "float32":
        return np.asarray(a.astype(np.float64).astype(np.float32), order="C")
    return run(*natives, **attrs)


def real_alone(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """Complex numbers are true where their real part is not 0."""
    a = natives[0]
    cut = a.dtype.kind == "c" and attrs["dtype"].name == "bool"
    return run(a.real if cut else a, **attrs)


def by_bits(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """bfloat16 is what is left of the upper half of the bits, NaN or not."""
    y = np.array(run(*natives, **attrs))
    a = natives[0]
    if attrs["dtype"].name == "bfloat16" and a.dtype == np.float32:
        upper = (np.array(a).view(np.uint32) >> 16).astype(np.uint16)
        y = np.where(np.isnan(a), upper.view(y.dtype), y)
    return y


def nan_is_false(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """What is neither above 0 nor below it is false."""
    y, a = np.array(run(*natives, **attrs)), natives[0]
    if attrs["dtype"].name == "bool" and a.dtype.kind == "f":
        y = (a > 0) | (a < 0)
    return y


def no_subnormals(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """float16 below its least normal number is 0."""
    y = np.array(run(*natives, **attrs))
    if attrs["dtype"].name == "float16":
        y[np.abs(y) < np.finfo(np.float16).smallest_normal] = 0
    return y


def small_ties_up(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """Half of the least float16 becomes it, instead of 0."""
    y, a = np.array(run(*natives, **attrs)), natives[0]
    if attrs["dtype"].name == "float16":
        y[a == 2.0**-25] = 2.0**-24
    return y


@pytest.mark.parametrize(
    ("fault", "dtype"),
    [(over_double, "int64"), (real_alone, "complex64"), (by_bits, "float32"),
     (nan_is_false, "float32"), (no_subnormals, "float32"),
     (no_subnormals, "complex64"), (small_ties_up, "float64")],
)  # fmt: skip
def test_a_wrong_cast_is_caught(fault: Fault, dtype: str) -> None:
    """The law of conversions finds it, and nothing wrong where it is not."""
    assert verdict_on("cpu", "conversions", dtype).outcome is Outcome.PASSED
    with installed(with_faults({"cast": fault}), "faulty") as name:
        assert verdict_on(name, "conversions", dtype).outcome is Outcome.WRONG
