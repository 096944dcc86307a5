"""The incomplete gamma functions and Airy's function, beside mpmath and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

mpmath = pytest.importorskip("mpmath")

# Around the peak at x = a, in both tails, of small numbers and of large ones.
ARGUMENTS = [
    (a, a * share)
    for a in (1e-3, 0.3, 1.0, 2.5, 11.0, 19.0, 21.0, 80.0, 200.0)
    for share in (1e-2, 0.5, 0.7, 0.95, 1.0, 1.1, 1.6, 3.0)
] + [(0.01, 1.4), (0.5, 1.6), (3.0, 40.0)]


@pytest.mark.parametrize("upper", [False, True])
def test_shares_of_the_gamma_integral(upper: bool) -> None:
    """P and Q have twelve digits, also where they are small."""
    a, x = (np.array(column) for column in zip(*ARGUMENTS, strict=True))
    name = "gammaincc" if upper else "gammainc"
    found = getattr(dovetail.special, name)(dovetail.tensor(a), dovetail.tensor(x))
    with mpmath.workdps(30):
        truth = [
            float(mpmath.gammainc(p, q, mpmath.inf, regularized=True) if upper
                  else mpmath.gammainc(p, 0, q, regularized=True))
            for p, q in ARGUMENTS
        ]  # fmt: skip
    np.testing.assert_allclose(found.numpy(), truth, rtol=1e-11, atol=1e-300)


def test_shares_beside_the_mean() -> None:
    """In float64 shares of a few digits are right to the last ones (mpmath)."""
    a, x = [10.2, 11.0287, 15.0, 3.0, 19.99], [6.1, 6.3907, 9.0, 3.5, 20.98]
    got = dovetail.igamma(*(dovetail.tensor(v, dtype=dovetail.float64) for v in (a, x)))
    truth = [float(mpmath.gammainc(*v, regularized=True))
             for v in zip(a, [0] * 5, x, strict=True)]  # fmt: skip
    np.testing.assert_allclose(got.numpy(), truth, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_shares_above(dtype: str) -> None:
    """Q of a small `a` is as small, and has its digits (mpmath)."""
    a, x = [1e-30, 5e-4, 0.05, 0.3, 0.99], [1.0, 0.8, 1.4, 1e-3, 1.49]
    given = [dovetail.tensor(v, dtype=getattr(dovetail, dtype)) for v in (a, x)]
    truth = [float(mpmath.gammainc(*map(mpmath.mpf, v), regularized=True))
             for v in zip(*(g.tolist() for g in given), strict=True)]  # fmt: skip
    rtol = 2e-7 if dtype == "float32" else 4e-15
    np.testing.assert_allclose(dovetail.igammac(*given).numpy(), truth, rtol=rtol)


def test_large_arguments() -> None:
    """Next to the peak of large arguments the expansion is torch's."""
    draw = np.random.default_rng(0)
    a = 10 ** draw.uniform(2, 6, 200)
    x = a * (1 + draw.normal(size=200) / np.sqrt(a))
    found = dovetail.igamma(dovetail.tensor(a), dovetail.tensor(x))
    expected = torch.igamma(torch.tensor(a), torch.tensor(x))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-8)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_ends_and_gradients(name: str) -> None:
    """Zeros, infinities, first and second derivatives are torch's; one is refused."""
    inf = float("inf")
    ends = [(0.0, 1.0), (1.0, 0.0), (1.0, inf), (inf, 1.0), (-1.0, 1.0), (1.0, -1.0)]
    results: list[Any] = []
    for library in (dovetail, torch):
        function = getattr(library, name)
        a, x = (library.tensor(c) for c in zip(*ends, strict=True))
        z = library.tensor([0.3, 2.0, 40.0], dtype=library.float64, requires_grad=True)
        b = library.tensor([0.5, 3.0, 30.0], dtype=library.float64)
        y = function(b, z)
        (first,) = library.autograd.grad(y.sum(), z, create_graph=True)
        (second,) = library.autograd.grad((first * first).sum(), z)
        results.append([function(a, x), first.detach(), second])
        with pytest.raises((RuntimeError, NotImplementedError), match="derivative"):
            function(b.requires_grad_(), z).sum().backward()
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-7)


def test_airys_function() -> None:
    """Ai is right to the last digits where it waves, decays, and between."""
    x = np.concatenate([np.linspace(-40, 30, 301), [-6.0, 2.0, 0.0]])
    found = dovetail.special.airy_ai(dovetail.tensor(x)).numpy()
    truth = np.array([float(mpmath.airyai(v)) for v in x])
    np.testing.assert_allclose(found, truth, rtol=1e-12, atol=2e-14)
    ends = dovetail.special.airy_ai(dovetail.tensor([float("inf"), 200.0]))
    expected = torch.special.airy_ai(torch.tensor([float("inf"), 200.0]))
    np.testing.assert_array_equal(ends.numpy(), expected.numpy())
    with pytest.raises(RuntimeError, match="derivative"):
        dovetail.special.airy_ai(dovetail.ones(1, requires_grad=True))
