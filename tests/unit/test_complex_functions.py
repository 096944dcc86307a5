"""Functions of complex numbers as their bodies compute them, on level-0 kernels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.example import Example
from dovetail.conformance.oracle import ask
from dovetail.conformance.reference import reference
from dovetail.engine.cases import case
from dovetail.engine.op import vocabulary

FUNCTIONS = [
    "abs", "angle", "log1p", "tan", "tanh", "asin", "acos", "atan", "asinh", "acosh",
    "atanh", "sgn", "reciprocal", "rsqrt",
]  # fmt: skip


def composed(name: str, z: np.ndarray) -> np.ndarray:
    """What an op's body gives."""
    device, dtype = reference(), dt.from_numpy(z[:1]).dtype
    (y,) = device.run(vocabulary[name], Example(case(z)), dtype)
    return device.values(y)


def errors(name: str, z: np.ndarray) -> np.ndarray:
    """How far a body's results are off, in units of the last place of the modulus."""
    dtype = dt.from_numpy(z[:1]).dtype
    (want,) = ask(vocabulary[name], Example(case(z)), dtype)
    with np.errstate(all="ignore"):
        off = np.abs(composed(name, z) - want) / np.abs(want)
        fits = np.isfinite(want) & (np.abs(want) > np.finfo(z.dtype).tiny)
    return off[fits] / np.finfo(z.dtype).eps


def points(parts: list[float], dtype: type) -> np.ndarray:
    """All points of the plane with these parts."""
    z = np.empty(len(parts) ** 2, dtype)
    pairs = np.array(list(itertools.product(parts, parts)))
    z.real, z.imag = pairs[:, 0], pairs[:, 1]
    return z


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_sides_of_a_cut_are_told_apart(name: str) -> None:
    """The sign of a zero says on which side of a branch cut a number lies."""
    z = points([-3.0, -0.5, -0.0, 0.0, 0.5, 3.0], np.complex64)
    poles = (z == 0) | (z * z == 0)
    assert np.max(errors(name, z[~poles])) < 16


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("dtype", "far"), [(np.complex64, 100), (np.complex128, 800)])
def test_no_step_leaves_the_format(name: str, dtype: type, far: int) -> None:
    """Results that a format holds are right where squares of the input leave it."""
    sizes = 2.0 ** np.linspace(far * 0.6, far, 5)
    z = points([*sizes, *-sizes, 0.7, -2.0], dtype)
    assert np.max(errors(name, z)) < 32


def test_signs_of_zeros_are_parts_of_imaginary_parts() -> None:
    """The imaginary part keeps them, whatever the real part is."""
    z = points([-3.0, -0.0, 0.0, 3.0], np.complex64)
    assert composed("imag", z).tobytes() == z.imag.tobytes()


def test_a_number_is_not_taken_for_one_that_equals_it() -> None:
    """Of numbers given before, those with zeros of other signs are others."""
    x = dt.tensor([complex(0, -0.0)])
    given = [1 + 0j, complex(1, -0.0), 1 + 0j, complex(1, -0.0)]
    signs = [bool(np.signbit((x + n).numpy().imag)) for n in given]
    assert signs == [False, True, False, True]


def test_numbers_of_infinite_parts() -> None:
    """The body of `complex` keeps each part, and the sign of each that is not 0."""
    inf, nan = float("inf"), float("nan")
    device = reference()
    parts = np.array(list(itertools.product([inf, -inf, nan, 2.0, 0.0], repeat=2)))
    given = Example(case(*parts.T.copy()))
    (z,) = device.run(vocabulary["complex"], given, dt.float64)
    found = device.values(z)
    np.testing.assert_array_equal(found.real, parts[:, 0])
    np.testing.assert_array_equal(found.imag, parts[:, 1])
