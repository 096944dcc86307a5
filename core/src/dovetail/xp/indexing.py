"""Kernels that read and write at computed places.

`refuses` says whether the library itself raises IndexError for an index out of range,
as NumPy does; otherwise kernels look at the least and the greatest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import ANY, BOOL, HALF, NUMERIC, DType
from dovetail.errors import IndexOutOfRange, ShapeError

Indices = Sequence[Any]


def install(table: KernelTable, xp: Any, *, refuses: bool) -> None:
    """Add gathers, scatters and masks to a table."""
    bounds = Bounds(xp, refuses)
    sums = NUMERIC - HALF
    for name, kernel in {
        "gather": _gather, "index_select": _index_select, "scatter": _scatter,
        "index_copy": _index_copy, "index_get": _index_get, "nonzero": _nonzero,
        "masked_select": _masked_select, "masked_scatter": _masked_scatter,
    }.items():  # fmt: skip
        table.add(name, kernel(xp, bounds), dtypes=ANY, checks_indices=True)
    table.add(
        "embedding", _embedding(xp, bounds), dtypes=ANY, checks=True,
        checks_indices=True,
    )  # fmt: skip
    for name, kernel in {
        "scatter_add": _scatter_add, "index_add": _index_add,
        "scatter_reduce": _scatter_reduce,
    }.items():  # fmt: skip
        table.add(name, kernel(xp, bounds), dtypes=sums, checks_indices=True)
    for name, put in {
        "index_put": _index_put(xp, bounds), "index_put_": _index_put_(xp, bounds),
    }.items():  # fmt: skip
        table.add(name, put, dtypes=sums | BOOL, checks_indices=True)
        table.add(
            name, put, dtypes=HALF, reads=("accumulate",),
            when=lambda facts: not facts.accumulate, checks_indices=True,
        )  # fmt: skip
    table.add("masked_fill", _masked_fill(xp), dtypes=ANY, broadcasts=True)


_UNSIGNED: Final = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


class Bounds:
    """Refuses indices that are out of range.

    The least index is read at its place: that takes a fifth of a reduction's time
    where there are few.
    """

    def __init__(self, xp: Any, refuses: bool) -> None:
        self.xp = xp
        self.refuses = refuses

    def check(self, op: str, index: Any, size: int, dim: int) -> None:
        """Indices must lie from 0 to `size` - 1."""
        if not index.size:
            return
        if index.dtype.kind == "i":  # as unsigned numbers the negative ones are great
            index_as_read = index.view(_UNSIGNED[index.dtype.itemsize])
        else:
            index_as_read = index
        if index_as_read.max() >= size:
            raise self.error(op, index, size, dim, 0)

    def check_low(self, op: str, index: Any, size: int, dim: int) -> None:
        """The same, where the library itself refuses what is too great."""
        if not self.refuses:
            self.check(op, index, size, dim)
        elif index.size and index.item(index.argmin()) < 0:
            raise self.error(op, index, size, dim, 0)

    def check_signed(self, op: str, index: Any, size: int, dim: int) -> None:
        """Indices may count from the end: from -`size` on."""
        if self.refuses or not index.size:
            return
        if index.min() < -size or index.max() >= size:
            raise self.error(op, index, size, dim, -size)

    def error(self, op: str, index: Any, size: int, dim: int, low: int) -> Exception:
        """What is wrong with an index, the first bad one named."""
        bad = index[(index < low) | (index >= size)]
        found = int(bad[0]) if bad.size else -1
        return IndexOutOfRange(
            op, "index", was=f"{found}, out of bounds for dim {dim} with size {size}",
            needed=f"{low} to {size - 1}" if size else "a dim that is not empty",
        )  # fmt: skip

    def explain(self, op: str, a: Any, indices: Indices) -> Exception:
        """The error for signed indices, one for each dim, that the library refused."""
        for dim, index in enumerate(indices):
            size = a.shape[dim]
            if index is not None and ((index < -size) | (index >= size)).any():
                return self.error(op, index, size, dim, -size)
        return IndexOutOfRange(op, "index", was="out of range", needed="one within x")


def _grid(xp: Any, shape: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Coordinates of the places that `index` names along `dim`."""
    last = len(shape) - 1
    return tuple(
        index if d == dim else xp.arange(n).reshape((n,) + (1,) * (last - d))
        for d, n in enumerate(shape)
    )


def _gather(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def gather(a: Any, index: Any, dim: int) -> Any:
        bounds.check("gather", index, a.shape[dim], dim)
        if a.ndim == 1:
            return a.take(index)
        return a[_grid(xp, index.shape, dim, index)]

    return gather


def _index_select(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def index_select(a: Any, index: Any, dim: int) -> Any:
        if not a.ndim:
            bounds.check("index_select", index, 1, 0)
            return a.copy()
        bounds.check("index_select", index, a.shape[dim], dim)
        return a.take(index, dim)

    return index_select


def _embedding(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def embedding(a: Any, index: Any, padding: int) -> Any:
        rows, _ = a.shape
        bounds.check_low("embedding", index, rows, 0)
        try:
            return a.take(index, 0)
        except IndexError as error:
            raise bounds.error("embedding", index, rows, 0, 0) from error

    return embedding


def _scatter(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def scatter(a: Any, index: Any, src: Any, dim: int) -> Any:
        y = _fresh(xp, a)
        if index.size:
            bounds.check("scatter", index, a.shape[dim], dim)
            y[_grid(xp, index.shape, dim, index)] = src[_corner(index.shape)]
        return y

    return scatter


def _fresh(xp: Any, a: Any) -> Any:
    return xp.array(a, order="C")


def _corner(shape: Any) -> tuple[slice, ...]:
    return tuple(slice(0, n) for n in shape)


def _scatter_add(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def scatter_add(a: Any, index: Any, src: Any, dim: int) -> Any:
        y = _fresh(xp, a)
        if index.size:
            bounds.check("scatter_add", index, a.shape[dim], dim)
            src = src[_corner(index.shape)]
            add_places(xp, y, _grid(xp, index.shape, dim, index), src)
        return y

    return scatter_add


def _index_copy(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def index_copy(a: Any, index: Any, src: Any, dim: int) -> Any:
        bounds.check("index_copy", index, a.shape[dim], dim)
        y = _fresh(xp, a)
        y[(slice(None),) * dim + (index,)] = src
        return y

    return index_copy


def _index_add(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def index_add(a: Any, index: Any, src: Any, dim: int) -> Any:
        bounds.check("index_add", index, a.shape[dim], dim)
        y = _fresh(xp, a)
        add_slices(xp, y, index, src, dim)
        return y

    return index_add


def add_slices(xp: Any, y: Any, index: Any, src: Any, dim: int) -> None:
    """Add the slices of `src` to those of `y` along `dim`; duplicates accumulate."""
    shape = tuple(index.size if d == dim else n for d, n in enumerate(y.shape))
    line = index.reshape((-1,) + (1,) * (y.ndim - 1 - dim))
    add_places(xp, y, _grid(xp, shape, dim, line), src)


def add_places(xp: Any, y: Any, places: tuple[Any, ...], src: Any) -> None:
    """Add `src` at coordinates of `y`.

    By one flat index: NumPy's add.at is several times as fast in one dim as in more.
    """
    if not y.flags.c_contiguous:
        xp.add.at(y, places, src)
        return
    flat, step = 0, 1
    for size, place in zip(y.shape[::-1], places[::-1], strict=True):
        flat, step = flat + place * step, step * size
    flat = xp.broadcast_to(flat, src.shape).reshape(-1)
    xp.add.at(y.reshape(-1), flat, src.reshape(-1))


def _index_get(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def index_get(a: Any, indices: Indices) -> Any:
        named = [d for d, i in enumerate(indices) if i is not None]
        for d in named:
            bounds.check_signed("indexing", indices[d], a.shape[d], d)
        try:
            if len(named) == 1:
                return a.take(indices[named[0]], named[0])
            return a[_key(indices)]
        except IndexError as error:
            raise bounds.explain("indexing", a, indices) from error

    return index_get


def _key(indices: Indices) -> tuple[Any, ...]:
    return tuple([slice(None) if i is None else i for i in indices])


def _index_put(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def index_put(a: Any, value: Any, indices: Indices, accumulate: bool) -> Any:
        y = _fresh(xp, a)
        write_places(xp, bounds, y, value, indices, accumulate)
        return y

    return index_put


def _index_put_(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def index_put(a: Any, value: Any, indices: Indices, accumulate: bool) -> None:
        write_places(xp, bounds, a, value, indices, accumulate)

    return index_put


def write_places(
    xp: Any, bounds: Bounds, y: Any, value: Any, indices: Indices, accumulate: bool
) -> None:
    """Write or add `value` at tuples of indices."""
    for d, index in enumerate(indices):
        if index is not None:
            bounds.check_signed("indexing", index, y.shape[d], d)
    try:
        if not accumulate:
            y[_key(indices)] = value
            return
        _add_signed(xp, y, value, indices)
    except IndexError as error:
        if isinstance(error, IndexOutOfRange):
            raise
        raise bounds.explain("indexing", y, indices) from error


def _add_signed(xp: Any, y: Any, value: Any, indices: Indices) -> None:
    """Add `value` at tuples of indices that may count from the end."""
    if any(i is None for i in indices):
        xp.add.at(y, _key(indices), value)
        return
    shape = xp.broadcast_shapes(*(i.shape for i in indices))
    places = []
    for d, index in enumerate(indices):
        size = y.shape[d]
        if index.size and (index.min() < -size or index.max() >= size):
            raise IndexError
        front = xp.where(index < 0, index + size, index)
        places.append(front.reshape(front.shape + (1,) * (y.ndim - len(indices))))
    rest = y.shape[len(indices) :]
    places += _grid(xp, rest, -1, None)
    add_places(xp, y, tuple(places), xp.broadcast_to(value, shape + rest))


def _nonzero(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def nonzero(a: Any, dtype: DType) -> Any:
        if not a.ndim:
            return xp.empty((int(bool(a)), 0), dtype.numpy)
        return xp.stack(xp.nonzero(a), 1).astype(dtype.numpy, copy=False)

    return nonzero


def _masked_fill(xp: Any) -> Callable[..., Any]:
    def masked_fill(a: Any, mask: Any, value: Any) -> Any:
        if a.dtype.kind in "iu":
            value = int(value)
        return xp.where(mask, xp.asarray(value).astype(a.dtype), a)

    return masked_fill


def _masked_select(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def masked_select(a: Any, mask: Any) -> Any:
        return a[mask] if a.ndim else a.reshape(1)[mask.reshape(1)]

    return masked_select


def _masked_scatter(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    def masked_scatter(a: Any, mask: Any, source: Any) -> Any:
        if mask.shape != a.shape:
            raise ShapeError(
                "masked_scatter", "mask", was=f"of shape {mask.shape}", needed=a.shape
            )
        count = int(xp.count_nonzero(mask))
        if count > source.size:
            raise ShapeError(
                "masked_scatter", "source", was=f"of {source.size} elements",
                needed=f"{count}, as many as the mask selects",
            )  # fmt: skip
        y = _fresh(xp, a)
        y[mask] = source.reshape(-1)[:count]
        return y

    return masked_scatter


def _scatter_reduce(xp: Any, bounds: Bounds) -> Callable[..., Any]:
    ufuncs = {
        "sum": xp.add, "mean": xp.add, "prod": xp.multiply, "amax": xp.maximum,
        "amin": xp.minimum,
    }  # fmt: skip

    def scatter_reduce(
        a: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool
    ) -> Any:
        y = _fresh(xp, a)
        if not index.size:
            return y
        bounds.check("scatter_reduce", index, a.shape[dim], dim)
        places = _grid(xp, index.shape, dim, index)
        src = src[_corner(index.shape)]
        if not include_self:
            y[places] = _start(xp, a.dtype, reduce)
        ufuncs[reduce].at(y, places, src)
        if reduce != "mean":
            return y
        count = xp.full(a.shape, int(include_self), "int64")
        xp.add.at(count, places, 1)
        count = xp.maximum(count, 1)
        if a.dtype.kind in "iu":
            return xp.floor_divide(y, count).astype(a.dtype)
        return (y / count.astype(a.real.dtype)).astype(a.dtype, copy=False)

    return scatter_reduce


def _start(xp: Any, dtype: Any, reduce: str) -> Any:
    """What a reduction starts from."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    least = reduce == "amax"
    if dtype.kind == "f":
        return -xp.inf if least else xp.inf
    limits = xp.iinfo(dtype)
    return limits.min if least else limits.max
