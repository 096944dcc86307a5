"""Taking, searching, sorting and counting, as the array API standard has it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from dovetail import frontend as f
from dovetail.array_api.arrays import conforming, promoted
from dovetail.dtypes import bool_, int64
from dovetail.errors import ArgumentError


@conforming
def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Slices along a dim, by their places; negative ones count from the end."""
    if axis is None:
        if x.ndim != 1:
            raise ArgumentError("take", "axis", was=None, needed="one of the dims")
        axis = 0
    return f.index_select(x, axis, _places(indices, x.shape[axis]))


@conforming
def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """For each element of `indices`, the one at that place along a dim."""
    return f.take_along_dim(x, _places(indices, x.shape[axis]), axis)


def _places(indices: Any, size: int) -> Any:
    indices = indices.to(int64)
    return f.where(indices < 0, indices + size, indices)


@conforming
def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The place of the first greatest element."""
    return f.argmax(x, axis, keepdims)


@conforming
def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The place of the first least element."""
    return f.argmin(x, axis, keepdims)


@conforming
def nonzero(x: Any, /) -> Any:
    """The places of what is not zero, an array for each dim.

    Raises: ArgumentError for an array without dims.
    """
    if not x.ndim:
        raise ArgumentError("nonzero", "x", was="0-d", needed="at least one dim")
    return tuple(f.nonzero(x, as_tuple=True))


@conforming
def searchsorted(
    x1: Any, x2: Any, /, *, side: Literal["left", "right"] = "left",
    sorter: Any = None,
) -> Any:  # fmt: skip
    """Where in the ascending `x1` each of `x2` would have to be inserted."""
    x1, x2 = promoted(x1, x2)
    if sorter is not None:
        x1 = f.index_select(x1, 0, sorter.to(int64))
    return f.searchsorted(x1, x2, side=side)


@conforming
def argsort(
    x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """The places by which the elements along a dim are in order."""
    return f.argsort(x, dim=axis, descending=descending, stable=True)


@conforming
def sort(
    x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """The elements along a dim in order."""
    return f.sort(x, dim=axis, descending=descending, stable=True)[0]


# ---- sets


class UniqueAll(NamedTuple):
    """Values, where each is first, which is at each place, and how often each is."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """Values, and how often each is."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """Values, and which of them is at each place."""

    values: Any
    inverse_indices: Any


@conforming
def unique_all(x: Any, /) -> UniqueAll:
    """The distinct values with all that is known of them; each NaN is distinct."""
    flat = x.reshape(-1)
    order = _order(flat)
    ordered = f.index_select(flat, 0, order)
    first = f.ones_like(ordered, dtype=bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = f.nonzero(first).reshape(-1)
    ends = f.cat([starts[1:], f.full_like(starts[:1], len(flat))])
    group = f.cumsum(first, 0) - 1
    inverse = f.empty_like(order).scatter_(0, order, group)
    return UniqueAll(
        f.index_select(ordered, 0, starts), f.index_select(order, 0, starts),
        inverse.reshape(x.shape), ends - starts,
    )  # fmt: skip


def _order(flat: Any) -> Any:
    """An order in which equals are neighbours, the first one first."""
    if not flat.dtype.is_complex:
        return f.argsort(flat, dim=0, stable=True)
    order = f.argsort(f.imag(flat), dim=0, stable=True)
    real = f.index_select(f.real(flat), 0, order)
    return f.index_select(order, 0, f.argsort(real, dim=0, stable=True))


@conforming
def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct values, and how often each is."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


@conforming
def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct values, and which of them is at each place."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@conforming
def unique_values(x: Any, /) -> Any:
    """The distinct values, ascending; each NaN is distinct."""
    return unique_all(x).values
