"""Order: sorting, the k greatest, searching, distinct values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import (
    HALF,
    ORDERED,
    Array,
    Sizes,
    bool_,
    float32,
    float64,
    int32,
    int64,
)
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.compare import bits_of, bitwise_not, isnan
from dovetail.ops.create import full, zeros_of
from dovetail.ops.extremes import places
from dovetail.ops.index import taken_along, ungathered
from dovetail.ops.primitive import (
    bitcast,
    bitwise_and,
    bitwise_xor,
    cast,
    clone,
    eq,
    lt,
    scatter_set_,
    shift_right,
    where,
)  # fmt: skip
from dovetail.ops.scan import cumsum
from dovetail.ops.view import basic_index, expand


def at(dim: int, *index: Any) -> tuple[Any, ...]:
    """A basic index for `dim` that leaves the dims before it whole."""
    return ((slice(None),) * dim + index) if dim else index


def keys_of(x: Tensor) -> tuple[Tensor, int]:
    """Integers in the order of `x` as unsigned bits, and how many bits count.

    -0 equals 0, and every NaN is the greatest.
    """
    dtype = x.dtype
    if dtype is bool_:
        return cast(x, int32), 1
    if dtype.is_floating_point:
        return _float_keys(cast(x, float32) if dtype in HALF else x)
    width = dtype.itemsize * 8
    if width < 32:
        x = cast(x, int32)
    elif not dtype.is_signed:
        return bitcast(x, bits_of(dtype)), width
    return bitwise_xor(x, -(1 << (width - 1))) if dtype.is_signed else x, width


def _float_keys(x: Tensor) -> tuple[Tensor, int]:
    ints = bits_of(x.dtype)
    width = ints.itemsize * 8
    bits = bitcast(where(eq(x, 0), 0, x), ints)
    smallest = -(1 << (width - 1))
    # Negative floats are ordered against their bits, positive ones after them.
    keys = where(lt(bits, 0), bitwise_not(bits), bitwise_xor(bits, smallest))
    return where(isnan(x), -1, keys), width


def _order(
    x: Array, dim: int = -1, descending: bool = False, stable: bool = False
) -> Array:
    if not x.ndim:
        return np.zeros((), np.int64)
    if descending:
        back = _order(np.flip(x, dim), dim)
        return np.asarray(x.shape[dim] - 1 - np.flip(back, dim))
    return np.argsort(x, axis=dim, kind="stable")


def _cases_sort(make: Any) -> Iterator[Case]:
    """All values differ, or the order of equal ones is asked to be kept."""
    yield case(make.distinct(7), 0, False, False)
    yield case(make.distinct(3, 5, 2), 1, True)
    yield case(make.distinct(4, 6))
    yield case(make.distinct(), -1)
    yield case(make.distinct(0, 3), 0)
    if make.dtype is not float64:  # at a tie the gradient has no difference quotient
        yield case(make.ints(3, 9, high=2).astype(make.dtype.numpy), 1, False, True)
        yield case(make.ints(3, 9, high=2).astype(make.dtype.numpy), 1, True, True)


def _cases_order(make: Any) -> Iterator[Case]:
    yield from _cases_sort(make)
    if make.dtype.is_inexact:
        x = np.asarray([0.0, -0.0, np.nan, -np.inf, 1.5, np.inf, -2.0, np.nan])
        yield case(x.astype(make.dtype.numpy), 0, False, True)
        yield case(x.astype(make.dtype.numpy), 0, True, True)


@op(shape="(n@dim)->(n@dim)", accepts=ORDERED, result=int64, nondifferentiable=True,
    unrounded=True, row_major=False, torch="argsort", out=False, oracle=_order,
    cases=_cases_order)  # fmt: skip
def argsort(
    input: Tensor, dim: Axis = -1, descending: bool = False, *, stable: bool = False
) -> Tensor:
    """Where the elements are, in order along `dim`; NaN is the greatest.

    Equal elements keep their order, whether `stable` asks for it or not.
    """
    # A radix sort, one bit a pass: zeros keep their order before ones.
    shape, wanted = tuple(input._a.shape), index_dtype(input._kind)
    if not shape or 0 in shape:
        return full(shape, 0, input._kind.with_dtype(wanted))
    keys, width = keys_of(input)
    if descending:
        keys = bitwise_not(keys)
    order = cast(expand(places(input, dim), shape), int32)
    for bit in range(width):
        one = cast(bitwise_and(shift_right(keys, bit), 1), int32)
        place = _split(one, dim)
        keys, order = moved(keys, place, dim), moved(order, place, dim)
    return cast(order, wanted)


def _split(one: Tensor, dim: int) -> Tensor:
    """Where elements go when zeros come before ones and keep their order."""
    before = cumsum(one, dim, int32)
    zeros_before = places(one, dim) + 1 - before
    zeros = basic_index(zeros_before, at(dim, slice(-1, None)))
    return where(eq(one, 0), zeros_before - 1, zeros + before - 1)


def moved(x: Tensor, place: Tensor, dim: int) -> Tensor:
    """`x` with each element at its new place; the places are a permutation."""
    moved = zeros_of(x, tuple(x._a.shape))
    scatter_set_(moved, place, x, dim)
    return moved


VALUED: Any = {
    "accepts": ORDERED, "result": ("same", int64), "unrounded": True,
    "outputs": ("values", "indices"),
}  # fmt: skip


def _by(order: Any) -> Any:
    """The oracle of values and indices, from that of the indices."""

    def oracle(x: Array, *args: Any, **kwargs: Any) -> tuple[Array, Array]:
        index, dim = order(x, *args, **kwargs)
        return (np.take_along_axis(x, index, dim) if x.ndim else x), index

    return oracle


@op(out="same", row_major=False,
    shape="(n@dim)->(n@dim),(n@dim)", torch="sort", cases=_cases_sort, grows=(1,),
    **VALUED,
    oracle=_by(lambda x, dim=-1, *a, **k: (_order(x, dim, *a, **k), dim)),
    grad=ungathered)  # fmt: skip
def sort(
    input: Tensor, dim: Axis = -1, descending: bool = False, *, stable: bool = False
) -> tuple[Tensor, Tensor]:
    """The elements in order along `dim`, and where they were; NaN is the greatest.

    Equal elements keep their order, whether `stable` asks for it or not.

    Returns: values, and int64 indices, both in the shape of `input`.

    Raises: DimError for a dim that is not there.

    >>> import dovetail as dt
    >>> dt.tensor([3.0, 1.0, 2.0]).sort(descending=True).indices
    tensor([0, 2, 1])
    """
    order = argsort(input, dim, descending, stable)
    return taken_along(input, order, dim), order


def _first(x: Sizes, *, k: int, dim: int, **_: Any) -> tuple[Sizes, Sizes]:
    n = x[dim] if x else 1
    if not 0 <= k <= n:
        raise ArgumentError(
            "topk", "k", was=k, needed=f"0 to {n}, the size of dim {dim} of {tuple(x)}"
        )
    if not x:
        return (), ()
    shape = (*x[:dim], k, *x[dim + 1 :])
    return shape, shape


def _top_at(
    x: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, int]:
    order = _order(x, dim, largest)
    return (np.take(order, range(k), axis=dim) if x.ndim else order), dim


def _cases_top(make: Any) -> Iterator[Case]:
    if make.dtype is bool_:
        yield case(np.asarray([False, True]), 1)
        return
    yield case(make.distinct(9), 4)
    yield case(make.distinct(3, 6), 6, 1, False)
    yield case(make.distinct(4, 3, 2), 2, 0)
    yield case(make.distinct(3, 4), 0)


@op(out="same",
    shape=_first, torch="topk", oracle=_by(_top_at), cases=_cases_top, grows=(1,),
    **VALUED, grad=ungathered)  # fmt: skip
def topk(
    input: Tensor, k: int, dim: Axis = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """The `k` greatest (or least) along `dim`, and where they were.

    They are in order, whether `sorted` asks for it or not.

    Returns: values, and int64 indices, `k` along `dim`.

    Raises: ArgumentError if `k` is below 0 or above the size of `dim`.

    >>> import dovetail as dt
    >>> dt.topk(dt.tensor([3.0, 1.0, 2.0]), 2).values
    tensor([3., 2.])
    """
    order = argsort(input, dim, largest, True)
    if input._a.shape:
        order = basic_index(order, at(dim, slice(0, k)))
    return taken_along(input, order, dim), clone(order)


__all__ = ["VALUED", "argsort", "at", "moved", "sort", "topk"]
