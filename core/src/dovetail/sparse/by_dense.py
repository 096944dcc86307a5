"""A sparse matrix by a dense one: what becomes of the products of a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Literal

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.sparse.parts import gathered, parts


def by_dense(x: Tensor, dense: Tensor) -> Tensor:
    """A sparse matrix by a dense one, or by a vector: its rows, scaled and added up."""
    (rows, columns), values, sizes = parts(x)
    taken = dense.index_select(0, columns)
    factors = values.reshape(-1, *(1,) * (dense.ndim - 1))
    return gathered(taken * factors, rows, sizes[0])


def _mean(x: Tensor, dense: Tensor) -> Tensor:
    (rows, _), _, (count, _) = parts(x)
    many = ft.bincount(rows, minlength=count).clamp(min=1)
    mean: Tensor = by_dense(x, dense) / many.to(dense.dtype)[:, None]
    return mean


def _extreme(reduce: Literal["amax", "amin"], x: Tensor, dense: Tensor) -> Tensor:
    """Of the products of each row, that which is greatest or least, the first of them.

    The place of it is found first, so that the gradient goes there and nowhere else.
    """
    (rows, columns), values, (count, _) = parts(x)
    made = dense.index_select(0, columns) * values[:, None]
    known, nnz = made.detach(), values.shape[0]
    empty = known.new_zeros((count, known.shape[1]))
    best = empty.index_reduce(0, rows, known, reduce, include_self=False)
    met = best.index_select(0, rows)
    found = (known == met) | (known.isnan() & met.isnan())
    order = ft.arange(nnz, device=made.device)[:, None]
    nth = ft.where(found, order, nnz)
    none = nth.new_full(empty.shape, nnz)
    first = none.index_reduce(0, rows, nth, "amin")
    chosen: Tensor = ft.cat([made, made.new_zeros((1, made.shape[1]))])
    return chosen.gather(0, first)


REDUCES: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "sum": by_dense, "mean": _mean,
    "amax": partial(_extreme, "amax"), "max": partial(_extreme, "amax"),
    "amin": partial(_extreme, "amin"), "min": partial(_extreme, "amin"),
}  # fmt: skip
