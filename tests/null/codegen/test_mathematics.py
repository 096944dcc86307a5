"""The mathematics of kernels keeps its word, beside mpmath over all arguments."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.support.drawn_kernels import elementwise
from tests.support.generated import Array, call, of_each, target

from dovetail.codegen.mathematics import FUNCTIONS

BITS = {"float32": "int32", "float64": "int64"}
CASES = [(name, dtype) for name in FUNCTIONS for dtype in FUNCTIONS[name].ulp]
# Where results are neither constant nor out of range.
ALIVE: dict[str, tuple[float, float]] = {
    "exp": (-746, 710), "exp2": (-1076, 1025), "expm1": (-40, 710),
    "tanh": (-20, 20), "erf": (-6, 6), "erfc": (-6, 27.3), "normal_cdf": (-9, 9),
    "sin": (-40, 40), "cos": (-40, 40), "log": (0, 1e4), "log1p": (-1, 1e4),
    "float_pow": (0, 20),
}  # fmt: skip
CONSTANT = {"erf", "erfc", "normal_cdf"}
TRUTH = {
    "normal_cdf": mpmath.ncdf, "exp2": lambda x: mpmath.power(2, x),
    "float_pow": mpmath.power,
}  # fmt: skip
# Digits that the truth needs: of an argument, those of the multiple of pi next to it.
DIGITS = {"sin": 1300, "cos": 1300}
# Of all numbers, those next to a multiple of pi / 2: in float32, and in float64.
NEAREST = [16367173 * 2.0**72, 6381956970095103 * 2.0**797]
DEFINED = {"log": 0.0, "log1p": -1.0, "float_pow": 0.0}


def computed(name: str, *given: Array, fused: bool = True) -> Array:
    """What the generated kernel of a function gives."""
    x, y = given[0], np.empty_like(given[0])
    make = FUNCTIONS[name].make
    of = of_each if FUNCTIONS[name].inputs == 1 else elementwise
    call(of(make, x.dtype.name), [*given, y], x.size, on=target(fused))
    return y


def arguments(name: str, dtype: str, count: int = 700) -> Array:
    """Where the function is alive, of all sizes, next to 0 and next to 1."""
    rng = np.random.default_rng(7)
    low, high = ALIVE[name]
    limits = np.iinfo(BITS[dtype])
    anywhere = rng.integers(limits.min, limits.max, count, dtype=BITS[dtype])
    near = rng.uniform(-1, 1, count) * 2.0 ** rng.uniform(-60, 2, count)
    turns = np.round(np.exp(rng.uniform(0, 80, count))) * (math.pi / 2)
    parts = [rng.uniform(low, high, count), near, 1 + near / 64]
    parts += [[x for x in NEAREST if x < float(np.finfo(dtype).max)]]
    parts += [turns] * (name in {"sin", "cos"})
    x = np.concatenate([*(np.asarray(p, dtype) for p in parts), anywhere.view(dtype)])
    return np.asarray(x[np.isfinite(x) & (x >= DEFINED.get(name, -math.inf))])


def exponents(x: Array) -> Array:
    """What takes numbers to powers of all sizes, and whole numbers."""
    rng = np.random.default_rng(8)
    most = np.log2(float(np.finfo(x.dtype).max)) * 1.1
    with np.errstate(all="ignore"):
        y = rng.uniform(-most, most, x.size) / np.log2(x.astype(np.float64))
    y[::5] = np.round(rng.uniform(-9, 9, y[::5].size))
    return np.where(np.isfinite(y), y, 1.0).astype(x.dtype)


def _within(name: str, x: float) -> float:
    """An argument that mpmath can take: further out, these are constant."""
    return max(-1e3, min(x, 1e3)) if name in CONSTANT else x


def error(name: str, given: tuple[Any, ...], y: Any) -> float:
    """The distance of y from the true value, in ulp of that."""
    limits = np.finfo(y.dtype)
    with mpmath.workprec(DIGITS.get(name, 160)):
        function = TRUTH.get(name) or getattr(mpmath, name)
        true = function(*(mpmath.mpf(_within(name, float(x))) for x in given))
        if abs(true) > float(limits.max):
            return 0.0 if math.isinf(y) else math.inf
        if not math.isfinite(y):
            return 0.0 if true == float(y) else math.inf
        of = 1.0 if FUNCTIONS[name].of_one else abs(float(true))
        ulp = float(np.spacing(y.dtype.type(of)))
        return abs(float((mpmath.mpf(float(y)) - true) / ulp))


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "rounded twice"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_errors_are_as_declared(name: str, dtype: str, fused: bool) -> None:
    """No result is further from the true value than the declaration says."""
    given = [arguments(name, dtype)]
    if FUNCTIONS[name].inputs > 1:
        given.append(exponents(given[0]))
    y = computed(name, *given, fused=fused)
    calls = list(zip(*given, strict=True))
    errors = [error(name, a, b) for a, b in zip(calls, y, strict=True)]
    worst = int(np.argmax(errors))
    assert errors[worst] <= FUNCTIONS[name].ulp[dtype], (calls[worst], y[worst])


INF, NAN = math.inf, math.nan
# (arguments, result) beside NaN, which stays.
SPECIAL: dict[str, list[tuple[float, ...]]] = {
    "exp": [(INF, INF), (-INF, 0.0), (0.0, 1.0), (-0.0, 1.0)],
    "exp2": [(INF, INF), (-INF, 0.0), (0.0, 1.0), (-0.0, 1.0), (3.0, 8.0)],
    "expm1": [(INF, INF), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0)],
    "tanh": [(INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0)],
    "log": [(INF, INF), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (1.0, 0.0),
            (-INF, NAN)],
    "log1p": [(INF, INF), (-1.0, -INF), (0.0, 0.0), (-0.0, -0.0), (-2.0, NAN),
              (-INF, NAN)],
    "sin": [(INF, NAN), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0)],
    "cos": [(INF, NAN), (-INF, NAN), (0.0, 1.0), (-0.0, 1.0)],
    "erf": [(INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0)],
    "erfc": [(INF, 0.0), (-INF, 2.0), (0.0, 1.0), (-0.0, 1.0)],
    "normal_cdf": [(INF, 1.0), (-INF, 0.0), (0.0, 0.5), (-0.0, 0.5), (-1e30, 0.0)],
    "float_pow": [
        (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (1.0, NAN, 1.0), (-1.0, NAN, NAN),
        (0.0, NAN, NAN), (NAN, 1.0, NAN), (1.0, INF, 1.0), (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0), (0.5, INF, 0.0), (-2.0, INF, INF), (2.0, -INF, 0.0),
        (0.5, -INF, INF), (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0),
        (-0.0, 0.5, 0.0), (0.0, -1.0, INF), (-0.0, -1.0, -INF), (-0.0, -2.0, INF),
        (INF, 2.0, INF), (INF, -2.0, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF),
        (-INF, -3.0, -0.0), (-INF, 0.5, INF), (-8.0, 1 / 3, NAN), (-2.0, 3.0, -8.0),
        (-2.0, 2.0, 4.0), (-2.0, -1.0, -0.5), (3.0, 2.0, 9.0), (2.0, 1e30, INF),
        (-1.0, 1e30, 1.0), (2.0, -1e30, 0.0), (-3.0, -1e30, 0.0),
    ],
}  # fmt: skip
ODD = {"expm1", "tanh", "log1p", "sin"}  # f(x) is x next to 0


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_special_values(name: str, dtype: str) -> None:
    """Infinities, signed zeros and NaN give what IEEE 754 says, with their signs."""
    nans = (NAN,) * (FUNCTIONS[name].inputs + 1)
    *given, want = np.array([*SPECIAL[name], nans], dtype).T
    got = computed(name, *map(np.ascontiguousarray, given))
    np.testing.assert_array_equal(got, want)
    zeros = want == 0
    assert (np.signbit(got) == np.signbit(want))[zeros].all()


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("name", sorted(ODD))
def test_subnormal_arguments_stay(name: str, dtype: str) -> None:
    """Where f(x) is x, the smallest numbers come out as they are."""
    least = np.finfo(dtype).smallest_subnormal
    x = np.array([1, 2, 3, 1000, -1, -77], dtype) * least
    np.testing.assert_array_equal(computed(name, x), x)


def test_every_function_is_tested() -> None:
    """A function that is new needs its interval and its special values here."""
    assert FUNCTIONS.keys() == ALIVE.keys() == SPECIAL.keys()
