"""The mathematics of kernels keeps its word, beside mpmath over all arguments."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.support.generated import Array, call, of_each, target

from dovetail.codegen.mathematics import FUNCTIONS

BITS = {"float32": "int32", "float64": "int64"}
CASES = [(name, dtype) for name in FUNCTIONS for dtype in FUNCTIONS[name].ulp]
# Where results are neither constant nor out of range.
ALIVE: dict[str, tuple[float, float]] = {
    "exp": (-746, 710), "exp2": (-1076, 1025), "expm1": (-40, 710),
    "tanh": (-20, 20), "erf": (-6, 6), "erfc": (-6, 27.3), "normal_cdf": (-9, 9),
    "sin": (-40, 40), "cos": (-40, 40), "log": (0, 1e4), "log1p": (-1, 1e4),
}  # fmt: skip
CONSTANT = {"erf", "erfc", "normal_cdf"}
TRUTH = {"normal_cdf": mpmath.ncdf, "exp2": lambda x: mpmath.power(2, x)}
# Of all numbers in float32, the one next to a multiple of pi / 2.
NEAREST = 16367173 * 2.0**72
DEFINED = {"log": 0.0, "log1p": -1.0}


def computed(name: str, x: Array, fused: bool = True) -> Array:
    """What the generated kernel of a function gives."""
    kernel, y = of_each(FUNCTIONS[name].make, x.dtype.name), np.empty_like(x)
    call(kernel, [x, y], x.size, on=target(fused))
    return y


def arguments(name: str, dtype: str, count: int = 700) -> Array:
    """Where the function is alive, of all sizes, next to 0 and next to 1."""
    rng = np.random.default_rng(7)
    low, high = ALIVE[name]
    limits = np.iinfo(BITS[dtype])
    anywhere = rng.integers(limits.min, limits.max, count, dtype=BITS[dtype])
    near = rng.uniform(-1, 1, count) * 2.0 ** rng.uniform(-60, 2, count)
    turns = np.round(np.exp(rng.uniform(0, 80, count))) * (math.pi / 2)
    parts = [rng.uniform(low, high, count), near, 1 + near / 64, [NEAREST]]
    parts += [turns] * (name in {"sin", "cos"})
    x = np.concatenate([*(np.asarray(p, dtype) for p in parts), anywhere.view(dtype)])
    return np.asarray(x[np.isfinite(x) & (x >= DEFINED.get(name, -math.inf))])


def _within(name: str, x: float) -> float:
    """An argument that mpmath can take: further out, these are constant."""
    return max(-1e3, min(x, 1e3)) if name in CONSTANT else x


def error(name: str, x: Any, y: Any) -> float:
    """The distance of y from the true value, in ulp of that."""
    limits = np.finfo(x.dtype)
    with mpmath.workprec(160):
        function = TRUTH.get(name) or getattr(mpmath, name)
        true = function(_within(name, float(x)))
        if abs(true) > float(limits.max):
            return 0.0 if math.isinf(y) else math.inf
        if not math.isfinite(y):
            return 0.0 if true == float(y) else math.inf
        of = 1.0 if FUNCTIONS[name].of_one else abs(float(true))
        ulp = float(np.spacing(x.dtype.type(of)))
        return abs(float((mpmath.mpf(float(y)) - true) / ulp))


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "rounded twice"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_errors_are_as_declared(name: str, dtype: str, fused: bool) -> None:
    """No result is further from the true value than the declaration says."""
    x = arguments(name, dtype)
    y = computed(name, x, fused)
    errors = [error(name, a, b) for a, b in zip(x, y, strict=True)]
    worst = int(np.argmax(errors))
    assert errors[worst] <= FUNCTIONS[name].ulp[dtype], (x[worst], y[worst])


INF, NAN = math.inf, math.nan
# (argument, result) beside NaN, which stays.
SPECIAL: dict[str, list[tuple[float, float]]] = {
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
}  # fmt: skip
ODD = {"expm1", "tanh", "log1p", "sin"}  # f(x) is x next to 0


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_special_values(name: str, dtype: str) -> None:
    """Infinities, signed zeros and NaN give what IEEE 754 says, with their signs."""
    x, want = np.array([*SPECIAL[name], (NAN, NAN)], dtype).T
    got = computed(name, np.ascontiguousarray(x))
    np.testing.assert_array_equal(got, want)
    zeros = want == 0
    assert (np.signbit(got) == np.signbit(want))[zeros].all()


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("name", sorted(ODD))
def test_subnormal_arguments_stay(name: str, dtype: str) -> None:
    """Where f(x) is x, the smallest numbers come out as they are."""
    least = np.finfo(dtype).smallest_subnormal
    if dtype not in FUNCTIONS[name].ulp:
        pytest.skip("the function is not declared for the format")
    x = np.array([1, 2, 3, 1000, -1, -77], dtype) * least
    np.testing.assert_array_equal(computed(name, x), x)


def test_every_function_is_tested() -> None:
    """A function that is new needs its interval and its special values here."""
    assert FUNCTIONS.keys() == ALIVE.keys() == SPECIAL.keys()
