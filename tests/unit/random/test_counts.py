"""Random counts: their moments beside SciPy's, generators, gradients, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dovetail as dt
from dovetail.errors import ArgumentError, DTypeError

MANY = 40_000
RATES = (0.0, 0.3, 9.9, 10.0, 40.0, 1e5)
TRIES = (
    (0, 0.5), (3, 0.2), (20, 0.5), (30, 0.7), (1000, 0.001), (1000, 0.03), (1000, 0.9),
    (100_000, 0.4), (5, 1.0), (5, 0.0),
)  # fmt: skip


def _fits(drawn: Any, law: Any) -> None:
    """Whole numbers of the support, whose mean and variance lie near the law's."""
    y = drawn.double().numpy()
    mean, variance, excess = map(float, law.stats(moments="mvk"))
    least, most = law.support()
    assert np.all(y == np.floor(y))
    assert np.all((least <= y) & (y <= most))
    assert abs(y.mean() - mean) <= 5 * math.sqrt(variance / MANY)
    spread = math.sqrt((max(excess, 0) + 3) / MANY) if variance else 0
    assert abs(y.var() - variance) <= 5 * variance * spread


@pytest.mark.parametrize("rate", RATES)
def test_moments_of_poisson(rate: float) -> None:
    generator = dt.Generator().manual_seed(4)
    drawn = dt.poisson(dt.full((MANY,), rate), generator)
    if rate:
        _fits(drawn, stats.poisson(rate))
    else:
        assert not drawn.any()


@pytest.mark.parametrize(("count", "chance"), TRIES)
def test_moments_of_binomial(count: int, chance: float) -> None:
    generator = dt.Generator().manual_seed(4)
    n, p = dt.full((MANY,), float(count)), dt.tensor([chance])
    drawn = dt.binomial(n, p, generator=generator)
    if 0 < chance < 1 and count:
        _fits(drawn, stats.binom(count, float(p.item())))
    else:
        assert (drawn == count * chance).all()


def test_each_element_has_its_own_law() -> None:
    """Counted-up and proposed values stand beside each other; bits follow a seed."""
    rate = dt.tensor([0.0, 2.0, 500.0]).expand(MANY, 3)
    generator = dt.Generator().manual_seed(1)
    drawn = dt.poisson(rate, generator)
    for at, law in ((1, stats.poisson(2.0)), (2, stats.poisson(500.0))):
        _fits(drawn[:, at], law)
    assert not drawn[:, 0].any()
    assert dt.equal(dt.poisson(rate, generator.manual_seed(1)), drawn)
    assert not dt.equal(dt.poisson(rate, generator), drawn)


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float64])
def test_dtypes_and_shapes_stay(dtype: Any) -> None:
    rate = dt.full((2, 0, 3), 4.0, dtype=dtype)
    assert dt.poisson(rate).dtype is dtype
    assert dt.binomial(rate, rate[..., :1] / 8).shape == rate.shape
    assert dt.poisson(dt.full((5,), 4.0, dtype=dtype)).dtype is dtype


def test_gradients_are_zero() -> None:
    rate = dt.full((3,), 2.0, requires_grad=True)
    chance = dt.full((3,), 0.5, requires_grad=True)
    (dt.poisson(rate) + dt.binomial(rate, chance)).sum().backward()
    assert rate.grad.tolist() == chance.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_is_no_rate_is_refused(value: float) -> None:
    with pytest.raises(ArgumentError, match="finite values"):
        dt.poisson(dt.tensor([1.0, value]))


def test_what_is_no_count_or_chance_is_refused() -> None:
    one = dt.ones(2)
    for n, p in ((one * math.nan, one), (one, one * math.nan), (one * math.inf, one)):
        with pytest.raises(ArgumentError, match="finite values"):
            dt.binomial(n, p)
    for call in (
        lambda: dt.poisson(one.long()), lambda: dt.binomial(one, one.double()),
        lambda: dt.binomial(one.int(), one.int()), lambda: dt.poisson(one * 1j),
    ):  # fmt: skip
        with pytest.raises(DTypeError):
            call()
    assert dt.binomial(dt.tensor([-2.0, 3.0]), dt.tensor([0.5, 1.5])).tolist() == [0, 3]
