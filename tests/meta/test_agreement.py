"""Two results beside each other: of every dtype and shape, and what is left open."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import dtypes
from dovetail.conformance.law import Wrong
from dovetail.conformance.laws.agreement import same_bits, same_computed


@pytest.mark.parametrize("dtype", sorted(dtypes.ALL, key=lambda d: d.name), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_equal_arrays_are_the_same(dtype: dtypes.DType, shape: tuple[int, ...]) -> None:
    """Numbers and arrays, however they lie."""
    a = np.ones((2, *shape), dtype.numpy).T
    same_computed("y", a, a.copy())
    same_computed("y", a[..., 0], a[..., 1])


def test_which_nan_it_is_is_open_where_it_is_computed() -> None:
    """Of another payload or sign, in each part of a complex number."""
    x = np.array([np.nan, 1], np.float32)
    y = x.copy()
    y.view(np.uint32)[0] |= 1 << 31 | 5
    pairs = [(x, y), (x.astype(complex), y.astype(complex) + 0j)]
    pairs.append((np.array(complex(np.nan, 2)), np.array(complex(-np.nan, 2))))
    for a, b in pairs:
        same_computed("y", a, b)
    with pytest.raises(Wrong, match="payload"):
        same_bits("y", x, y)


@pytest.mark.parametrize(
    ("a", "b"),
    [(0.0, -0.0), (np.nan, 1.0), (complex(np.nan, 0.0), complex(np.nan, -0.0))],
)
def test_everything_else_counts(a: complex, b: complex) -> None:
    """Signs of zeros, and where NaN is."""
    with pytest.raises(Wrong):
        same_computed("y", np.array(a), np.array(b))
