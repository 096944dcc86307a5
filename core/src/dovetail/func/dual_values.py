"""Values with their tangents, as native arrays.

A tangent lies in memory as its value does, so that a view of the value is one of the
tangent. It may be what others hold, too: then it is copied before it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakSet

from dovetail.dtypes import Sizes
from dovetail.engine.casts import back
from dovetail.engine.levels import follows_below, takes
from dovetail.engine.tensor import Tensor
from dovetail.engine.views import unshared
from dovetail.ops import view as views
from dovetail.ops.create import full, zeros_of
from dovetail.ops.primitive import clone
from dovetail.ops.strided import as_strided

# What a level that users close has made: it is constant from then on.
followed: Final[ContextVar[WeakSet[Dual] | None]] = ContextVar("duals", default=None)


class Dual:
    """A native array of forward mode's level.

    Attributes:
        inner: the value, a tensor of the level below.
        source, take: of a view, what it looks into, and how: a tangent that the source
            gets later is the view's, too.
        shape: of the value.
        lent: whether others may hold the tangent, or its memory.
    """

    __slots__ = ("__weakref__", "_tangent", "inner", "lent", "shape", "source", "take")

    def __init__(
        self, inner: Tensor, tangent: Tensor | None, source: Dual | None = None,
        take: Callable[[Tensor], Tensor] | None = None, lent: bool = False,
    ) -> None:  # fmt: skip
        self.inner = inner
        self.shape: tuple[int, ...] = tuple(inner._a.shape)
        own = None if tangent is None else _laid_out(tangent, inner)
        self._tangent = own
        self.lent = lent and own is tangent
        self.source = source
        self.take = take
        made = followed.get()
        if made is not None:
            made.add(self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def tangent(self) -> Tensor | None:
        """How the value changes; None where it does not."""
        if self.source is None or self.take is None:
            return self._tangent
        of_source = self.source.tangent
        return None if of_source is None else self.take(of_source)

    def lend(self) -> None:
        """Note that somebody else holds the tangent."""
        root = self
        while root.source is not None:
            root = root.source
        root.lent = True

    def written_tangent(self, values: Tensor) -> Tensor:
        """The tangent, for `values` to be written into: zeros until then."""
        if self.source is not None and self.take is not None:
            return self.take(self.source.written_tangent(values))
        own = self._tangent
        if own is None:
            own = _room(self.inner, values)
        elif not takes(own, values):
            before, own = own, _room(self.inner, values)
            own.copy_(before)
        elif self.lent or _recorded(own) or _recorded(self.inner):
            own = _copied(own, self.inner)
        self._tangent, self.lent = own, False
        return own

    def drop_tangent(self) -> None:
        """Be a constant."""
        self._tangent = None

    def seen(self, take: Callable[[Tensor], Tensor]) -> Dual:
        """A view of both."""
        return Dual(take(self.inner), None, self, take)


def changed(target: Dual, source: Dual, write: Callable[[Tensor, Tensor], Any]) -> None:
    """Write a value into another, and tangents alike: the write is linear in it."""
    tangent = source.tangent
    write(target.inner, source.inner)
    if tangent is None and target.tangent is None:
        return
    if tangent is None:
        tangent = zeros_of(source.inner, source.shape)
    write(target.written_tangent(tangent), tangent)


def _recorded(x: Tensor) -> bool:
    """Whether nodes of a tape may keep a tensor, or what is computed beside it."""
    return x.requires_grad or follows_below(x)


def share_tangent(a: Dual, b: Dual) -> bool:
    """Whether a write to one's tangent may be seen in the other's."""
    x, y = a.tangent, b.tangent
    if x is None or y is None:
        return False
    return x is y or x._a is y._a or (x._storage is y._storage is not None)


def strides_of(x: Tensor) -> Sizes:
    """Element strides."""
    return tuple(x._kind.backend.geometry(x._a, x._a)[0])


def _laid_out(tangent: Tensor, inner: Tensor) -> Tensor:
    """The tangent itself, or a copy that lies in memory as the value does."""
    shape = tuple(inner._a.shape)
    pairs = zip(shape, strides_of(tangent), strides_of(inner), strict=True)
    if 0 in shape or all(n == 1 or own == wanted for n, own, wanted in pairs):
        return tangent
    return _copied(tangent, inner)


def _copied(tangent: Tensor, inner: Tensor) -> Tensor:
    shape, strides = tuple(inner._a.shape), strides_of(inner)
    order = _order(strides)
    if _reach(shape, strides) > _count(shape):
        room = _room(inner, tangent)
        room.copy_(tangent)
        return room
    if order == tuple(range(len(order))):
        return clone(tangent)
    return unshared(views.permute(clone(views.permute(tangent, order)), back(order)))


def _room(inner: Tensor, like: Tensor) -> Tensor:
    """Zeros at the level of `like`, which lie in memory as `inner` does."""
    shape, strides, kind = tuple(inner._a.shape), strides_of(inner), like._kind
    reach = _reach(shape, strides)
    if reach > _count(shape):
        memory = full((reach,), 0, kind)
        return unshared(as_strided(memory, shape, strides, 0, (1,)))
    order = _order(strides)
    if order == tuple(range(len(order))):
        return full(shape, 0, kind)
    turned = full(tuple([shape[d] for d in order]), 0, kind)
    return unshared(views.permute(turned, back(order)))


def _order(strides: Sizes) -> Sizes:
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


def _reach(shape: Sizes, strides: Sizes) -> int:
    """How many elements of memory lie from the first to the last."""
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def _count(shape: Sizes) -> int:
    count = 1
    for n in shape:
        count *= n
    return max(count, 1)
