"""Reductions: sums, products, extremes, truth; over one dim, several, or all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import (
    ANY,
    FLOAT,
    INEXACT,
    ORDERED,
    DType,
    bool_,
    float32,
    float64,
    int32,
    int64,
    uint8,
)  # fmt: skip
from dovetail.engine.attributes import Axes
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError
from dovetail.ops.compare import isnan, ne
from dovetail.ops.primitive import (
    cast,
    eq,
    iota,
    mul,
    reduce_sum,
    where,
)  # fmt: skip
from dovetail.ops.view import basic_index, expand, reshape, unsqueeze

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]


def kept(shape: Any, dims: Sizes) -> Sizes:
    """`shape` with the reduced dims as 1."""
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


def count(shape: Any, dims: Sizes) -> int:
    """How many elements are reduced to one."""
    return math.prod(shape[d] for d in dims)


def as_kept(y: Tensor, shape: Any, dims: Sizes, keepdim: bool) -> Tensor:
    """A reduced tensor with the reduced dims as 1, whether it had kept them or not."""
    return y if keepdim or not dims else reshape(y, kept(shape, dims))


def spread(ct: Tensor, shape: Any, dims: Sizes, keepdim: bool) -> Tensor:
    """A reduced tensor repeated to the shape before the reduction."""
    if not keepdim:
        leading = [d for place, d in enumerate(dims) if d == place]
        for d in dims[len(leading) :]:  # the leading ones come back by expanding
            ct = unsqueeze(ct, d - len(leading))
    wide: Tensor = expand(ct, tuple(shape))
    return wide


def finished(y: Tensor, x: Tensor, dims: Sizes, keepdim: bool) -> Tensor:
    return reshape(y, kept(x._a.shape, dims)) if keepdim else y


def places(x: Tensor, dim: int) -> Tensor:
    """0, 1, … along `dim` as int32, with size 1 elsewhere."""
    shape, ints = x._a.shape, x._kind.with_dtype(int32)
    if not shape:
        return reshape(iota(1, ints), ())
    wanted = tuple(n if d == dim else 1 for d, n in enumerate(shape))
    return reshape(iota(shape[dim], ints), wanted)


# ---- sums


def sum_dtype(dtypes: Any, attrs: Any) -> DType:
    """The dtype asked for, else int64 for bools and integers."""
    asked: DType | None = attrs["dtype"]
    own: DType = dtypes[0]
    return asked or (own if own.is_inexact else int64)


def _result(x: Tensor, dtype: DType | None) -> DType:
    return dtype or (x.dtype if x.dtype.is_inexact else index_dtype(x._kind))


@op(sums=True, shape="(n@dim)->()", accepts=ANY, promote=None, result=sum_dtype)
def sum(
    x: Tensor, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    """The sum over `dim`; bools and integers add up in int64. Empty gives 0."""
    wanted = _result(x, dtype)
    if wanted.category < x.dtype.category:
        x = cast(x, wanted)
    return finished(reduce_sum(x, dim, wanted), x, dim, keepdim)  # type: ignore[arg-type]


@sum.vjp
def _(ct: Tensor, x_shape: Sizes, x_dtype: DType, dim: Sizes, keepdim: bool) -> Tensor:
    wide = spread(ct, x_shape, dim, keepdim)
    return wide if ct.dtype is x_dtype else cast(wide, x_dtype)


@sum.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return np.sum(_read_as(x, dtype), axis=axis_of(dim), keepdims=keepdim)


def _read_as(x: Array, dtype: Any) -> Array:
    """Integers that are summed as floats are floats first, and do not wrap."""
    return x if dtype is None or not dtype.is_inexact else x * 1.0


def axis_of(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list | tuple) else dim


def _cases(make: Any) -> Iterator[Case]:
    yield case(make(5))
    yield case(make(2, 3, 4), 1)
    yield case(make(2, 3, 4), (0, -1), True)
    yield case(make(2, 3, 4).transpose(2, 0, 1), -1)
    yield case(make(), keepdim=True)
    yield case(make(), 0)


def cases_empty(make: Any) -> Iterator[Case]:
    yield from _cases(make)
    yield case(make(0, 3), 1)
    yield case(make(2, 0), 1, True)


def cases_undefined(make: Any) -> Iterator[Case]:
    """Nothing over nothing where gradients are proven: it has no differences."""
    yield from _cases(make) if make.dtype is float64 else cases_empty(make)


sum.cases(cases_empty)


def _float_dtype(dtypes: Any, attrs: Any) -> DType:
    found: DType = attrs["dtype"] or dtypes[0]
    if not found.is_inexact:
        raise DTypeError(
            "mean", "dtype", was=found.name, needed="a floating point or complex dtype",
            remedy="cast it with .float(), or pass dtype=",
        )  # fmt: skip
    return found


@op(averages=True, shape="(n@dim)->()", accepts=ANY, promote=None, result=_float_dtype)
def mean(
    x: Tensor, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    """The sum over `dim` divided by the number of elements; NaN over nothing."""
    total: Tensor = sum(x, dim, keepdim, dtype)
    found: Tensor = total / count(x._a.shape, dim)  # type: ignore[arg-type]
    return found


@mean.vjp
def _(ct: Tensor, x_shape: Sizes, x_dtype: DType, dim: Sizes, keepdim: bool) -> Tensor:
    scaled = ct / count(x_shape, dim) if 0 not in x_shape else ct
    wide = spread(scaled, x_shape, dim, keepdim)
    return wide if ct.dtype is x_dtype else cast(wide, x_dtype)


@mean.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x = _read_as(x, dtype)
    return np.sum(x, axis=axis_of(dim), keepdims=keepdim) / (
        np.sum(np.ones(x.shape), axis=axis_of(dim), keepdims=keepdim)
    )


@mean.cases
def _(make: Any) -> Iterator[Case]:
    for c in cases_undefined(make):
        if make.dtype.is_inexact:
            yield c
        else:
            yield case(*c.args, **c.kwargs, dtype=float32)


@op(
    sums=True,
    shape="(n@dim)->()",
    accepts=ORDERED | INEXACT,
    promote=None,
    result=sum_dtype,
)
def nansum(
    x: Tensor, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    """The sum over `dim` of what is not NaN."""
    y: Tensor = sum(
        where(isnan(x), 0, x) if x.dtype.is_inexact else x, dim, keepdim, dtype
    )
    return y


@nansum.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return np.nansum(_read_as(x, dtype), axis=axis_of(dim), keepdims=keepdim)


def _cases_nan(make: Any) -> Iterator[Case]:
    x = make(3, 4)
    if make.dtype.is_inexact:
        x[0, 1] = x[2, 1] = np.nan
    yield case(x, 1)
    yield case(x, 0, True)
    yield case(x)
    yield case(make(0, 3), 1)


nansum.cases(_cases_nan)


@op(averages=True, shape="(n@dim)->()", accepts=FLOAT)
def nanmean(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The mean over `dim` of what is not NaN."""
    present = cast(eq(x, x), x.dtype)
    y: Tensor = nansum(x, dim, keepdim) / sum(present, dim, keepdim)
    return y


@nanmean.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return np.asarray(np.nansum(x, axis=axis_of(dim), keepdims=keepdim)) / np.sum(
        ~np.isnan(x), axis=axis_of(dim), keepdims=keepdim
    )


nanmean.cases(_cases_nan)


# ---- products


# Long ones leave the format, and so do those of large numbers.
PRODUCT: Any = {
    "largest": 64, "undefined_on": ("extreme", "wide", "special"), "accepts": ANY,
    "promote": None, "result": sum_dtype,
}  # fmt: skip


@op(shape="(n@dim)->()", **PRODUCT)
def prod(
    x: Tensor, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    """The product over `dim`, by halving; integers multiply in int64. Empty gives 1.

    Differentiated through the halving, so that gradients are right at zeros too.
    """
    y = cast(x, _result(x, dtype))
    for d in dim:  # type: ignore[union-attr]
        y = _halved(y, d)
    return reshape(y, without(x._a.shape, dim, keepdim))


def without(shape: Any, dims: Any, keepdim: bool) -> Sizes:
    return (
        kept(shape, dims)
        if keepdim
        else tuple(n for d, n in enumerate(shape) if d not in dims)
    )


def _halved(y: Tensor, d: int) -> Tensor:
    whole = (slice(None),) * d
    if not y._a.shape[d]:
        ones: Tensor = sum(y, d, True) + 1  # recorded, though the gradient is empty
        found: Tensor = cast(ones, y.dtype)
        return found
    odd: list[Tensor] = []
    while (n := y._a.shape[d]) > 1:
        half = n // 2
        if n % 2:
            odd.append(basic_index(y, (*whole, slice(n - 1, n))))
        first = basic_index(y, (*whole, slice(0, half)))
        y = mul(first, basic_index(y, (*whole, slice(half, 2 * half))))
    for rest in odd:
        y = mul(y, rest)
    return y


@prod.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return np.prod(x, axis=axis_of(dim), keepdims=keepdim)


@prod.cases
def _(make: Any) -> Iterator[Case]:
    yield from cases_empty(make)
    x = make(3, 5)
    x[0, 0] = x[1, 1] = x[1, 3] = 0
    yield case(x, 1)


# ---- truth


def _truth_dtype(dtypes: Any, attrs: Any) -> DType:
    """bool, but uint8 for uint8, as in torch."""
    return uint8 if dtypes[0] is uint8 else bool_


_TRUTH: Any = {
    "shape": "(n@dim)->()", "accepts": ANY, "result": _truth_dtype,
    "nondifferentiable": True, "exact": True,
}  # fmt: skip


@op(**_TRUTH)
def all(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Whether none over `dim` is zero; true where there are none."""
    y: Tensor = eq(sum(eq(x, 0), dim, keepdim, int32), 0)
    return cast(y, uint8) if x.dtype is uint8 else y


@op(**_TRUTH)
def any(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Whether one over `dim` is not zero; false where there are none."""
    y: Tensor = ne(sum(ne(x, 0), dim, keepdim, int32), 0)
    return cast(y, uint8) if x.dtype is uint8 else y


@all.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return np.all(x, axis=axis_of(dim), keepdims=keepdim)


@any.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return np.any(x, axis=axis_of(dim), keepdims=keepdim)


@op(shape="(n@dim)->()", accepts=ANY, result=int64, nondifferentiable=True, exact=True)
def count_nonzero(x: Tensor, dim: Axes = None) -> Tensor:
    """How many over `dim` are not zero."""
    found: Tensor = sum(x if x.dtype is bool_ else ne(x, 0), dim)
    return found


@count_nonzero.oracle
def _(x: Array, dim: Any = None) -> Array:
    return np.asarray(np.sum(x != 0, axis=axis_of(dim)))


@count_nonzero.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make.ints(3, 4, high=2).astype(make.dtype.numpy), 1)
    yield case(make(2, 3, 4), (0, 2))
    yield case(make(0, 2))


def _cases_truth(make: Any) -> Iterator[Case]:
    yield from cases_empty(make)
    x = make.ints(4, 3, high=2).astype(make.dtype.numpy)
    yield case(x, 1)
    yield case(x, (0, 1), True)


all.cases(_cases_truth)
any.cases(_cases_truth)


__all__ = [
    "all",
    "any",
    "as_kept",
    "axis_of",
    "cases_empty",
    "cases_undefined",
    "count",
    "count_nonzero",
    "finished",
    "kept",
    "mean",
    "nanmean",
    "nansum",
    "places",
    "prod",
    "spread",
    "sum",
    "sum_dtype",
    "without",
]
