"""torch's elements by rank: medians, quantiles, the k-th, the most frequent."""

from __future__ import annotations

import math
from typing import Any

from dovetail.dtypes import HALF, int64
from dovetail.engine.attributes import Absent
from dovetail.engine.checks import refuse_unless
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from dovetail.frontend.reduce import VALUED, dim_of, filled
from dovetail.ops import order as o
from dovetail.ops import pick, search, sums
from dovetail.ops import reduce as r
from dovetail.ops.bounds import clamp
from dovetail.ops.compare import bitwise_not, isnan
from dovetail.ops.create import full
from dovetail.ops.frequency import most_frequent
from dovetail.ops.primitive import cast, eq, floor, take_along, where
from dovetail.ops.view import expand, permute, reshape, unsqueeze


@public("median", out="same")
def median(input: Tensor, dim: int | Absent = None, keepdim: bool = False) -> Any:
    """The lower of the middle elements, of all or along `dim`; NaN wins."""
    if dim is not None:
        dim = dim_of("median", dim, input)
    elif 0 in input._a.shape:
        return full((), math.nan if input.dtype.is_inexact else 0, input._kind)
    if dim is None:
        _need_dim("median", keepdim)
        row = input if input.ndim == 1 else reshape(input, (-1,))
        return _median("median", row, 0, False).values
    return _median("median", input, dim, keepdim)


def _need_dim(name: str, keepdim: bool) -> None:
    """Raise for `keepdim` where there is no dim to keep."""
    if keepdim:
        raise ArgumentTypeError(
            name, "dim", was="missing, with keepdim", needed="the dim to keep"
        )


def _median(name: str, x: Tensor, dim: int, keepdim: bool) -> Any:
    line = x._a.shape[dim] if x.ndim else 1
    if not line:
        filled(name, x, None)
    middle = search.ranked(x, (line - 1) // 2, dim, True)
    return _picked(name, x, middle, dim, keepdim)


def _picked(name: str, x: Tensor, index: Tensor, dim: int, keepdim: bool) -> Any:
    return fields(name, VALUED)(pick.picked(x, index, dim, keepdim))


@public("nanmedian", out="same")
def nanmedian(input: Tensor, dim: int | Absent = None, keepdim: bool = False) -> Any:
    """The lower of the middle elements that are not NaN."""
    if dim is None:
        _need_dim("nanmedian", keepdim)
        x: Tensor = reshape(input, (-1,))
        return _nanmedian(x, 0, False).values if x._a.shape[0] else median(input)
    return _nanmedian(input, dim_of("nanmedian", dim, input), keepdim)


def _nanmedian(x: Tensor, dim: int, keepdim: bool) -> Any:
    if not x.dtype.is_inexact or not x.ndim:
        return _median("nanmedian", x, dim, keepdim)
    if not x._a.shape[dim]:
        filled("nanmedian", x, None)
    _, order = o.sort(x, dim)
    present = cast(sums.sum(eq(x, x), dim), order.dtype)
    at = where(eq(present, 0), 0, _halved(present))
    return _picked("nanmedian", x, pick.pick(order, at, dim), dim, keepdim)


def _halved(count: Tensor) -> Tensor:
    """(n - 1) // 2 for n >= 1."""
    return where(eq(count, 0), 0, cast((count - 1) / 2, count.dtype))


@public("kthvalue", out="same")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th least along `dim`, counted from 1."""
    dim = dim_of("kthvalue", dim, input)
    size = input._a.shape[dim] if input.ndim else 1
    if not 1 <= k <= size:
        raise ArgumentError(
            "kthvalue", "k", was=k, needed=f"1 to {size}, the size of the dim"
        )
    place = search.ranked(input, k - 1, dim)
    return _picked("kthvalue", input, place, dim, keepdim)


@public("mode", out="same")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent along `dim`, the least of several; the last of its places."""
    dim = dim_of("mode", dim, input)
    return _picked("mode", input, most_frequent(input, dim), dim, keepdim)


_BETWEEN = ("linear", "lower", "higher", "nearest", "midpoint")


@public("quantile", out="same", autocast="float32")
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Tensor:  # fmt: skip
    """The values below which lie the fractions `q`; NaN wins."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@public("nanquantile", out="same", autocast="float32")
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Tensor:  # fmt: skip
    """The values below which lie the fractions `q` of what is not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


def _quantile(
    name: str, x: Tensor, q: Any, dim: int | None, keepdim: bool, between: str,
    skip: bool,
) -> Tensor:  # fmt: skip
    if between not in _BETWEEN:
        raise ArgumentError(
            name, "interpolation", was=repr(between), needed=f"one of {_BETWEEN}"
        )
    filled(name, x, None)
    dim = None if dim is None else dim_of(name, dim, x)
    if isinstance(q, int | float) and not 0 <= q <= 1:
        raise ArgumentError(name, "q", was=q, needed="a fraction from 0 to 1")
    if x.dtype in HALF:
        raise DTypeError(
            name, "input", was=x.dtype.name, needed="either float32 or float64",
            remedy="cast it with .float()",
        )  # fmt: skip
    q = q if isinstance(q, Tensor) else full((), q, x._kind)
    if q.dtype is not x.dtype or not x.dtype.is_floating_point:
        raise DTypeError(
            name, "q", was=f"{q.dtype.name} with an input of {x.dtype.name}",
            needed="the same floating point dtype in both",
        )  # fmt: skip
    if q.ndim > 1:
        raise ShapeError(name, "q", was=f"{q.ndim}-d", needed="a number or one dim")
    refuse_unless(q, _are_fractions, lambda found: _outside(name, found.tolist()))
    lines = reshape(x, (-1,)) if dim is None else _last(x, dim)
    values, _ = o.sort(lines, -1)
    n = values._a.shape[-1]
    absent = isnan(values)
    last: Any = n - 1
    if skip:
        last = cast(sums.sum(bitwise_not(absent), -1, True) - 1, x.dtype)
    ranks = reshape(q, (-1,)) * last
    ranks = expand(ranks, (*values._a.shape[:-1], ranks._a.shape[-1]))
    if not skip:
        ranks = where(r.any(absent, -1, True), n - 1, ranks)
    y = _interpolated(values, clamp(ranks, 0, None), between)
    return _arranged(y, x, q, dim, keepdim)


def _are_fractions(q: Any) -> Any:
    return (q >= 0) & (q <= 1)


def _outside(name: str, q: Any) -> ArgumentError:
    return ArgumentError(
        name, "q", was=q,
        needed="fractions: q values must be in the range [0, 1]",
    )  # fmt: skip


def _interpolated(values: Tensor, ranks: Tensor, between: str) -> Tensor:
    last, below = values.ndim - 1, floor(ranks)
    if between == "nearest":
        below = ranks.round()
    above = -floor(-ranks)
    if between == "higher":
        below = above
    low = take_along(values, cast(below, int64), last)
    if between in ("lower", "higher", "nearest"):
        return low
    weight = ranks - below if between == "linear" else full((), 0.5, ranks._kind)
    high = take_along(values, cast(above, int64), last)
    return low + (high - low) * weight


def _last(x: Tensor, dim: int) -> Tensor:
    """`x` with one dim moved to the end."""
    if not x.ndim:
        return reshape(x, (1,))
    dims = [d for d in range(x.ndim) if d != dim]
    return permute(x, (*dims, dim))


def _arranged(
    y: Tensor, x: Tensor, q: Tensor, dim: int | None, keepdim: bool
) -> Tensor:
    """The fractions first, then the dims of `x` that are left."""
    y = permute(y, (y.ndim - 1, *range(y.ndim - 1)))
    if keepdim and x.ndim:
        y = reshape(y, (-1, *(1,) * x.ndim)) if dim is None else unsqueeze(y, dim + 1)
    return y if q.ndim else reshape(y, tuple(y._a.shape[1:]))
