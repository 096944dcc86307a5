"""The geometry of a part of a tensor, as Python's brackets name it."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import Sizes
from dovetail.errors import IndexOutOfRange

Geometry = tuple[Sizes, Sizes, int]


def indexed(size: Sizes, strides: Sizes | None, *, index: Any) -> Geometry:
    entries = _entries(index if type(index) is tuple else (index,), size)
    steps = strides or (0,) * len(size)
    new_size, new_strides, offset, d = [], [], 0, 0
    for entry in entries:
        if entry is None:
            new_size.append(1)
            new_strides.append(0)
            continue
        if isinstance(entry, slice):
            start, stop, step = entry.indices(size[d])
            new_size.append(len(range(start, stop, step)))
            new_strides.append(steps[d] * step)
            offset += start * steps[d]
        else:
            offset += checked_index(entry, size[d], d) * steps[d]
        d += 1
    return tuple(new_size), tuple(new_strides), offset


def _entries(index: tuple[Any, ...], size: Sizes) -> list[Any]:
    """An entry for every dim, with `...` replaced; new dims between them."""
    used = sum(entry is not None and entry is not Ellipsis for entry in index)
    if used > len(size):
        raise IndexOutOfRange(
            "indexing", "number of indices", was=used,
            needed=f"at most {len(size)}, the dims of {size}",
        )  # fmt: skip
    whole = [slice(None)] * (len(size) - used)
    at = next((i for i, e in enumerate(index) if e is Ellipsis), len(index))
    return [*index[:at], *whole, *index[at + 1 :]]


def checked_index(entry: int, size: int, dim: int) -> int:
    """An index counted from the front.

    Raises:
        IndexOutOfRange: it points outside the dim.
    """
    if not -size <= entry < size:
        raise IndexOutOfRange(
            "indexing", f"index for dim {dim}", was=entry,
            needed=f"between {-size} and {size - 1}" if size
            else "a dim that is not empty",
        )  # fmt: skip
    return entry % size
