"""Scatter with a reduction: values that meet at one place are combined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from dovetail.dtypes import ORDERED, Array, DType, bool_, int32
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError
from dovetail.limits import greatest, least
from dovetail.ops.bounds import minimum
from dovetail.ops.create import counted, full, zeros_like, zeros_of
from dovetail.ops.extremes import amax
from dovetail.ops.index import (
    WRITES,
    added,
    checks_dim,
    corner,
    covered,
    gather,
    narrowed,
    read,
    scatter,
    scatter_add,
    written,
)  # fmt: skip
from dovetail.ops.primitive import (
    cast,
    clone,
    idiv,
    maximum,
    mul,
    scatter_set_,
    take_along,
    where,
)  # fmt: skip
from dovetail.ops.read_write import cornered, written_by
from dovetail.ops.view import basic_index, expand, reshape

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _result(dtypes: Any, attrs: Any) -> DType:
    found: DType = dtypes[0]
    if found is bool_ and attrs["reduce"] == "mean":
        raise DTypeError(
            "scatter_reduce", "input", was="bool", needed="numbers to average",
            remedy="cast it with .float()",
        )  # fmt: skip
    return found


@op(out="same", shape=covered("scatter_reduce"), result=_result, largest=1 << 12,
    torch="scatter_reduce Tensor.scatter_reduce_", multiplies=True,
    **WRITES | {"accepts": ORDERED})  # fmt: skip
def scatter_reduce(
    input: Tensor, dim: Axis, index: Tensor, src: Tensor,
    reduce: Literal["sum", "prod", "mean", "amax", "amin"], *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    """`input` with `src` combined into the places `index` along `dim`.

    Without `include_self`, the values of `input` at those places are left out. Integer
    means are floored, and as their sums are, values are counted in the dtype, where too
    many of them wrap around.
    """
    if 0 in index._a.shape:
        return clone(input)
    if input.dtype is bool_:
        counts, more = cast(input, int32), cast(src, int32)
        met = scatter_reduce(counts, dim, index, more, reduce, include_self)
        return cast(met, bool_)
    start = input
    if not include_self:
        start = written(scatter_set_, input, index, _neutral(input, index, reduce), dim)
    if reduce in ("sum", "mean"):
        total = added(start, index, src, dim)
        return total if reduce == "sum" else _mean(total, index, dim, include_self)
    return _combined(start, index, src, dim, reduce)


def _neutral(x: Tensor, index: Tensor, reduce: str) -> Tensor:
    """What a reduction starts from."""
    shape = tuple(index._a.shape)
    limits = {"prod": 1, "amax": least(x.dtype), "amin": greatest(x.dtype)}
    return full(shape, limits.get(reduce, 0), x._kind)


def _mean(total: Tensor, index: Tensor, dim: int, include_self: bool) -> Tensor:
    count = _count(total, index, dim, include_self)
    if total.dtype.is_inexact:
        return total / count
    # Floored: one less where a negative quotient was truncated.
    y = idiv(total, count)
    cut = ((total < 0) ^ (count < 0)) & (y * count != total)
    return y - cast(cut, y.dtype)


def _count(x: Tensor, index: Tensor, dim: int, include_self: bool) -> Tensor:
    """How many values meet at each place, in the dtype of `x`; 1 in place of 0."""
    ones = full(tuple(index._a.shape), 1, x._kind)
    start = full(tuple(x._a.shape), int(include_self), x._kind)
    count = scatter_add(start, dim, index, ones)  # which takes what has no dims
    return where(count == 0, 1, count)


_COMBINE: Any = {"prod": mul, "amax": maximum, "amin": minimum}


def _combined(
    start: Tensor, index: Tensor, src: Tensor, dim: int, reduce: str
) -> Tensor:
    """Rounds in which every place takes one of the values that still wait for it.

    Those that do not take part in a round write to a place behind the last.
    """
    shape = tuple(index._a.shape)
    size = int(start._a.shape[dim])
    src = corner(src, shape)
    y = _lengthened(narrowed(start, shape, dim), dim)
    line = tuple(shape[dim] if d == dim else 1 for d in range(len(shape)))
    number = expand(reshape(counted(shape[dim], start), line), shape)
    owner = zeros_of(number, tuple(y._a.shape))
    waiting = full(shape, True, start._kind.with_dtype(bool_))
    while read(amax(of_all_rows(waiting))):
        claimed = where(waiting, index, size)
        scatter_set_(owner, claimed, number, dim)
        won = (take_along(owner, claimed, dim) == number) & waiting
        value = _COMBINE[reduce](take_along(y, index, dim), src)
        scatter_set_(y, where(won, index, size), value, dim)
        waiting = waiting ^ won
    result = zeros_of(start, tuple(start._a.shape))  # with a value for each row
    write("scatter_reduce", corner(result, tuple(start._a.shape)), start)
    cut = tuple(slice(0, size) if d == dim else slice(None) for d in range(len(shape)))
    write("scatter_reduce", narrowed(result, shape, dim), basic_index(y, cut))
    return result


def _lengthened(x: Tensor, dim: int) -> Tensor:
    """`x` with one more slice along `dim`."""
    size = tuple(x._a.shape)
    longer = zeros_of(x, tuple(n + (d == dim) for d, n in enumerate(size)))
    write("scatter_reduce", corner(longer, size), x)
    return longer


checks_dim(scatter_reduce)


@scatter_reduce.vjp
def _(
    ct: Tensor, input: Tensor, index: Tensor, src: Tensor, y: Tensor, dim: int,
    reduce: str, include_self: bool, need: Any,
) -> tuple[Any, None, Any]:  # fmt: skip
    if 0 in index._a.shape:
        return ct, None, zeros_like(src)
    shape = tuple(index._a.shape)
    part = corner(src, shape)
    rule = {"sum": _sum_vjp, "mean": _sum_vjp, "prod": _prod_vjp}.get(
        reduce, _extreme_vjp
    )
    if reduce == "mean":
        ct = ct / _count(ct, index, dim, include_self)
    gx, gsrc = rule(ct, input, index, part, y, dim, include_self)
    if not include_self:
        gx = scatter(gx, dim, index, zeros_of(ct, shape))
    return gx if need[0] else None, None, cornered(gsrc, tuple(src._a.shape))


def _sum_vjp(
    ct: Tensor, x: Any, index: Tensor, src: Any, y: Any, dim: int, _: bool
) -> Any:
    return ct, gather(ct, dim, index)


def _prod_vjp(
    ct: Tensor, x: Tensor, index: Tensor, src: Tensor, y: Tensor, dim: int,
    include_self: bool,
) -> Any:  # fmt: skip
    """Each factor gets the product of the others, also where one of them is 0."""
    if not include_self:
        x = scatter(x, dim, index, full(tuple(index._a.shape), 1, x._kind))
    zero_x, zero_src = x == 0, src == 0
    own = where(zero_x, 1, x)
    ones = where(zero_src, 1, src)
    whole = scatter_reduce(own, dim, index, ones, "prod", True)
    count = scatter_add(cast(zero_x, x.dtype), dim, index, cast(zero_src, x.dtype))
    zeros = scatter_add(where(zero_x, x, 0), dim, index, where(zero_src, src, 0))
    gx = _others(x, zero_x, whole / own, zeros, count)
    met = [gather(a, dim, index) for a in (whole, zeros, count)]
    gsrc = _others(src, zero_src, met[0] / ones, met[1], met[2])
    return ct * gx, gather(ct, dim, index) * gsrc


def _others(
    value: Tensor, zero: Tensor, rest: Tensor, zeros: Tensor, count: Tensor
) -> Tensor:
    """The product of the other factors, right in value and in first derivatives.

    `rest` is that of the others that are not 0; `zeros` sums the factors that are 0,
    and stands for the single one where there is no more than one beside `value`.
    """
    beside = count - cast(zero, count.dtype)
    single = (zeros - where(zero, value, 0)) * rest
    return where(beside == 0, rest, where(beside == 1, single, 0))


def _extreme_vjp(
    ct: Tensor, x: Tensor, index: Tensor, src: Tensor, y: Tensor, dim: int,
    include_self: bool,
) -> Any:  # fmt: skip
    """To the values that equal the extreme, in equal parts."""
    mine = cast(x == y, ct.dtype)
    if not include_self:
        mine = scatter(mine, dim, index, zeros_of(ct, tuple(index._a.shape)))
    theirs = cast(src == gather(y, dim, index), ct.dtype)
    count = scatter_add(mine, dim, index, theirs)
    share = ct / where(count == 0, 1, count)
    return mine * share, theirs * gather(share, dim, index)


_ORACLE: Any = {
    "sum": sum, "prod": lambda v: np.prod(v, dtype=np.asarray(v).dtype), "amax": np.max,
    "amin": np.min, "mean": lambda v: _average(sum(v), _counted(v)),
}  # fmt: skip


def _average(total: Any, count: Any) -> Any:
    """Whole numbers are divided as such, and rounded down."""
    return total // count if np.asarray(total).dtype.kind in "iu" else total / count


def _counted(values: list[Any]) -> Any:
    """How many there are, as integers of their own dtype count; 1 in place of 0."""
    dtype = np.asarray(values[0]).dtype
    count = np.asarray(len(values))
    return count.astype(dtype if dtype.kind in "iu" else count.dtype) or 1


@scatter_reduce.oracle
def _(
    x: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool = True
) -> Array:
    y = x.copy()
    met: dict[int, list[Any]] = {}
    numbers, written = written_by(gather, x, src, dim=dim, index=index)
    for number, value in zip(numbers.tolist(), written, strict=True):
        met.setdefault(number, [x.flat[number]] if include_self else []).append(value)
    for number, values in met.items():
        y.flat[number] = _ORACLE[reduce](values)
    return y


@scatter_reduce.cases
def _(make: Any) -> Iterator[Case]:
    for reduce in REDUCTIONS:
        if reduce == "mean" and not make.dtype.category:
            continue
        for how in ({}, {"include_self": False}):
            x, src = make.distinct(4, 3), make.distinct(6, 3) + make.dtype.numpy.type(1)
            yield case(x, 0, make.ints(6, 2, high=4), src, reduce, **how)
        yield case(make(5), -1, make.ints(4, high=5), make(4), reduce)
        if reduce == "mean":  # more than 8 bits count
            yield case(make(2), 0, make.ints(300, high=1), make(300), reduce)
        yield case(make(5), -1, make.ints(0), make(4), reduce)
