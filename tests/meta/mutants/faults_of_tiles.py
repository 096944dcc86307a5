"""Operators of wrongness: blocks, lanes and rows that are forgotten or met twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.meta.mutants.mutant import Fault, Run
from tests.meta.mutants.operators import (
    Array,
    Attrs,
    Natives,
    gives_new,
    inexact,
    on_inputs,
    on_results,
    operator,
    results,
    takes_tensors,
    written,
)

from dovetail.engine.op import Op

# ---- results


@operator(gives_new)
def drops_the_last_block(op: Op, number: int) -> Fault:
    """Of an odd number of full blocks the last one is left unwritten."""
    block = (8, 32, 64, 256)[number % 4]

    def cut(y: Array) -> Array:
        blocks = y.size // block
        if blocks < 2 or not blocks % 2:
            return y
        made = np.array(y).reshape(-1)
        made[(blocks - 1) * block : blocks * block] = 0
        return made.reshape(y.shape)

    return on_results(cut)


@operator(gives_new)
def leaves_the_corner(op: Op, number: int) -> Fault:
    """Where rows and columns both end within a tile, the corner is unwritten."""
    tile = (4, 8, 16)[number % 3]

    def cut(y: Array) -> Array:
        if y.ndim < 2:
            return y
        rows, columns = y.shape[-2] % tile, y.shape[-1] % tile
        if min(y.shape[-2:]) < tile or not rows or not columns:
            return y
        return written(y, (..., slice(-rows, None), slice(-columns, None)), 0)

    return on_results(cut)


@operator(gives_new)
def stops_at_many_rows(op: Op, number: int) -> Fault:
    """Rows beyond the largest grid are not computed."""
    most = (64, 128, 512)[number % 3]
    return on_results(
        lambda y: (
            written(y, slice(most, None), 0) if y.ndim > 1 and len(y) > most else y
        )
    )


@operator(gives_new)
def last_lane_of_odd_rows(op: Op, number: int) -> Fault:
    """Rows that are no multiple of four end with the element before."""

    def shifted(y: Array) -> Array:
        if not y.ndim or y.shape[-1] < 5 or not y.shape[-1] % 4:
            return y
        return written(y, (..., -1), y[..., -2])

    return on_results(shifted)


@operator(gives_new)
def transposes_a_tile(op: Op, number: int) -> Fault:
    """The first full tile of a matrix is written column by column."""
    tile = (16, 32, 64)[number % 3]

    def turned(y: Array) -> Array:
        if y.ndim < 2 or min(y.shape[-2:]) < tile:
            return y
        made = np.array(y)
        made[..., :tile, :tile] = np.swapaxes(y[..., :tile, :tile], -1, -2)
        return made

    return on_results(turned)


@operator(gives_new)
def batches_beyond_the_first(op: Op, number: int) -> Fault:
    """Of many equal planes the last is a copy of the first."""

    def repeated(y: Array) -> Array:
        return written(y, -1, y[0]) if y.ndim > 2 and len(y) > 1 else y

    return on_results(repeated)


@operator(gives_new)
def high_dims_are_flattened(op: Op, number: int) -> Fault:
    """Of results of more than four dims the first two change places."""

    def turned(y: Array) -> Array:
        if y.ndim < 5 or min(y.shape[:2]) < 2:
            return y
        return np.array(np.swapaxes(y, 0, 1)).reshape(y.shape)

    return on_results(turned)


# ---- inputs


@operator(lambda op: op.sums and takes_tensors(op))
def tail_of_long_rows(op: Op, number: int) -> Fault:
    """Of long rows, what is behind the last full block does not count."""
    block = (4, 8, 32, 128)[number % 4]

    def cut(a: Array) -> Array:
        rest = a.shape[-1] % block if a.ndim else 0
        counts = inexact(a) or a.dtype.kind in "iu"
        if not rest or a.shape[-1] < block or not counts:
            return a
        return written(a, (..., slice(-rest, None)), 0)

    return on_inputs(cut)


@operator(takes_tensors)
def one_launch_a_row(op: Op, number: int) -> Fault:
    """Elements of a row beyond the most threads of a block are the first ones."""
    most = (256, 512, 1024)[number % 3]

    def folded(a: Array) -> Array:
        if not a.ndim or a.shape[-1] <= most or a.dtype.kind in "iu":
            return a
        return np.take(a, np.arange(a.shape[-1]) % most, axis=-1)

    return on_inputs(folded)


@operator(takes_tensors)
def short_rows_are_widened(op: Op, number: int) -> Fault:
    """Rows of one element are read as what lies behind them."""

    def next_one(a: Array) -> Array:
        if a.ndim < 2 or a.shape[-1] != 1 or len(a) < 2 or a.dtype.kind in "iub":
            return a
        return np.array(np.roll(a, -1, 0))

    return on_inputs(next_one)


def _strides(a: Array) -> list[int]:
    return [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1]


@operator(takes_tensors)
def broadcast_of_the_last_dim(op: Op, number: int) -> Fault:
    """Rows whose elements are one and the same are all read as the first row."""

    def first_row(a: Array) -> Array:
        spread = a.ndim > 1 and a.shape[-1] > 1 and not a.strides[-1] and len(a) > 1
        return np.array(np.broadcast_to(a[:1], a.shape)) if spread else a

    return on_inputs(first_row)


@operator(takes_tensors)
def strides_of_four_dims(op: Op, number: int) -> Fault:
    """Of more than four dims that do not lie side by side the last two are turned."""

    def turned(a: Array) -> Array:
        strided = a.ndim > 4 and not a.flags.c_contiguous and min(a.shape[-2:]) > 1
        return np.swapaxes(a, -1, -2).reshape(a.shape) if strided else a

    return on_inputs(turned)


@operator(takes_tensors)
def offsets_in_whole_vectors(op: Op, number: int) -> Fault:
    """Where an input begins within a vector, its first element is its second."""

    def aligned(a: Array) -> Array:
        at = a.ctypes.data % (4 * a.itemsize)
        if not at or a.ndim != 1 or a.size < 2 or a.dtype.kind in "iub":
            return a
        return written(a, 0, a[1])

    return on_inputs(aligned)


@operator(takes_tensors)
def every_other_is_next_to_it(op: Op, number: int) -> Fault:
    """Inputs with a step of two are read without it."""

    def unstepped(a: Array) -> Array:
        if a.ndim < 1 or a.shape[-1] < 2 or a.strides[-1] != 2 * a.itemsize:
            return a
        near = np.lib.stride_tricks.as_strided(
            a, a.shape, (*a.strides[:-1], a.itemsize)
        )
        return near.copy()

    return on_inputs(unstepped)


@operator(lambda op: takes_tensors(op) and gives_new(op))
def nothing_is_left_unwritten(op: Op, number: int) -> Fault:
    """What is computed of no elements at all is 1."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        empty = any(isinstance(a, np.ndarray) and not a.size for a in natives)
        return results(y, lambda p: np.ones_like(p)) if empty else y

    return fault


@operator(lambda op: takes_tensors(op) and gives_new(op))
def writes_behind_an_input(op: Op, number: int) -> Fault:
    """The element behind a contiguous input is overwritten."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        for a in natives:
            owner: Any = a.base if isinstance(a, np.ndarray) else None
            plain = isinstance(owner, np.ndarray) and owner.flags.c_contiguous
            if not plain or owner.dtype != a.dtype or not a.flags.c_contiguous:
                continue
            behind = (a.ctypes.data - owner.ctypes.data) // a.itemsize + a.size
            if behind < owner.size and owner.flags.writeable:
                owner.reshape(-1)[behind] = 0
        return y

    return fault
