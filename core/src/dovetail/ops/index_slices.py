"""Whole slices along one dim, at places that a one-dimensional tensor names."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import NUMERIC, STORED, Array, Sizes
from dovetail.engine.attributes import Axis, NotYet
from dovetail.engine.cases import ints, permutation
from dovetail.engine.declare import op
from dovetail.engine.op import Checked
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.index import (
    READS,
    WRITES,
    added,
    checks_dim,
    index_check,
    written,
)
from dovetail.ops.primitive import scatter_set_, take_along, where
from dovetail.ops.read_write import derive_read, derive_write
from dovetail.ops.view import expand, reshape


def taken(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """The slices of `x` at indices that are known to be right."""
    return take_along(x, along(index, tuple(x._a.shape), dim), dim)


def along(index: Tensor, shape: Sizes, dim: int) -> Tensor:
    """A one-dimensional index spread over the other dims of `shape`."""
    n = index._a.shape[0]
    line = reshape(index, tuple(n if d == dim else 1 for d in range(len(shape))))
    return expand(line, tuple(n if d == dim else s for d, s in enumerate(shape)))


def _one_dim(name: str, index: Sizes) -> None:
    if len(index) != 1:
        raise ShapeError(
            name, "index", was=f"of shape {tuple(index)}", needed="one dim"
        )


def _selected(x: Sizes, index: Sizes, *, dim: int) -> Sizes:
    _one_dim("index_select", index)
    return (*x[:dim], *index, *x[dim + 1 :])


def _replaced(name: str) -> Any:
    """The rule of an op of that name, which writes whole slices."""

    def rule(x: Sizes, index: Sizes, source: Sizes, *, dim: int) -> Sizes:
        _one_dim(name, index)
        wanted = (*x[:dim], index[0], *x[dim + 1 :])
        if tuple(source) != wanted:
            raise ShapeError(
                name, "source", was=f"of shape {tuple(source)}",
                needed=f"{wanted}: that of input, with the length of index at dim "
                f"{dim}",
            )  # fmt: skip
        return tuple(x)

    return rule


@op(out="same",
    shape=_selected, lines="input", torch="index_select",
    **READS | {"accepts": STORED}, cases=lambda _: [
    ([4, 3], 0, ints(6, high=4)), ([2, 3, 4], -2, ints(5, high=3, dtype="int32")),
    ([], 0, ints(1, high=1)), ([3], 0, ints(high=3)),
])  # fmt: skip
def index_select(input: Tensor, dim: Axis, index: Tensor) -> Tensor:
    """The slices along `dim` that a one-dimensional index names.

    Args:
        index: [n] or [] of int32 or int64.

    Returns: [..., n, ...].

    Raises: IndexOutOfRange for an index below 0 or from the size of `dim` on.

    >>> torch.index_select(torch.tensor([5, 6, 7]), 0, torch.tensor([2, 0]))
    tensor([7, 5])
    """
    return taken(input, index, dim)


@op(shape=_replaced("index_add"), sums=True, largest=1 << 12, **WRITES,
    cases=lambda _: [
    ([4, 3], 0, ints(6, high=4), [6, 3]),
    ([2, 3], -1, ints(5, high=3, dtype="int32"), [2, 5]),
    ([7], 0, ints(3, high=7), [3]), ([7], 0, ints(high=7), []),
])  # fmt: skip
def index_add(input: Tensor, dim: Axis, index: Tensor, source: Tensor) -> Tensor:
    """`input` with the slices of `source` added to those that `index` names."""
    return added(input, along(index, tuple(source._a.shape), dim), source, dim)


def _gathered_up(source: Sizes, index: Sizes, *, size: int, dim: int) -> Sizes:
    whole = (*source[:dim], size, *source[dim + 1 :])
    return tuple(_replaced("index_sum")(whole, index, source, dim=dim))


def _sums(source: Array, index: Array, size: int, dim: int) -> Array:
    shape = (*source.shape[:dim], size, *source.shape[dim + 1 :])
    total = np.zeros(shape, source.dtype)
    np.add.at(np.moveaxis(total, dim, 0), index, np.moveaxis(source, dim, 0))
    return total


@op(shape=_gathered_up, accepts=NUMERIC, indices=("index",), sums=True,
    largest=1 << 12, oracle=_sums, cases=lambda _: [
        ([6, 3], ints(6, high=4), 4, 0),
        ([2, 5], ints(5, high=3, dtype="int32"), 3, 1),
        ([0, 3], ints(0), 2, 0),
    ],
    grad={"source": lambda ct, index, dim: index_select(ct, dim, index)})  # fmt: skip
def index_sum(source: Tensor, index: Tensor, size: int, dim: Axis) -> Tensor:
    """The slices of `source` added up in `size` slices, where the index says."""
    shape = _gathered_up(
        tuple(source._a.shape), tuple(index._a.shape), size=size, dim=dim
    )
    return index_add(zeros_of(source, shape), dim, index, source)


@index_sum.check
def _(source: Tensor, index: Tensor, size: int, dim: int) -> Checked:
    return index_check("index_sum", index, size, dim)


@op(out="same", shape=_replaced("index_copy"), autocast="widest", unrounded=True,
    torch="index_copy Tensor.index_copy_", **WRITES, cases=lambda _: [
        ([4, 3], 0, permutation(4, 2), [2, 3]), ([2, 3], -1, permutation(3), [2, 3]),
        ([], 0, permutation(1), [1]),
    ])  # fmt: skip
def index_copy(input: Tensor, dim: Axis, index: Tensor, source: Tensor) -> Tensor:
    """`input` with the slices of `source` written at the indices."""
    places = along(index, tuple(source._a.shape), dim)
    return written(scatter_set_, input, places, source, dim)


for _op in (index_select, index_add, index_copy):
    checks_dim(_op)


def _embedded(weight: Sizes, indices: Sizes, **_: Any) -> Sizes:
    if len(weight) != 2:
        raise ShapeError(
            "embedding", "weight", was=f"of shape {tuple(weight)}", needed="two dims"
        )
    return (*indices, weight[1])


@op(shape=_embedded, torch="torch.embedding", out=False,
    **READS | {"accepts": STORED, "indices": ("indices",)}, cases=lambda _: [
        ([5, 3], ints(2, 4, high=5)), ([5, 3], ints(high=5, dtype="int32")),
        ([5, 3], ints(0)),
    ], holds_back=("padding_idx",), levels={"padding_idx": (-1, 0, 2)})  # fmt: skip
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1,
    scale_grad_by_freq: NotYet = False, sparse: NotYet = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` that `indices` names; the padding row gets no gradient.

    Args:
        weight: [rows, width].
        indices: integers of any shape.
        padding_idx: a row that is not negative; else none is padding.
        scale_grad_by_freq, sparse: not there yet; only the defaults.

    Returns: [*indices, width].
    """
    rows = taken(weight, reshape(indices, (-1,)), 0)
    return reshape(rows, (*indices._a.shape, weight._a.shape[1]))


def _of_rows(
    ct: Tensor, indices: Tensor, weight_shape: Sizes, padding_idx: int
) -> Tensor:
    flat = reshape(indices, (-1,))
    rows = reshape(ct, (flat._a.shape[0], weight_shape[1]))
    if padding_idx >= 0:
        rows = where(reshape(flat, (-1, 1)) == padding_idx, 0, rows)
    return index_sum(rows, flat, weight_shape[0], 0)


embedding.grad(weight=_of_rows)


@embedding.check
def _(weight: Tensor, indices: Tensor, **_: Any) -> Checked:
    return index_check("embedding", indices, weight._a.shape[0], 0)


@index_select.oracle
def _(input: Array, dim: int, index: Array) -> Array:
    line = np.atleast_1d(input)
    found = np.stack([line.take(int(i), dim) for i in np.atleast_1d(index)], dim)
    return found if input.ndim else found.reshape(())


derive_write(index_add, index_select, "source", adds=True)
derive_write(index_copy, index_select, "source")
derive_read(index_select, index_add, "source")
embedding.oracle(
    lambda weight, indices, padding_idx=-1: np.array(
        [weight[int(i)] for i in indices.reshape(-1)], weight.dtype
    ).reshape(*indices.shape, weight.shape[1])
)
