"""Scans: each element combined with all before it along a dim.

Bodies double the distance they look back, in log2 n steps (Hillis and Steele 1986).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, FLOAT, INEXACT, ORDERED, Array, DType, int64
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor, alias
from dovetail.ops.bounds import minimum
from dovetail.ops.compare import isfinite, isnan
from dovetail.ops.extremes import places
from dovetail.ops.index import taken_along, ungathered
from dovetail.ops.pad import constant_pad
from dovetail.ops.primitive import (
    add,
    cast,
    clone,
    conj,
    exp,
    maximum,
    mul,
    take_along,
    where,
)  # fmt: skip
from dovetail.ops.reduce import PRODUCT, in_dtype
from dovetail.ops.shape import flip
from dovetail.ops.sums import as_dtype_of, sum_dtype
from dovetail.ops.transcendental import expm1, log1p
from dovetail.ops.view import expand

Combine = Callable[[Tensor, Tensor], Tensor]
_ALONG: Any = {"shape": "(n@dim)->(n@dim)"}


def scanned(x: Tensor, dim: int, combine: Combine) -> Tensor:
    """All prefixes along `dim` under an associative `combine`."""
    shape = tuple(x._a.shape)
    if not shape or 0 in shape:
        return x
    n, at, step = shape[dim], places(x, dim), 1
    while step < n:
        edge = at < step
        before = expand(where(edge, at, at - step), shape)
        x = where(edge, x, combine(take_along(x, before, dim), x))
        step *= 2
    return x


def _cases(make: Any) -> Iterator[Case]:
    yield case(make(9), 0)
    yield case(make(2, 5, 3), 1)
    yield case(make(2, 1), -1)
    yield case(make(0, 3), 0)
    yield case(make(), 0)


def _accumulated(ufunc: Any, x: Array, dim: int) -> Array:
    if x.dtype.kind in "bu" or x.dtype.itemsize < 8:
        x = x.astype(np.int64)
    return np.asarray(ufunc.accumulate(x, axis=dim)) if x.ndim else x


def _cumsum_rule(ct: Tensor, input_dtype: DType, dim: int) -> Tensor:
    return as_dtype_of(flip(cumsum(flip(ct, (dim,)), dim), (dim,)), input_dtype)


@op(sums=True, accepts=ANY, promote=None, result=sum_dtype, cases=_cases,
    torch="cumsum Tensor.cumsum_", out="dtype", **_ALONG,
    oracle=lambda x, dim, dtype=None: _accumulated(np.add, x, dim),
    grad=_cumsum_rule)  # fmt: skip
def cumsum(input: Tensor, dim: Axis, *, dtype: DType | None = None) -> Tensor:
    """Sums of the elements so far; integers in int64.

    Returns: the shape of `input`, in `dtype` if given.

    Raises: DimError for a dim that is not there.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), dim=0)
    tensor([1, 3, 6])
    """
    return scanned(cast(input, in_dtype(input, dtype)), dim, add)


def _cases_product(make: Any) -> Iterator[Case]:
    yield from _cases(make)
    x = make(2, 5)
    x[0, 2] = x[1, 0] = x[1, 3] = 0
    yield case(x, 1)


@op(torch="cumprod Tensor.cumprod_", out="dtype", cases=_cases_product, **_ALONG,
    **PRODUCT,
    oracle=lambda x, dim, dtype=None: _accumulated(np.multiply, x, dim))  # fmt: skip
def cumprod(input: Tensor, dim: Axis, *, dtype: DType | None = None) -> Tensor:
    """Products of the elements so far; integers in int64.

    Its gradient divides by nothing, so that it is right at zeros too.
    """
    return scanned(cast(input, in_dtype(input, dtype)), dim, mul)


def _slopes_by_one(ct: Array, input: Array, y: Array, dim: int) -> Array:
    """One element after the other, from behind."""
    if not ct.ndim:
        return ct
    wide = [np.moveaxis(a, dim, 0).astype(_wide(a)) for a in (ct, input, y)]
    found, total = np.zeros_like(wide[0]), np.zeros_like(wide[0][:1])
    for i in reversed(range(len(found))):
        after = wide[1][i + 1 : i + 2]
        total = wide[0][i : i + 1] + (after * total if len(after) else 0)
        found[i] = total[0] * (wide[2][i - 1] if i else 1)
    return np.moveaxis(found, 0, dim)


def _wide(a: Array) -> Any:
    return np.complex128 if a.dtype.kind == "c" else np.float64


@op(accepts=INEXACT, promote="equal", sums=True, multiplies=True, largest=64,
    undefined_on=("extreme", "wide", "special"),
    shape="(n@dim),(n@dim),(n@dim)->(n@dim)",
    oracle=_slopes_by_one, cases=lambda _: [
        ([9], [9], [9], 0), ([2, 5, 3], [2, 5, 3], [2, 5, 3], 1),
        ([2, 4], [2, 4], [2, 4], -1), ([0, 3], [0, 3], [0, 3], 0), ([], [], [], 0),
    ])  # fmt: skip
def cumprod_backward(ct: Tensor, input: Tensor, y: Tensor, dim: Axis) -> Tensor:
    """The gradient of products so far `y`: what is before times what is behind.

    Of the last element what is behind is `ct`; of another, `ct` and the next element
    times what is behind that.
    """
    shape = tuple(ct._a.shape)
    if not shape or 0 in shape:
        return clone(ct)
    n = shape[dim]
    behind, factor, step = ct, _moved(input, dim, -1, 0), 1
    while step < n:
        behind = behind + factor * _moved(behind, dim, -step, 0)
        factor = factor * _moved(factor, dim, -step, 0)
        step *= 2
    return behind * _moved(y, dim, 1, 1)


def _moved(x: Tensor, dim: int, by: int, edge: float) -> Tensor:
    """Each element's place taken by the one so many before it; `edge` where none is."""
    sides = [0] * (2 * len(x._a.shape))
    sides[2 * dim : 2 * dim + 2] = by, -by
    return constant_pad(x, tuple(sides), edge)


def _cumprod_rule(
    ct: Tensor, input: Tensor, y: Tensor, input_dtype: DType, dim: int
) -> Tensor:
    x = cast(input, ct.dtype) if input_dtype is not ct.dtype else input
    return as_dtype_of(cumprod_backward(ct, conj(x), conj(y), dim), input_dtype)


cumprod.grad(input=_cumprod_rule)


def _log_of_sums(x: Array, dim: int) -> Array:
    """In extended precision."""
    wide = x.astype(np.longdouble)
    found = np.logaddexp.accumulate(wide, axis=dim) if x.ndim else wide
    return found.astype(np.float64)


@op(out="same",
    accepts=FLOAT, promote="float", cases=_cases, grows=(1,), **_ALONG,
    oracle=_log_of_sums)  # fmt: skip
def logcumsumexp(input: Tensor, dim: Axis) -> Tensor:
    """The logarithm of the cumulative sum of exponentials."""
    return scanned(clone(input), dim, _joined)


def _joined(a: Tensor, b: Tensor) -> Tensor:
    """log(exp(a) + exp(b)); no derivative overflows, the shift being a constant.

    Of equal numbers one is taken for the greater: the halves that maximum gives each
    would be right for the first derivative, and wrong for the second.
    """
    falls = a >= b
    more, less = where(falls, a, b), where(falls, b, a)
    top = alias(more)
    top = where(isfinite(top), top, 0)
    return log1p(expm1(more - top) + exp(less - top)) + top


def _cases_place(make: Any) -> Iterator[Case]:
    yield case(make.distinct(9), 0)
    yield case(make.distinct(2, 5, 3), 1)
    yield case(make.distinct(0, 3), 0)
    yield case(make.distinct(), 0)
    if make.dtype.is_inexact:
        x = make.distinct(3, 6)
        x[0, 2] = x[0, 4] = np.nan
        yield case(x, 1)


def _last_best(x: Array, dim: int, best: np.ufunc) -> tuple[Array, Array]:
    """Where an element is the best so far, or NaN, its place is that of the best."""
    if not x.ndim:
        return x, np.zeros((), np.int64)
    lines = np.moveaxis(x, dim, -1)
    is_best = (lines == best.accumulate(lines, -1)) | np.isnan(lines)
    places = np.where(is_best, np.arange(lines.shape[-1]), 0)
    index = np.moveaxis(np.maximum.accumulate(places, -1), -1, dim)
    return np.take_along_axis(x, index, dim), index


_EXTREME: Any = {
    "shape": "(n@dim)->(n@dim),(n@dim)", "outputs": ("values", "indices"),
    "accepts": ORDERED, "result": ("same", int64), "unrounded": True,
    "cases": _cases_place, "grows": (1,),
}  # fmt: skip


@op(out="same", torch="cummax", **_EXTREME,
    oracle=lambda x, dim: _last_best(x, dim, np.maximum),
    grad=ungathered)  # fmt: skip
def cummax(input: Tensor, dim: Axis) -> tuple[Tensor, Tensor]:
    """The greatest so far along `dim`, and where it is; the last of several or NaNs."""
    return _latest(input, scanned(input, dim, maximum), dim)


@op(out="same", torch="cummin", **_EXTREME,
    oracle=lambda x, dim: _last_best(x, dim, np.minimum),
    grad=ungathered)  # fmt: skip
def cummin(input: Tensor, dim: Axis) -> tuple[Tensor, Tensor]:
    """The least so far along `dim`, and where it is; the last of several or NaNs."""
    return _latest(input, scanned(input, dim, minimum), dim)


def _latest(x: Tensor, best: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    hit = x == best
    if x.dtype.is_inexact:
        hit = hit | isnan(x)
    at = scanned(where(hit, places(x, dim), 0), dim, maximum)
    return taken_along(x, at, dim), cast(at, index_dtype(x._kind))


__all__ = ["cummax", "cummin", "cumprod", "cumsum", "logcumsumexp", "scanned"]
