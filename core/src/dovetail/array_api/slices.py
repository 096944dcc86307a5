"""Indices that torch refuses: slices that step backwards, masks of size 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from dovetail.dtypes import bool_
from dovetail.engine.tensor import Tensor


def backwards(index: Any, shape: Sequence[int]) -> tuple[Any, tuple[int, ...]]:
    """An index without negative steps, and the result's dims that are to be turned.

    >>> backwards((slice(None, None, -2), None, 1), (4, 3))
    ((slice(1, 4, 2), None, 1), (0,))
    """
    entries = index if isinstance(index, tuple) else (index,)
    if not any(_is_backwards(e) for e in entries):
        return index, ()
    taken = sum(_dims_of(e) for e in entries)
    made: list[Any] = []
    turned: list[int] = []
    dim = place = 0  # of the array, and of the result
    for entry in entries:
        if _is_backwards(entry):
            places: range = range(shape[dim])[entry]
            made.append(_forwards(places))
            turned.append(place)
        else:
            made.append(entry)
        left = len(shape) - taken if entry is Ellipsis else 0
        dim += left + _dims_of(entry)
        place += left + (entry is None or isinstance(entry, slice))
    return tuple(made), tuple(turned)


def selects_nothing(index: Any, shape: Sequence[int]) -> bool:
    """Whether an index is a mask with sizes of 0, which fits dims of every size."""
    if not (isinstance(index, Tensor) and index.dtype is bool_):
        return False
    sizes = tuple(index.shape)
    fits = all(n in (0, m) for n, m in zip(sizes, shape, strict=False))
    return 0 in sizes and len(sizes) <= len(shape) and fits


def _is_backwards(entry: Any) -> TypeGuard[slice]:
    return isinstance(entry, slice) and entry.step is not None and entry.step < 0


def _dims_of(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return int(entry.ndim) if isinstance(entry, Tensor) else 1


def _forwards(places: range) -> slice:
    """The same places, the first one last."""
    if not places:
        return slice(0, 0, 1)
    return slice(places[-1], places[0] + 1, -places.step)
