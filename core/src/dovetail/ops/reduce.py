"""Reductions: means, products, truth; over one dim, several, or all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import (  # fmt: skip
    ANY,
    FLOAT,
    FLOAT8,
    ORDERED,
    STORED,
    DType,
    bool_,
    float32,
    float64,
    int32,
    int64,
    uint8,
)
from dovetail.engine.attributes import Axes, AxesIfAny, AxisOrEvery
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.integers import EVERY
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError
from dovetail.ops.compare import isnan
from dovetail.ops.primitive import cast, where
from dovetail.ops.sums import (
    as_dtype_of,
    cases_empty,
    cases_summed,
    count,
    reduced,
    spread,
    sum,
    sum_dtype,
    without,
)
from dovetail.ops.view import basic_index, reshape

_ALONG: Any = {"shape": "(n@dim)->()"}


def cases_undefined(make: Any) -> Iterator[Case]:
    """Nothing over nothing where gradients are proven: it has no differences."""
    yield from cases_summed(make) if make.dtype is float64 else cases_empty(make)


def _cases_mean(make: Any) -> Iterator[Case]:
    asked = {} if make.dtype.is_inexact else {"dtype": float32}
    for c in cases_undefined(make):
        yield case(*c.args, **c.kwargs, **asked)


def _inexact(name: str) -> Any:
    """The rule for the dtype of an op's result: the one asked for, or the input's."""

    def rule(dtypes: Any, attrs: Any) -> DType:
        found: DType = attrs["dtype"] or dtypes[0]
        if not found.is_inexact:
            raise DTypeError(
                name, "dtype", was=found.name,
                needed="a floating point or complex dtype",
                remedy="cast it with .float(), or pass dtype=",
            )  # fmt: skip
        return found

    return rule


def _over_count(total: Any, counted: Any) -> Any:
    """The oracle of a mean: the total over how many elements are counted."""
    return reduced(lambda x, **over: total(x, **over) / np.sum(counted(x), **over))


@op(averages=True, accepts=ANY, promote=None, result=_inexact("mean"), torch="mean",
    grows=(1,), oracle=_over_count(np.sum, np.ones_like), cases=_cases_mean, **_ALONG,
    grad=lambda ct, input_shape, input_dtype, dim, keepdim: as_dtype_of(
        spread(ct / (count(input_shape, dim) or 1), input_shape, dim, keepdim),
        input_dtype,
    ))  # fmt: skip
def mean(
    input: Tensor, dim: Axes = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The sum over `dim` divided by the number of elements; NaN over nothing.

    Raises:
        DTypeError: bools or integers, without a floating point `dtype`.

    Args:
        dim: one dim, several, or None for all.
        keepdim: whether the dims stay, with size 1.

    >>> import dovetail as dt
    >>> dt.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(dim=1, keepdim=True)
    tensor([[1.5000],
            [3.5000]])
    """
    return sum(input, dim, keepdim, dtype) / count(input._a.shape, dim)


def _cases_nan(make: Any) -> Iterator[Case]:
    for how in ((1,), (0, True), ()):
        x = make(3, 4)
        if make.dtype.is_inexact:
            x[0, 1] = x[2, 1] = np.nan
        yield case(x, *how)
    yield case(make(0, 3), 1)


@op(sums=True, accepts=ORDERED, promote=None, result=sum_dtype,
    torch="nansum", oracle=reduced(np.nansum), cases=_cases_nan, **_ALONG)  # fmt: skip
def nansum(
    input: Tensor, dim: Axes = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The sum over `dim` of what is not NaN."""
    present = where(isnan(input), 0, input) if input.dtype.is_inexact else input
    return sum(present, dim, keepdim, dtype)


@op(averages=True, accepts=FLOAT, result=_inexact("nanmean"), torch="nanmean",
    cases=_cases_nan, **_ALONG,
    oracle=_over_count(np.nansum, lambda x: ~np.isnan(x)))  # fmt: skip
def nanmean(
    input: Tensor, dim: Axes = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The mean over `dim` of what is not NaN."""
    x = input if dtype is None else cast(input, dtype)
    return nansum(x, dim, keepdim) / sum(cast(~isnan(x), x.dtype), dim, keepdim)


# Long ones leave the format, and so do those of large numbers.
PRODUCT: Any = {
    "largest": 64, "undefined_on": ("extreme", "wide", "special"), "accepts": ANY,
    "promote": None, "result": sum_dtype, "multiplies": True,
}  # fmt: skip


def _cases_product(make: Any) -> Iterator[Case]:
    yield case(make(3, 5, 2))
    yield case(make(3, 5, 2), -2, True)
    yield case(make(), 0)
    yield case(make(0, 3), 1)
    yield case(make(2, 0), 1, True)
    x = make(3, 5)
    x[0, 0] = x[1, 1] = x[1, 3] = 0
    yield case(x, 1)


@op(autocast="float32", torch="prod", out="dtype", oracle=reduced(np.prod),
    cases=_cases_product, **PRODUCT, **_ALONG)  # fmt: skip
def prod(
    input: Tensor, dim: AxisOrEvery = EVERY, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The product over `dim`, by halving; integers multiply in int64. Empty gives 1.

    Differentiated through the halving, so that gradients are right at zeros too.
    """
    y = cast(input, in_dtype(input, dtype))
    every: Any = dim
    dims = every if isinstance(every, tuple) else (every,)[: input.ndim]
    for d in dims:
        y = _halved(y, d)
    return reshape(y, without(input._a.shape, dims, keepdim))


def in_dtype(x: Tensor, dtype: DType | None) -> DType:
    """The dtype asked for, else the index dtype for bools and integers."""
    return dtype or (x.dtype if x.dtype.is_inexact else index_dtype(x._kind))


def _halved(y: Tensor, d: int) -> Tensor:
    whole = (slice(None),) * d
    if not y._a.shape[d]:
        ones: Tensor = sum(y, d, True) + 1  # recorded, though the gradient is empty
        return cast(ones, y.dtype)
    odd: list[Tensor] = []
    while (n := y._a.shape[d]) > 1:
        half = n // 2
        if n % 2:
            odd.append(basic_index(y, (*whole, slice(n - 1, n))))
        first = basic_index(y, (*whole, slice(0, half)))
        y = first * basic_index(y, (*whole, slice(half, 2 * half)))
    for rest in odd:
        y = y * rest
    return y


def _truth_dtype(dtypes: Any, attrs: Any) -> DType:
    """bool, but uint8 for uint8, as in torch."""
    return uint8 if dtypes[0] is uint8 else bool_


def _cases_truth(make: Any) -> Iterator[Case]:
    yield from cases_empty(make)
    for how in ((1,), ((0, 1), True), ((),)):
        yield case(make.ints(4, 3, high=2).astype(make.dtype.numpy), *how)


def _over(function: Any) -> Any:
    """An oracle by a function of NumPy's, for which `()` is no dim, too."""
    return lambda x, dim=None, keepdim=False: np.asarray(
        function(x, axis=tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim)
    )


_TRUTH: Any = {
    "accepts": STORED, "result": _truth_dtype, "nondifferentiable": True,
    "unrounded": True, "cases": _cases_truth, **_ALONG,
}  # fmt: skip


def _truth_of_each(input: Tensor) -> Tensor:
    """What `all` and `any` over no dims are."""
    y: Tensor = input != 0
    return cast(y, uint8) if input.dtype is uint8 else y


@op(out="truth", torch="all", **_TRUTH, oracle=_over(np.all))
def all(input: Tensor, dim: AxesIfAny = None, keepdim: bool = False) -> Tensor:
    """Whether none over `dim` is zero; true where there are none."""
    if input.dtype in FLOAT8:
        input = cast(input, bool_)
    if dim == ():
        return _truth_of_each(input)
    y: Tensor = sum(input == 0, dim, keepdim, int32) == 0
    return cast(y, uint8) if input.dtype is uint8 else y


@op(out="truth", torch="any", **_TRUTH, oracle=_over(np.any))
def any(input: Tensor, dim: AxesIfAny = None, keepdim: bool = False) -> Tensor:
    """Whether one over `dim` is not zero; false where there are none."""
    if input.dtype in FLOAT8:
        input = cast(input, bool_)
    if dim == ():
        return _truth_of_each(input)
    y: Tensor = sum(input != 0, dim, keepdim, int32) != 0
    return cast(y, uint8) if input.dtype is uint8 else y


@op(accepts=ANY, result=int64, nondifferentiable=True, unrounded=True, out=False,
    **_ALONG, torch="torch.count_nonzero Tensor.count_nonzero*",
    oracle=reduced(lambda x, **over: np.sum(x != 0, **over)),
    cases=lambda make: [
        case(make.ints(3, 4, high=2).astype(make.dtype.numpy), 1),
        case(make(2, 3, 4), (0, 2)), case(make(0, 2)),
    ])  # fmt: skip
def count_nonzero(input: Tensor, dim: Axes = None) -> Tensor:
    """How many over `dim` are not zero."""
    return sum(input if input.dtype is bool_ else input != 0, dim)


__all__ = [
    "PRODUCT", "all", "any", "cases_undefined", "count_nonzero", "in_dtype", "mean",
    "nanmean", "nansum", "prod",
]  # fmt: skip
