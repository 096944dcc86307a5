"""Extremes: the greatest and the least, where they are, and their soft form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import (
    INEXACT,
    ORDERED,
    float32,
    int64,
)  # fmt: skip
from dovetail.engine.attributes import Axes, Axis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.ops.compare import bitwise_not, bitwise_or, isfinite, isnan
from dovetail.ops.elementwise import neg
from dovetail.ops.primitive import (
    cast,
    conj,
    eq,
    exp,
    log,
    lt,
    reduce_max,
    where,
)  # fmt: skip
from dovetail.ops.reduce import (
    as_kept,
    axis_of,
    cases_undefined,
    count,
    finished,
    places,
    sum,
    without,
)
from dovetail.ops.view import reshape

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]


_EXTREME: Any = {"shape": "(n+@dim)->()", "accepts": ORDERED, "exact": True}


@op(**_EXTREME)
def amax(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The greatest over `dim`, not empty; NaN wins, and ties share the gradient."""
    return finished(reduce_max(x, dim), x, dim, keepdim)  # type: ignore[arg-type]


@op(**_EXTREME)
def amin(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The least over `dim`, not empty; NaN wins, and ties share the gradient."""
    return _mirrored(amax(_mirrored(x), dim, keepdim))


def _mirrored(x: Tensor) -> Tensor:
    """The elements in reverse order of size, without overflow."""
    y: Tensor = neg(x) if x.dtype.is_inexact else bitwise_not(x)
    return y


def _shared(ct: Tensor, x: Tensor, y: Tensor, dim: Sizes, keepdim: bool) -> Tensor:
    """The gradient in equal parts to the elements that are equal to the result."""
    shape = x._a.shape
    tie = cast(eq(x, as_kept(y, shape, dim, keepdim)), ct.dtype)
    many = sum(tie, dim, True)
    g: Tensor = tie * (as_kept(ct, shape, dim, keepdim) / many)
    return g


amax.vjp(_shared)
amin.vjp(_shared)


@amax.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return np.max(x, axis=axis_of(dim), keepdims=keepdim)


@amin.oracle
def _(x: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return np.min(x, axis=axis_of(dim), keepdims=keepdim)


def _cases_apart(make: Any) -> Iterator[Case]:
    """Values well apart, so that differences do not cross a kink; NaN and empty."""
    yield case(make.distinct(2, 3, 4))
    yield case(make.distinct(2, 3, 4), 1)
    yield case(make.distinct(3, 5), -1, True)
    yield case(make.distinct(0, 5), -1)
    yield case(make.distinct(), 0, True)


def _cases_extreme(make: Any) -> Iterator[Case]:
    yield from _cases_apart(make)
    yield case(make.distinct(2, 3, 4), (0, 2))


amax.cases(_cases_extreme)
amin.cases(_cases_extreme)
_PLACE: Any = {
    "shape": "(n+@dim)->()", "accepts": ORDERED, "result": int64,
    "nondifferentiable": True, "exact": True,
}  # fmt: skip


@op(**_PLACE)
def argmax(x: Tensor, dim: Axis, keepdim: bool = False) -> Tensor:
    """Where along `dim` the greatest is; the first of several, the first NaN."""
    top: Tensor = amax(x, dim, True)
    hit = eq(x, top)
    if x.dtype.is_inexact:
        hit = bitwise_or(hit, isnan(x))
    n = x._a.shape[dim] if x._a.shape else 1
    # The first hit is the one with the most elements from it to the end.
    left: Tensor = amax(where(hit, n - places(x, dim), 0), dim, keepdim)
    found: Tensor = cast(n - left, index_dtype(x._kind))
    return found


@op(**_PLACE)
def argmin(x: Tensor, dim: Axis, keepdim: bool = False) -> Tensor:
    """Where along `dim` the least is; the first of several, the first NaN."""
    found: Tensor = argmax(_mirrored(x), dim, keepdim)
    return found


@argmax.oracle
def _(x: Array, dim: int, keepdim: bool = False) -> Any:
    return np.argmax(x, axis=dim if x.ndim else None, keepdims=keepdim)


@argmin.oracle
def _(x: Array, dim: int, keepdim: bool = False) -> Any:
    return np.argmin(x, axis=dim if x.ndim else None, keepdims=keepdim)


def _cases_place(make: Any) -> Iterator[Case]:
    yield case(make(2, 3, 4), 1)
    yield case(make(7), 0, True)
    yield case(make(0, 3), -1)
    yield case(make(), 0)
    if make.dtype.is_inexact:
        x = make(3, 4)
        x[0, 2] = x[0, 3] = x[2, 0] = np.nan
        yield case(x, 1)


argmax.cases(_cases_place)
argmin.cases(_cases_place)


# ---- exponentials


@op(shape="(n@dim)->()", accepts=INEXACT, promote="float")
def logsumexp(x: Tensor, dim: Axes, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over `dim`, shifted by the greatest; -inf over nothing."""
    if not count(x._a.shape, dim):  # type: ignore[arg-type]
        found: Tensor = log(sum(exp(x), dim, keepdim))
        return found
    top: Tensor = amax(cast(x, x.dtype.real), dim, True)
    top = where(isfinite(top), top, 0)
    y = log(sum(exp(x - top), dim, True)) + top
    return y if keepdim else reshape(y, without(x._a.shape, dim, False))


@logsumexp.vjp
def _(ct: Tensor, x: Tensor, y: Tensor, dim: Sizes, keepdim: bool) -> Tensor:
    shape = x._a.shape
    whole = as_kept(y, shape, dim, keepdim)
    if not x.dtype.is_complex:  # all of -inf: exp(-inf - 0) and not NaN
        whole = where(lt(whole, float("inf")), where(isfinite(whole), whole, 0), whole)
    g: Tensor = as_kept(ct, shape, dim, keepdim) * conj(exp(x - whole))
    return g


@logsumexp.oracle
def _(x: Array, dim: Any, keepdim: bool = False) -> Any:
    axis = axis_of(dim)
    if x.dtype.kind == "c" or not x.size:
        return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdim))
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    y = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return y if keepdim else np.squeeze(y, axis=axis)


@logsumexp.cases
def _(make: Any) -> Iterator[Case]:
    for c in cases_undefined(make):
        yield case(
            c.args[0], c.args[1] if len(c.args) > 1 else 0, *c.args[2:], **c.kwargs
        )
    if make.dtype is float32:
        yield case(np.full((2, 3), -np.inf, np.float32), 1)


__all__ = ["amax", "amin", "argmax", "argmin", "logsumexp"]
