"""The greatest elements of rows, and distinct elements, by generated kernels."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.codegen import runtime, select_kernels
from dovetail.codegen.eager import Array, target
from dovetail.codegen.eager_sort import run, sorted_rows
from dovetail.codegen.llvm_text import render

RUNS: Final = select_kernels.RUNS
_GRAIN: Final = 1 << 14  # elements that a thread takes at a time
_LEAST_BLOCK: Final = 4  # elements; of shorter blocks there are too many
_MOST_BLOCK: Final = 512
_FEW: Final = 4  # of so many elements one, or fewer, are few
_SHORT_ROW: Final = 256  # lanes; shorter rows are sorted
_CROWD: Final = 2  # times as many as are wanted: then equal ones are counted
_RAGGED: Final = 8  # times as much room as candidates take: then all are sorted


@cache
def _kernel(name: str, *given: Any) -> runtime.Kernel:
    form = getattr(select_kernels, name)(*given)
    return runtime.kernel(form.name, render(form, target()))


def pays(lanes: int, k: int) -> bool:
    """Whether `greatest` is faster than NumPy, which parts rows instead of sorting."""
    return k * _FEW >= lanes or _block_size(lanes, k) > 0


def _block_size(lanes: int, k: int) -> int:
    """How long the blocks of rows are; 0 where sorting is better."""
    size = 1 << min(lanes // (4 * k), _MOST_BLOCK).bit_length() >> 1
    return 0 if size < _LEAST_BLOCK or lanes < _SHORT_ROW else size


def greatest(x: Array, dtype: str, k: int, largest: bool) -> tuple[Array, Array]:
    """The `k` greatest (or least) elements of each row, in order, and their places.

    Of equal ones, the first. NaN is the greatest.

    Args:
        x: row-major, [rows, lanes], of less than 2**32 lanes.
        dtype: of the elements, one of `sort_kernels.DTYPES`.
    """
    places = _by_blocks(x, dtype, k, largest)
    if places is None:
        _, order = sorted_rows(x, dtype, largest, values=False)
        places = np.ascontiguousarray(order[:, :k])
    return np.take_along_axis(x, places, 1), places


def _by_blocks(x: Array, dtype: str, k: int, largest: bool) -> Array | None:
    """Their places; None where sorting all is better.

    At least `k` elements are no less than the greatest of as many blocks, so that only
    blocks which have some of these are looked into; of equal ones, the first `k`.
    """
    rows, lanes = x.shape
    size = _block_size(lanes, k)
    if not size:
        return None
    turn = 0 if largest else 2**64 - 1
    blocks = -(-lanes // size)
    best = np.empty((rows, blocks), np.uint64)
    grain = max(_GRAIN // lanes, 1)
    kernel = _kernel("block_greatest", dtype)
    run(kernel, rows, grain, x, best, turn, lanes, size, blocks)
    bound = np.partition(best, blocks - k, axis=1)[:, blocks - k, None]
    wanted = best >= bound
    if np.count_nonzero(wanted) > _CROWD * k * rows:
        equal = best == bound
        wanted = (best > bound) | (equal & (equal.cumsum(1) <= k))
    number, block = np.nonzero(wanted)
    within = (block * size)[:, None] + np.arange(size)
    inside = (within < lanes).reshape(-1)
    row = np.repeat(number, size)[inside]
    place = within.reshape(-1)[inside]
    keys = np.empty(place.size, np.uint64)
    kernel = _kernel("chosen_keys", dtype)
    run(kernel, keys.size, _GRAIN, x, row * lanes + place, keys, turn)
    bounds = bound[row, 0]
    wanted = keys >= bounds
    if np.count_nonzero(wanted) > _CROWD * k * rows:
        equal = keys == bounds
        wanted = (keys > bounds) | (equal & (_counted(equal, row) <= k))
    chosen = np.flatnonzero(wanted)
    return _first(rows, k, row[chosen], place[chosen], keys[chosen])


def _counted(flags: Array, row: Array) -> Array:
    """How many flags of its row each has up to itself; rows are in order."""
    total = np.cumsum(flags)
    counts = np.bincount(row)
    before = (total - flags)[np.minimum(np.cumsum(counts) - counts, row.size - 1)]
    counted: Array = total - before[row]
    return counted


def _first(rows: int, k: int, row: Array, place: Array, keys: Array) -> Array | None:
    """The places of the `k` greatest keys of each row, of which there are enough.

    Args:
        row, place: where keys are from, in their order.
    """
    counts = np.bincount(row, minlength=rows)
    most = int(counts.max())
    if most * rows > _RAGGED * max(keys.size, k * rows):
        return None
    starts = np.cumsum(counts) - counts
    column = np.arange(row.size) - starts[row]
    # What fills up a row is behind all keys: it is the least, and comes last.
    table = np.zeros((rows, most), np.uint64)
    table[row, column] = keys
    _, order = sorted_rows(table, "uint64", True, values=False)
    best: Array = place[starts[:, None] + order[:, :k]]
    return best


def distinct(row: Array, order: Array | None) -> tuple[Array, Array, Array]:
    """The elements of a row without repetitions, each one's number there, and counts.

    Args:
        row: not empty, in an order that puts equal elements side by side.
        order: where the elements were; their numbers go there.
    """
    numbers, ends = np.empty(row.size, np.int64), np.empty(row.size, np.int64)
    kernel = _kernel("runs", row.dtype.name, order is not None)
    places = () if order is None else (order,)
    # One after the other, by one thread.
    run(kernel, row.size, row.size, row, *places, numbers, ends)
    last = numbers[-1 if order is None else order[-1]]
    ends = ends[: int(last) + 1]
    counts = np.diff(ends, prepend=0)
    return row[ends - counts], numbers, counts
