"""Batched arrays, and the tensors below them with dims where rules need them."""

from __future__ import annotations

from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.ops import view as views


class Batched:
    """A native array of `vmap`'s level.

    Attributes:
        inner: a tensor of the level below.
        batched: whether its first dim counts rows; else all rows have its value.
        shape: of one row.
    """

    __slots__ = ("__weakref__", "batched", "inner", "shape")

    def __init__(self, inner: Tensor, batched: bool) -> None:
        self.inner = inner
        self.batched = batched
        shape: tuple[int, ...] = tuple(inner._a.shape)
        self.shape = shape[1:] if batched else shape

    @property
    def ndim(self) -> int:
        return len(self.shape)


def aligned(a: Batched, rank: int) -> Tensor:
    """The tensor below, whose rows have `rank` dims where it has rows."""
    missing = rank - len(a.shape)
    if not a.batched or missing <= 0:
        return a.inner
    rows = a.inner._a.shape[0]
    return views.reshape(a.inner, (rows, *(1,) * missing, *a.shape))


def all_rows(a: Batched, rows: int) -> Tensor:
    """The tensor below with a dim of rows."""
    if a.batched:
        return a.inner
    found: Tensor = views.expand(a.inner, (rows, *a.shape))
    return found


def any_batched(natives: Any) -> bool:
    """Whether one of several arrays, or of lists of them, has rows."""
    for a in natives:  # any() of a generator takes twice as long
        if a is not None and (any_batched(a) if type(a) is list else a.batched):
            return True
    return False
