"""Between layouts: coordinates, rows, and dense."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from dovetail import frontend as ft
from dovetail.dtypes import DType, bool_, int64
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, NotSupported, ShapeError
from dovetail.memory_formats import layout as Layout
from dovetail.ops.create import counted
from dovetail.sparse.arrays import CsrArray
from dovetail.sparse.parts import (
    coalesce,
    coordinates_count,
    gathered,
    lines,
    needs,
    parts,
    readable,
)
from dovetail.sparse.tensor import COO, CSR, SparseTensor, coo, coordinates, csr

F = TypeVar("F", bound=Callable[..., Any])


@public("Tensor.to_dense")
def to_dense(
    self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None
) -> Tensor:
    """All elements, those that were left out as zeros; a dense tensor itself.

    Args:
        dtype: another one for the result.
        masked_grad: whether what was left out has no gradient; it never has one.
    """
    if not isinstance(self, SparseTensor):
        return self if dtype is None else self.to(dtype)
    indices, values, sizes = parts(self.to_sparse_coo())
    if masked_grad is False and self.requires_grad:
        raise NotSupported(
            "to_dense", "masked_grad", was="False", needed="True: what is left out has "
            "no place for a gradient",
        )  # fmt: skip
    line = lines("to_dense", indices, sizes)
    dense = gathered(values, line, math.prod(sizes)).reshape(self.shape)
    return dense if dtype is None else dense.to(dtype)


@public("Tensor.to_sparse_coo")
def to_sparse_coo(self: Tensor) -> Tensor:
    """The elements that are not 0, or are not left out, with their coordinates."""
    return to_sparse(self)


def _one_form(convert: F) -> F:
    """`convert`, which takes its first argument or keywords, not both."""

    @wraps(convert)
    def call(self: Tensor, *args: Any, **given: Any) -> Any:
        dims = args[0] if args else given.get("sparse_dim")
        beside = given.keys() - {"sparse_dim"}
        if dims is None and (args or "sparse_dim" in given):
            raise ArgumentTypeError(
                "to_sparse", "sparse_dim", was="None", needed="an int, where given"
            )
        if dims is not None and beside:
            raise ArgumentTypeError(
                "to_sparse", min(beside), was="given beside sparse_dim",
                needed="one of them",
            )  # fmt: skip
        return convert(self, *args, **given)

    return cast(F, call)


@public("Tensor.to_sparse")
@_one_form
def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Layout | None = None,
    blocksize: Any = None, dense_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """The elements that are not 0, in a sparse layout.

    Args:
        sparse_dim: how many dims coordinates count; the rest are dense.
        layout: `sparse_coo`, or `sparse_csr` for a matrix.

    Returns: coalesced; a sparse tensor as it is, if it has that layout.

    >>> torch.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    _check_layout("to_sparse", layout, blocksize, dense_dim)
    if layout is CSR:
        return to_sparse_csr(self)
    if isinstance(self, SparseTensor):
        if sparse_dim not in (None, coordinates_count(self)):
            raise NotSupported(
                "to_sparse", "sparse_dim", was=sparse_dim,
                needed=f"{coordinates_count(self)}, as the tensor has",
                remedy="use to_dense() first",
            )  # fmt: skip
        return self if self.is_sparse else _by_coordinates(self)
    sparse = self.ndim if sparse_dim is None else sparse_dim
    low = min(1, self.ndim)
    if not low <= sparse <= self.ndim:
        raise ArgumentError(
            "to_sparse", "sparse_dim", was=sparse, needed=f"{low} to {self.ndim}"
        )
    readable("to_sparse", self)
    there = self.detach() != 0
    if sparse < self.ndim:
        there = there.flatten(sparse).any(-1)
    indices = there.nonzero().t().contiguous()
    if not sparse:
        return coo(indices, self.reshape(1)[: indices.shape[1]], (), True)
    return coo(indices, self[tuple(indices)], self.shape, True)


def _check_layout(name: str, layout: Any, blocksize: Any, dense_dim: Any) -> None:
    if layout not in (None, COO, CSR):
        raise NotSupported(
            name, "layout", was=layout, needed=f"{COO} or {CSR}",
        )  # fmt: skip
    if blocksize is not None or dense_dim not in (None, 0):
        raise NotSupported(
            name, "blocksize" if dense_dim is None else "dense_dim", was="given",
            needed="none: there are no blocks, and rows hold numbers",
        )  # fmt: skip


def _by_coordinates(x: Tensor) -> Tensor:
    a = x._a
    assert isinstance(a, CsrArray)
    crow = a.crow.to(int64)
    rows = counted(x.shape[0], crow).repeat_interleave(
        crow[1:] - crow[:-1], output_size=a.col.shape[0]
    )
    return coo(ft.stack([rows, a.col.to(int64)]), a.values, a.shape, True)


@public("Tensor.to_sparse_csr")
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """A matrix row by row, of the elements that are not 0, or are not left out.

    Raises: ShapeError for a tensor that is no matrix.

    >>> torch.tensor([[0.0, 5.0], [7.0, 0.0]]).to_sparse_csr().col_indices()
    tensor([1, 0])
    """
    _check_layout("to_sparse_csr", None, None, dense_dim)
    if isinstance(self, SparseTensor) and self.is_sparse_csr:
        return self
    x = coalesce(to_sparse(self))
    if x.ndim != 2 or coordinates_count(x) != 2:
        raise ShapeError(
            "to_sparse_csr", "tensor", was=f"of shape {tuple(self.shape)}",
            needed="a matrix, without dense dims",
        )  # fmt: skip
    (rows, columns), values, _ = parts(x)
    return csr(row_starts(rows, x.shape[0]), columns, values, x.shape)


def row_starts(rows: Tensor, count: int) -> Tensor:
    """Where each of `count` rows starts among elements in order, and their number."""
    ends = gathered(ft.ones_like(rows), rows, count).cumsum(0)
    starts: Tensor = ft.cat([ft.zeros(1, dtype=int64, device=rows.device), ends])
    return starts


@public("Tensor.sparse_mask")
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where a sparse tensor has some.

    Args:
        mask: of the same shape; its values do not count.

    Returns: in the layout of `mask`, with its coordinates.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.sparse_mask(torch.eye(2).to_sparse()).values()
    tensor([1., 4.])
    """
    needs("sparse_mask", mask, "mask of a sparse", (COO, CSR))
    if tuple(self.shape) != tuple(mask.shape):
        raise ShapeError(
            "sparse_mask", "mask", was=f"of shape {tuple(mask.shape)}",
            needed=f"{tuple(self.shape)}, the shape of the tensor",
        )  # fmt: skip
    if mask.is_sparse_csr:
        found: Tensor = sparse_mask(self, mask.to_sparse_coo()).to_sparse_csr()
        return found
    indices, _, _ = parts(mask)
    at = coordinates(mask)
    if isinstance(self, SparseTensor):
        values = values_at(self.to_sparse_coo(), mask)
    else:
        values = at_places(self, indices)
    return coo(indices, values, mask.shape, at.coalesced)


def at_places(x: Tensor, indices: Tensor) -> Tensor:
    """The elements of a dense tensor, [n, *dense dims], at coordinates."""
    if not indices.shape[0]:
        return x.unsqueeze(0).expand(indices.shape[1], *x.shape)
    found: Tensor = x[tuple(indices)]
    return found


def values_at(x: Tensor, mask: Tensor) -> Tensor:
    """What a sparse tensor has where another one has elements; else zeros."""
    indices, values, sizes = parts(coalesce(x))
    wanted = lines("sparse_mask", coordinates(mask).indices, sizes)
    values, at, hit = found_at(values, lines("sparse_mask", indices, sizes), wanted)
    shape = (-1, *(1,) * (values.ndim - 1))
    if not values.shape[0]:
        sizes = (wanted.shape[0], *values.shape[1:])
        nothing: Tensor = ft.zeros(sizes, dtype=x.dtype, device=x.device)
        return nothing
    taken = values.index_select(0, at)
    found: Tensor = ft.where(hit.reshape(shape), taken, ft.zeros_like(taken))
    return found


def found_at(
    values: Tensor, there: Tensor, wanted: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Where numbers are among others in order, and whether they are there at all."""
    count = there.shape[0]
    if not count:
        nowhere = ft.zeros_like(wanted)
        return values, nowhere, nowhere.to(bool_)
    at = ft.searchsorted(there, wanted).clamp(max=count - 1)
    return values, at, there.index_select(0, at) == wanted
