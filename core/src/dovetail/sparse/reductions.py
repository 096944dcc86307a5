"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

import math
from typing import Any

from dovetail import frontend as ft
from dovetail.dtypes import DType
from dovetail.engine.integers import axis
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported
from dovetail.ops.scatter import scatter_reduce
from dovetail.sparse.conversion import to_sparse_coo
from dovetail.sparse.handlers import handles
from dovetail.sparse.parts import (
    coalesce,
    coordinates_count,
    gathered,
    lines,
    needs,
    parts,
)
from dovetail.sparse.tensor import COO, CSR, SparseTensor, coo, coordinates

Dims = int | tuple[int, ...] | list[int] | None


def _dims(name: str, dim: Dims, ndim: int) -> list[int]:
    given = [dim] if isinstance(dim, int) else list(dim or range(ndim))
    found = [axis(name, "dim", d, ndim) for d in given]
    if len(set(found)) < len(found):
        raise ArgumentError(name, "dim", was=dim, needed="no dim twice")
    return sorted(found)


@handles("sum")
def total(
    input: SparseTensor, dim: Dims = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The sum; of some dims sparse, unless no sparse one is left."""
    x: Any = input if dtype is None else input.to(dtype)
    if dim is None or dim in ((), []):
        values: Tensor = x._a.values.sum()
        return values.reshape((1,) * x.ndim) if keepdim and dim is not None else values
    indices, values, sizes = parts(x)
    count, dims = len(sizes), _dims("sum", dim, x.ndim)
    dense = [d - count + 1 for d in dims if d >= count]
    if dense:
        values = values.sum(dense, keepdim)
    left = [d for d in range(count) if d not in dims]
    if not left:
        values = values.sum(0)
        shape = (1,) * count if keepdim else ()
        return values.reshape((*shape, *values.shape))
    if values.dtype is not x.dtype or len(left) < count:
        values = values.to(values.sum(0).dtype)  # integers as sums have them
    if keepdim:
        at = ft.stack([indices[d] * (d in left) for d in range(count)])
        first = [sizes[d] if d in left else 1 for d in range(count)]
    else:
        at, first = ft.stack([indices[d] for d in left]), [sizes[d] for d in left]
    shape = (*first, *values.shape[1:])
    whole = len(left) == count
    return coalesce(coo(at, values, shape, whole and coordinates(x).coalesced))


@public("sparse.sum")
def sparse_sum(input: Tensor, dim: Dims = None, dtype: DType | None = None) -> Tensor:
    """The sum of a sparse tensor over some dims, or all.

    Returns: dense where no sparse dim is left, else sparse.

    Raises: DimError for a dim that is not there.

    >>> x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> torch.sparse.sum(x, 0).to_dense()
    tensor([3., 2.])
    """
    needs("sparse.sum", input, "sparse", (COO, CSR))
    return total(to_sparse_coo(input), dim, dtype=dtype)  # type: ignore[arg-type]


@handles("norm")
def norm(
    input: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The norm of all elements."""
    if dim is not None or keepdim:
        raise NotSupported("norm", "dim", was=dim, needed="all dims of a sparse tensor")
    if isinstance(p, int | float) and p <= 0:
        raise NotSupported("norm", "p", was=p, needed="above 0 for a sparse tensor")
    found: Tensor = ft.NAMES["norm"](coalesce(input)._a.values, p, dtype=dtype)
    return found


@handles("any")
def any_(input: SparseTensor) -> Tensor:
    """Whether an element is not 0."""
    found: Tensor = coalesce(input)._a.values.any()
    return found


@public("sparse.softmax")
def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """exp(input) over its sum along a dim; what is left out counts as minus infinity.

    Args:
        dim: sparse or dense.

    Returns: coalesced, with the coordinates of `input`.

    >>> x = torch.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3))
    >>> torch.sparse.softmax(x, 1).values()
    tensor([0.5000, 0.5000])
    """
    return _softmax("softmax", input, dim, dtype, False)


@public("sparse.log_softmax")
def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _softmax("log_softmax", input, dim, dtype, True)


def _softmax(
    name: str, input: Tensor, dim: int, dtype: DType | None, log: bool
) -> Tensor:
    needs(f"sparse.{name}", input, "sparse coordinate", (COO,))
    x = coalesce(input if dtype is None else input.to(dtype))
    at, count = axis(f"sparse.{name}", "dim", dim, x.ndim), coordinates_count(x)
    indices, values, sizes = parts(x)
    if at >= count:
        function = ft.NAMES["log_softmax" if log else "softmax"]
        return coo(indices, function(values, at - count + 1), x.shape, True)
    if not values.numel():
        return x
    others = [d for d in range(count) if d != at]
    line = lines(name, indices[others], [sizes[d] for d in others])
    _, group = ft.unique(line, return_inverse=True)
    made = _along_groups(values, group, int(group.max()) + 1, log)
    return coo(indices, made, x.shape, True)


def _along_groups(values: Tensor, group: Tensor, count: int, log: bool) -> Tensor:
    """softmax among the values of each group, less the greatest of them first."""
    low = ft.full_like(values[:1].detach(), -math.inf).expand(count, *values.shape[1:])
    spread = group.reshape(-1, *(1,) * (values.ndim - 1)).expand(values.shape)
    greatest = scatter_reduce(
        low, 0, spread, values.detach(), "amax", include_self=True
    )
    less = values - greatest.index_select(0, group)
    powers = less.exp()
    sums = gathered(powers, group, count).index_select(0, group)
    return less - sums.log() if log else powers / sums
