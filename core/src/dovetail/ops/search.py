"""Searching sorted values, membership, and distinct values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import (
    ORDERED,
    Array,
    Sizes,
    bool_,
    int32,
    int64,
)
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.results import DATA
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.compare import isnan
from dovetail.ops.create import full
from dovetail.ops.extremes import argmax
from dovetail.ops.order import argsort, at, moved, sort
from dovetail.ops.primitive import (
    cast,
    iota,
    scatter_add_,
    shift_right,
    take_along,
    where,
)  # fmt: skip
from dovetail.ops.reduce import any
from dovetail.ops.scan import cumsum
from dovetail.ops.view import basic_index, expand, place, reshape


def _searched(sorted_sequence: Sizes, values: Sizes, *, right: bool) -> Sizes:
    batch = sorted_sequence[:-1]
    if not sorted_sequence or (batch and batch != values[:-1]):
        raise ShapeError(
            "searchsorted", "sorted_sequence", was=f"of shape {tuple(sorted_sequence)}",
            needed=f"one dim, or the dims of values {tuple(values)} but for the last",
        )  # fmt: skip
    return values


@op(shape=_searched, accepts=ORDERED, result=int64, nondifferentiable=True,
    unrounded=True)  # fmt: skip
def searchsorted(
    sorted_sequence: Tensor, values: Tensor, right: bool = False
) -> Tensor:
    """Where values go in the sorted last dim: before equal ones, or after (`right`).

    By bisection; NaN goes to the end.
    """
    size, shape = sorted_sequence._a.shape[-1], tuple(values._a.shape)
    low: Tensor = full(shape, 0, values._kind.with_dtype(int32))
    if not size or 0 in shape:
        return cast(low, index_dtype(values._kind))
    rows = sorted_sequence
    if len(rows._a.shape) == 1:
        low, values = reshape(low, (-1,)), reshape(values, (-1,))
    high = low + size
    for _ in range(size.bit_length()):
        middle = cast(shift_right(low + high, 1), int32)
        inside = where(middle == size, size - 1, middle)
        entry = take_along(rows, inside, len(rows._a.shape) - 1)
        after = entry <= values if right else entry < values
        if values.dtype.is_inexact:
            after = after | _nan_after(entry, values, right)
        after = after & (low < high)
        low = where(after, middle + 1, low)
        high = where(after, high, where(middle < high, middle, high))
    return reshape(cast(low, index_dtype(values._kind)), shape)


def _nan_after(entry: Tensor, values: Tensor, right: bool) -> Tensor:
    """Whether a NaN goes after an entry, NaN being the greatest."""
    return isnan(values) if right else isnan(values) & ~isnan(entry)


@searchsorted.oracle
def _(sorted_sequence: Array, values: Array, right: bool = False) -> Array:
    floats = sorted_sequence.dtype.kind == "f"
    if not np.array_equal(sorted_sequence, np.sort(sorted_sequence), equal_nan=floats):
        raise ArgumentError(
            "searchsorted", "sorted_sequence", was="not in order", needed="sorted rows"
        )
    side: Any = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        return np.asarray(np.searchsorted(sorted_sequence, values, side))
    found = np.zeros(values.shape, np.int64)
    for row in np.ndindex(*values.shape[:-1]):
        found[row] = np.searchsorted(sorted_sequence[row], values[row], side)
    return found


@searchsorted.cases
def _(make: Any) -> Iterator[Case]:
    yield case(np.sort(make(9)), make(2, 5))
    yield case(np.sort(make(9)), make(2, 5), True)
    row = np.sort(make(9))
    yield case(row, row, True)
    yield case(np.sort(make(3, 7)), make(3, 4))
    yield case(make(0), make(3))
    yield case(np.sort(make(9)), make())
    if make.dtype.is_inexact:
        for how in ((), (True,)):
            row = np.sort(make(9))
            row[-1] = np.nan
            yield case(row, np.asarray([np.nan, 0.5], row.dtype), *how)


def _without(x: Sizes, *, rank: int, dim: int, nan_wins: bool) -> Sizes:
    n = x[dim] if x else 1
    if not 0 <= rank < n:
        raise ArgumentError(
            "ranked", "rank", was=rank, needed=f"0 to {n - 1}, within dim {dim}"
        )
    return (*x[:dim], *x[dim + 1 :]) if x else ()


def _place_of_rank(x: Array, rank: int, dim: int = -1, nan_wins: bool = False) -> Array:
    order = np.argsort(x, dim, kind="stable") if x.ndim else np.zeros((), np.int64)
    place = np.asarray(np.take(order, rank, dim) if x.ndim else order)
    if not nan_wins or not x.ndim:
        return place
    absent = x != x  # noqa: PLR0124
    return np.where(absent.any(dim), absent.argmax(dim), place)


def _cases_ranked(make: Any) -> Iterator[Case]:
    yield case(make.distinct(2), 1)
    if make.dtype is not bool_:
        yield case(make.distinct(9), 4)
        yield case(make.distinct(3, 5, 2), 0, 1)
    yield case(make.ints(3, 9, high=2).astype(make.dtype.numpy), 5, 1)
    yield case(make(), 0)
    if make.dtype.is_inexact:
        x = np.asarray([np.nan, 0.0, -0.0, np.nan, 0.0], make.dtype.numpy)
        for rank in range(5):
            yield case(x, rank, 0)
        yield case(np.stack([x, x * 0, x[::-1]]), 1, 1, True)
        yield case(x[1:3], 1, 0, True)


@op(shape=_without, accepts=ORDERED, result=int64, outputs=("indices",),
    nondifferentiable=True, unrounded=True, grows=(0,), oracle=_place_of_rank,
    cases=_cases_ranked)  # fmt: skip
def ranked(input: Tensor, rank: int, dim: Axis = -1, nan_wins: bool = False) -> Tensor:
    """Where the element is that sorting along `dim` puts at `rank`.

    Of equal elements, the first has the lowest rank; NaN is the greatest. If
    `nan_wins`, it is the first NaN where there is one.
    """
    order = argsort(input, dim)
    if not input._a.shape:
        return order
    found: Tensor = basic_index(order, at(dim, rank))
    if nan_wins and input.dtype.is_inexact:
        absent = isnan(input)
        found = where(any(absent, dim), argmax(absent, dim), found)
    return found


@op(shape=lambda elements, test_elements: elements, accepts=ORDERED, result=bool_,
    nondifferentiable=True, unrounded=True,
    oracle=lambda elements, test_elements: np.isin(elements, test_elements),
    cases=lambda make: [
        case(make.ints(3, 4, high=5).astype(make.dtype.numpy), make(6)),
        case(make(7), np.zeros((0,), make.dtype.numpy)), case(make(0, 2), make(3)),
        case(make(4), make(4)), case(make(3, 2), make(2)),
    ])  # fmt: skip
def isin(elements: Tensor, test_elements: Tensor) -> Tensor:
    """Whether each element equals one of the others."""
    pool = reshape(test_elements, (-1,))
    if not pool._a.shape[0]:
        return full(tuple(elements._a.shape), False, elements._kind.with_dtype(bool_))
    row, _ = sort(pool)
    place = reshape(searchsorted(row, elements), (-1,))
    last = pool._a.shape[0] - 1
    near = take_along(row, where(last < place, last, place), 0)
    return reshape(near, tuple(elements._a.shape)) == elements


@op(shape=DATA, accepts=ORDERED, result=("same", int64, int64), unrounded=True,
    outputs=("values", "inverse", "counts"), nondifferentiable=True)  # fmt: skip
def unique(input: Tensor, consecutive: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct rows of a matrix, each row's place in them, and their counts.

    Sorted by the columns from the first, or one for each run of equal rows if
    `consecutive`; NaN differs from NaN. Waits for the number of distinct rows.
    """
    (n, m), whole = input._a.shape, input._kind.with_dtype(int32)
    wanted = input._kind.with_dtype(index_dtype(input._kind))
    if not n:
        none = full((0,), 0, wanted)
        return cast(input, input.dtype), none, cast(none, wanted.dtype)
    order = iota(n, whole) if consecutive else _row_order(input, iota(n, whole))
    rows = take_along(input, _repeated(order, m), 0)
    first, rest = slice(0, n - 1), slice(1, n)
    differs = any(basic_index(rows, (first,)) != basic_index(rows, (rest,)), 1)
    starts = place(cast(differs, int32), (n,), (rest,))
    run: Tensor = cumsum(starts, 0, int32)
    runs = 1 + int(run._kind.backend.copy_out(run._a)[-1])
    heads, counts = full((runs,), 0, whole), full((runs,), 0, wanted)
    scatter_add_(heads, run, starts * iota(n, whole), 0)
    scatter_add_(counts, run, full((n,), 1, wanted), 0)
    inverse = cast(run if consecutive else moved(run, order, 0), wanted.dtype)
    return take_along(rows, _repeated(heads, m), 0), inverse, counts


def _row_order(x: Tensor, order: Tensor) -> Tensor:
    """The rows in lexicographic order: sorted by the last column first, stably."""
    for column in reversed(range(x._a.shape[1])):
        keys = take_along(basic_index(x, (slice(None), column)), order, 0)
        order = take_along(order, argsort(keys, 0), 0)
    return order


def _repeated(index: Tensor, m: int) -> Tensor:
    n = index._a.shape[0]
    return expand(reshape(index, (n, 1)), (n, m))


@unique.oracle
def _(x: Array, consecutive: bool = False) -> tuple[Array, Array, Array]:
    rows = [tuple(row.tolist()) for row in x]
    order = list(range(len(rows)))
    if not consecutive:
        keys = [[_nan_last(v) for v in row] for row in rows] if _has_nan(x) else rows
        order.sort(key=keys.__getitem__)
    found: list[tuple[Any, ...]] = []
    inverse = np.zeros(len(rows), np.int64)
    for number in order:
        # Tuples are equal where they hold one NaN; each row has its own.
        if not found or rows[number] != found[-1]:
            found.append(rows[number])
        inverse[number] = len(found) - 1
    counts = np.bincount(inverse, minlength=len(found))
    values = np.asarray(found, x.dtype).reshape(len(found), x.shape[1])
    return values, inverse, counts


def _has_nan(x: Array) -> bool:
    return x.dtype.kind == "f" and bool(np.isnan(x).any())


def _nan_last(value: Any) -> tuple[bool, Any]:
    """What a number is sorted by: NaNs are behind all others, in no order."""
    is_nan = math.isnan(value)
    return is_nan, 0 if is_nan else value


@unique.cases
def _(make: Any) -> Iterator[Case]:
    for consecutive in (False, True):
        yield case(make.ints(12, 1, high=5).astype(make.dtype.numpy), consecutive)
        yield case(make.ints(9, 2, high=2).astype(make.dtype.numpy), consecutive)
        yield case(make(1, 3), consecutive)
        yield case(make(7, 1), consecutive)
        yield case(make(0, 1), consecutive)


__all__ = ["isin", "ranked", "searchsorted", "unique"]
