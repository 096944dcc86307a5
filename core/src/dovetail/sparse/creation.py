"""Sparse tensors of coordinates or rows that users have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.dtypes import INTEGRAL, DType, int32, int64
from dovetail.engine.checks import values_of
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    NotSupported,
    ShapeError,
)
from dovetail.frontend.creation import sizes as shape_of
from dovetail.memory_formats import layout as Layout
from dovetail.sparse.parts import readable
from dovetail.sparse.tensor import CSR, coo, csr


@public("torch.sparse_coo_tensor", asks=False)
def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Sequence[int] | None = None, *,
    dtype: DType | None = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:  # fmt: skip
    """A tensor that has values at coordinates, and zeros elsewhere.

    Args:
        indices: [sparse dims, elements] integers; a size alone gives an empty tensor.
        values: [elements, *dense dims].
        size: the shape; unless given, just large enough for the coordinates.
        check_invariants: coordinates are checked always, for which values are read.
        is_coalesced: they are in order, and none comes twice, as the caller says.

    Returns: gradients go to `values`, where these require them.

    Raises: ShapeError or ArgumentError for coordinates that do not fit.

    >>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    name = "sparse_coo_tensor"
    if values is None and is_coalesced is not None:
        raise ArgumentTypeError(
            name, "is_coalesced", was="given beside a size alone", needed="None"
        )
    if indices is None:
        if size is None or values is not None:
            raise ArgumentTypeError(
                name, "indices", was="missing", needed="indices and values, or a size "
                "alone",
            )  # fmt: skip
        return _empty(size, dtype, device, requires_grad)
    if values is None:
        if size is not None:
            raise ArgumentTypeError(
                name, "values", was="missing", needed="values at the indices, or a "
                "size alone in their place",
            )  # fmt: skip
        if not isinstance(indices, tuple | list):
            raise ArgumentTypeError(
                name, "values", was=f"missing, beside a {type(indices).__name__}",
                needed="values at the indices, or a size alone: a tuple of integers",
            )  # fmt: skip
        return _empty(indices, dtype, device, requires_grad)
    held = _values(values, dtype, device)
    at = _index(name, "indices", indices, held)
    if at.ndim != 2 or not held.ndim or at.shape[1] != held.shape[0]:
        raise ShapeError(
            name, "indices", was=f"of shape {tuple(at.shape)}, with values of shape "
            f"{tuple(held.shape)}", needed="[sparse dims, n] and values [n, ...]",
        )  # fmt: skip
    sizes = _sizes(name, at, held, size)
    made = coo(at, held, sizes, bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def _values(values: Any, dtype: Any, device: Any) -> Tensor:
    """What a caller gives as values; a tensor stays on its device."""
    if isinstance(values, Tensor):
        return values.to(device or values.device, dtype or values.dtype)
    made: Tensor = ft.tensor(values, dtype=dtype, device=device)
    return made


def _index(name: str, argument: str, index: Any, values: Tensor) -> Tensor:
    made = (
        index if isinstance(index, Tensor) else ft.tensor(index, device=values.device)
    )
    if not made.numel() and not isinstance(index, Tensor):
        made = made.to(int64)
    if made.dtype not in INTEGRAL:
        raise DTypeError(name, argument, was=made.dtype.name, needed="integers")
    kept = made.dtype if argument != "indices" and made.dtype is int32 else int64
    return made.detach().to(values.device, kept)


def _empty(size: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    sizes = shape_of(tuple(size))
    values = ft.zeros(0, dtype=dtype, device=device)
    at = ft.zeros((len(sizes), 0), dtype=int64, device=values.device)
    made = coo(at, values, sizes, True)
    return made.requires_grad_() if requires_grad else made


def _sizes(name: str, indices: Tensor, values: Tensor, size: Any) -> tuple[int, ...]:
    """The shape, into which the coordinates fit."""
    count, dense = indices.shape[0], tuple(values.shape[1:])
    if size is None:
        readable(name, indices)
        some = indices.shape[1]
        found = values_of(indices.amax(1), name).tolist() if some and count else []
        sizes = (*(n + 1 for n in found or [0] * count), *dense)
    else:
        sizes = tuple(int(n) for n in size)
    if len(sizes) != count + len(dense) or sizes[count:] != dense:
        raise ShapeError(
            name, "size", was=sizes, needed=f"{count} sparse dims, then the dense "
            f"dims {dense} of values",
        )  # fmt: skip
    if indices.numel() and not indices.is_meta:
        low = values_of(indices.amin(1), name).tolist()
        high = values_of(indices.amax(1), name).tolist()
        for d, (first, last) in enumerate(zip(low, high, strict=True)):
            if first < 0 or last >= sizes[d]:
                bad = first if first < 0 else last
                raise ArgumentError(
                    name, "indices", was=f"{bad} for dim {d} of size {sizes[d]}: size "
                    "is inconsistent with indices", needed=f"0 to {sizes[d] - 1}",
                )  # fmt: skip
    return sizes


@public("torch.sparse_csr_tensor", asks=False)
def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any,
    size: Sequence[int] | None = None, *, dtype: DType | None = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A matrix that has values in some columns of each row, and zeros elsewhere.

    Args:
        crow_indices: [rows + 1] where rows start among the values, and the last ends.
        col_indices: [n] in order within a row, none twice.
        values: [n].
        size: [rows, columns]; unless given, just large enough for the columns.
        check_invariants: all of this is checked always, for which values are read.

    Raises: ShapeError or ArgumentError for what does not fit.

    >>> x = torch.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    name = "sparse_csr_tensor"
    held = _values(values, dtype, device)
    crow = _index(name, "crow_indices", crow_indices, held)
    col = _index(name, "col_indices", col_indices, held)
    if not (crow.ndim == col.ndim == held.ndim == 1) or not crow.shape[0]:
        raise NotSupported(
            name, "values", was=f"of shape {tuple(held.shape)}, with crow_indices of "
            f"shape {tuple(crow.shape)}", needed="one matrix: [n], and [rows + 1]",
        )  # fmt: skip
    if col.shape != held.shape:
        raise ShapeError(
            name, "col_indices", was=f"of shape {tuple(col.shape)}",
            needed=f"{tuple(held.shape)}, the shape of values",
        )  # fmt: skip
    rows = crow.shape[0] - 1
    if size is None:
        readable(name, col)
        size = (rows, int(values_of(col.amax(), name)) + 1 if col.shape[0] else 0)
    sizes = tuple(int(n) for n in size)
    if len(sizes) != 2 or sizes[0] != rows:
        raise ShapeError(name, "size", was=sizes, needed=f"{rows} rows, and columns")
    if not col.is_meta:
        _check_rows(name, crow, col, sizes[1])
    made = csr(crow, col, held, sizes)
    return made.requires_grad_() if requires_grad else made


def _check_rows(name: str, crow: Tensor, col: Tensor, columns: int) -> None:
    """Raise unless rows follow each other, and columns within them."""
    starts, at = values_of(crow, name), values_of(col, name)
    steps = starts[1:] - starts[:-1]
    if starts[0] != 0 or starts[-1] != at.size or (steps < 0).any():
        raise ArgumentError(
            name, "crow_indices", was=f"{starts.tolist()}"[:80],
            needed=f"0 first, {at.size} last, and none below the one before",
        )  # fmt: skip
    if at.size and (at.min() < 0 or at.max() >= columns):
        raise ArgumentError(
            name, "col_indices", was=f"{at.min()} to {at.max()}",
            needed=f"0 to {columns - 1}",
        )  # fmt: skip
    first = set(starts.tolist())
    falls = [i for i in (at[1:] <= at[:-1]).nonzero()[0].tolist() if i + 1 not in first]
    if falls:
        raise ArgumentError(
            name, "col_indices", was=f"{at[falls[0]]} before {at[falls[0] + 1]} in a "
            "row", needed="columns in order within each row, none twice",
        )  # fmt: skip


@public("torch.sparse_compressed_tensor", asks=False)
def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any,
    size: Sequence[int] | None = None, *, dtype: DType | None = None,
    layout: Layout | None = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """`sparse_csr_tensor`, where `layout` says that it is wanted; no other is there."""
    if layout is not CSR:
        raise NotSupported(
            "sparse_compressed_tensor", "layout", was=layout, needed=f"{CSR}"
        )
    return sparse_csr_tensor(
        compressed_indices, plain_indices, values, size, dtype=dtype, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


@public("sparse.spdiags")
def spdiags(
    diagonals: Tensor, offsets: Tensor, shape: Sequence[int],
    layout: Layout | None = None,
) -> Tensor:  # fmt: skip
    """A sparse matrix with rows of `diagonals` along its diagonals.

    Args:
        diagonals: [n, length], whose columns are those of the matrix.
        offsets: [n] numbers of diagonals, above 0 for those above the main one.
        shape: [rows, columns] of the result.
        layout: `sparse_coo` by default, or `sparse_csr`.

    >>> torch.sparse.spdiags(torch.ones(1, 2), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 1.],
            [0., 0.]])
    """
    numbers = offsets.reshape(-1)
    if diagonals.ndim > 2 or numbers.unique().shape[0] != numbers.shape[0]:
        raise ArgumentError(
            "spdiags", "offsets", was=f"{numbers.tolist()}", needed="no number twice"
        )
    table = diagonals.reshape(numbers.shape[0], -1)
    rows, columns = (int(n) for n in shape)
    length = min(table.shape[1], columns)
    column = ft.arange(length, device=table.device).expand(len(table), length)
    row = column - numbers.unsqueeze(1)
    inside = (row >= 0) & (row < rows)
    at = ft.stack([row[inside], column[inside]])
    made = coo(at, table[:, :length][inside], (rows, columns))
    found: Tensor = made.to_sparse(layout=layout) if layout is CSR else made
    return found
