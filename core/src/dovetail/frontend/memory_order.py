"""Copies whose dims lie in memory as a memory format says, or as they did."""

from __future__ import annotations

from dovetail.engine.annotations import described
from dovetail.engine.annotations import wanted as wanted_words
from dovetail.engine.casts import back, own_order
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
from dovetail.ops.primitive import clone

MemoryFormat = memory_format


def order_for(name: str, x: Tensor, wanted: MemoryFormat | None) -> tuple[int, ...]:
    """In which order the dims of a tensor like `x` shall lie."""
    if wanted is None or wanted is preserve_format:
        if x._kind.backend.is_contiguous(x._a):  # most of them
            return tuple(range(len(x._a.shape)))
        return own_order(x)
    return order_in(name, wanted, x.ndim)


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
