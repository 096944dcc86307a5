"""Kernels that read and write at computed places.

A library on the host raises IndexError for indices out of range, but for those below 0,
which count from the end. One on a device takes any index for one within the array, so
that kernels need not wait for its value: core looks at it, or the device tells later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import (
    ANY,
    BOOL,
    HALF,
    INTEGRAL,
    NUMERIC,
    STORED,
    DType,
    from_numpy,
)
from dovetail.errors import IndexOutOfRange, ShapeError, outside_dim
from dovetail.limits import greatest, least
from dovetail.xp.kernels import on_device
from dovetail.xp.orders import like, rows

Indices = Sequence[Any]
_MOVES: Final = (
    "gather", "index_select", "scatter", "index_copy", "index_get", "nonzero",
    "masked_select", "masked_scatter",
)  # fmt: skip
_SUMS: Final = ("scatter_add", "index_add", "index_sum", "scatter_reduce")


def install(table: KernelTable, xp: Any) -> None:
    """Add gathers, scatters and masks to a table."""
    kernels, sums, looks = Indexing(xp), NUMERIC - HALF, not on_device(xp)
    for names, dtypes in ((_MOVES, STORED), (_SUMS, sums)):
        for name in names:
            table.add(name, getattr(kernels, name), dtypes=dtypes, checks_indices=looks)
    table.add(
        "embedding",
        kernels.embedding,
        dtypes=STORED,
        checks=True,
        checks_indices=looks,
    )
    table.add("one_hot", kernels.one_hot, dtypes=INTEGRAL)
    if looks:
        table.add("any_outside", kernels.any_outside, dtypes=INTEGRAL)
    for name, put in {
        "index_put": kernels.index_put, "index_put_": kernels.write_places,
    }.items():  # fmt: skip
        table.add(name, put, dtypes=sums | BOOL, checks_indices=looks)
        table.add(
            name, put, dtypes=HALF, reads=("accumulate",),
            when=lambda facts: not facts.accumulate, checks_indices=looks,
        )  # fmt: skip
    table.add("masked_fill", kernels.masked_fill, dtypes=ANY, broadcasts=True)


_UNSIGNED: Final = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


class Bounds:
    """Refuses indices that are out of range, where values are at hand.

    The least index is read at its place: that takes a fifth of a reduction's time
    where there are few.
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.looks = not on_device(xp)

    def check(self, op: str, index: Any, size: int, dim: int) -> None:
        """Indices must lie from 0 to `size` - 1."""
        if not index.size or (size and not self.looks):
            return
        if index.dtype.kind == "i":  # as unsigned numbers the negative ones are great
            index_as_read = index.view(_UNSIGNED[index.dtype.itemsize])
        else:
            index_as_read = index
        if index_as_read.max() >= size:
            raise self.error(op, index, size, dim, 0)

    def check_low(self, op: str, index: Any, size: int, dim: int) -> None:
        """The same, where the library itself refuses what is too great."""
        if not self.looks:
            self.check(op, index, size, dim)
        elif index.size and index.item(index.argmin()) < 0:
            raise self.error(op, index, size, dim, 0)

    def check_signed(self, op: str, index: Any, size: int, dim: int) -> None:
        """Indices may count from the end: from -`size` on; a library looks itself."""
        if not self.looks and not size and index.size:  # of nothing, none is within
            raise self.error(op, index, size, dim, 0)

    def error(self, op: str, index: Any, size: int, dim: int, low: int) -> Exception:
        """What is wrong with an index, the first bad one named."""
        bad = index[(index < low) | (index >= size)]
        return outside_dim(op, int(bad[0]) if bad.size else -1, size, dim, low)

    def explain(self, op: str, a: Any, indices: Indices) -> Exception:
        """The error for signed indices, one for each dim, that the library refused."""
        for dim, index in enumerate(indices):
            size = a.shape[dim]
            if index is not None and ((index < -size) | (index >= size)).any():
                return self.error(op, index, size, dim, -size)
        return IndexOutOfRange(op, "index", was="out of range", needed="one within x")


def neutral(dtype: Any, reduce: str) -> Any:
    """What a reduction of elements of a library's dtype starts from."""
    own = from_numpy(dtype)
    starts = {"prod": 1, "amax": least(own), "amin": greatest(own)}
    return starts.get(reduce, 0)


def _corner(shape: Any) -> tuple[slice, ...]:
    return tuple(slice(0, n) for n in shape)


def _key(indices: Indices) -> tuple[Any, ...]:
    return tuple([slice(None) if i is None else i for i in indices])


class Indexing(Bounds):
    """The kernels, each a method of the name of its op."""

    def gather(self, a: Any, index: Any, dim: int) -> Any:
        self.check("gather", index, a.shape[dim], dim)
        if a.ndim == 1:
            return a.take(index)
        return rows(a[self._grid(index.shape, dim, index)])

    def index_select(self, a: Any, index: Any, dim: int) -> Any:
        self.check("index_select", index, a.shape[dim], dim)
        return a.take(index, dim)

    def embedding(self, a: Any, index: Any, padding_idx: int) -> Any:
        count, _ = a.shape
        self.check_low("embedding", index, count, 0)
        try:
            return a.take(index, 0)
        except IndexError as error:
            raise self.error("embedding", index, count, 0, 0) from error

    def one_hot(self, a: Any, num_classes: int) -> Any:
        xp = self.xp
        if not self.looks:  # how many are within, the host would wait to know
            classes = xp.arange(num_classes)
            return (a.reshape((*a.shape, 1)) == classes).astype("int64")
        y = xp.zeros((*a.shape, num_classes), "int64")
        lines = xp.arange(0, y.size, num_classes or 1)
        flat = a.reshape(-1)
        within = (flat >= 0) & (flat < num_classes)
        if not within.all():
            lines, flat = lines[within], flat[within]
        if num_classes:
            y.reshape(-1)[lines + flat.astype("int64")] = 1
        return y

    def any_outside(self, a: Any, low: int, end: int, spared: Any) -> Any:
        found = (a < low) | (a >= end)
        for number in spared:
            found &= a != number
        return found.any()

    def scatter(self, a: Any, index: Any, src: Any, dim: int) -> Any:
        y = self._fresh(a)
        if index.size:
            self.check("scatter", index, a.shape[dim], dim)
            y[self._grid(index.shape, dim, index)] = src[_corner(index.shape)]
        return y

    def scatter_add(self, a: Any, index: Any, src: Any, dim: int) -> Any:
        y = self._fresh(a)
        if index.size:
            self.check("scatter_add", index, a.shape[dim], dim)
            places = self._grid(index.shape, dim, index)
            self._add(y, places, src[_corner(index.shape)])
        return y

    def index_copy(self, a: Any, index: Any, src: Any, dim: int) -> Any:
        self.check("index_copy", index, a.shape[dim], dim)
        y = self._fresh(a)
        y[(slice(None),) * dim + (index,)] = src
        return y

    def index_add(self, a: Any, index: Any, src: Any, dim: int) -> Any:
        self.check("index_add", index, a.shape[dim], dim)
        y = self._fresh(a)
        line = index.reshape((-1,) + (1,) * (y.ndim - 1 - dim))
        self._add(y, self._grid(src.shape, dim, line), src)
        return y

    def index_sum(self, src: Any, index: Any, size: int, dim: int) -> Any:
        self.check("index_sum", index, size, dim)
        y = self.xp.zeros((*src.shape[:dim], size, *src.shape[dim + 1 :]), src.dtype)
        line = index.reshape((-1,) + (1,) * (y.ndim - 1 - dim))
        self._add(y, self._grid(src.shape, dim, line), src)
        return y

    def index_get(self, a: Any, indices: Indices) -> Any:
        named = [d for d, i in enumerate(indices) if i is not None]
        for d in named:
            self.check_signed("indexing", indices[d], a.shape[d], d)
        try:
            if len(named) == 1:
                return a.take(indices[named[0]], named[0])
            return rows(a[_key(indices)])
        except IndexError as error:
            raise self.explain("indexing", a, indices) from error

    def index_put(self, a: Any, value: Any, indices: Indices, accumulate: bool) -> Any:
        y = like(self.xp, a)
        y[...] = a
        self.write_places(y, value, indices, accumulate)
        return y

    def write_places(
        self, y: Any, value: Any, indices: Indices, accumulate: bool
    ) -> None:
        """Write or add `value` at tuples of indices."""
        for d, index in enumerate(indices):
            if index is not None:
                self.check_signed("indexing", index, y.shape[d], d)
        try:
            if accumulate:
                self._add_signed(y, value, indices)
            else:
                y[_key(indices)] = value
        except IndexError as error:
            if isinstance(error, IndexOutOfRange):
                raise
            raise self.explain("indexing", y, indices) from error

    def nonzero(self, a: Any, dtype: DType) -> Any:
        if not a.ndim:
            return self.xp.empty((int(bool(a)), 0), dtype.numpy)
        return self.xp.stack(self.xp.nonzero(a), 1).astype(dtype.numpy, copy=False)

    def masked_fill(self, a: Any, mask: Any, value: Any) -> Any:
        if a.dtype.kind in "iu":
            value = int(value)
        return rows(self.xp.where(mask, self.xp.asarray(value).astype(a.dtype), a))

    def masked_select(self, a: Any, mask: Any) -> Any:
        return a[mask] if a.ndim else a.reshape(1)[mask.reshape(1)]

    def masked_scatter(self, a: Any, mask: Any, source: Any) -> Any:
        a, mask = self.xp.broadcast_arrays(a, mask)
        count = int(self.xp.count_nonzero(mask))
        if count > source.size:
            raise ShapeError(
                "masked_scatter", "source", was=f"of {source.size} elements",
                needed=f"{count}, as many as the mask selects",
            )  # fmt: skip
        y = self._fresh(a)
        y[mask] = source.reshape(-1)[:count]
        return y

    def scatter_reduce(
        self, a: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool
    ) -> Any:
        xp, y = self.xp, self._fresh(a)
        if not index.size:
            return y
        self.check("scatter_reduce", index, a.shape[dim], dim)
        places = self._grid(index.shape, dim, index)
        if not include_self:
            y[places] = neutral(a.dtype, reduce)
        combine = {"prod": xp.multiply, "amax": xp.maximum, "amin": xp.minimum}
        combine.get(reduce, xp.add).at(y, places, src[_corner(index.shape)])
        if reduce != "mean":
            return y
        count = xp.full(a.shape, int(include_self), "int64")
        xp.add.at(count, places, 1)
        if a.dtype.kind in "iu":  # counted in the dtype, where too many wrap around
            count = count.astype(a.dtype)
            return xp.floor_divide(y, xp.where(count == 0, 1, count)).astype(a.dtype)
        count = xp.maximum(count, 1)
        return (y / count.astype(a.real.dtype)).astype(a.dtype, copy=False)

    # ---- places

    def _fresh(self, a: Any) -> Any:
        return self.xp.array(a, order="C")

    def _grid(self, shape: Any, dim: int, index: Any) -> tuple[Any, ...]:
        """Coordinates of the places that `index` names along `dim`."""
        last = len(shape) - 1
        return tuple(
            index if d == dim else self.xp.arange(n).reshape((n,) + (1,) * (last - d))
            for d, n in enumerate(shape)
        )

    def _add(self, y: Any, places: tuple[Any, ...], src: Any) -> None:
        """Add `src` at coordinates of `y`; values that meet accumulate.

        By one flat index: NumPy's add.at is several times as fast in one dim as in
        more.
        """
        if not y.flags.c_contiguous:
            self.xp.add.at(y, places, src)
            return
        flat, step = 0, 1
        for size, place in zip(y.shape[::-1], places[::-1], strict=True):
            flat, step = flat + place * step, step * size
        flat = self.xp.broadcast_to(flat, src.shape).reshape(-1)
        self.xp.add.at(y.reshape(-1), flat, src.reshape(-1))

    def _add_signed(self, y: Any, value: Any, indices: Indices) -> None:
        """Add `value` at tuples of indices that may count from the end."""
        xp = self.xp
        if any(i is None for i in indices):
            xp.add.at(y, _key(indices), value)
            return
        shape = xp.broadcast_shapes(*(i.shape for i in indices))
        places = []
        for d, index in enumerate(indices):
            size = y.shape[d]
            if (
                self.looks
                and index.size
                and (index.min() < -size or index.max() >= size)
            ):
                raise IndexError
            front = xp.where(index < 0, index + size, index)
            places.append(front.reshape(front.shape + (1,) * (y.ndim - len(indices))))
        rest = y.shape[len(indices) :]
        places += self._grid(rest, -1, None)
        self._add(y, tuple(places), xp.broadcast_to(value, shape + rest))
