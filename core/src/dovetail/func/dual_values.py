"""Values with their tangents, as native arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.ops.create import zeros_of


class Dual:
    """A native array of forward mode's level.

    Attributes:
        inner: the value, a tensor of the level below.
        source, take: of a view, what it looks into, and how: a tangent that the source
            gets later is the view's, too.
        shape: of the value.
    """

    __slots__ = ("__weakref__", "_tangent", "inner", "shape", "source", "take")

    def __init__(
        self, inner: Tensor, tangent: Tensor | None, source: Dual | None = None,
        take: Callable[[Tensor], Tensor] | None = None,
    ) -> None:  # fmt: skip
        self.inner = inner
        self.shape: tuple[int, ...] = tuple(inner._a.shape)
        self._tangent = tangent
        self.source = source
        self.take = take

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

    def written_tangent(self) -> Tensor:
        """The tangent, to be written: zeros until then."""
        if self.source is not None and self.take is not None:
            return self.take(self.source.written_tangent())
        if self._tangent is None:
            self._tangent = zeros_of(self.inner, self.shape)
        return self._tangent

    def seen(self, take: Callable[[Tensor], Tensor]) -> Dual:
        """A view of both."""
        return Dual(take(self.inner), None, self, take)


def changed(target: Dual, source: Dual, write: Callable[[Tensor, Tensor], Any]) -> None:
    """Write a value into another, and tangents alike: the write is linear in it."""
    write(target.inner, source.inner)
    tangent = source.tangent
    if tangent is None and target.tangent is None:
        return
    if tangent is None:
        tangent = zeros_of(source.inner, source.shape)
    write(target.written_tangent(), tangent)
