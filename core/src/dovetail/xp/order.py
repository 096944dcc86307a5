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
from dovetail.xp.kernels import Kernels, on_device, undispatched
from dovetail.xp.orders import following
from dovetail.xp.reduce import in_float32

Kernel = Callable[..., Any]
_SHORT: Final = 32
_FEW: Final = 4  # elements that others are compared with one by one

kernels: Final = Kernels()
install = kernels.install
_BOUND: Final[dict[str, Any]] = {"binds": True, "checks": True}
_WIDE: Final = BITS | (INEXACT - HALF)


def sortable(a: Any) -> Any:
    """16-bit floats as float32, which keeps their order and which libraries sort."""
    return a.astype("float32") if a.dtype.itemsize == 2 and a.dtype.kind in "fV" else a


def _order(xp: Any, a: Any, dim: int, descending: bool) -> Any:
    """The permutation that sorts; equal elements keep their order on every device."""
    a, kind = sortable(a), "stable"
    if not a.ndim:
        return xp.zeros((), "int64")
    if not descending:
        return a.argsort(dim, kind)
    # Backwards twice: equal elements keep their order.
    turned = (*(slice(None),) * dim, slice(None, None, -1))
    return a.shape[dim] - 1 - a[turned].argsort(dim, kind)[turned]


def along(xp: Any, a: Any, index: Any, dim: int) -> Any:
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
        return along(xp, a, order, dim), order

    return following(xp, call)


def _chosen(xp: Any, a: Any, k: int, dim: int, largest: bool) -> Any:
    """Where the k greatest (smallest) are, in order of place; the first of equals."""
    n, lead = a.shape[dim], (slice(None),) * dim
    edge = n - k if largest else k - 1
    parted = a.copy()
    parted.partition(edge, dim)
    bound = parted[(*lead, slice(edge, edge + 1))]
    # NaN is the greatest, and the only one that is not equal to itself.
    seen = parted[(*lead, slice(edge, None))] if largest else bound
    nan = a.dtype.kind == "f" and bool(xp.isnan(seen).any())
    wanted = a >= bound if largest else a <= bound  # at least k in each line
    if nan or xp.count_nonzero(wanted) * n != k * a.size:
        order = _order(xp, a, dim, largest)
        return xp.sort(order[(*lead, slice(0, k))], axis=dim)
    lines = wanted if dim == a.ndim - 1 else xp.moveaxis(wanted, dim, -1)
    places = lines.nonzero()[-1].reshape(*lines.shape[:-1], k)
    return places if lines is wanted else xp.moveaxis(places, -1, dim)


@kernels("topk", ORDERED, binds=True)
def _topk(xp: Any, k: int, dim: int, largest: bool, sorted: bool) -> Kernel:
    waits = on_device(xp)  # for what a partition leaves open, which values say

    def call(a: Any) -> tuple[Any, Any]:
        n = a.shape[dim] if a.ndim else 1
        lead = (slice(None),) * dim
        if waits or not a.ndim or not 0 < k < n // 4:
            order = _order(xp, a, dim, largest)
            order = order[(*lead, slice(0, k))] if a.ndim else order
            return along(xp, a, order, dim), order.copy()
        some = _chosen(xp, sortable(a), k, dim, largest)
        values = along(xp, a, some, dim)
        order = _order(xp, values, dim, largest)
        return along(xp, values, order, dim), along(xp, some, order, dim)

    return call


@kernels("ranked", ORDERED, binds=True)
def _ranked(xp: Any, rank: int, dim: int, nan_wins: bool) -> Kernel:
    """By a partition; then the one of its equals that has the place asked for."""
    waits = on_device(xp)
    count_nonzero = undispatched(xp.count_nonzero)

    def call(a: Any) -> Any:
        if not a.ndim:
            return xp.zeros((), "int64")
        keys = sortable(a)
        n, cut = a.shape[dim], (slice(None),) * dim
        parted = keys.copy()
        parted.partition(rank, dim)
        bound = parted[(*cut, slice(rank, rank + 1))]
        equal = keys == bound
        floats = a.dtype.kind in "fV"
        nothing = floats and xp.isnan(bound).any()  # NaN, which equals none
        if waits or nothing or count_nonzero(equal) * n != equal.size:
            equal = _among_equals(xp, keys, bound, equal, rank, dim)
        found = equal.argmax(dim)
        if nan_wins and floats:
            nan = xp.isnan(keys)
            if waits or nan.any():
                return xp.where(nan.any(dim), nan.argmax(dim), found)
        return found

    return call


def _among_equals(
    xp: Any, keys: Any, bound: Any, equal: Any, rank: int, dim: int
) -> Any:
    """The one place a line where the element of a rank is.

    Args:
        bound: that element of each line.
        equal: where elements are equal to it.
    """
    less = keys < bound
    if keys.dtype.kind == "f":
        nan, nothing = xp.isnan(keys), xp.isnan(bound)
        less |= nothing & ~nan
        equal = equal | (nothing & nan)
    number = rank - xp.count_nonzero(less, dim, keepdims=True)
    return equal & (xp.cumsum(equal, dim) == number + 1)


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
        if a.ndim == 1:
            return a.take(index)
        return along(xp, a, xp.expand_dims(index, dim), dim).reshape(index.shape)

    return call


@kernels("searchsorted", ORDERED, binds=True, rows=True)
def _searchsorted(xp: Any, right: bool) -> Kernel:
    side = "right" if right else "left"

    def call(row: Any, values: Any) -> Any:
        row, values = sortable(row), sortable(values)
        if row.ndim == 1:
            return xp.searchsorted(row, values, side)
        found = xp.empty(values.shape, "int64")
        for at in xp.ndindex(*row.shape[:-1]):
            found[at] = xp.searchsorted(row[at], values[at], side)
        return found

    return call


@kernels("isin", ORDERED - {bfloat16}, checks=True, rows=True)
def _isin(xp: Any, elements: Any, test_elements: Any) -> Any:
    if not 0 < test_elements.size <= _FEW:
        return xp.isin(elements, test_elements)
    # The library takes longer to choose its way than this takes.
    tests, shape = test_elements.reshape(-1), elements.shape
    found = xp.equal(elements, tests[:1]).reshape(shape)
    for at in range(1, len(tests)):
        found |= xp.equal(elements, tests[at : at + 1]).reshape(shape)
    return found


@kernels("unique", ORDERED, **_BOUND)
def _unique(xp: Any, consecutive: bool) -> Kernel:
    def call(a: Any) -> tuple[Any, Any, Any]:
        n = a.shape[0]
        if not n:
            return a.copy(), xp.zeros(0, "int64"), xp.zeros(0, "int64")
        keys = sortable(a)
        if keys.shape[1] == 1:
            keys = keys[:, 0]
        if consecutive or not a.shape[1]:
            order = xp.arange(n)
        elif keys.ndim == 1:
            order = xp.argsort(keys, kind="stable")
        else:
            order = xp.lexsort(keys.T[::-1])
        rows = keys[order]
        starts = xp.ones(n, "bool")
        differs = rows[1:] != rows[:-1]
        starts[1:] = differs if keys.ndim == 1 else differs.any(1)
        (heads,) = starts.nonzero()
        numbers = starts.cumsum(dtype="int64")
        numbers -= 1
        inverse = xp.empty(n, "int64")
        inverse[order] = numbers
        counts = xp.empty(heads.shape, "int64")
        counts[:-1] = heads[1:] - heads[:-1]
        counts[-1] = n - heads[-1]
        return a[order[heads]], inverse, counts

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
        keys = sortable(a)
        best = getattr(xp, ufunc).accumulate(keys, dim)
        hit = (keys == best) | xp.isnan(keys)
        numbers = xp.arange(a.shape[dim]).reshape(-1, *(1,) * (a.ndim - 1 - dim))
        index = xp.maximum.accumulate(xp.where(hit, numbers, 0), dim)
        return along(xp, a, index, dim), index

    return call
