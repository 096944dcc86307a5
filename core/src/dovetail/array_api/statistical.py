"""Reductions and running totals, as the array API standard has it."""

from __future__ import annotations

from builtins import max as greatest
from typing import Any

from dovetail import frontend as f
from dovetail.array_api.arrays import conforming, promoted
from dovetail.dtypes import INT_CATEGORY, DType, bool_, int64, uint64

Dims = int | tuple[int, ...] | None


def _over(x: Any, axis: Dims) -> tuple[int, ...]:
    """The dims of a reduction, of which None names all."""
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def _total(x: Any, dtype: DType | None) -> DType:
    """The dtype of sums and products: of small integers, the widest of their kind."""
    if dtype is not None:
        return dtype
    if x.dtype.category > INT_CATEGORY:
        found: DType = x.dtype
        return found
    return int64 if x.dtype.is_signed else uint64


@conforming
def sum(
    x: Any, /, *, axis: Dims = None, dtype: DType | None = None, keepdims: bool = False
) -> Any:
    """Sums over dims, all of them by default."""
    x, dims = x.to(_total(x, dtype)), _over(x, axis)
    return f.sum(x, dims, keepdims, dtype=x.dtype) if dims else x.clone()


@conforming
def prod(
    x: Any, /, *, axis: Dims = None, dtype: DType | None = None, keepdims: bool = False
) -> Any:
    """Products over dims, all of them by default."""
    x = x.to(_total(x, dtype))
    found = x.clone()
    for dim in sorted((d % x.ndim for d in _over(x, axis)), reverse=True):
        found = f.prod(found, dim, keepdims, dtype=x.dtype)
    return found


@conforming
def mean(x: Any, /, *, axis: Dims = None, keepdims: bool = False) -> Any:
    """Means over dims, all of them by default."""
    dims = _over(x, axis)
    return f.mean(x, dims, keepdims) if dims else x.clone()


@conforming
def var(
    x: Any, /, *, axis: Dims = None, correction: float = 0.0, keepdims: bool = False
) -> Any:
    """Variances over dims, all of them by default."""
    dims = _over(x, axis)
    if not dims:  # of one element, which deviates by 0 from its mean
        return (x - x) / greatest(1 - correction, 0)
    return f.var(x, dims, correction=correction, keepdim=keepdims)


@conforming
def std(
    x: Any, /, *, axis: Dims = None, correction: float = 0.0, keepdims: bool = False
) -> Any:
    """Standard deviations over dims, all of them by default."""
    return f.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


@conforming
def max(x: Any, /, *, axis: Dims = None, keepdims: bool = False) -> Any:
    """The greatest elements over dims, all of them by default."""
    dims = _over(x, axis)
    return f.amax(x, dims, keepdims) if dims else x.clone()


@conforming
def min(x: Any, /, *, axis: Dims = None, keepdims: bool = False) -> Any:
    """The least elements over dims, all of them by default."""
    dims = _over(x, axis)
    return f.amin(x, dims, keepdims) if dims else x.clone()


@conforming
def all(x: Any, /, *, axis: Dims = None, keepdims: bool = False) -> Any:
    """Whether no element over dims is zero."""
    x, dims = x.to(bool_), _over(x, axis)
    return f.all(x, dims, keepdims) if dims else x.clone()


@conforming
def any(x: Any, /, *, axis: Dims = None, keepdims: bool = False) -> Any:
    """Whether some element over dims is not zero."""
    x, dims = x.to(bool_), _over(x, axis)
    return f.any(x, dims, keepdims) if dims else x.clone()


@conforming
def count_nonzero(x: Any, /, *, axis: Dims = None, keepdims: bool = False) -> Any:
    """How many elements over dims are not zero."""
    return sum(x.to(bool_), axis=axis, dtype=int64, keepdims=keepdims)


@conforming
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: DType | None = None,
    include_initial: bool = False,
) -> Any:  # fmt: skip
    """Running sums along a dim, from the first element, or from 0, on."""
    return _running(f.cumsum, 0, x, axis, dtype, include_initial)


@conforming
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: DType | None = None,
    include_initial: bool = False,
) -> Any:  # fmt: skip
    """Running products along a dim, from the first element, or from 1, on."""
    return _running(f.cumprod, 1, x, axis, dtype, include_initial)


def _running(
    scan: Any, start: int, x: Any, axis: int | None, dtype: DType | None, initial: bool
) -> Any:
    axis = 0 if axis is None else axis
    x = x.to(_total(x, dtype))
    found = scan(x, axis, dtype=x.dtype)
    if not initial:
        return found
    shape = list(x.shape)
    shape[axis] = 1
    return f.cat([f.full(shape, start, dtype=x.dtype, device=x.device), found], axis)


@conforming
def diff(
    x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Any:
    """The `n`-th differences of neighbours along a dim."""
    given = [a for a in (prepend, x, append) if a is not None]
    return f.diff(f.cat(promoted(*given), axis), n, axis)
