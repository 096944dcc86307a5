"""Rows of NumPy arrays sorted by generated kernels, stably, with their places."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.codegen import runtime, sort_kernels
from dovetail.codegen.eager import Array, address, target
from dovetail.codegen.ir import Kernel
from dovetail.codegen.llvm_text import render

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time
_RANKED: Final = 192  # lanes; longer rows are sorted by digits
_WORD: Final = 32  # bits of a key in a record
_MOST_DIGIT_BITS: Final = 11
_PARTS_LOG: Final = 2  # a long row is moved in so many parts, as a power of two
_LONG_ROW: Final = 1 << 16  # lanes, from which on a row has several parts


@cache
def _kernel(form: Kernel) -> runtime.Kernel:
    return runtime.kernel(form.name, render(form, target()))


@cache
def _form(name: str, *given: Any) -> Kernel:
    form: Kernel = getattr(sort_kernels, name)(*given)
    return form


def _run(form: Kernel, count: int, grain: int, *words: Any) -> None:
    run(_kernel(form), count, grain, *words)


def run(kernel: runtime.Kernel, count: int, grain: int, *words: Any) -> None:
    """Run a kernel on arrays and numbers, in the order of its table."""
    table = [address(w) if isinstance(w, np.ndarray) else w for w in words]
    held = (ctypes.c_uint64 * len(table))(*table)
    kernel.run(ctypes.addressof(held), count, grain)


def sorted_rows(
    x: Array, dtype: str, descending: bool, values: bool
) -> tuple[Array | None, Array]:
    """The elements of each row in order, if `values`, and where they were.

    Args:
        x: row-major, [rows, lanes], of less than 2**32 lanes.
        dtype: of the elements, one of `sort_kernels.DTYPES`.
    """
    rows, lanes = x.shape
    turn = 2**64 - 1 if descending else 0
    low, width = _range(x, dtype, turn)
    held = np.empty(x.shape, np.uint64)
    for first in range(0, max(width, 1), _WORD):
        bits = min(width - first, _WORD)
        form = _form("records", dtype, first > 0)
        grain = max(_GRAIN // lanes, 1)
        _run(form, rows, grain, x, held, turn, low, first, lanes)
        held = _by_digits(held, bits) if lanes > _RANKED else _by_ranks(held)
    order = np.empty(x.shape, np.int64)
    grain = max(_GRAIN // lanes, 1)
    if not values:
        _run(_form("results", dtype, False), rows, grain, held, order, lanes)
        return None, order
    y = np.empty_like(x)
    _run(_form("results", dtype, True), rows, grain, held, x, order, y, lanes)
    return y, order


def _range(x: Array, dtype: str, turn: int) -> tuple[int, int]:
    """The least key, and how many bits the others have above it."""
    shift = _GRAIN.bit_length() - 1
    parts = -(-x.size // _GRAIN)
    # A caller without other threads does all parts as one.
    least, most = np.full(parts, 2**64 - 1, np.uint64), np.zeros(parts, np.uint64)
    _run(_form("key_range", dtype), x.size, _GRAIN, x, least, most, turn, shift)
    low = int(least.min())
    return low, (int(most.max()) - low).bit_length()


def _by_digits(held: Array, bits: int) -> Array:
    """Records in the order of the bits above their places."""
    rows, lanes = held.shape
    most = min(max(lanes.bit_length() - 2, 4), _MOST_DIGIT_BITS)
    passes = -(-bits // most)
    width = -(-bits // passes) if passes else 0
    parts = _PARTS_LOG if lanes >= _LONG_ROW else 0
    part_size = -(-lanes >> parts)
    table = np.empty((rows << parts, 1 << width), np.int64)
    other = np.empty_like(held) if passes else held
    grain = max(_GRAIN // part_size, 1)
    for number in range(passes):
        words = (
            sort_kernels.PLACE_BITS + number * width, (1 << width) - 1, 1 << width,
            parts, part_size, lanes,
        )  # fmt: skip
        table.fill(0)
        _run(_form("counts"), rows << parts, grain, held, table, *words)
        _run(_form("starts"), rows, grain, table, *words)
        _run(_form("moves"), rows << parts, grain, held, table, other, *words)
        held, other = other, held
    return held


def _by_ranks(held: Array) -> Array:
    """Records in order, where rows are short."""
    rows, lanes = held.shape
    ranked, out = np.empty(held.shape, np.int64), np.empty_like(held)
    grain = max(_GRAIN // lanes, 1)
    _run(_form("ranks"), rows, grain, held, ranked, out, lanes)
    return out
