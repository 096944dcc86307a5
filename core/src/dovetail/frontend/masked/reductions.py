"""Reductions and scans of the elements that a mask keeps."""

from __future__ import annotations

import math
from typing import Any

from dovetail.dtypes import DType, float32, int64
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError
from dovetail.frontend.masked.masks import (
    Dims,
    accumulated,
    broadcast_mask,
    dims_of,
    filled_with,
    highest,
    in_dtype,
    lowest,
)
from dovetail.frontend.statistics import vector_norm
from dovetail.ops.arithmetic import div
from dovetail.ops.formats import cast
from dovetail.ops.sums import sum as _sum
from dovetail.ops.view import unsqueeze

_TORCH = NAMESPACES["torch"]


@public("masked.sum")
def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The sum of what `mask` keeps; 0 of nothing."""
    x = filled_with("masked.sum", accumulated(input, dtype), mask, 0)
    dims = dims_of("masked.sum", x, dim)
    return _sum(x, dims, bool(keepdim), dtype=x.dtype) if dims else x


@public("masked.prod")
def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The product of what `mask` keeps; 1 of nothing."""
    x = filled_with("masked.prod", accumulated(input, dtype), mask, 1)
    for d in sorted(dims_of("masked.prod", x, dim), reverse=True):
        x = x.prod(d, bool(keepdim))
    return x


def _extreme(
    name: str, input: Tensor, dim: Dims, keepdim: bool | None, dtype: DType | None,
    mask: Tensor | None,
) -> Tensor:  # fmt: skip
    x = in_dtype(input, dtype)
    least = name == "amax"
    x = filled_with(f"masked.{name}", x, mask, (lowest if least else highest)(x.dtype))
    dims = dims_of(f"masked.{name}", x, dim)
    y: Tensor = _TORCH[name](x, dims, bool(keepdim)) if dims else x
    return y


@public("masked.amax")
def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The greatest of what `mask` keeps; the least number of the dtype of nothing."""
    return _extreme("amax", input, dim, keepdim, dtype, mask)


@public("masked.amin")
def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The least of what `mask` keeps; the greatest number of the dtype of nothing."""
    return _extreme("amin", input, dim, keepdim, dtype, mask)


@public("masked.argmax")
def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where the greatest of what `mask` keeps is; as torch has it, in its dtype."""
    x = in_dtype(input, dtype)
    x = filled_with("masked.argmax", x, mask, lowest(x.dtype))
    return cast(_TORCH["argmax"](x, dim, bool(keepdim)), x.dtype)


@public("masked.argmin")
def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where the least of what `mask` keeps is; as torch has it, in its dtype."""
    x = in_dtype(input, dtype)
    x = filled_with("masked.argmin", x, mask, highest(x.dtype))
    return cast(_TORCH["argmin"](x, dim, bool(keepdim)), x.dtype)


@public("masked.cumsum")
def cumsum(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Sums up to each element, of which those that `mask` drops count as 0."""
    y: Tensor = _TORCH["cumsum"](
        filled_with("masked.cumsum", accumulated(input, dtype), mask, 0), dim
    )
    return y


@public("masked.cumprod")
def cumprod(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Products up to each element, of which those that `mask` drops count as 1."""
    y: Tensor = _TORCH["cumprod"](
        filled_with("masked.cumprod", accumulated(input, dtype), mask, 1), dim
    )
    return y


def _count(name: str, x: Tensor, dims: tuple[int, ...], mask: Any) -> Tensor:
    """How many elements are kept, in the dtype of `x`, with `dims` of size 1."""
    kept = broadcast_mask(name, x, mask)
    ones = cast(x.detach() == x.detach(), int64) * 0 + 1 if kept is None else kept
    return _sum(cast(ones, int64), dims, True) if dims else cast(ones, int64)


def _float_of(name: str, x: Tensor, dtype: DType | None) -> Tensor:
    x = in_dtype(x, dtype)
    if not x.dtype.is_inexact:
        x = cast(x, float32)
    return x


def _mean(name: str, x: Tensor, dims: tuple[int, ...], mask: Any) -> Tensor:
    """With `dims` of size 1; NaN of nothing."""
    total = filled_with(name, x, mask, 0)
    total = _sum(total, dims, True, dtype=x.dtype) if dims else total
    return div(total, cast(_count(name, x, dims, mask), x.dtype.real))


def _without(x: Tensor, dims: tuple[int, ...], keepdim: bool | None) -> Tensor:
    return x if keepdim or not dims else x.squeeze(dims)


@public("masked.mean")
def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean of what `mask` keeps; NaN of nothing."""
    name = "masked.mean"
    whole = dtype or input.dtype
    if not whole.is_inexact:
        raise DTypeError(name, "input", was=whole.name, needed="inexact numbers")
    x = in_dtype(input, dtype)
    dims = dims_of(name, x, dim)
    return _without(_mean(name, x, dims, mask), dims, keepdim)


@public("masked.median")
def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The median along `dim` of what `mask` keeps."""
    x = in_dtype(input, dtype)
    if not x.dtype.is_floating_point:
        raise DTypeError(
            "masked.median", "input", was=x.dtype.name, needed="floating point numbers"
        )
    x = x if x.ndim else x.reshape(1)
    if mask is None:
        y: Tensor = _TORCH["median"](x, dim, keepdim).values
    else:
        given = filled_with("masked.median", x, mask, math.nan)
        y = _TORCH["nanmedian"](given, dim, keepdim).values
    return y if input.ndim else y.reshape(())


@public("masked.norm")
def norm(
    input: Tensor, ord: float | None = 2.0, dim: Dims = None, *,
    keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The norm of vectors of what `mask` keeps."""
    name, power = "masked.norm", 2.0 if ord is None else ord
    x = _float_of(name, input, dtype)
    x = filled_with(name, x, mask, math.inf if power < 0 else 0)
    dims = dims_of(name, x, dim)
    return _vector_norm(x, power, dims, keepdim)


def _vector_norm(x: Tensor, power: float, dims: Any, keepdim: bool | None) -> Tensor:
    if not dims:  # each number for itself
        return vector_norm(unsqueeze(x, 0), power, 0)
    return vector_norm(x, power, dims, bool(keepdim))


def _spread(
    name: str, input: Tensor, dim: Dims, unbiased: bool | None,
    correction: float | None, keepdim: bool | None, dtype: DType | None, mask: Any,
) -> Tensor:  # fmt: skip
    """The variance; NaN where no more is kept than the correction takes away."""
    if unbiased is not None and correction is not None:
        raise ArgumentError(
            name, "correction", was=correction, needed="None beside `unbiased`"
        )
    less = correction if correction is not None else int(unbiased is not False)
    x = in_dtype(input, dtype)
    x = x if x.dtype.is_inexact else cast(x, float32)
    dims = dims_of(name, x, dim)
    off = filled_with(name, x, mask, 0) - _mean(name, x, dims, mask)
    squares = filled_with(name, off * off.conj(), mask, 0)
    total = _sum(squares, dims, True) if dims else squares
    count = cast(_count(name, x, dims, mask), total.dtype.real) - less
    return _without(total / count.clamp(min=0), dims, keepdim)


@public("masked.var")
def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of what `mask` keeps."""
    return _spread("masked.var", input, dim, unbiased, correction, keepdim, dtype, mask)


@public("masked.std")
def std(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation of what `mask` keeps."""
    return _spread(
        "masked.std", input, dim, unbiased, correction, keepdim, dtype, mask
    ).sqrt()
