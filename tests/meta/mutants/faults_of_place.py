"""Operators of wrongness: memory that is misread, elements in the wrong place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from tests.meta.mutants.mutant import Fault, Run
from tests.meta.mutants.operators import (
    Array,
    Attrs,
    Natives,
    gives_new,
    on_inputs,
    on_results,
    operator,
    results,
    takes_tensors,
)

from dovetail.engine.op import Op

# ---- memory


def _memory_of(a: Array) -> Array:
    owner: Any = a
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return owner if isinstance(owner, np.ndarray) else a


@operator(takes_tensors)
def ignores_strides(op: Op, number: int) -> Fault:
    """Inputs are read as if their elements lay side by side."""

    def plain(a: Array) -> Array:
        owner = _memory_of(a)
        if a.flags.c_contiguous or not owner.flags.c_contiguous or not a.size:
            return a
        first = (a.ctypes.data - owner.ctypes.data) // a.itemsize
        flat = owner.reshape(-1)
        if flat.dtype != a.dtype:
            return a
        return np.take(flat, np.arange(first, first + a.size), mode="wrap").reshape(
            a.shape
        )

    return on_inputs(plain)


@operator(takes_tensors)
def ignores_offset(op: Op, number: int) -> Fault:
    """Contiguous inputs are read from the start of their memory."""

    def from_start(a: Array) -> Array:
        owner = _memory_of(a)
        known = owner.flags.c_contiguous and owner.dtype == a.dtype
        if not a.flags.c_contiguous or not known or not a.size:
            return a
        return np.resize(owner.reshape(-1)[: a.size], a.shape)

    return on_inputs(from_start)


@operator(takes_tensors)
def reads_padded_rows_as_packed(op: Op, number: int) -> Fault:
    """Rows that lie apart are read as if each followed the one before it."""

    def packed(a: Array) -> Array:
        if a.ndim < 2 or not a.size or a.strides[-1] != a.itemsize:
            return a
        usual = np.empty_like(a, order="C").strides
        if any(s < u for s, u in zip(a.strides, usual, strict=True)):
            return a
        return as_strided(a, a.shape, usual)

    return on_inputs(packed)


@operator(takes_tensors)
def reads_broadcast_as_dense(op: Op, number: int) -> Fault:
    """A stride of 0 is taken for no elements but the first."""

    def dense(a: Array) -> Array:
        if not a.size or 0 not in [
            s for s, n in zip(a.strides, a.shape, strict=True) if n > 1
        ]:
            return a
        made = np.zeros_like(a)
        made[:1] = a[:1]
        return made

    return on_inputs(dense)


@operator(lambda op: gives_new(op) and takes_tensors(op))
def returns_an_input(op: Op, number: int) -> Fault:
    """Where the result equals an input, it is that input's memory."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        for a in natives:
            if (
                isinstance(a, np.ndarray)
                and isinstance(y, np.ndarray)
                and (a.shape, a.dtype) == (y.shape, y.dtype)
                and a.flags.writeable
                and np.array_equal(a, y)
            ):
                return a
        return y

    return fault


@operator(gives_new)
def one_buffer(op: Op, number: int) -> Fault:
    """All results of one shape and dtype are the same memory."""
    buffers: dict[Any, Array] = {}

    def kept(y: Array) -> Array:
        buffer = buffers.setdefault((y.shape, y.dtype), np.array(y))
        buffer[...] = y
        return buffer

    return on_results(kept)


@operator(lambda op: takes_tensors(op) and gives_new(op))
def writes_an_input(op: Op, number: int) -> Fault:
    """The first element of an input is overwritten by the last."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        arrays = [a for a in natives if isinstance(a, np.ndarray)]
        if arrays:
            a = arrays[number % len(arrays)]
            if a.size > 1 and a.flags.writeable:
                a[(0,) * a.ndim] = a[(-1,) * a.ndim]
        return y

    return fault


# ---- places


@operator(gives_new)
def drops_the_tail(op: Op, number: int) -> Fault:
    """Beyond a size, elements behind the last full block are left unwritten."""
    block = (4, 16, 32, 128, 256)[number % 5]

    def cut(y: Array) -> Array:
        rest = y.size % block
        if y.size < block or not rest:
            return y
        made = np.array(y).reshape(-1)
        made[-rest:] = 0
        return made.reshape(y.shape)

    return on_results(cut)


@operator(gives_new)
def off_by_one_at_a_boundary(op: Op, number: int) -> Fault:
    """The element at a power of two is its neighbour's."""
    at = 1 << (3, 5, 8, 9, 10)[number % 5]

    def shifted(y: Array) -> Array:
        if y.size <= at:
            return y
        made = np.array(y).reshape(-1)
        made[at] = made[at - 1]
        return made.reshape(y.shape)

    return on_results(shifted)


@operator(gives_new)
def wraps_large_indices(op: Op, number: int) -> Fault:
    """Indices of elements are kept in too few bits."""
    bits = (8, 10, 12)[number % 3]

    def wrapped(y: Array) -> Array:
        if y.size <= 1 << bits:
            return y
        flat = np.array(y).reshape(-1)
        return flat[np.arange(flat.size) % (1 << bits)].reshape(y.shape)

    return on_results(wrapped)


@operator(lambda op: gives_new(op) and any(p.role == "tensor" for p in op.tensors))
def wrong_on_empty(op: Op, number: int) -> Fault:
    """Inputs without elements are refused."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        if any(isinstance(a, np.ndarray) and not a.size for a in natives):
            raise RuntimeError("invalid launch of 0 blocks")
        return run(*natives, **attrs)

    return fault


@operator(gives_new)
def wrong_on_scalars(op: Op, number: int) -> Fault:
    """Results without dims get one."""
    return on_results(lambda y: y.reshape(1) if not y.ndim else y)


@operator(lambda op: len(op.tensors) > 1)
def flips_arguments(op: Op, number: int) -> Fault:
    """The first two arguments change places where they look alike."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        a, b, *rest = natives
        arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        if arrays and (a.shape, a.dtype) == (b.shape, b.dtype):
            a, b = b, a
        return run(a, b, *rest, **attrs)

    return fault


@operator(lambda op: op.is_elementwise and len(op.tensors) > 1)
def wrong_broadcast(op: Op, number: int) -> Fault:
    """Of operands that broadcast along the last dim, a middle element is read."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        shape = np.broadcast_shapes(*[a.shape for a in natives])
        moved = [
            np.roll(a, 1, 0) if a.shape != shape and a.ndim and a.size > 1 else a
            for a in natives
        ]
        return run(*moved, **attrs)

    return fault


@operator(lambda op: len(op.tensors) > 1)
def wrong_for_twins(op: Op, number: int) -> Fault:
    """Wrong where two arguments are one and the same memory."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        arrays = [a for a in natives if isinstance(a, np.ndarray) and a.size]
        places = {a.ctypes.data for a in arrays}
        y = run(*natives, **attrs)
        if len(places) == len(arrays):
            return y
        return results(y, lambda a: np.zeros_like(a))

    return fault


@operator(gives_new)
def transposed_result(op: Op, number: int) -> Fault:
    """Square results are written column by column."""

    def turned(y: Array) -> Array:
        square = y.ndim >= 2 and y.shape[-1] == y.shape[-2] > 1
        return np.array(np.swapaxes(y, -1, -2)) if square else y

    return on_results(turned)
