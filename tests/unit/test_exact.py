"""The arithmetics that oracles compute in agree, at special points above all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail.engine.exact import ByMpmath, LongDouble, exact, whole
from dovetail.engine.op import vocabulary

# Names of functions, by how many numbers they take.
UNARY = (
    "exp", "log", "sin", "cos", "tan", "expm1", "log1p", "sqrt", "log10", "log2",
    "exp2", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip
BINARY = ("atan2", "hypot", "pow")
POINTS = np.array([
    0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 1.5, -2.5, 20.0, 88.5, -104.0, 1e-30, 1e30,
    700.0, -745.0, math.inf, -math.inf, math.nan, 1e-300, 2.0**-54, 1e5,
])  # fmt: skip
COMPLEX = np.array([0.3 + 0.4j, -1.5 + 2j, 3 - 1j, 1e-10 + 1e-9j, -0.2 - 0.9j, 20 + 3j])

pytestmark = [
    pytest.mark.skipif(
        np.finfo(np.longdouble).nmant < 63, reason="long double is double here"
    ),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str) -> None:
    """Long double and mpmath give the same float64, at zeros and infinities too."""
    wide, slow = LongDouble(), ByMpmath()
    found = [
        m.rounded(getattr(m, name)(m.widened(POINTS)), False) for m in (wide, slow)
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name: str) -> None:
    """The same of every pair of the points."""
    a, b = np.meshgrid(POINTS, POINTS)
    found = [
        m.rounded(getattr(m, name)(m.widened(a), m.widened(b)), False)
        for m in (LongDouble(), ByMpmath())
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_complex_numbers(name: str) -> None:
    """Of complex numbers they agree to a unit in the last place."""
    found = [
        m.rounded(getattr(m, name)(m.widened(COMPLEX)), True)
        for m in (LongDouble(), ByMpmath())
    ]
    np.testing.assert_allclose(*found, rtol=2.3e-16)


def test_oracle_is_rounded_once() -> None:
    """A sum that float64 loses is not lost on the way to the result."""
    found = exact(lambda m, x: (x + 1) - 1)(np.array([2.0**-60]))
    assert found.dtype == np.float64
    assert found.item() == 2.0**-60


def test_integers_wrap_to_their_width() -> None:
    """Integers are Python's until the end, when they wrap as two's complement does."""
    of = np.array([100, -128], np.int8)
    assert whole(lambda a, b: a * b, of, of).tolist() == [16, 0]
    assert exact("exp", lambda a: a + 100)(of).tolist() == [-56, -28]
    assert exact("exp", lambda a: not a)(np.array([True, False])).tolist() == [
        False,
        True,
    ]


def test_the_sinc_of_a_large_whole_number_is_zero() -> None:
    """Pi times it has too few digits, even in long double."""
    x = np.array([2.0**63, 2.0**53, -(2.0**40)])
    assert vocabulary["sinc"].oracle(x).tolist() == [0, 0, 0]


def test_rows_with_nan_are_distinct_and_the_last_in_order() -> None:
    """Equal to none, not to themselves, and sorted by their other columns."""
    x = np.array([[math.nan, 2], [1, math.nan], [math.nan, 1], [1, 5], [math.nan, 1]])
    values, inverse, counts = vocabulary["unique"].oracle(x)
    assert inverse.tolist() == [4, 1, 2, 0, 3]
    assert counts.tolist() == [1] * 5
    np.testing.assert_array_equal(values, x[[3, 1, 2, 4, 0]])
