"""torch's names for copies under another shape: joined, repeated, reversed, padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import int64
from dovetail.engine.attributes import Absent
from dovetail.engine.checks import values_of
from dovetail.engine.dims import need_dims
from dovetail.engine.integers import axis, axis_set, integers
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError
from dovetail.frontend import ranges, views  # noqa: F401
from dovetail.frontend.create import tensor
from dovetail.frontend.views import open_tensors
from dovetail.ops import diagonal as diagonals
from dovetail.ops import pad as margins
from dovetail.ops import shape as ops
from dovetail.ops import sums
from dovetail.ops import view as v
from dovetail.ops.index_slices import index_select
from dovetail.ops.primitive import clone as copied


def _tensors(name: str, tensors: Any) -> list[Tensor]:
    """A non-empty list of tensors."""
    if not tensors:
        raise ArgumentError(
            name, "tensors", was="empty: expected a non-empty list of Tensors",
            needed="at least one",
        )  # fmt: skip
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                name, f"tensors[{i}]", was=f"a {type(x).__name__}", needed="a Tensor"
            )
    return list(tensors)


@public("torch.cat torch.concat torch.concatenate", out=True, plain=ops.cat)
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one behind the other along an existing dim.

    Args:
        tensors: [..., n, ...], alike in all dims but `dim`; their dtypes promote.

    Raises: ShapeError for sizes that differ elsewhere; ArgumentError for no tensors.

    >>> import dovetail as dt
    >>> dt.cat([dt.zeros(1, 2), dt.ones(2, 2)], dim=0)
    tensor([[0., 0.],
            [1., 1.],
            [1., 1.]])
    """
    if not _alike(tensors):
        # torch lets empty one-dimensional tensors pass
        given = _tensors("cat", tensors)
        tensors = [x for x in given if tuple(x._a.shape) != (0,)] or given
    return ops.cat(tensors, dim)


def _alike(tensors: Any) -> bool:
    """Whether these are tensors of as many dims each."""
    if type(tensors) not in (list, tuple) or not tensors:
        return False
    first = tensors[0]
    if not isinstance(first, Tensor):
        return False
    ndim = len(first._a.shape)
    return all(isinstance(x, Tensor) and len(x._a.shape) == ndim for x in tensors)


@public("torch.vstack torch.row_stack", out=True)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Rows on top of one another: along dim 0, one-dimensional tensors being rows."""
    return cat([views.grown_2d(x) for x in _tensors("vstack", tensors)], 0)


@public("torch.hstack", out=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Side by side: along dim 1, or 0 for one-dimensional tensors."""
    given = [views.grown_1d(x) for x in _tensors("hstack", tensors)]
    return cat(given, 0 if given[0].ndim == 1 else 1)


@public("torch.dstack", out=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """One behind the other in depth: along dim 2."""
    return cat([views.grown_3d(x) for x in _tensors("dstack", tensors)], 2)


@public("torch.column_stack", out=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Side by side along dim 1, one-dimensional tensors being columns."""
    given = _tensors("column_stack", tensors)
    return hstack([v.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in given])


@public("torch.block_diag")
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the tensors, as matrices, along its diagonal, else zeros."""
    given = [views.grown_2d(x) for x in _tensors("block_diag", open_tensors(tensors))]
    width = sum(int(x._a.shape[1]) for x in given)
    rows, at = [], 0
    for x in given:
        need_dims("block_diag", "tensor", x, 2)
        after = width - at - int(x._a.shape[1])
        rows.append(margins.constant_pad(x, (0, 0, at, after), 0))
        at += int(x._a.shape[1])
    return cat(rows, 0)


@public("torch.tile Tensor.tile*")
def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """`input` repeated; counts for leading dims may be left out."""
    return ops.repeat(input, (*(1,) * (input.ndim - len(dims)), *dims))


@public("fliplr")
def fliplr(input: Tensor) -> Tensor:
    """Columns in the opposite order."""
    need_dims("fliplr", "input", input, least=2)
    return ops.flip(input, (1,))


@public("flipud")
def flipud(input: Tensor) -> Tensor:
    """Rows in the opposite order."""
    need_dims("flipud", "input", input, least=1)
    return ops.flip(input, (0,))


@public("rot90")
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by `k` right angles from the first of two dims to the second."""
    if len(dims) != 2 or input.ndim < 2:
        raise ArgumentError(
            "rot90", "dims", was=tuple(dims),
            needed="two dims of a tensor that has them",
        )  # fmt: skip
    a, b = axis_set("rot90", "dims", dims, input.ndim)
    turns = k % 4
    if not turns:
        return copied(input)
    if turns == 2:
        return ops.flip(input, (a, b))
    return v.transpose(ops.flip(input, (b,) if turns == 1 else (a,)), a, b)


@public("torch.repeat_interleave")
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | Absent = None, dim: int | None = None, *,
    output_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Each slice along `dim` repeated, as often as one int or a tensor says.

    Reads `repeats` where it is a tensor; alone, it repeats its own indices.
    """
    if repeats is None:
        need_dims("repeat_interleave", "input", input, 1)
        counts = _counts(input)
        if (counts < 0).any():
            raise ArgumentError(
                "repeat_interleave", "input", was=counts.tolist(),
                needed="counts of which none is negative",
            )  # fmt: skip
        numbers = np.repeat(np.arange(input.numel()), counts)
        return tensor(numbers, dtype=input.dtype, device=input.device)
    if dim is None:
        input, dim = input if input.ndim == 1 else v.reshape(input, (-1,)), 0
    dim = axis("repeat_interleave", "dim", dim, input.ndim)
    x = input if input.ndim else views.grown_1d(input)
    if type(repeats) is int and repeats >= 0 and output_size is None:
        return _each_repeated(x, dim, repeats)
    n = int(x._a.shape[dim])
    counts = np.asarray(repeats) if isinstance(repeats, int) else _counts(repeats)
    if counts.ndim > 1 or (counts.size not in (1, n)) or (counts < 0).any():
        raise ArgumentError(
            "repeat_interleave", "repeats", was=counts.tolist(),
            needed=f"one count or {n}, none negative",
        )  # fmt: skip
    if counts.size == 1 and output_size in (None, n * int(counts.item())):
        return _each_repeated(x, dim, int(counts.item()))
    numbers = np.repeat(np.arange(n), np.broadcast_to(counts.reshape(-1), (n,)))
    if output_size is not None and output_size != numbers.size:
        raise ArgumentError(
            "repeat_interleave", "output_size", was=output_size, needed=numbers.size
        )
    return index_select(x, dim, tensor(numbers, device=x.device))


_FEW = 8  # repetitions; one after the other is faster than each element so often


def _each_repeated(x: Tensor, dim: int, count: int) -> Tensor:
    """Each slice along `dim` so many times."""
    before, (n, *after) = x._a.shape[:dim], x._a.shape[dim:]
    if 0 < count <= _FEW:
        stacked = ops.stack([x] * count, dim + 1)
        return v.reshape(stacked, (*before, n * count, *after))
    wide = v.expand(v.unsqueeze(x, dim + 1), (*before, n, count, *after))
    return copied(v.reshape(wide, (*before, n * count, *after)))


@public("Tensor.repeat_interleave")
def repeat_interleave_of(
    input: Tensor, repeats: int | Tensor, dim: int | None = None, *,
    output_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Each slice along `dim` repeated, as often as one int or a tensor says."""
    return repeat_interleave(input, repeats, dim, output_size=output_size)


def _counts(repeats: Any) -> np.ndarray[Any, Any]:
    if not isinstance(repeats, Tensor):
        return np.asarray(integers("repeat_interleave", "repeats", repeats, 0))
    if repeats.dtype.is_inexact:
        raise DTypeError(
            "repeat_interleave", "repeats", was=repeats.dtype.name, needed="integers"
        )
    return values_of(repeats, "repeat_interleave")


@public("torch.meshgrid")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Each tensor along a dim of its own, expanded to the grid of all of them."""
    given = [views.grown_1d(x) for x in _tensors("meshgrid", open_tensors(tensors))]
    if indexing not in (None, "ij", "xy"):
        raise ArgumentError(
            "meshgrid", "indexing", was=repr(indexing), needed="ij or xy"
        )
    for x in given:
        need_dims("meshgrid", "tensors", x, 1)
    swap = indexing == "xy" and len(given) > 1
    if swap:
        given[:2] = given[1::-1]
    shape = tuple(int(x._a.shape[0]) for x in given)
    lines = [
        v.reshape(x, (*(1,) * i, n, *(1,) * (len(shape) - 1 - i)))
        for i, (x, n) in enumerate(zip(given, shape, strict=True))
    ]
    grids = [v.expand(x, shape) for x in lines]
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@public("torch.cartesian_prod")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every combination of one element from each tensor, as rows."""
    given = _tensors("cartesian_prod", tensors)
    for x in given:
        need_dims("cartesian_prod", "tensors", x, 1)
    if len(given) == 1:
        return given[0]
    lines = [v.reshape(g, (-1,)) for g in meshgrid(*given, indexing="ij")]
    return ops.stack(lines, 1)


@public("diag", out="same")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with `input` on a diagonal, or a copy of the diagonal of a matrix."""
    need_dims("diag", "input", input, 1, 2)
    if input.ndim == 1:
        return diagonals.diag_embed(input, diagonal, 0, 1)
    return copied(diagonals.diagonal(input, diagonal, 0, 1))


@public("diagflat")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of `input` on a diagonal."""
    return diag(v.reshape(input, (-1,)), offset)


@public("trace", autocast="float32")
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; integers are summed as int64."""
    need_dims("trace", "input", input, 2)
    line = diagonals.diagonal(input, 0, 0, 1)
    dtype = line.dtype if line.dtype.is_inexact else int64
    return sums.sum(line, dtype=dtype)
