"""Generated recurrences: NumPy's bits along any dim, and guards."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.codegen.eager_recurrences import slopes_of_products
from dovetail.codegen.runtime.machine import available
from dovetail.xp.recurrences import _cumprod_backward
from dovetail_cpu.patience import CALLS


@pytest.mark.skipif(not available(), reason="needs llvmlite")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(40,), (7, 5, 33), (3, 1), (2, 60, 1), (1, 300, 2)])
def test_the_bits_are_those_of_numpys_kernels(dtype: str, shape: list[int]) -> None:
    """Along first, middle and last dims, with zeros of either sign, inf and NaN."""
    odd = np.array([0.0, -0.0, 1, -2, np.inf, -np.inf, np.nan], dtype)
    for dim in range(len(shape)):
        random = np.random.default_rng(dim)
        given = random.normal(size=(3, *shape)).astype(dtype)
        places = random.random(given.shape) < 0.3
        given[places] = random.choice(odd, places.sum())
        with np.errstate(all="ignore"):
            wanted = _cumprod_backward(np, *given, dim)
        found = slopes_of_products(*given, dim)
        np.testing.assert_array_equal(found, wanted)
        real = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[real], np.signbit(wanted)[real])


def test_gradients_of_products_are_right_beside_zeros() -> None:
    """Each is a sum of products without the element, also after many small calls."""
    x = dt.tensor([[2.0, 0.0, 3.0, 0.0, 5.0]], dtype=dt.float64, requires_grad=True)
    ct = dt.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]], dtype=dt.float64)
    values, cts = x.tolist()[0], ct.tolist()[0]
    wanted = [
        sum(
            cts[j] * np.prod([v for k, v in enumerate(values[: j + 1]) if k != i])
            for j in range(i, 5)
        )
        for i in range(5)
    ]
    for _ in range(CALLS + 2):
        (found,) = dt.autograd.grad(x.cumprod(1), x, ct)
        assert found.tolist() == [wanted]
