"""Extremes: the greatest and the least, where they are, and their soft form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import INEXACT, ORDERED, Array, Sizes, float32, int32, int64
from dovetail.engine.attributes import Axes, AxesGiven, AxisOrAll
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.ops.compare import isfinite, isnan
from dovetail.ops.formats import absent
from dovetail.ops.primitive import (
    cast,
    conj,
    exp,
    iota,
    log,
    where,
)  # fmt: skip
from dovetail.ops.reduce import cases_undefined
from dovetail.ops.sums import as_kept, axis_of, count, reduced, sum, without
from dovetail.ops.view import reshape


def cases_apart(make: Any) -> Iterator[Case]:
    """Values well apart, so that differences do not cross a kink; NaN and empty."""
    yield case(make.distinct(2, 3, 4))
    yield case(make.distinct(2, 3, 4), 1)
    yield case(make.distinct(3, 5), -1, True)
    yield case(make.distinct(0, 5), -1)
    yield case(make.distinct(), 0, True)
    yield case(make.distinct(2, 3, 4), (0, 2))


def _shared(ct: Tensor, input: Tensor, y: Tensor, dim: Sizes, keepdim: bool) -> Tensor:
    """The gradient in equal parts to the elements that are equal to the result."""
    shape = input._a.shape
    tie = cast(input == as_kept(y, shape, dim, keepdim), ct.dtype)
    many = sum(tie, dim, True)
    return tie * (as_kept(ct, shape, dim, keepdim) / many)


_EXTREME: Any = {
    "shape": "(n+@dim)->()", "accepts": ORDERED, "unrounded": True, "grows": (1,),
    "cases": cases_apart, "grad": _shared,
}  # fmt: skip


@op(out="same", torch="amax", primitive=ORDERED, **_EXTREME, oracle=reduced(np.max))
def amax(input: Tensor, dim: Axes = (), keepdim: bool = False) -> Tensor:
    """The greatest over `dim`, not empty; NaN wins, and ties share the gradient."""
    absent("amax")


@op(out="same", torch="amin", **_EXTREME, oracle=reduced(np.min))
def amin(input: Tensor, dim: Axes = (), keepdim: bool = False) -> Tensor:
    """The least over `dim`, not empty; NaN wins, and ties share the gradient."""
    return _mirrored(amax(_mirrored(input), dim, keepdim))


def _mirrored(x: Tensor) -> Tensor:
    """The elements in reverse order of size, without overflow."""
    return -x if x.dtype.is_inexact else ~x


def places(x: Tensor, dim: int) -> Tensor:
    """0, 1, … along `dim` as int32, with size 1 elsewhere."""
    shape, ints = x._a.shape, x._kind.with_dtype(int32)
    if not shape:
        return reshape(iota(1, ints), ())
    wanted = tuple(n if d == dim else 1 for d, n in enumerate(shape))
    return reshape(iota(shape[dim], ints), wanted)


def _cases_place(make: Any) -> Iterator[Case]:
    yield case(make(2, 3, 4), 1)
    yield case(make(7), 0, True)
    yield case(make(2, 3))
    yield case(make(2, 3), keepdim=True)
    yield case(make(0, 3), -1)
    yield case(make(), 0)
    if make.dtype.is_inexact:
        x = make(3, 4)
        x[0, 2] = x[0, 3] = x[2, 0] = np.nan
        yield case(x, 1)


_PLACE: Any = {
    "shape": "(n+@dim)->()", "accepts": ORDERED, "result": int64,
    "outputs": ("indices",), "nondifferentiable": True, "unrounded": True,
    "grows": (0,), "cases": _cases_place,
}  # fmt: skip


@op(out="same", torch="argmax", **_PLACE, oracle=reduced(np.argmax))
def argmax(input: Tensor, dim: AxisOrAll = None, keepdim: bool = False) -> Tensor:
    """Where along `dim` the greatest is; the first of several, the first NaN.

    Without `dim`, where it is among all elements in row-major order.

    Returns: int64, without `dim` unless `keepdim`.

    Raises: EmptyDimError over no elements.

    >>> torch.tensor([[1, 3], [4, 2]]).argmax(1)
    tensor([1, 0])
    """
    if isinstance(dim, tuple):  # all of them
        found: Tensor = argmax(reshape(input, (-1,)), 0)
        return reshape(found, (1,) * len(input._a.shape)) if keepdim else found
    return _first_hit(input, dim, keepdim)  # type: ignore[arg-type]


def _first_hit(x: Tensor, dim: int, keepdim: bool) -> Tensor:
    hit = x == amax(x, dim, True)
    if x.dtype.is_inexact:
        hit = hit | isnan(x)
    n = x._a.shape[dim] if x._a.shape else 1
    # The first hit is the one with the most elements from it to the end.
    left: Tensor = amax(where(hit, n - places(x, dim), 0), dim, keepdim)
    return cast(n - left, index_dtype(x._kind))


@op(out="same", torch="argmin", **_PLACE, oracle=reduced(np.argmin))
def argmin(input: Tensor, dim: AxisOrAll = None, keepdim: bool = False) -> Tensor:
    """Where along `dim` the least is; the first of several, the first NaN.

    Without `dim`, where it is among all elements in row-major order.

    Returns: int64, without `dim` unless `keepdim`.

    Raises: EmptyDimError over no elements.

    >>> torch.tensor([[1, 3], [4, 2]]).argmin(0)
    tensor([0, 1])
    """
    return argmax(_mirrored(input), dim, keepdim)


def _log_of_sum(m: Any, x: Array, dim: Any, keepdim: bool = False) -> Any:
    """By way of the greatest element."""
    axis = axis_of(dim)
    top = np.max(x.real, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.abs(top) == np.inf, 0, top)
    y = m.log(np.sum(m.exp(x - top), axis=axis, keepdims=True)) + top
    return y if keepdim else np.squeeze(y, axis=axis)


def _cases_exponentials(make: Any) -> Iterator[Case]:
    for c in cases_undefined(make):
        x, dim, *rest = (*c.args, 0) if len(c.args) == 1 else c.args
        yield case(x, dim, *rest, **c.kwargs)
    if make.dtype is float32:
        yield case(np.full((2, 3), -np.inf, np.float32), 1)


def _weighted(
    ct: Tensor, input: Tensor, y: Tensor, dim: Sizes, keepdim: bool
) -> Tensor:
    shape = input._a.shape
    whole = as_kept(y, shape, dim, keepdim)
    if not input.dtype.is_complex:  # all of -inf: exp(-inf - 0) and not NaN
        whole = where(whole < float("inf"), where(isfinite(whole), whole, 0), whole)
    return as_kept(ct, shape, dim, keepdim) * conj(exp(input - whole))


@op(shape="(n@dim)->()", accepts=INEXACT, promote="float", torch="logsumexp",
    cancels=True, grows=(1,), oracle=exact(_log_of_sum), cases=_cases_exponentials,
    grad=_weighted)  # fmt: skip
def logsumexp(input: Tensor, dim: AxesGiven, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over `dim`, shifted by the greatest; -inf over nothing."""
    if not count(input._a.shape, dim):
        return log(sum(exp(input), dim, keepdim))
    top: Tensor = amax(cast(input, input.dtype.real), dim, True)
    top = where(isfinite(top), top, 0)
    y = log(sum(exp(input - top), dim, True)) + top
    return y if keepdim else reshape(y, without(input._a.shape, dim))


__all__ = ["amax", "amin", "argmax", "argmin", "cases_apart", "logsumexp", "places"]
