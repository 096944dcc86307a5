"""How to tell whether an array is of a class of values: what its kernels have to meet.

The arrays have two elements or more; of a single one nothing can be told.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.conformance.formats import INT, limits
from dovetail.dtypes import Array, DType


def _rows(a: Array) -> Array:
    """The array as a matrix of its rows along the last dim."""
    return a.reshape(-1, a.shape[-1]) if a.ndim else a.reshape(1, 1)


def _parts(a: Array, dtype: DType) -> tuple[Array, ...]:
    return (a.real, a.imag) if dtype.is_complex else (a,)


def anything(a: Array, dtype: DType) -> bool:
    return True


def any_special(a: Array, dtype: DType) -> bool:
    return bool(np.any(~np.isfinite(a)))


def mostly_ordinary(a: Array, dtype: DType) -> bool:
    return 0 < int(np.sum(~np.isfinite(a))) <= a.size // 2


def one_in_each_row(a: Array, dtype: DType) -> bool:
    rows = _rows(a)
    counts = np.sum(~np.isfinite(rows), axis=1)
    return rows.shape[1] > 1 and bool(np.all(counts <= 1)) and bool(np.any(counts))


def any_nan(a: Array, dtype: DType) -> bool:
    return bool(np.any(np.isnan(a)))


def _a_slice(a: Array, fits: Callable[[Array], Array]) -> bool:
    """Whether a whole slice along a dim is of elements that fit."""
    good = fits(a)
    return any(
        n > 1 and bool(np.any(np.all(good, axis=dim))) for dim, n in enumerate(a.shape)
    )


def a_slice_is_masked(a: Array, dtype: DType) -> bool:
    return _a_slice(a, lambda x: ~np.isfinite(x))


def a_slice_is_flat(a: Array, dtype: DType) -> bool:
    return any(
        n > 1 and bool(np.any(np.all(a == np.take(a, [0], axis=dim), axis=dim)))
        for dim, n in enumerate(a.shape)
    )


def any_zero(a: Array, dtype: DType) -> bool:
    """Of either sign, in one part of complex numbers at least."""
    if not dtype.is_inexact:
        return bool(np.any(a == 0))
    return any(bool(np.any((p == 0) & np.signbit(p))) for p in _parts(a, dtype))


def any_subnormal(a: Array, dtype: DType) -> bool:
    size = np.abs(a)
    return bool(np.any((size > 0) & (size < limits(dtype).smallest_normal)))


def any_extreme(a: Array, dtype: DType) -> bool:
    info = limits(dtype)
    return bool(np.any((a == info.max) | (a == info.min)))


def any_tie(a: Array, dtype: DType) -> bool:
    flat = a.reshape(-1)
    pool = np.unique(flat[:64])
    few = pool.size <= min(4, a.size - 1)
    return few and bool(np.all(np.any(flat[:, None] == pool, axis=1)))


def but_one(a: Array, dtype: DType) -> bool:
    differs = a.reshape(-1) != a.reshape(-1)[-1]
    return int(np.sum(differs)) in (1, a.size - 1)


def all_exact(a: Array, dtype: DType) -> bool:
    parts = _parts(a, dtype)
    return all(bool(np.all((p * 4 == np.round(p * 4)) & (p != 0))) for p in parts)


def squares_leave(a: Array, dtype: DType) -> bool:
    """Whether a number fits the format, and its square does not."""
    size = np.abs(a)
    return bool(np.any(np.isfinite(size) & (size > float(limits(dtype).max) ** 0.5)))


def halves_leave(a: Array, dtype: DType) -> bool:
    """Whether numbers fit the format, and sums of those of one sign do not."""
    wide = a.astype(np.float64)
    most = float(limits(dtype).max)
    up, down = float(np.sum(wide[wide > 0])), -float(np.sum(wide[wide < 0]))
    return bool(np.all(np.isfinite(wide))) and min(up, down) > most


def over_powers(a: Array, dtype: DType) -> bool:
    size = np.abs(a.astype(np.float64)) if dtype.category == INT else np.abs(a)
    if dtype.category == INT:  # products of two leave half the format
        half = min(float(limits(dtype).max), 2.0**31) ** 0.5
        return bool(np.max(size) > half)
    size = size[size > 0]
    reach = 6 if dtype.itemsize == 2 else 10
    return size.size > 1 and bool(np.max(size) > np.min(size) * 2.0**reach)


def small_spread(a: Array, dtype: DType) -> bool:
    wide = a.astype(np.float64)
    spread = float(np.std(wide))
    return 0 < 4 * spread < abs(float(np.mean(wide)))


def beyond_ten(a: Array, dtype: DType) -> bool:
    size = np.abs(a)
    return bool(np.any(size > 3) & np.any(size < 1))


def far(a: Array, dtype: DType) -> bool:
    return bool(np.any(np.abs(a) >= 127))


def next_to_another(a: Array, dtype: DType) -> bool:
    """Whether two differ by no more than what a narrower format loses."""
    if dtype.category == INT:
        found = np.unique(a.reshape(-1)[:256])
        return bool(np.any(found[1:] - found[:-1] == 1))
    twice = 2 * a.astype(np.float64)
    off = np.abs(twice - np.round(twice))
    return bool(np.any((off > 0) & (off <= 16 * float(limits(dtype).eps))))
