"""Draws: their moments, into memory, and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.support.draws import values

import dovetail as dt
from dovetail.errors import (
    InplaceError,
)

# ---- moments


@pytest.mark.parametrize(
    ("fill", "mean", "variance"),
    [
        (lambda t: t.uniform_(2, 5), 3.5, 0.75),
        (lambda t: t.normal_(1, 2), 1, 4),
        (lambda t: t.exponential_(2), 0.5, 0.25),
        (lambda t: t.geometric_(0.25), 4, 12),
        (lambda t: t.log_normal_(0, 0.5), math.exp(1 / 8), 0.36469585),
        (lambda t: t.bernoulli_(0.3), 0.3, 0.21),
        (lambda t: t.random_(2, 12), 6.5, 8.25),
        (lambda t: dt.dropout(t.fill_(1), 0.2, True), 1, 0.25),
        (lambda t: dt.alpha_dropout(t.normal_(), 0.2, True), 0, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_moments(fill: Any, mean: float, variance: float, dtype: Any) -> None:
    """Mean and variance are within five standard errors or so."""
    n = 100_000
    x = values(fill(dt.empty(n, dtype=dtype))).astype(float)
    assert abs(x.mean() - mean) < 5 * math.sqrt(variance / n)
    assert abs(x.var() - variance) < 0.06 * variance


def test_normals_have_normal_tails() -> None:
    """The distribution function is the normal one (Kolmogorov–Smirnov at 1e-6)."""
    n = 200_000
    x = np.sort(values(dt.randn(n)).astype(float))
    expected = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x[::100]])
    assert np.abs(expected - np.arange(0, n, 100) / n).max() < 2.7 / math.sqrt(n)
    assert 4 < x[-1] < 6.8


def test_median_of_cauchy() -> None:
    """A Cauchy distribution has its quartiles at median ± sigma."""
    x = values(dt.empty(100_000).cauchy_(3, 2))
    assert np.allclose(np.quantile(x, [0.25, 0.5, 0.75]), [1, 3, 5], atol=0.1)


def test_multinomial_frequencies() -> None:
    """Indices come in proportion to their weights, and never those of weight 0."""
    w = dt.tensor([[1.0, 2.0, 0.0, 7.0], [3.0, 0.0, 1.0, 1.0]])
    drawn = values(dt.multinomial(w, 50_000, True))
    counts = [np.bincount(row, minlength=4) for row in drawn]
    expected = np.array([[0.1, 0.2, 0, 0.7], [0.6, 0, 0.2, 0.2]])
    assert np.allclose(np.stack(counts) / 50_000, expected, atol=0.012)
    first = values(dt.multinomial(w[:1].expand(20_000, 4), 1))[:, 0]
    assert np.allclose(np.bincount(first, minlength=4) / 20_000, expected[0], atol=0.02)


@pytest.mark.parametrize(
    ("dtype", "large"), [(dt.float32, 3e38), (dt.float64, 1e300), (dt.float64, 1.5e308)]
)
@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_of_weights_next_to_the_greatest_numbers(
    dtype: Any, large: float, replacement: bool
) -> None:
    """Their sum may be infinite, they are not."""
    w = dt.tensor([large, 0.0, large], dtype=dtype)
    found = values(
        dt.multinomial(w.expand(500, 3), 2 if replacement else 1, replacement)
    )
    counts = np.bincount(found.ravel(), minlength=3)
    assert counts.size == 3
    assert counts[1] == 0
    assert 0.35 < counts[0] / counts.sum() < 0.65


def test_multinomial_without_replacement() -> None:
    """Each index comes once."""
    found = values(dt.multinomial(dt.rand(50, 9) + 0.1, 9))
    assert np.array_equal(np.sort(found), np.tile(np.arange(9), (50, 1)))


# ---- gradients and memory


def test_gradient_of_dropout() -> None:
    """It is the mask over 1 - p: that of the same call."""
    x = dt.ones(4, 50, requires_grad=True)
    y = dt.dropout(x, 0.25, True)
    y.sum().backward()
    assert np.array_equal(values(x.grad), values(y.detach()))
    assert set(values(y.detach()).ravel().tolist()) <= {0.0, np.float32(4 / 3).item()}


def test_dropout_outside_training() -> None:
    """It is the input itself, and takes no random numbers."""
    x = dt.ones(3)
    state = dt.get_rng_state()
    assert dt.dropout(x, 0.5, False) is x
    assert dt.dropout(x, 0.0, True) is x
    assert dt.equal(dt.get_rng_state(), state)
    assert values(dt.dropout(x, 1.0, True)).tolist() == [0, 0, 0]


def test_fill_of_a_view() -> None:
    """In-place draws write a strided view and nothing else, and count as writes."""
    x = dt.zeros(4, 6)
    version = x._version
    x.t()[1::2].uniform_(1, 2)
    found = values(x)
    assert x._version > version
    assert (found[:, 1::2] >= 1).all()
    assert not found[:, 0::2].any()


def test_fill_of_a_leaf_refused() -> None:
    """A leaf that requires gradients is left alone, and so is the generator."""
    x = dt.zeros(3, requires_grad=True)
    state = dt.get_rng_state()
    with pytest.raises(InplaceError, match="leaf"):
        x.normal_()
    assert dt.equal(dt.get_rng_state(), state)
    with dt.no_grad():
        assert values(x.normal_().detach()).any()


def test_dropout_of_a_transposed_tensor() -> None:
    """The mask follows the order of the elements, not of the memory."""
    x = dt.ones(5, 7)
    state = dt.get_rng_state()
    plain = values(dt.dropout(x, 0.5, True))
    dt.set_rng_state(state)
    turned = values(dt.dropout(dt.ones(7, 5).t(), 0.5, True))
    assert np.array_equal(plain, turned)
