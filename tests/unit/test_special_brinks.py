"""Special functions where formats end and next to poles, beside mpmath."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

import dovetail as dt

EPS = {"float32": 2.0**-23, "float64": 2.0**-52}
DTYPES = list(EPS)
K_OF_0 = {
    "modified_bessel_k0": lambda v: -mp.log(v / 2) - mp.euler,
    "scaled_modified_bessel_k0": lambda v: -mp.log(v / 2) - mp.euler,
}


def off(name: str, values: Any, dtype: str, truth: Any, *before: Any) -> float:
    """The worst relative error in units of the format's precision."""
    x = dt.tensor(values, dtype=getattr(dt, dtype))
    found = getattr(dt.special, name)(*before, x).tolist()
    worst = 0.0
    with mpmath.workprec(400):
        for v, y in zip(x.tolist(), found, strict=True):
            wanted = truth(mpmath.mpf(v))
            worst = max(worst, float(abs(mpmath.mpf(y) / wanted - 1)) / EPS[dtype])
    return worst


def below_whole_numbers(dtype: str) -> list[float]:
    """The floats next to 0 and to the first poles, on the left of them."""
    gaps = [2.0**-k for k in (3, 9, 12, 13)]
    return [-g for g in gaps] + [
        float(np.nextafter(np.dtype(dtype).type(n), -np.inf)) for n in (-1, -2, -7)
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", K_OF_0)
def test_k0_of_the_smallest_numbers(name: str, dtype: str) -> None:
    """The half of a subnormal number is rounded, the logarithm of it is not."""
    least = float(np.finfo(dtype).smallest_subnormal)
    values = [least, 3 * least, 7 * least, float(np.finfo(dtype).tiny)]
    assert off(name, values, dtype, K_OF_0[name]) < 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("scaled", [False, True])
def test_k_over_its_range(order: int, scaled: bool, dtype: str) -> None:
    """On both sides of where formulas meet."""
    values = [1e-30, 1e-3, 2.0**-10, 0.3, 1.9999, 2.0, 2.0001, 7.5, 30.0]
    name = f"{'scaled_' * scaled}modified_bessel_k{order}"

    def truth(v: Any) -> Any:
        return mp.besselk(order, v) * (mp.exp(v) if scaled else 1)

    assert off(name, values, dtype, truth) < 40


def test_k1_of_the_smallest_numbers_is_infinite() -> None:
    """Scaled too, where a zero meets an infinite logarithm."""
    for name in ("modified_bessel_k1", "scaled_modified_bessel_k1"):
        x = dt.tensor([5e-324, 1e-323, 1e-309], dtype=dt.float64)
        assert getattr(dt.special, name)(x).tolist() == [math.inf] * 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_airy_waves_as_far_as_numbers_go(dtype: str) -> None:
    """Beyond where angles are known it stays within the wave (DLMF 9.7.9)."""
    most = float(np.finfo(dtype).max)
    x = dt.tensor([-1e10, -1e25, -1e26, -1e30, -most], dtype=getattr(dt, dtype))
    found = dt.special.airy_ai(x)
    heights = (-x).double() ** -0.25 / math.sqrt(math.pi)
    assert (found.double().abs() <= heights * 1.0001).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [2, 3, 4])
def test_polygamma_beside_its_poles(order: int, dtype: str) -> None:
    """Next to a pole one term is nearly all of it, and has all its digits."""
    values = below_whole_numbers(dtype)
    if dtype == "float64":
        values += [-(2.0**-k) for k in (20, 40, 60)]

    def truth(v: Any) -> Any:
        terms = mpmath.mpf(0)
        while v < 1:
            terms, v = terms + 1 / v ** (order + 1), v + 1
        return mp.psi(order, v) - (-1) ** order * mp.factorial(order) * terms

    assert off("polygamma", values, dtype, truth, order) < 40


@pytest.mark.parametrize("order", [2, 3, 5, 11])
def test_polygamma_has_the_digits_of_its_series(order: int) -> None:
    """The third of Euler's and Maclaurin's terms, a thousandth off, would show."""
    values = np.linspace(0.05, 12, 40)
    assert off("polygamma", values, "float64", lambda v: mp.psi(order, v), order) < 20


@pytest.mark.parametrize("dtype", DTYPES)
def test_polygamma_of_large_numbers(dtype: str) -> None:
    """Where the powers that are summed are subnormal, their integral is not."""
    least = float(np.finfo(dtype).tiny)
    values = [(least / 8) ** -0.25, (least * 16) ** -0.3]
    assert off("polygamma", values, dtype, lambda v: mp.psi(3, v), 3) < 20


def test_shares_of_the_smallest_numbers() -> None:
    """Q(a, x) is a (-log x - gamma) where both are next to nothing (DLMF 8.7.3)."""
    for a, x in [(1e-17, 1e-17), (1.47e-176, 1.46e-176), (1e-300, 1e-30)]:
        args = dt.tensor(a, dtype=dt.float64), dt.tensor(x, dtype=dt.float64)
        wanted = a * (-math.log(x) - float(mp.euler))
        assert dt.special.gammaincc(*args).item() == pytest.approx(wanted, rel=1e-14)


def test_oracles_know_the_shares_of_the_smallest_numbers() -> None:
    """What is 1 but for 174 digits leaves something to Q."""
    from dovetail.ops.incomplete_gamma import gamma_share_above

    oracle: Any = gamma_share_above.op.oracle
    with mpmath.workprec(256):
        found = oracle.precise(mp, mpmath.mpf(1.47e-176), mpmath.mpf(1.46e-176))
        wanted = mpmath.mpf(1.47e-176) * (-mp.log(mpmath.mpf(1.46e-176)) - mp.euler)
        assert abs(found / wanted - 1) < 1e-20


def test_slopes_of_erfcx_are_there_while_they_fit_the_format() -> None:
    """2 x erfcx(x) leaves half precision at -3, times a small number it does not."""
    x = dt.tensor([-3.0, -2.5, 0.5], dtype=dt.float16, requires_grad=True)
    dt.special.erfcx(x).backward(dt.tensor([0.1, 0.1, 0.1], dtype=dt.float16))
    wide = x.detach().double().requires_grad_()
    dt.special.erfcx(wide).backward(dt.full((3,), 0.0999755859375, dtype=dt.float64))
    dt.testing.assert_close(x.grad.double(), wide.grad, rtol=4e-3, atol=0)
