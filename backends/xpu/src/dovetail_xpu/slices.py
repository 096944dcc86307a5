"""Views by slices, integers and new dims, without the way through the ops."""

from __future__ import annotations

import math
from typing import Any

from dovetail.device_api import KernelTable
from dovetail.dtypes import DType
from dovetail_xpu.launch import Launcher
from dovetail_xpu.memory import XpuArray


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    table.add("native_slice", sliced, dtypes=claimed)


def sliced(a: XpuArray, index: Any) -> XpuArray:
    """The elements that an index names, in the memory of `a`.

    Raises:
        IndexError: a place that is none, or more dims than there are.
        ValueError: a slice that runs backwards.
    """
    entries = index if type(index) is tuple else (index, ...)
    spare = len(a.shape) - sum(e is not None and e is not ... for e in entries)
    if spare < 0:
        raise IndexError("more dims than there are")
    found: list[tuple[int, int]] = []
    offset = dim = 0
    for entry in entries:
        left = list(zip(a.shape[dim:], a.strides[dim:], strict=True))
        if entry is None:  # counted over the dim behind it, which is whole as yet
            found.append((1, math.prod(left[0]) if left else 1))
        elif entry is ...:
            found += left[:spare]
            dim += spare
        else:
            size, step = left[0]
            first, kept = _along(entry, size, step)
            offset += first * step
            found += kept
            dim += 1
    shape, strides = tuple([n for n, _ in found]), tuple([s for _, s in found])
    return a.seen_as(shape, strides, offset)


def _along(entry: Any, size: int, step: int) -> tuple[int, list[tuple[int, int]]]:
    """The first place of an entry, and the dim that is left of it."""
    if type(entry) is not slice:
        place = entry + size if entry < 0 else entry
        if not 0 <= place < size:
            raise IndexError(f"{entry} in a dim of size {size}")
        return place, []
    places = range(*entry.indices(size))
    if places.step < 0:
        raise ValueError("no array runs backwards")
    return places.start, [(len(places), step * places.step)]
