"""One element a line: at a given place, or the greatest and the least, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, Array, Sizes, float32
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import Case, case, ints
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.extremes import argmax, argmin
from dovetail.ops.index import ungathered
from dovetail.ops.order import VALUED
from dovetail.ops.primitive import clone, take_along
from dovetail.ops.sums import kept
from dovetail.ops.view import reshape, unsqueeze


def _picked(x: Sizes, index: Sizes, *, dim: int) -> Sizes:
    wanted = (*x[:dim], *x[dim + 1 :])
    if tuple(index) != wanted:
        raise ShapeError(
            "pick", "index", was=f"of shape {tuple(index)}",
            needed=f"{wanted}, that of x without dim {dim}",
        )  # fmt: skip
    return wanted


def _pick(x: Array, index: Array, dim: int) -> Array:
    if not x.ndim:
        return x
    return np.take_along_axis(x, np.expand_dims(index, dim), dim).squeeze(dim)


def _unpicked(ct: Tensor, index: Tensor, input_shape: Sizes, dim: int) -> Tensor:
    if not input_shape:
        return ct
    return ungathered(unsqueeze(ct, dim), unsqueeze(index, dim), input_shape, dim)


@op(shape=_picked, accepts=ANY, indices=("index",), trusted=("index",), unrounded=True,
    oracle=_pick,
    cases=lambda _: [
        ([3, 4, 2], ints(3, 2, high=4), 1), ([5], ints(high=5), -1),
        ([0, 2], ints(0, high=2), 1), ([], ints(high=1), 0),
    ], grad=_unpicked)  # fmt: skip
def pick(input: Tensor, index: Tensor, dim: Axis) -> Tensor:
    """One element a line along `dim`, at `index`, which is in range; `dim` vanishes."""
    if not input._a.shape:
        return clone(input)
    found = take_along(input, unsqueeze(index, dim), dim)
    return reshape(found, tuple(index._a.shape))


def _cases_best(make: Any) -> Iterator[Case]:
    yield case(make.distinct(3, 4, 2), 1)
    yield case(make.distinct(5), -1, True)
    yield case(make.distinct(), 0, True)
    yield case(make.distinct(0, 3), 1)
    if make.dtype is float32:
        yield case(np.asarray([[1.0, np.nan, 2.0, np.nan]], np.float32), 1)


def _best(reduce: Any, place: Any) -> Any:
    """The oracle of an extreme and its place."""

    def oracle(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        axis = dim if x.ndim else None
        return reduce(x, axis, keepdims=keepdim), place(x, axis, keepdims=keepdim)

    return oracle


_BEST: Any = {
    "shape": "(n+@dim)->(),()", "cases": _cases_best, "grows": (1, 0), **VALUED,
}  # fmt: skip


@op(oracle=_best(np.max, np.argmax), **_BEST)
def max_along(input: Tensor, dim: Axis, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The greatest along `dim`, and the first place it is at; NaN wins."""
    return picked(input, argmax(input, dim), dim, keepdim)


@op(oracle=_best(np.min, np.argmin), **_BEST)
def min_along(input: Tensor, dim: Axis, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The least along `dim`, and the first place it is at; NaN wins."""
    return picked(input, argmin(input, dim), dim, keepdim)


def picked(x: Tensor, index: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The elements at one place a line along `dim`, and the places."""
    values: Tensor = pick(x, index, dim)
    if not keepdim:
        return values, index
    shape = kept(x._a.shape, (dim,))
    return reshape(values, shape), reshape(index, shape)


def _to_best(
    ct: Tensor, indices: Tensor, input_shape: Sizes, dim: int, keepdim: bool
) -> Tensor:
    if not keepdim and input_shape:
        ct, indices = unsqueeze(ct, dim), unsqueeze(indices, dim)
    return ungathered(ct, indices, input_shape, dim)


max_along.grad(input=_to_best)
min_along.grad(input=_to_best)


__all__ = ["max_along", "min_along", "pick", "picked"]
