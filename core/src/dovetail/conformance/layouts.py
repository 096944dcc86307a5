"""How an array may lie in a device's memory: every layout a kernel has to read.

Each layout says which values it can hold (a broadcast axis repeats one) and builds a
native array with exactly these values by the device's own `view` and `copy`. What lies
between the elements is poison: a kernel that ignores strides returns it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dovetail.conformance.example import PLAIN
from dovetail.conformance.repeated import may_repeat
from dovetail.device_api.contract import Backend
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.float8 import is_packed

Ints = tuple[int, ...]
_ODD: Final = (5, 0)  # strides of dims of one element


@dataclass(frozen=True, slots=True)
class Span:
    """Where an array lies: elements of the root, strides and offset in elements."""

    size: int
    strides: Ints
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """A named layout.

    Attributes:
        place: where an array of that shape lies; None if the shape has no such layout.
        project: makes values that the layout can hold of any values.
        memory: of values where several elements share memory, what that memory holds;
            None for a layout that may be written.
    """

    place: Callable[[Ints], Span | None]
    project: Callable[[Array], Array]
    memory: Callable[[Array], Array] | None = None

    @property
    def writable(self) -> bool:
        """Whether no two elements share memory."""
        return self.memory is None


def _same(a: Array) -> Array:
    return a


def _contiguous(shape: Ints) -> Span:
    return Span(math.prod(shape), contiguous_strides(shape))


def _ordered(ndim: int, order: Callable[[Ints], Ints]) -> Layout:
    """Dims in another order in memory, without gaps.

    Args:
        ndim: how many there are at least.
        order: of the dims of an array, that from the outermost in memory.
    """

    def place(shape: Ints) -> Span | None:
        if len(shape) < ndim:
            return None
        found = order(tuple(range(len(shape))))
        steps = contiguous_strides(tuple(shape[d] for d in found))
        at = dict(zip(found, steps, strict=True))
        return Span(math.prod(shape), tuple(at[d] for d in range(len(shape))))

    return Layout(place, _same)


def _channels_last(dims: Ints) -> Ints:
    """The second innermost, as channels of images may be."""
    return (dims[0], *dims[2:], dims[1])


def _heads(dims: Ints) -> Ints:
    """The second exchanged with the third, as heads of attention are."""
    return (dims[0], dims[2], dims[1], *dims[3:])


def _outer(dims: Ints) -> Ints:
    """The first two exchanged, as of sequences whose steps come first."""
    return (dims[1], dims[0], *dims[2:])


def _strided(shape: Ints) -> Span | None:
    """Every second element of a memory twice as wide in every dim, from its middle."""
    if not shape:
        return None
    wide = tuple(2 * n + 1 for n in shape)
    steps = contiguous_strides(wide)
    return Span(math.prod(wide), tuple(2 * s for s in steps), sum(steps))


def _offset(shape: Ints) -> Span:
    """Contiguous, but not from the start of its memory."""
    return Span(math.prod(shape) + 4, _odd(shape, contiguous_strides(shape)), 3)


def _odd(shape: Ints, strides: Ints) -> Ints:
    """Strides of which those of dims of one element mean nothing, and say so."""
    usual = zip(shape, strides, strict=True)
    return tuple(_ODD[d % 2] if n == 1 else s for d, (n, s) in enumerate(usual))


def _padded(shape: Ints) -> Span | None:
    """Rows that are contiguous, and longer in memory than what is seen of them."""
    if len(shape) < 2 or not math.prod(shape):
        return None
    *lead, rows, width = shape
    strides = _odd(shape, contiguous_strides((*lead, rows, width + 3)))
    return Span(math.prod(lead) * rows * (width + 3), strides)


def _broadcast(at: int, ndim: int = 1) -> Layout:
    """The dim at that place, of `ndim` dims or more, repeats its first element."""

    def axis(shape: Ints) -> int | None:
        if len(shape) < ndim or not math.prod(shape):
            return None
        return at % len(shape)

    def place(shape: Ints) -> Span | None:
        d = axis(shape)
        if d is None:
            return None
        rest = (*shape[:d], *shape[d + 1 :])
        steps = contiguous_strides(rest)
        return Span(math.prod(rest), (*steps[:d], 0, *steps[d:]))

    def first(a: Array) -> Array:
        d = axis(a.shape)
        return a if d is None else np.take(a, [0], d)

    def project(a: Array) -> Array:
        return np.broadcast_to(first(a), a.shape).copy()

    return Layout(place, project, first)


def _overlapping(shape: Ints) -> Span | None:
    """Windows over one row: elements of the last two dims share memory."""
    if len(shape) < 2 or not math.prod(shape):
        return None
    row = shape[-2] + shape[-1] - 1
    lead = contiguous_strides((*shape[:-2], row))[:-1]
    return Span(math.prod(shape[:-2]) * row, (*lead, 1, 1))


def _windows(a: Array) -> Array:
    if a.ndim < 2 or not a.size:
        return a
    row = _row_of_windows(a)
    if is_packed(row):  # NumPy looks for these formats among its own
        return _windows(a.view(np.uint8)).view(a.dtype)
    return np.ascontiguousarray(sliding_window_view(row, a.shape[-1], axis=-1))


def _row_of_windows(a: Array) -> Array:
    """The row that windows are seen in: the first of them, then the last of each."""
    return np.concatenate([a[..., 0, :], a[..., 1:, -1]], axis=-1)


LAYOUTS: Final = {
    "contiguous": Layout(_contiguous, _same),
    "transposed": _ordered(2, lambda dims: dims[::-1]),
    "channels last": _ordered(3, _channels_last),
    "heads": _ordered(4, _heads),
    "outer": _ordered(3, _outer),
    "strided": Layout(_strided, _same),
    "offset": Layout(_offset, _same),
    "padded": Layout(_padded, _same),
    "broadcast": _broadcast(0),
    "broadcast middle": _broadcast(-2, 3),
    "broadcast last": _broadcast(-1),
    "overlapping": Layout(_overlapping, _windows, _row_of_windows),
}

# Without gaps, and dims in another order in memory.
REORDERED: Final = ("transposed", "channels last", "heads", "outer")


def holds(shape: Ints, name: str) -> bool:
    """Whether several elements of that shape lie otherwise than row-major order has it.

    For `contiguous`, and for `offset`, which begins elsewhere: whether there are any.
    """
    place, count = LAYOUTS[name].place(shape), math.prod(shape)
    if place is None or count < 2:
        return False
    if place.offset or name == "contiguous":
        return True
    each = zip(shape, place.strides, contiguous_strides(shape), strict=True)
    return any(n > 1 and step != usual for n, step, usual in each)


def layout_for(op: Op, name: str, layout: str) -> str:
    """The layout for one parameter: strided where elements must not share memory."""
    if LAYOUTS[layout].writable:
        return layout
    apart = name in op.mutates or (name in op.indices and not may_repeat(op))
    return "strided" if apart else layout


def layouts_for(op: Op, name: str, value: Any, layout: str) -> list[str]:
    """The layout of what is given for one parameter, of a list's members one by one.

    In every second list, some members lie row by row, and in half of the calls one
    operand beside others; which do follows from the shapes, so that it differs between
    calls and not when one is repeated.
    """
    usual = layout_for(op, name, layout)
    if not isinstance(value, list):
        return ["contiguous" if _stays_plain(op, name, value, layout) else usual]
    shapes = [getattr(v, "shape", None) for v in value]
    number = crc32(f"{name} {shapes}".encode()) % 4
    if len(value) < 2 or number < 2:
        return [usual] * len(value)
    plain = number % 2
    return ["contiguous" if at % 2 == plain else usual for at in range(len(value))]


def _stays_plain(op: Op, name: str, value: Any, layout: str) -> bool:
    """Whether an operand lies row by row beside others that lie as the layout says.

    Of operands of one shape never the first two at once.
    """
    names = [p.name for p in op.tensors]
    if len(names) < 2 or name not in names or not isinstance(value, np.ndarray):
        return False
    turn = crc32(f"{layout} {value.shape}".encode()) % 4
    return turn == names.index(name) % 2


def projected(a: Array, name: str) -> Array:
    """Values like `a` that the layout can hold."""
    layout = LAYOUTS[name]
    return layout.project(a) if layout.place(a.shape) is not None else a


def poison(shape: Ints, dtype: DType) -> Array:
    """Values that no result may contain: NaN, or numbers that cases do not draw."""
    if dtype.is_inexact:
        return np.full(shape, np.nan, dtype.numpy)
    if dtype.category == 0:
        return np.resize(np.array([True, False]), shape)
    return np.full(shape, 99 if dtype.itemsize == 1 else 12345, dtype.numpy)


def laid_out(backend: Backend, index: int, a: Array, dtype: DType, name: str) -> Any:
    """A native array with the values of `a`, which the layout can hold."""
    layout = LAYOUTS[name]
    place = layout.place(a.shape)
    if place is None or name == "contiguous":
        return backend.copy_in(np.array(a, order="C"), index)
    root = backend.copy_in(poison((place.size,), dtype), index)
    if layout.memory is not None:  # filled once, then looked at
        memory = np.array(layout.memory(a), order="C").reshape(-1)
        backend.copy(root, backend.copy_in(memory, index))
        return backend.view(root, a.shape, place.strides, place.offset)
    offset = place.offset if a.size else 0  # as the contract of `view` has it
    target = backend.view(root, a.shape, place.strides, offset)
    backend.copy(target, backend.copy_in(np.array(a, order="C"), index))
    return target


def laid(op: Op, case: Case, layout: str) -> Case:
    """The call with values that the layout can hold."""
    if layout == PLAIN:
        return case
    args = [
        _projected(v, layouts_for(op, p.name, v, layout))
        for v, p in zip(case.args, op.params, strict=False)
    ]
    kwargs = {
        k: _projected(v, layouts_for(op, k, v, layout)) for k, v in case.kwargs.items()
    }
    return Case(tuple(args), kwargs)


def _projected(value: Any, layouts: list[str]) -> Any:
    if isinstance(value, np.ndarray):
        return projected(value, layouts[0])
    if isinstance(value, list):
        each = zip(value, layouts, strict=True)
        return [_projected(v, [layout]) for v, layout in each]
    return value
