"""Dims and parts of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.dtypes import int64
from dovetail.engine.checks import values_of
from dovetail.engine.integers import axis
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexOutOfRange, NotSupported, ShapeError
from dovetail.sparse.handlers import handles, refusal
from dovetail.sparse.parts import coordinates_count, parts, sparse_axis
from dovetail.sparse.tensor import COO, SparseTensor, coo, coordinates


@handles("permute")
def permute(input: SparseTensor, dims: Sequence[int]) -> Tensor:
    """The dims in another order, sparse ones among themselves, and dense ones."""
    count = coordinates_count(input)
    order = [axis("permute", "dims", d, input.ndim) for d in dims]
    if sorted(order) != list(range(input.ndim)):
        raise ShapeError("permute", "dims", was=tuple(dims), needed="each dim once")
    if any((d < count) != (i < count) for i, d in enumerate(order)):
        raise NotSupported(
            "permute", "dims", was=tuple(dims), needed="sparse dims before dense ones",
            remedy="call to_dense() first",
        )  # fmt: skip
    indices, values, _ = parts(input)
    if order[:count] != list(range(count)):
        indices = ft.stack([indices[d] for d in order[:count]])
    same = indices is coordinates(input).indices
    inner = [0, *(d - count + 1 for d in order[count:])]
    shape = [input.shape[d] for d in order]
    values = values if inner == sorted(inner) else values.permute(inner)
    return coo(indices, values, shape, same and coordinates(input).coalesced)


@handles("transpose swapaxes swapdims")
def transpose(input: SparseTensor, dim0: int, dim1: int) -> Tensor:
    """Two dims exchanged."""
    order = list(range(input.ndim))
    a, b = (
        axis("transpose", n, d, input.ndim) for n, d in (("dim0", dim0), ("dim1", dim1))
    )
    order[a], order[b] = order[b], order[a]
    return permute(input, order)


@handles("t")
def t(input: SparseTensor) -> Tensor:
    """A matrix with its dims exchanged."""
    if input.ndim > 2:
        raise ShapeError("t", "input", was=f"{input.ndim}-d", needed="2 dims or fewer")
    return transpose(input, 0, 1) if input.ndim == 2 else input


@handles("t_ transpose_ swapaxes_ swapdims_")
def transpose_(self: SparseTensor, dim0: int = 0, dim1: int = 1) -> Tensor:
    """Two dims exchanged in place."""
    made = t(self) if self.ndim < 2 else transpose(self, dim0, dim1)
    self._a = made._a
    return self


@handles("adjoint")
def adjoint(input: SparseTensor) -> Tensor:
    """A matrix with its dims exchanged, conjugated."""
    found: Tensor = transpose(input, -2, -1).conj()
    return found


@handles("unsqueeze")
def unsqueeze(input: SparseTensor, dim: int) -> Tensor:
    """One more dim of size 1."""
    at, count = axis("unsqueeze", "dim", dim, input.ndim + 1), coordinates_count(input)
    indices, values, _ = parts(input)
    shape = (*input.shape[:at], 1, *input.shape[at:])
    if at > count:
        values = values.unsqueeze(at - count + 1)
    else:
        zeros = ft.zeros((1, indices.shape[1]), dtype=int64, device=indices.device)
        indices = ft.cat([indices[:at], zeros, indices[at:]])
    return coo(indices, values, shape, coordinates(input).coalesced)


def _place(name: str, index: int, size: int, dim: int) -> int:
    if not -size <= index < size:
        raise IndexOutOfRange(
            name, "index", was=f"{index} for dim {dim} of size {size}",
            needed=f"{-size} to {size - 1}",
        )  # fmt: skip
    return index % size


@handles("select")
def select(input: SparseTensor, dim: int, index: int) -> Tensor:
    """What one index of a dim has; dense where no sparse dim is left."""
    at, count = axis("select", "dim", dim, input.ndim), coordinates_count(input)
    number = _place("select", int(index), input.shape[at], at)
    indices, values, _ = parts(input)
    shape = (*input.shape[:at], *input.shape[at + 1 :])
    if at >= count:
        taken = values.select(at - count + 1, number)
        return coo(indices, taken, shape, coordinates(input).coalesced)
    here = indices[at] == number
    rest = ft.cat([indices[:at], indices[at + 1 :]])[:, here]
    found = values[here]
    if count == 1:
        return found.sum(0).to(input.dtype)
    return coo(rest, found, shape, coordinates(input).coalesced)


@handles("getitem")
def getitem(self: Any, index: Any) -> Tensor:
    """`x[i]` and `x[i, j]`: numbers alone."""
    if not isinstance(self, SparseTensor):
        raise refusal("getitem", COO, "indices that are not sparse")
    numbers = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
        raise NotSupported(
            "getitem", "index", was=repr(index)[:60], needed="a number for each of the "
            "first dims of a sparse tensor", remedy="call to_dense() first",
        )  # fmt: skip
    found: Any = self
    for n in numbers:
        if not found.ndim:
            raise IndexOutOfRange(
                "getitem", "index", was=f"{len(numbers)} numbers",
                needed=f"{self.ndim} at most",
            )  # fmt: skip
        found = found.select(0, n)
    made: Tensor = found
    return made


@handles("index_select")
def index_select(input: SparseTensor, dim: int, index: Tensor) -> Tensor:
    """The slices that an index names, each as often as it comes."""
    at, count = axis("index_select", "dim", dim, input.ndim), coordinates_count(input)
    wanted = index.reshape(-1).to(int64)
    size = input.shape[at]
    indices, values, _ = parts(input)
    shape = (*input.shape[:at], wanted.shape[0], *input.shape[at + 1 :])
    if at >= count:
        return coo(indices, values.index_select(at - count + 1, wanted), shape)
    if wanted.shape[0] and not wanted.is_meta:
        host = values_of(wanted, "index_select")
        bad = host[(host < 0) | (host >= size)]
        if bad.size:
            _place("index_select", int(bad[0]) if bad[0] >= 0 else size, size, at)
    nth, element = (wanted.unsqueeze(1) == indices[at].unsqueeze(0)).nonzero().t()
    taken = indices.index_select(1, element)
    moved = ft.cat([taken[:at], nth.unsqueeze(0), taken[at + 1 :]])
    return coo(moved, values.index_select(0, element), shape)


@handles("unbind")
def unbind(input: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """What each index of a dim has."""
    at = axis("unbind", "dim", dim, input.ndim)
    return tuple(select(input, at, i) for i in range(input.shape[at]))


@handles("cat concat concatenate")
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Sparse tensors one after another along a sparse dim."""
    given: list[Any] = [] if isinstance(tensors, Tensor) else list(tensors)
    if not given or not all(isinstance(x, SparseTensor) for x in given):
        raise refusal("cat", COO, "tensors that are all sparse, or none of them")
    first = given[0]
    at = sparse_axis("cat", first, dim)
    count, start = coordinates_count(first), 0
    found, rows = [], []
    for x in given:
        fits = x.ndim == first.ndim and coordinates_count(x) == count
        if not fits or any(
            a != b
            for d, (a, b) in enumerate(zip(x.shape, first.shape, strict=True))
            if d != at
        ):
            raise ShapeError(
                "cat", "tensors", was=f"of shape {tuple(x.shape)} with "
                f"{coordinates_count(x)} sparse dims",
                needed=f"{tuple(first.shape)} with {count}, apart from dim {at}",
            )  # fmt: skip
        indices, values, sizes = parts(x)
        shifted = [indices[d] + start if d == at else indices[d] for d in range(count)]
        found.append(ft.stack(shifted))
        rows.append(values)
        start += sizes[at]
    shape = (*first.shape[:at], start, *first.shape[at + 1 :])
    return coo(ft.cat(found, 1), ft.cat(rows), shape)


@handles("stack")
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Sparse tensors along a new sparse dim."""
    given: list[Any] = [] if isinstance(tensors, Tensor) else list(tensors)
    if not given or not all(isinstance(x, SparseTensor) for x in given):
        raise refusal("stack", COO, "tensors that are all sparse, or none of them")
    at = axis("stack", "dim", dim, given[0].ndim + 1)
    return cat([unsqueeze(x, at) for x in given], at)
