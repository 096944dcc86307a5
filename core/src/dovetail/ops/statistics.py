"""Spread, norms, and counts of values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, INEXACT, INTEGRAL, Array, Sizes, float64, int64
from dovetail.engine.attributes import Axes, Finite, Static
from dovetail.engine.cases import Case, case, values
from dovetail.engine.declare import op
from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.promotion import index_dtype
from dovetail.engine.results import DATA
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, refuse_bins, refuse_negative_bins
from dovetail.limits import iinfo
from dovetail.ops.compare import isnan
from dovetail.ops.complex import real_dtype
from dovetail.ops.create import full, zeros_of
from dovetail.ops.elementwise import abs, sgn
from dovetail.ops.extremes import amax, amin
from dovetail.ops.index import read
from dovetail.ops.primitive import (
    cast,
    conj,
    float_pow,
    floor,
    scatter_add_,
    sqrt,
    where,
)  # fmt: skip
from dovetail.ops.reduce import mean
from dovetail.ops.sums import as_kept, axis_of, count, sum
from dovetail.ops.view import reshape


def _var(x: Array, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    axis = axis_of(dim) if x.ndim else None
    away = np.abs(x - np.mean(x, axis=axis, keepdims=True))
    squares, ones = (
        np.sum(v, axis=axis, keepdims=keepdim) for v in (away * away, np.ones(x.shape))
    )
    return squares / np.maximum(0, ones - correction)


def _cases_spread(make: Any) -> Iterator[Case]:
    yield case(make(3, 5), 1)
    yield case(make(2, 3, 4), (0, 2), 0, True)
    yield case(make(7))
    yield case(make(4, 3), 0, 2.5)
    if make.dtype is not float64:
        yield case(make(3, 1), 1)
        yield case(make(2, 0), 1)


def _var_gradient(
    ct: Tensor, input: Tensor, dim: Sizes, correction: Any, keepdim: bool
) -> Tensor:
    shape = input._a.shape
    freedom = _freedom(shape, dim, correction)
    scale = as_kept(ct, shape, dim, keepdim) * (2 / freedom if freedom else math.nan)
    return scale * (input - mean(input, dim, True))


def _std_gradient(
    ct: Tensor, input: Tensor, y: Tensor, dim: Sizes, correction: Any, keepdim: bool
) -> Tensor:
    still = y == 0
    of_var = where(still, 0, ct / where(still, 1, y * 2))
    return _var_gradient(of_var, input, dim, correction, keepdim)


_SPREAD: Any = {
    "shape": "(n@dim)->()", "accepts": INEXACT, "result": real_dtype, "grows": (0,),
    "cases": _cases_spread,
}  # fmt: skip


@op(**_SPREAD, oracle=_var, grad=_var_gradient)
def var(
    input: Tensor, dim: Axes = None, correction: Static = 1, keepdim: bool = False
) -> Tensor:
    """The sum of squared distances from the mean, over n - `correction`.

    In two passes (Chan, Golub, LeVeque 1983): NaN where n is not above the correction.
    The mean is made better by what is left of it, so that of equal numbers it is 0.
    """
    middle = mean(input, dim, True)
    away = input - (middle + mean(input - middle, dim, True))
    squares = cast(away * conj(away), input.dtype.real)
    return sum(squares, dim, keepdim) / _freedom(input._a.shape, dim, correction)


def _freedom(shape: Any, dim: Any, correction: Any) -> float:
    return max(0.0, count(shape, dim) - float(correction))


@op(**_SPREAD, grad=_std_gradient,
    oracle=lambda x, dim=None, correction=1, keepdim=False: np.sqrt(
        _var(x, dim, correction, keepdim)))  # fmt: skip
def std(
    input: Tensor, dim: Axes = None, correction: Static = 1, keepdim: bool = False
) -> Tensor:
    """The root of the variance; its gradient where that is 0 is 0."""
    return sqrt(var(input, dim, correction, keepdim))


def _vector_norm_gradient(
    ct: Tensor, input: Tensor, y: Tensor, p: Any, dim: Sizes, keepdim: bool
) -> Tensor:
    shape = input._a.shape
    ct, y = as_kept(ct, shape, dim, keepdim), as_kept(y, shape, dim, keepdim)
    if p == 0:
        return input * 0
    if p == 1:
        return ct * sgn(input)
    if p in (math.inf, -math.inf):
        size = abs(input)
        tie = cast((size == y) | (isnan(size) & isnan(y)), y.dtype)
        return sgn(input) * (tie * (ct / sum(tie, dim, True)))
    still = y == 0
    scale = where(still, 0, ct / where(still, 1, y))
    if p == 2:
        return input * scale
    size = abs(input)
    # |input|^(p-1) is not finite at 0 for p < 1, where the gradient is taken as 0.
    zero = size == 0
    ratio = where(zero, 1, size) / where(still, 1, y)
    return sgn(input) * where(zero, 0, float_pow(ratio, p - 1) * where(still, 0, ct))


@op(shape="(n@dim)->()", accepts=INEXACT, result=real_dtype, grad=_vector_norm_gradient)
def vector_norm(
    input: Tensor, p: Static = 2, dim: Axes = None, keepdim: bool = False
) -> Tensor:
    """sum(|x|^p)^(1/p) over `dim`; inf: the greatest |x|, 0: how many are not 0."""
    size: Tensor = abs(input)
    if p == math.inf:
        return amax(size, dim, keepdim)
    if p == -math.inf:
        return amin(size, dim, keepdim)
    if p == 0:
        return sum(cast(size != 0, size.dtype), dim, keepdim)
    if p == 1:
        return sum(size, dim, keepdim)
    if p == 2:
        return sqrt(sum(size * size, dim, keepdim))
    return float_pow(sum(float_pow(size, p), dim, keepdim), 1 / p)


@vector_norm.oracle
def _(x: Array, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    axis, size = axis_of(dim), np.abs(x)
    if p in (math.inf, -math.inf):
        return (np.max if p > 0 else np.min)(size, axis=axis, keepdims=keepdim)
    if p == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdim).astype(size.dtype)
    return np.asarray(np.sum(size**p, axis=axis, keepdims=keepdim) ** (1 / p))


@vector_norm.cases
def _(make: Any) -> Iterator[Case]:
    for p in (2, 1, 0, 3, 0.5, -1, 2.5):
        yield case(make(3, 4), p, 1)
    # Multiples of a half and an eighth: of any size, none is 0 nor another's negative.
    eighth = np.asarray(0.125).astype(make.dtype.numpy)
    yield case(make.distinct(3, 4) + eighth, math.inf, 0, True)
    yield case(make.distinct(3, 4) + eighth, -math.inf)
    yield case(make(2, 3, 2), 2, (0, 2))
    yield case(make(2, 0), 2, 1)


@op(shape=DATA, accepts=INTEGRAL, promote=None, result=int64, nondifferentiable=True,
    undefined_on=("extreme", "pairs", "wide"),
    oracle=lambda x, minlength=0: np.bincount(x, minlength=minlength),
    cases=lambda make: [
        values(9, low=0, high=5), (values(4, low=0, high=2), 6), ([0], 2),
        values(7, low=0, high=min(int(iinfo(make.dtype).max), 5000)),
    ])  # fmt: skip
def bincount(input: Tensor, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, … occurs in a 1-d tensor; waits for the greatest."""
    places, n = bins_of(input, minlength)
    found: Tensor = full((n,), 0, input._kind.with_dtype(index_dtype(input._kind)))
    if input._a.shape[0]:
        ones = full(tuple(input._a.shape), 1, found._kind)
        scatter_add_(found, places, ones, 0)
    return found


def bins_of(x: Tensor, minlength: int) -> tuple[Tensor, int]:
    """The values as indices, and how many bins they need.

    Raises:
        ArgumentError: `minlength` or a value is negative.
        ShapeError: `x` does not have one dim.
    """
    refuse_bins(tuple(x._a.shape), minlength)
    index = cast(x, index_dtype(x._kind))
    if not x._a.shape[0]:
        return index, minlength
    whole = of_all_rows(index)
    least, most = read(amin(whole)), read(amax(whole))
    refuse_negative_bins(least)
    return index, max(minlength, most + 1)


def _histogram(input: Sizes, *, bins: int, min: Any, max: Any) -> Sizes:
    if bins <= 0 or min > max:
        raise ArgumentError(
            "histc", "bins", was=f"{bins} from {min} to {max}",
            needed="at least one, in order",
        )  # fmt: skip
    return (bins,)


@op(out="same", shape=_histogram, accepts=FLOAT, nondifferentiable=True, torch="histc")
def histc(input: Tensor, bins: int = 100, min: Finite = 0, max: Finite = 0) -> Tensor:
    """How many elements lie in each of `bins` equal parts of min to max.

    Both bounds are included; NaN is not counted. Equal bounds mean those of the data.
    """
    x: Tensor = reshape(input, (-1,))
    first: Any = min
    last: Any = max
    if min == max and x._a.shape[0]:
        first, last = _bounds(x)
    elif min == max:
        first, last = min - 1, max + 1
    inside = (x >= first) & (x <= last)
    place = floor((where(inside, x, first) - first) * bins / (last - first))
    place = where(place >= bins, bins - 1, place)
    found = zeros_of(x, (bins,))
    scatter_add_(found, cast(place, index_dtype(x._kind)), cast(inside, x.dtype), 0)
    return found


def _bounds(x: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the greatest, one less and one more where they are equal."""
    low, high = amin(x), amax(x)
    equal = low == high
    return where(equal, low - 1, low), where(equal, high + 1, high)


@histc.oracle
def _(x: Array, bins: int, low: Any, high: Any) -> Array:
    x = x.reshape(-1)
    if low == high and x.size:
        low, high = x.min(), x.max()
    if low == high:
        low, high = low - 1, high + 1
    return np.histogram(x[(x >= low) & (x <= high)], bins, (low, high))[0]


@histc.cases
def _(make: Any) -> Iterator[Case]:
    x = np.asarray([0.1, 0.3, 1.7, 2.9, 3.0, -1.0, 0.0, np.nan]).astype(
        make.dtype.numpy
    )
    yield case(x, 4, 0.0, 3.0)
    yield case(x[:7].reshape(7, 1), 5, 0.0, 0.0)
    yield case(x[:0], 3, 0.0, 0.0)


__all__ = ["bincount", "bins_of", "histc", "std", "var", "vector_norm"]
