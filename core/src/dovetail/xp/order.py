"""Sorting, searching, distinct values and scans, along one dim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import (
    ANY,
    BITS,
    FLOAT,
    HALF,
    INEXACT,
    INTEGRAL,
    ORDERED,
    DType,
    bfloat16,
    int64,
)  # fmt: skip
from dovetail.errors import refuse_bins, refuse_negative_bins
from dovetail.xp.kernels import Kernels, on_device
from dovetail.xp.orders import following
from dovetail.xp.reduce import in_float32

Kernel = Callable[..., Any]
_SHORT: Final = 32

kernels: Final = Kernels()
install = kernels.install
_BOUND: Final[dict[str, Any]] = {"binds": True, "checks": True}
_WIDE: Final = BITS | (INEXACT - HALF)


def _keys(a: Any) -> Any:
    """16-bit floats as float32, which keeps their order and which libraries sort."""
    return a.astype("float32") if a.dtype.itemsize == 2 and a.dtype.kind in "fV" else a


def _order(xp: Any, a: Any, dim: int, descending: bool) -> Any:
    """The permutation that sorts; equal elements keep their order on every device."""
    a, kind = _keys(a), "stable"
    if not a.ndim:
        return xp.zeros((), "int64")
    if not descending:
        return a.argsort(dim, kind)
    # Backwards twice: equal elements keep their order.
    turned = (*(slice(None),) * dim, slice(None, None, -1))
    return a.shape[dim] - 1 - a[turned].argsort(dim, kind)[turned]


def _along(xp: Any, a: Any, index: Any, dim: int) -> Any:
    """The elements at `index`; by one flat gather along the last dim."""
    if a.ndim == 1:
        return a.take(index)
    if not a.ndim:
        return a.copy()
    n = a.shape[-1]
    if dim != a.ndim - 1 or not a.size:
        return xp.take_along_axis(a, index, dim)
    rows = xp.arange(0, a.size, n).reshape(*a.shape[:-1], 1)
    return a.reshape(-1).take(index + rows)


@kernels("argsort", ORDERED, **_BOUND)
def _argsort(xp: Any, dim: int, descending: bool, stable: bool) -> Kernel:
    return following(xp, lambda a: _order(xp, a, dim, descending))


@kernels("sort", ORDERED, **_BOUND)
def _sort(xp: Any, dim: int, descending: bool, stable: bool) -> Kernel:
    def call(a: Any) -> tuple[Any, Any]:
        order = _order(xp, a, dim, descending)
        return _along(xp, a, order, dim), order

    return following(xp, call)


def _chosen(xp: Any, a: Any, k: int, dim: int, largest: bool) -> Any:
    """Where the k greatest (smallest) are, in order of place; the first of equals."""
    n = a.shape[dim]
    lead = (slice(None),) * dim
    cut = slice(n - k, n) if largest else slice(0, k)
    edge = n - k if largest else k - 1
    some = xp.argpartition(a, edge, axis=dim)[(*lead, cut)]
    some.sort(axis=dim)
    values = _along(xp, a, some, dim)
    # NaN is the greatest, and the only one that is not equal to itself.
    bound = (
        values.min(dim, keepdims=True) if largest else values.max(dim, keepdims=True)
    )
    nan = a.dtype.kind == "f" and bool(xp.isnan(values).any())
    tied = (a == bound).sum(dim) > (values == bound).sum(dim)
    if not (nan or tied.any()):
        return some
    order = _order(xp, a, dim, largest)
    return xp.sort(order[(*lead, slice(0, k))], axis=dim)


@kernels("topk", ORDERED, binds=True)
def _topk(xp: Any, k: int, dim: int, largest: bool, sorted: bool) -> Kernel:
    waits = on_device(xp)  # for what a partition leaves open, which values say

    def call(a: Any) -> tuple[Any, Any]:
        n = a.shape[dim] if a.ndim else 1
        lead = (slice(None),) * dim
        if waits or not a.ndim or not 0 < k < n // 4:
            order = _order(xp, a, dim, largest)
            order = order[(*lead, slice(0, k))] if a.ndim else order
            return _along(xp, a, order, dim), order.copy()
        some = _chosen(xp, _keys(a), k, dim, largest)
        values = _along(xp, a, some, dim)
        order = _order(xp, values, dim, largest)
        return _along(xp, values, order, dim), _along(xp, some, order, dim)

    return call


@kernels("ranked", ORDERED, binds=True)
def _ranked(xp: Any, rank: int, dim: int) -> Kernel:
    """By a partition; then the one of its equals that has the place asked for."""
    always = on_device(xp)

    def call(a: Any) -> Any:
        if not a.ndim:
            return xp.zeros((), "int64")
        keys = _keys(a)
        n, cut = a.shape[dim], (slice(None),) * dim
        bound = xp.partition(keys, rank, dim)[(*cut, slice(rank, rank + 1))]
        less, equal = keys < bound, keys == bound
        some = a.dtype.kind in "fV" and (always or xp.isnan(bound).any())
        if some:  # nothing equals NaN
            nan = xp.isnan(keys)
            less |= xp.isnan(bound) & ~nan
            equal |= xp.isnan(bound) & nan
        number = rank - xp.count_nonzero(less, dim, keepdims=True)
        if always or number.any():
            equal &= xp.cumsum(equal, dim) == number + 1
        return equal.argmax(dim) if n else number

    return call


@kernels("max_along", ORDERED, "maximum", "argmax", **_BOUND, rows=True)
@kernels("min_along", ORDERED, "minimum", "argmin", **_BOUND, rows=True)
def _best(xp: Any, ufunc: str, place: str, dim: int, keepdim: bool) -> Kernel:
    """An extreme and its first place; both let NaN win."""
    reduce = getattr(xp, ufunc).reduce

    def call(a: Any) -> tuple[Any, Any]:
        if not a.ndim:
            return a.copy(), getattr(a, place)()
        index = getattr(a, place)(dim, keepdims=keepdim)
        return reduce(a, dim, None, None, keepdim), index

    return call


@kernels("pick", ANY, binds=True, rows=True)
def _pick(xp: Any, dim: int) -> Kernel:
    def call(a: Any, index: Any) -> Any:
        if not a.ndim:
            return a.copy()
        return _along(xp, a, xp.expand_dims(index, dim), dim).reshape(index.shape)

    return call


@kernels("searchsorted", ORDERED, binds=True, rows=True)
def _searchsorted(xp: Any, right: bool) -> Kernel:
    side = "right" if right else "left"

    def call(row: Any, values: Any) -> Any:
        row, values = _keys(row), _keys(values)
        if row.ndim == 1:
            return xp.searchsorted(row, values, side)
        found = xp.empty(values.shape, "int64")
        for at in xp.ndindex(*row.shape[:-1]):
            found[at] = xp.searchsorted(row[at], values[at], side)
        return found

    return call


@kernels("isin", ORDERED - {bfloat16}, checks=True, rows=True)
def _isin(xp: Any, elements: Any, test_elements: Any) -> Any:
    return xp.isin(elements, test_elements)


@kernels("unique", ORDERED, **_BOUND)
def _unique(xp: Any, consecutive: bool) -> Kernel:
    def call(a: Any) -> tuple[Any, Any, Any]:
        n = a.shape[0]
        if not n:
            return a.copy(), xp.zeros(0, "int64"), xp.zeros(0, "int64")
        keys = _keys(a)
        if consecutive or not a.shape[1]:
            order = xp.arange(n)
        elif a.shape[1] == 1:
            order = xp.argsort(keys[:, 0], kind="stable")
        else:
            order = xp.lexsort(keys.T[::-1])
        rows = keys[order]
        starts = xp.concatenate(([True], (rows[1:] != rows[:-1]).any(1)))
        heads = xp.flatnonzero(starts)
        inverse = xp.empty(n, "int64")
        inverse[order] = xp.cumsum(starts) - 1
        return a[order[heads]], inverse, xp.diff(heads, append=n)

    return call


@kernels("bincount", INTEGRAL, checks=True)
def _bincount(xp: Any, a: Any, minlength: int) -> Any:
    refuse_bins(a.shape, minlength)
    places = a.astype("int64", copy=False)
    try:
        counts = xp.bincount(places, minlength=minlength)
    except ValueError:
        refuse_negative_bins(int(places.min()))
        raise
    return counts.astype("int64", copy=False)


@kernels("cumsum", _WIDE, "add", **_BOUND, rows=True)
@kernels("cumsum", HALF, "add", through=in_float32, **_BOUND, rows=True)
@kernels("cumprod", _WIDE, "multiply", **_BOUND, rows=True)
@kernels("cumprod", HALF, "multiply", through=in_float32, **_BOUND, rows=True)
def _scan(xp: Any, ufunc: str, dim: int, dtype: DType | None) -> Kernel:
    """Sums and products; long ones of floats accumulate in float64, as in torch."""
    accumulate = getattr(xp, ufunc).accumulate
    wider = {"f": "float64", "c": "complex128"}

    def call(a: Any) -> Any:
        own = a.dtype
        to = int64.numpy if own.kind in "biu" else own
        to = to if dtype is None else dtype.numpy
        if a.dtype.kind == "c" and to.kind != "c":
            a = a.real
        if to.kind not in "fc" or own.kind in "biu":
            a = a.astype(to)
        if not a.ndim:
            return a.astype(to)
        wide = to if a.shape[dim] <= _SHORT else wider.get(to.kind, to)
        y = accumulate(a, dim, wide)
        return y if y.dtype == to else y.astype(to)

    return call


@kernels("logcumsumexp", FLOAT - HALF, **_BOUND, rows=True)
def _logcumsumexp(xp: Any, dim: int) -> Kernel:
    def call(a: Any) -> Any:
        if not a.ndim:
            return a.copy()
        # In float64: the errors of a long chain of float32 sums all go one way.
        return xp.logaddexp.accumulate(a, dim, dtype="float64").astype(a.dtype)

    return call


@kernels("cummax", ORDERED, "maximum", **_BOUND, rows=True)
@kernels("cummin", ORDERED, "minimum", **_BOUND, rows=True)
def _cumulative(xp: Any, ufunc: str, dim: int) -> Kernel:
    """An extreme so far and its last place; both let NaN win."""

    def call(a: Any) -> tuple[Any, Any]:
        if not a.ndim:
            return a.copy(), xp.zeros((), "int64")
        keys = _keys(a)
        best = getattr(xp, ufunc).accumulate(keys, dim)
        hit = (keys == best) | xp.isnan(keys)
        numbers = xp.arange(a.shape[dim]).reshape(-1, *(1,) * (a.ndim - 1 - dim))
        index = xp.maximum.accumulate(xp.where(hit, numbers, 0), dim)
        return _along(xp, a, index, dim), index

    return call
