"""torch's names for copies under another shape: joined, repeated, reversed, padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import float64, int64, promote
from dovetail.engine.elements import operand, stored
from dovetail.engine.public import guarded
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DimError, ShapeError
from dovetail.frontend import ranges, views  # noqa: F401
from dovetail.frontend.create import tensor
from dovetail.frontend.export import torch_name
from dovetail.frontend.views import one_axis, open_sizes, open_tensors
from dovetail.ops import diagonal as diagonals
from dovetail.ops import pad as margins
from dovetail.ops import shape as ops
from dovetail.ops import sums
from dovetail.ops import view as v
from dovetail.ops.index import index_select
from dovetail.ops.primitive import cast
from dovetail.ops.primitive import clone as copied


def _tensors(name: str, tensors: Any) -> list[Tensor]:
    """A non-empty list of tensors, of one dtype."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, Sequence):
        raise ArgumentTypeError(
            name, "tensors", was=f"a {type(tensors).__name__}",
            needed="a list or tuple of tensors",
        )  # fmt: skip
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
    first = tensors[0]._kind
    if all(x._kind is first for x in tensors):
        return list(tensors)
    dtype = first.dtype
    for x in tensors[1:]:
        dtype = promote(dtype, x._kind.dtype)
    return [x if x._kind.dtype is dtype else cast(x, dtype) for x in tensors]


@torch_name("cat", "concat", method=False)
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one behind the other along an existing dim.

    Examples:
        >>> import dovetail as torch
        >>> torch.cat([torch.zeros(1, 2), torch.ones(2, 2)], dim=0)
        tensor([[0., 0.],
                [1., 1.],
                [1., 1.]])
    """
    given = _tensors("cat", tensors)
    ndim = max(x.ndim for x in given)
    if any(not x.ndim for x in given):
        raise ShapeError(
            "cat", "tensors", was="0-d: cannot be concatenated",
            needed="at least one dim", remedy="use stack()",
        )  # fmt: skip
    if ndim > 1:  # torch lets empty one-dimensional tensors pass
        kept = [x for x in given if tuple(x._a.shape) != (0,)]
        given = kept or given
    y: Tensor = ops.cat(given, one_axis("cat", dim, ndim))
    return y


@torch_name("concatenate", method=False)
def concatenate(
    tensors: Sequence[Tensor], axis: int = 0, *, dim: int | None = None
) -> Tensor:
    """The tensors one behind the other along an existing dim."""
    return cat(tensors, axis if dim is None else dim)


@torch_name(method=False)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors, all of one shape, side by side along a new dim."""
    y: Tensor = ops.stack(_tensors("stack", tensors), dim)
    return y


@torch_name("vstack", "row_stack", method=False)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Rows on top of one another: along dim 0, one-dimensional tensors being rows."""
    return cat([views.grown_2d(x) for x in _tensors("vstack", tensors)], 0)


@torch_name(method=False)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Side by side: along dim 1, or 0 for one-dimensional tensors."""
    given = [views.grown_1d(x) for x in _tensors("hstack", tensors)]
    return cat(given, 0 if given[0].ndim == 1 else 1)


@torch_name(method=False)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """One behind the other in depth: along dim 2."""
    return cat([views.grown_3d(x) for x in _tensors("dstack", tensors)], 2)


@torch_name(method=False)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Side by side along dim 1, one-dimensional tensors being columns."""
    given = _tensors("column_stack", tensors)
    return hstack([v.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in given])


@torch_name(method=False, out=False)
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the tensors, as matrices, along its diagonal, else zeros."""
    given = [views.grown_2d(x) for x in _tensors("block_diag", open_tensors(tensors))]
    width = sum(int(x._a.shape[1]) for x in given)
    rows, at = [], 0
    for x in given:
        if x.ndim != 2:
            raise ShapeError(
                "block_diag", "tensor", was=f"{x.ndim}-d", needed="at most 2"
            )
        after = width - at - int(x._a.shape[1])
        rows.append(margins.constant_pad(x, (0, 0, at, after), 0))
        at += int(x._a.shape[1])
    return cat(rows, 0)


def _repeat(self: Tensor, *repeats: Any, **named: Any) -> Tensor:
    """This tensor laid side by side with itself, that often along each dim."""
    y: Tensor = ops.repeat(self, open_sizes(repeats, named, "repeats"))
    return y


@torch_name(method=False, out=False)
def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """`input` repeated; counts for leading dims may be left out."""
    return _repeat(input, (*(1,) * (input.ndim - len(dims)), *dims))


def _tile(self: Tensor, *dims: Any, **named: Any) -> Tensor:
    """This tensor repeated; counts for leading dims may be left out."""
    return tile(self, open_sizes(dims, named, "dims"))


@torch_name(method=False, out=False)
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The order along `dims` reversed; a copy."""
    chosen = tuple(one_axis("flip", d, input.ndim) for d in dims)
    if len(set(chosen)) != len(chosen):
        raise DimError("flip", "dims", was=tuple(dims), needed="each dim once")
    y: Tensor = ops.flip(input, chosen)
    return y


def _flip(self: Tensor, *dims: Any, **named: Any) -> Tensor:
    """The order along `dims` reversed; a copy."""
    return flip(self, open_sizes(dims, named, "dims"))


@torch_name(out=False)
def fliplr(input: Tensor) -> Tensor:
    """Columns in the opposite order."""
    if input.ndim < 2:
        raise ShapeError("fliplr", "input", was=f"{input.ndim}-d", needed="two dims")
    return flip(input, (1,))


@torch_name(out=False)
def flipud(input: Tensor) -> Tensor:
    """Rows in the opposite order."""
    if input.ndim < 1:
        raise ShapeError("flipud", "input", was="0-d", needed="one dim")
    return flip(input, (0,))


@torch_name(out=False)
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Moved by `shifts` along `dims`, or all elements in a row where none are named."""
    moves = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    if dims is None or dims == ():
        if len(moves) != 1:
            raise ArgumentError("roll", "shifts", was=moves, needed="one without dims")
        flat: Tensor = ops.roll(v.reshape(input, (-1,)), moves, (0,))
        return v.reshape(flat, tuple(input._a.shape))
    where = (dims,) if isinstance(dims, int) else tuple(dims)
    y: Tensor = ops.roll(input, moves, where)
    return y


@torch_name(out=False)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by `k` right angles from the first of two dims to the second."""
    if len(dims) != 2 or input.ndim < 2:
        raise ArgumentError(
            "rot90",
            "dims",
            was=tuple(dims),
            needed="two dims of a tensor that has them",
        )
    a, b = (one_axis("rot90", d, input.ndim) for d in dims)
    if a == b:
        raise ArgumentError("rot90", "dims", was=tuple(dims), needed="different dims")
    turns = k % 4
    if turns == 2:
        return flip(input, (a, b))
    if not turns:
        y: Tensor = copied(input)
        return y
    return views.transpose(flip(input, (b,) if turns == 1 else (a,)), a, b)


@torch_name(writes=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices in the last two dims with zeros above a diagonal."""
    y: Tensor = ops.tril(input, diagonal)
    return y


@torch_name(writes=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices in the last two dims with zeros below a diagonal."""
    y: Tensor = ops.triu(input, diagonal)
    return y


@torch_name(out=False)
def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *,
    output_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Each slice along `dim` repeated, as often as one int or a tensor says.

    Reads `repeats` where it is a tensor; alone, it repeats its own indices.
    """
    if repeats is None:
        numbers = np.repeat(np.arange(input.numel()), _counts(input))
        return tensor(numbers, dtype=input.dtype, device=input.device)
    if dim is None:
        input, dim = v.reshape(input, (-1,)), 0
    dim = one_axis("repeat_interleave", dim, input.ndim)
    x = views.grown_1d(input)
    n = int(x._a.shape[dim])
    counts = np.asarray(repeats) if isinstance(repeats, int) else _counts(repeats)
    if counts.ndim > 1 or (counts.size not in (1, n)) or (counts < 0).any():
        raise ArgumentError(
            "repeat_interleave", "repeats", was=counts.tolist(),
            needed=f"one count or {n}, none negative",
        )  # fmt: skip
    numbers = np.repeat(np.arange(n), np.broadcast_to(counts.reshape(-1), (n,)))
    if output_size is not None and output_size != numbers.size:
        raise ArgumentError(
            "repeat_interleave", "output_size", was=output_size, needed=numbers.size
        )
    y: Tensor = index_select(x, tensor(numbers, device=x.device), dim)
    return y


def _counts(repeats: Any) -> np.ndarray[Any, Any]:
    if not isinstance(repeats, Tensor):
        return np.asarray(repeats)
    if repeats.dtype.is_inexact:
        raise ArgumentTypeError(
            "repeat_interleave", "repeats", was=repeats.dtype.name, needed="integers"
        )
    return repeats._kind.backend.copy_out(repeats._a)


@torch_name(method=False, out=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Each tensor along a dim of its own, expanded to the grid of all of them."""
    given = [views.grown_1d(x) for x in _tensors("meshgrid", open_tensors(tensors))]
    if indexing not in (None, "ij", "xy"):
        raise ArgumentError(
            "meshgrid", "indexing", was=repr(indexing), needed="ij or xy"
        )
    if any(x.ndim > 1 for x in given):
        raise ShapeError("meshgrid", "tensors", was="of several dims", needed="one dim")
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


@torch_name(method=False, out=False)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every combination of one element from each tensor, as rows."""
    given = _tensors("cartesian_prod", tensors)
    if len(given) == 1:
        return given[0]
    return stack([v.reshape(g, (-1,)) for g in meshgrid(*given, indexing="ij")], 1)


@torch_name()
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with `input` on a diagonal, or a copy of the diagonal of a matrix."""
    if input.ndim == 1:
        y: Tensor = diagonals.diag_embed(input, diagonal, 0, 1)
    elif input.ndim == 2:
        y = copied(diagonals.diagonal(input, diagonal, 0, 1))
    else:
        raise ShapeError("diag", "input", was=f"{input.ndim}-d", needed="1 or 2 dims")
    return y


@torch_name(out=False)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of `input` on a diagonal."""
    return diag(v.reshape(input, (-1,)), offset)


@torch_name(out=False)
def diag_embed(
    input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> Tensor:
    """Matrices in two new dims with the last dim of `input` as a diagonal."""
    first = one_axis("diag_embed", dim1, input.ndim + 1)
    second = one_axis("diag_embed", dim2, input.ndim + 1)
    y: Tensor = diagonals.diag_embed(input, offset, first, second)
    return y


@torch_name(out=False)
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; integers are summed as int64."""
    if input.ndim != 2:
        raise ShapeError("trace", "input", was=f"{input.ndim}-d", needed="a matrix")
    line = diagonals.diagonal(input, 0, 0, 1)
    dtype = line.dtype if line.dtype.is_inexact else int64
    y: Tensor = sums.sum(line, dtype=dtype)
    return y


@torch_name(method=False, out=False)
def pad(
    input: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Tensor:
    """Margins before and after each dim, the last dim's first, as torch.nn.functional.

    Reads no values; negative sizes cut elements off.
    """
    sizes = tuple(int(n) for n in pad)
    if len(sizes) % 2 or len(sizes) > 2 * input.ndim:
        raise ArgumentError(
            "pad", "pad", was=sizes, needed=f"pairs for at most {input.ndim} dims"
        )
    pairs = [sizes[i : i + 2] for i in range(0, len(sizes), 2)][::-1]
    whole = (0,) * (2 * (input.ndim - len(pairs))) + tuple(n for p in pairs for n in p)
    if mode == "constant":
        element = stored("pad", input.dtype, _margin(value))
        y: Tensor = margins.constant_pad(input, whole, element)
        return y
    if value is not None and value != 0:
        raise ArgumentError("pad", "value", was=value, needed=f"none in mode {mode!r}")
    if input.ndim not in (len(pairs) + 1, len(pairs) + 2) or len(pairs) > 3:
        raise ShapeError(
            "pad", "input", was=f"{input.ndim}-d with {len(pairs)} padded dims",
            needed=f"1 to 3 padded dims behind one or two others in mode {mode!r}",
        )  # fmt: skip
    y = margins.margin_pad(input, whole, mode)
    return y


def _margin(value: Any) -> float:
    """The value of margins, which torch takes as a float."""
    if value is None:
        return 0.0
    if not isinstance(value, int | float):
        raise ArgumentTypeError(
            "pad", "value", was=f"a {type(value).__name__}", needed="a real number"
        )
    margin: float = operand("pad", float64, value, "value")
    return margin


@torch_name(method=False, out=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """Margins of one value, the last dim's first."""
    return _constant_pad(input, pad, "constant", value)


_constant_pad = pad
Tensor.repeat = guarded(_repeat, "repeat", False)  # type: ignore[attr-defined]
Tensor.tile = guarded(_tile, "tile", False)  # type: ignore[attr-defined]
Tensor.flip = guarded(_flip, "flip", False)  # type: ignore[attr-defined]
