"""Gradients of complex vectors whose phase is held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.ops.spectra import eigen_hermitian, singular_values

_STEP = 1e-6


def _matrix(seed: int) -> Any:
    random = np.random.default_rng(seed)
    x = random.standard_normal((3, 3)) + 1j * random.standard_normal((3, 3))
    return x + np.diag([4.0, 1.0, -3.0])


def _weighed(vectors: Any, seed: int) -> Any:
    """A number that depends on the phases of vectors."""
    random = np.random.default_rng(seed)
    w = random.standard_normal((2, 3, 3))
    return (vectors.real * dt.tensor(w[0]) + vectors.imag * dt.tensor(w[1])).sum()


OF_VECTORS: dict[str, Callable[[Any], Any]] = {
    "eigenvectors": lambda x: _weighed(eigen_hermitian(x)[1], 1),
    "left": lambda x: _weighed(singular_values(x)[0], 2),
    "right": lambda x: _weighed(singular_values(x)[2], 3),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", OF_VECTORS)
def test_gradients_know_how_phases_are_held(name: str, seed: int) -> None:
    """They are what differences say, of what depends on phases too."""
    f, a = OF_VECTORS[name], _matrix(seed)
    x = dt.tensor(a, requires_grad=True)
    f(x).backward()
    assert x.grad is not None
    way = _matrix(seed + 10)
    more, less = (f(dt.tensor(a + s * _STEP * way)).item() for s in (1, -1))
    said = float(np.sum((np.conj(x.grad.numpy()) * way).real))
    np.testing.assert_allclose((more - less) / (2 * _STEP), said, rtol=1e-5, atol=1e-7)


def test_columns_that_complete_have_no_gradient() -> None:
    """Those of Q beyond the input's may be any: a gradient is refused, as in torch."""
    x = dt.ones(3, 2, requires_grad=True)
    q, _ = dt.linalg.qr(x + dt.eye(3, 2), "complete")
    with pytest.raises(RuntimeError, match="complete"):
        q.sum().backward()
