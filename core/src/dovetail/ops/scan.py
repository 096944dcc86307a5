"""Scans: each element combined with all before it along a dim.

Bodies double the distance they look back, in log2 n steps (Hillis and Steele 1986).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, FLOAT, ORDERED, DType, int64
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor, alias
from dovetail.ops.compare import bitwise_or, ge, isfinite, isnan
from dovetail.ops.elementwise import minimum
from dovetail.ops.extremes import places
from dovetail.ops.primitive import (
    add,
    cast,
    clone,
    eq,
    exp,
    lt,
    maximum,
    mul,
    take_along,
    where,
)  # fmt: skip
from dovetail.ops.reduce import PRODUCT
from dovetail.ops.sums import sum_dtype
from dovetail.ops.transcendental import expm1, log1p
from dovetail.ops.view import expand

Array = np.ndarray[Any, Any]
Combine = Callable[[Tensor, Tensor], Tensor]


def scanned(x: Tensor, dim: int, combine: Combine, reverse: bool = False) -> Tensor:
    """All prefixes (suffixes) along `dim` under an associative `combine`."""
    shape = tuple(x._a.shape)
    if not shape or 0 in shape:
        return x
    n, at, step = shape[dim], places(x, dim), 1
    while step < n:
        if reverse:
            edge, other = ge(at, n - step), at + step
        else:
            edge, other = lt(at, step), at - step
        earlier = take_along(x, expand(where(edge, at, other), shape), dim)
        x = where(edge, x, combine(earlier, x))
        step *= 2
    return x


def wanted_dtype(x: Tensor, dtype: DType | None) -> DType:
    """The dtype asked for, else the index dtype for bools and integers."""
    return dtype or (x.dtype if x.dtype.is_inexact else index_dtype(x._kind))


# ---- sums and products


@op(sums=True, shape="(n@dim)->(n@dim)", accepts=ANY, promote=None, result=sum_dtype)
def cumsum(
    x: Tensor, dim: Axis, dtype: DType | None = None, reverse: bool = False
) -> Tensor:
    """Sums of the elements so far (to the end, if `reverse`); integers in int64."""
    return scanned(cast(x, wanted_dtype(x, dtype)), dim, add, reverse)


@cumsum.vjp
def _(ct: Tensor, x_dtype: DType, dim: int, reverse: bool) -> Tensor:
    g: Tensor = cumsum(ct, dim, None, not reverse)
    return g if g.dtype is x_dtype else cast(g, x_dtype)


@cumsum.oracle
def _(x: Array, dim: int, dtype: Any = None, reverse: bool = False) -> Array:
    return _accumulated(np.add, x, dim, reverse)


def _accumulated(ufunc: Any, x: Array, dim: int, reverse: bool = False) -> Array:
    if x.dtype.kind in "bu" or x.dtype.itemsize < 8:
        x = x.astype(np.int64)
    if not x.ndim:
        return x
    if reverse:
        return np.flip(ufunc.accumulate(np.flip(x, dim), axis=dim), dim)
    return np.asarray(ufunc.accumulate(x, axis=dim))


@cumsum.cases
def _(make: Any) -> Iterator[Case]:
    yield from _cases(make)
    yield case(make(2, 5), 1, reverse=True)


def _cases(make: Any) -> Iterator[Case]:
    yield case(make(9), 0)
    yield case(make(2, 5, 3), 1)
    yield case(make(2, 1), -1)
    yield case(make(0, 3), 0)
    yield case(make(), 0)


@op(shape="(n@dim)->(n@dim)", **PRODUCT)
def cumprod(x: Tensor, dim: Axis, dtype: DType | None = None) -> Tensor:
    """Products of the elements so far; integers in int64.

    Differentiated through the scan, so that gradients are right at zeros too.
    """
    return scanned(cast(x, wanted_dtype(x, dtype)), dim, mul)


@cumprod.oracle
def _(x: Array, dim: int, dtype: Any = None) -> Array:
    return _accumulated(np.multiply, x, dim)


@cumprod.cases
def _(make: Any) -> Iterator[Case]:
    yield from _cases(make)
    x = make(2, 5)
    x[0, 2] = x[1, 0] = x[1, 3] = 0
    yield case(x, 1)


@op(shape="(n@dim)->(n@dim)", accepts=FLOAT, promote="float")
def logcumsumexp(x: Tensor, dim: Axis) -> Tensor:
    """The logarithm of the cumulative sum of exponentials."""
    return scanned(clone(x), dim, _joined)


def _joined(a: Tensor, b: Tensor) -> Tensor:
    """log(exp(a) + exp(b)); no derivative overflows, the shift being a constant."""
    more, less = maximum(a, b), minimum(a, b)
    top = alias(more)
    top = where(isfinite(top), top, 0)
    y: Tensor = log1p(expm1(more - top) + exp(less - top)) + top
    return y


@logcumsumexp.oracle
def _(x: Array, dim: int) -> Array:
    return np.logaddexp.accumulate(x, axis=dim) if x.ndim else x.astype(np.float64)


logcumsumexp.cases(_cases)


# ---- extremes: where they are; the values are taken there


_PLACE: Any = {
    "shape": "(n@dim)->(n@dim)", "accepts": ORDERED, "result": int64,
    "nondifferentiable": True, "exact": True,
}  # fmt: skip


@op(**_PLACE)
def cumargmax(x: Tensor, dim: Axis) -> Tensor:
    """Where the greatest so far is along `dim`; the last of several, the last NaN."""
    return _latest(x, scanned(x, dim, maximum), dim)


@op(**_PLACE)
def cumargmin(x: Tensor, dim: Axis) -> Tensor:
    """Where the least so far is along `dim`; the last of several, the last NaN."""
    return _latest(x, scanned(x, dim, minimum), dim)


def _latest(x: Tensor, best: Tensor, dim: int) -> Tensor:
    hit = eq(x, best)
    if x.dtype.is_inexact:
        hit = bitwise_or(hit, isnan(x))
    at = where(hit, places(x, dim), 0)
    found: Tensor = cast(scanned(at, dim, maximum), index_dtype(x._kind))
    return found


def _last_best(x: Array, dim: int, better: Any) -> Array:
    if not x.ndim:
        return np.zeros((), np.int64)
    lines = np.moveaxis(x, dim, -1)
    found = np.zeros(lines.shape, np.int64)
    for at in np.ndindex(*lines.shape[:-1]):
        best = 0
        for i, value in enumerate(lines[at]):
            if np.isnan(value) or (
                lines[at][best] == lines[at][best] and better(value, lines[at][best])
            ):
                best = i
            found[(*at, i)] = best
    return np.moveaxis(found, -1, dim)


@cumargmax.oracle
def _(x: Array, dim: int) -> Array:
    return _last_best(x, dim, lambda a, b: a >= b)


@cumargmin.oracle
def _(x: Array, dim: int) -> Array:
    return _last_best(x, dim, lambda a, b: a <= b)


def _cases_place(make: Any) -> Iterator[Case]:
    yield from _cases(make)
    x = make(3, 6)
    if make.dtype.is_inexact:
        x[0, 2] = x[0, 4] = np.nan
    x[1, 1] = x[1, 4]
    yield case(x, 1)


cumargmax.cases(_cases_place)
cumargmin.cases(_cases_place)
__all__ = [
    "cumargmax", "cumargmin", "cumprod", "cumsum",
    "logcumsumexp", "scanned",
]  # fmt: skip
