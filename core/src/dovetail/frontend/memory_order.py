"""Copies whose dims lie in memory as a memory format says, or as they did."""

from __future__ import annotations

from dovetail.dtypes import DType
from dovetail.engine.annotations import described
from dovetail.engine.annotations import wanted as wanted_words
from dovetail.engine.tensor import Tensor
from dovetail.engine.views import unshared
from dovetail.errors import ArgumentTypeError
from dovetail.memory_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    order_in,
    preserve_format,
    rank_of,
)
from dovetail.ops import view as v
from dovetail.ops.primitive import cast, clone

MemoryFormat = memory_format


def own_order(x: Tensor) -> tuple[int, ...]:
    """The dims of `x` from the outermost in memory to the innermost.

    Dims of size 1, and such as repeat one place, stay beside their neighbours.
    """
    strides, _ = x._kind.backend.geometry(x._a, x._a)
    order: list[int] = []
    for dim, size in enumerate(x._a.shape):
        at = len(order)
        if size != 1 and strides[dim]:
            at = _place(order, strides, tuple(x._a.shape), dim)
        order.insert(at, dim)
    return tuple(order)


def _place(
    order: list[int], strides: tuple[int, ...], sizes: tuple[int, ...], dim: int
) -> int:
    """Behind the last dim whose steps are no smaller; free dims do not count."""
    at = len(order)
    for i in reversed(range(len(order))):
        other = order[i]
        if sizes[other] == 1 or not strides[other]:
            continue
        if abs(strides[other]) >= abs(strides[dim]):
            break
        at = i
    return at


def order_for(name: str, x: Tensor, wanted: MemoryFormat | None) -> tuple[int, ...]:
    """In which order the dims of a tensor like `x` shall lie."""
    if wanted is None or wanted is preserve_format:
        return own_order(x)
    return order_in(name, wanted, x.ndim)


def back(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes another one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def copied(name: str, x: Tensor, wanted: MemoryFormat | None) -> Tensor:
    """A copy of `x` in memory of its own, in a memory format.

    Raises: ArgumentError for a format that is not for so many dims.
    """
    if wanted is contiguous_format or (
        (wanted is None or wanted is preserve_format) and v.is_contiguous(x)
    ):
        return clone(x)
    order = order_for(name, x, wanted)
    if order == tuple(range(len(order))):
        return clone(x)
    return unshared(v.permute(clone(v.permute(x, order)), back(order)))


def cast_in_order(x: Tensor, dtype: DType) -> Tensor:
    """`x` in another dtype, its dims in memory as they were."""
    if x.ndim < 2 or v.is_contiguous(x):
        return cast(x, dtype)
    order = own_order(x)
    return unshared(v.permute(cast(v.permute(x, order), dtype), back(order)))


def checked(name: str, wanted: MemoryFormat | None) -> MemoryFormat | None:
    """What was given as a memory format, if it is one or None.

    Raises: ArgumentTypeError for anything else.
    """
    if wanted is None or isinstance(wanted, MemoryFormat):
        return wanted
    raise ArgumentTypeError(
        name,
        "memory_format",
        was=described(wanted),
        needed=wanted_words("MemoryFormat"),
    )


def lies_in(x: Tensor, wanted: MemoryFormat | None) -> bool:
    """Whether the elements of `x` are neighbours in a memory format."""
    if wanted is None or wanted is contiguous_format:
        return v.is_contiguous(x)
    if wanted is preserve_format:
        return True
    if x.ndim != rank_of(wanted):
        return False
    order = order_in("is_contiguous", wanted, x.ndim)
    return v.is_contiguous(v.permute(x.detach(), order))


def suggested(x: Tensor) -> MemoryFormat:
    """The format that `x` is taken to lie in where it is asked to lie in one."""
    if not v.is_contiguous(x):
        for last in (channels_last, channels_last_3d):
            if x.ndim == rank_of(last) and own_order(x) == order_in("to", last, x.ndim):
                return last
    return contiguous_format
