"""What sparse tensors are made of: coordinates, values, and their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.dtypes import bool_, int64
from dovetail.engine.integers import axis
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported, ShapeError
from dovetail.ops.index_slices import index_sum
from dovetail.sparse.arrays import CooArray
from dovetail.sparse.tensor import COO, CSR, SparseTensor, coo, coordinates

Sizes = Sequence[int]


MOST = 2**63 - 1


def lines(name: str, indices: Tensor, sizes: Sizes) -> Tensor:
    """The row-major number of each element, of `sizes` that coordinates count.

    Raises:
        ShapeError: 64 bits cannot count them.
    """
    if math.prod(sizes) > MOST:
        raise ShapeError(
            name, "tensor", was=f"of the sparse sizes {tuple(sizes)}",
            needed="as many places as 64 bits count",
        )  # fmt: skip
    total: Tensor | None = None
    for d, size in enumerate(sizes):
        total = indices[d] if total is None else total * size + indices[d]
    if total is None:
        total = ft.zeros(indices.shape[1], dtype=int64, device=indices.device)
    return total


def places(line: Tensor, sizes: Sizes) -> Tensor:
    """The coordinates [dims, n] of row-major numbers."""
    found: list[Tensor] = []
    for size in reversed(sizes):
        found.append(line % max(size, 1))
        line = line // max(size, 1)
    none = {"dtype": int64, "device": line.device}
    made: Tensor = (
        ft.stack(found[::-1]) if found else ft.zeros((0, line.shape[0]), **none)
    )
    return made


def gathered(values: Tensor, index: Tensor, count: int) -> Tensor:
    """The sums of the values that have the same index, in `count` slices."""
    if values.dtype is bool_:
        return gathered(values.to(int64), index, count) != 0
    made: Tensor = index_sum(values, index, count, 0)
    return made


def parts(x: Tensor) -> tuple[Tensor, Tensor, Sizes]:
    """Coordinates, values and the sizes of the sparse dims."""
    a = coordinates(x)
    return a.indices, a.values, a.shape[: a.indices.shape[0]]


def readable(name: str, x: Tensor) -> None:
    """Raise where the values that decide on a result's size are not there."""
    if x.is_meta:
        raise NotSupported(
            name, "tensor", was="on meta", needed="a device with values: they decide "
            "how many elements the result has",
        )  # fmt: skip


def needs(name: str, x: Any, wanted: str, layouts: tuple[Any, ...]) -> None:
    """Raise for a tensor of another layout."""
    if x.layout not in layouts:
        raise NotSupported(
            name, "tensor", was=f"of the layout {x.layout}", needed=f"{name} expected "
            f"{wanted} tensor layout",
        )  # fmt: skip


@public("Tensor.coalesce")
def coalesce(self: Tensor) -> Tensor:
    """The elements in order, those of the same coordinates added up.

    Returns: itself where they are.

    Raises: NotSupported for a tensor that is not `sparse_coo`.

    >>> x = torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,))
    >>> x.coalesce().values()
    tensor([2., 4.])
    """
    needs("coalesce", self, "sparse coordinate", (COO,))
    a = coordinates(self)
    if a.coalesced:
        return self
    indices, values, sizes = parts(self)
    readable("coalesce", self)
    line = lines("coalesce", indices, sizes)
    found, inverse = ft.unique(line, return_inverse=True)
    count = found.shape[0]
    return coo(places(found, sizes), gathered(values, inverse, count), a.shape, True)


@public("Tensor.is_coalesced")
def is_coalesced(self: Tensor) -> bool:
    """Whether elements are known to be in order, and none to come twice."""
    needs("is_coalesced", self, "sparse coordinate", (COO,))
    return coordinates(self).coalesced


def coordinates_count(x: Tensor) -> int:
    """How many dims are sparse."""
    a = x._a
    return int(a.indices.shape[0]) if isinstance(a, CooArray) else 2


@public("Tensor.values")
def values(self: Tensor) -> Tensor:
    """The elements of a sparse tensor that is coalesced, or by rows.

    Raises: NotSupported for a dense tensor; ArgumentError where it is not coalesced.
    """
    needs("values", self, "sparse", (COO, CSR))
    _coalesced("values", self)
    found: Tensor = self._a.values
    return found.view(found.shape) if found.requires_grad and found.is_leaf else found


@public("Tensor.indices")
def indices(self: Tensor) -> Tensor:
    """The coordinates [sparse dims, elements] of a tensor that is coalesced.

    Raises: NotSupported for another layout; ArgumentError where it is not coalesced.
    """
    needs("indices", self, "sparse coordinate", (COO,))
    _coalesced("indices", self)
    return coordinates(self).indices


def _coalesced(name: str, x: Tensor) -> None:
    if isinstance(x._a, CooArray) and not x._a.coalesced:
        raise ArgumentError(
            name, "tensor", was=f"not coalesced: Cannot get {name} on an uncoalesced "
            "tensor", needed="elements in order, none of them twice",
            remedy="please call .coalesce() first",
        )  # fmt: skip


@public("Tensor._values")
def _values(self: Tensor) -> Tensor:
    """The elements as they are, outside the graph."""
    needs("_values", self, "sparse coordinate", (COO,))
    found: Tensor = self._a.values.detach()
    return found


@public("Tensor._indices")
def _indices(self: Tensor) -> Tensor:
    """The coordinates as they are, in any order."""
    needs("_indices", self, "sparse coordinate", (COO,))
    return coordinates(self).indices


@public("Tensor._nnz")
def _nnz(self: Tensor) -> int:
    """The number of elements that are not left out."""
    needs("_nnz", self, "sparse", (COO, CSR))
    return int(self._a.values.shape[0])


@public("Tensor.crow_indices")
def crow_indices(self: Tensor) -> Tensor:
    """Where the rows of a matrix start among its elements, and the last one ends."""
    needs("crow_indices", self, "sparse row compressed", (CSR,))
    found: Tensor = self._a.crow
    return found


@public("Tensor.col_indices")
def col_indices(self: Tensor) -> Tensor:
    """The column of each element of a matrix by rows."""
    needs("col_indices", self, "sparse row compressed", (CSR,))
    found: Tensor = self._a.col
    return found


@public("Tensor.sparse_dim")
def sparse_dim(self: Tensor) -> int:
    """How many dims coordinates count; 0 for a dense tensor."""
    return coordinates_count(self) if isinstance(self, SparseTensor) else 0


@public("Tensor.dense_dim")
def dense_dim(self: Tensor) -> int:
    """How many dims are dense."""
    return self.ndim - sparse_dim(self)


def sparse_axis(name: str, x: Tensor, dim: Any) -> int:
    """A dim counted from the front, which has to be one that coordinates count."""
    at = axis(name, "dim", dim, x.ndim)
    if at >= coordinates_count(x):
        raise NotSupported(
            name, "dim", was=f"{dim}, a dense dim", needed="a sparse dim",
            remedy="use to_dense() first",
        )  # fmt: skip
    return at
