"""torch.special and torch.signal.windows: beside mpmath, and beside torch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import torch

import dovetail as dt

EVERYWHERE = np.concatenate([np.linspace(-25, 25, 20), [-8.0, 8.0, 1e-6, 0.4, 300.0]])
POSITIVE = np.concatenate([np.linspace(0.05, 30, 20), [1e-5, 2.0, 8.0, 300.0]])
PARTS = np.concatenate([np.linspace(0.01, 0.99, 20), [1e-30, 1e-9, 0.1]])

TRUTHS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "i0": (lambda x: mp.besseli(0, x), EVERYWHERE),
    "i1": (lambda x: mp.besseli(1, x), EVERYWHERE),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), EVERYWHERE),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), EVERYWHERE),
    "bessel_j0": (lambda x: mp.besselj(0, x), EVERYWHERE),
    "bessel_j1": (lambda x: mp.besselj(1, x), EVERYWHERE),
    "bessel_y0": (lambda x: mp.bessely(0, x), POSITIVE),
    "bessel_y1": (lambda x: mp.bessely(1, x), POSITIVE),
    "modified_bessel_k0": (lambda x: mp.besselk(0, x), POSITIVE),
    "modified_bessel_k1": (lambda x: mp.besselk(1, x), POSITIVE),
    "scaled_modified_bessel_k0": (lambda x: mp.besselk(0, x) * mp.exp(x), POSITIVE),
    "scaled_modified_bessel_k1": (lambda x: mp.besselk(1, x) * mp.exp(x), POSITIVE),
    "spherical_bessel_j0": (lambda x: mp.sin(x) / x, EVERYWHERE),
    "entr": (lambda x: -x * mp.log(x), POSITIVE),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), POSITIVE),
    "ndtr": (lambda x: mp.ncdf(x), EVERYWHERE),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)), EVERYWHERE[:20]),
    "ndtri": (lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), PARTS),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_values(name: str) -> None:
    """In double precision, 13 digits are those of mpmath."""
    truth, at = TRUTHS[name]
    with mp.workdps(60):
        want = np.array([float(truth(mp.mpf(v))) for v in at])
    got = getattr(dt.special, name)(dt.tensor(at)).numpy()
    np.testing.assert_allclose(got, want, rtol=2e-13, atol=2e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_erfcx_of_the_largest_numbers(dtype: str) -> None:
    """1 / (x √π), which is a subnormal number and not 0."""
    kind = getattr(dt, dtype)
    x = dt.tensor([dt.finfo(kind).max * 0.75], dtype=kind)
    want = 1 / np.sqrt(np.pi) / x.double().item()
    error = abs(dt.special.erfcx(x).double().item() - want)
    assert error <= dt.finfo(kind).smallest_normal * dt.finfo(kind).eps


@pytest.mark.parametrize("x", [2.0, 3.5, 11.0])
def test_zeta(x: float) -> None:
    """Hurwitz's function by its sum, and what is infinite or no number."""
    q = np.array([0.1, 1.0, 4.25, 90.0])
    with mp.workdps(60):
        want = [float(mp.zeta(x, mp.mpf(v))) for v in q]
    got = dt.special.zeta(x, dt.tensor(q))
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-13)
    edges = dt.special.zeta(dt.tensor([1.0, 0.5, x, 2.5]), dt.tensor([1, 1, -3, -0.5]))
    theirs = torch.special.zeta(
        torch.tensor([1.0, 0.5, x, 2.5]), torch.tensor([1, 1, -3, -0.5])
    )
    np.testing.assert_array_equal(edges.numpy(), theirs.numpy())


def test_zeta_of_large_arguments() -> None:
    """Powers that leave the format, and infinite ones, are the limits they have."""
    x, q = [200.0, 40.0, np.inf, np.inf, np.inf], [0.3, 1e-3, 0.5, 1.0, -0.5]
    got = dt.special.zeta(dt.tensor(x), dt.tensor(q)).tolist()
    assert got == torch.special.zeta(torch.tensor(x), torch.tensor(q)).tolist()
    assert dt.special.zeta(dt.tensor(np.inf), 2.0).item() == 0


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 25, 33, 100])
def test_polygamma(n: int) -> None:
    """Derivatives of digamma on both sides of 0, and their gradients."""
    x = np.array([-20.3, -3.7, -0.2, 0.3, 2.5, 40.0])
    with mp.workdps(40):
        want = [[float(mp.psi(n + k, mp.mpf(v))) for v in x] for k in (0, 1)]
    t = dt.tensor(x, requires_grad=True)
    y = dt.polygamma(n, t)
    y.sum().backward()
    assert t.grad is not None
    np.testing.assert_allclose(y.detach().numpy(), want[0], rtol=1e-10)
    np.testing.assert_allclose(t.grad.numpy(), want[1], rtol=1e-10)


POLYNOMIALS = [n for n in dir(torch.special) if "polynomial" in n]


@pytest.mark.parametrize("name", [n for n in POLYNOMIALS if not n.startswith("_")])
def test_polynomials(name: str) -> None:
    """Degrees by element and as one number are torch's."""
    x, n = np.linspace(-0.95, 0.95, 8), np.array([0, 1, 2, 3, 5, 7, -1, 4])
    for degree in (n, 4, 0, -2):
        given = [degree if isinstance(degree, int) else lib.tensor(degree)
                 for lib in (dt, torch)]  # fmt: skip
        own = getattr(dt.special, name)(dt.tensor(x), given[0]).numpy()
        theirs = getattr(torch.special, name)(torch.tensor(x), given[1]).numpy()
        np.testing.assert_allclose(own, theirs, rtol=1e-9, atol=1e-12)


WINDOWS: dict[str, dict[str, Any]] = {
    "bartlett": {}, "blackman": {}, "cosine": {}, "exponential": {"tau": 2.0},
    "gaussian": {"std": 1.5}, "general_cosine": {"a": [0.4, 0.3, 0.3]},
    "general_hamming": {"alpha": 0.6}, "hamming": {}, "hann": {},
    "kaiser": {"beta": 7.0}, "nuttall": {},
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str) -> None:
    """Windows of 0, 1 and more points, symmetric and periodic."""
    for count in (0, 1, 2, 9):
        for sym in (True, False):
            own, theirs = (
                getattr(lib.signal.windows, name)(
                    count, sym=sym, dtype=lib.float64, **WINDOWS[name]
                )
                for lib in (dt, torch)
            )
            np.testing.assert_allclose(own.numpy(), theirs.numpy(), atol=1e-14)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
def test_older_windows(name: str) -> None:
    """The functions of the package are periodic unless asked."""
    for options in ({}, {"periodic": False}):
        own, theirs = (
            getattr(lib, f"{name}_window")(8, dtype=lib.float64, **options)
            for lib in (dt, torch)
        )
        np.testing.assert_allclose(own.numpy(), theirs.numpy(), atol=1e-14)
