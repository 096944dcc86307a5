"""Copies under another shape: joined, repeated, reversed, cut to triangles."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, STORED, Array, Sizes
from dovetail.engine.attributes import Axis, AxisList, AxisSet, Ints, NewAxis
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops import sums
from dovetail.ops.create import counted, empty, zeros_of
from dovetail.ops.index_slices import index_select
from dovetail.ops.primitive import clone, where
from dovetail.ops.view import basic_index, expand, reshape


def _joined(xs: Sequence[Sizes], *, dim: int) -> Sizes:
    first = tuple(xs[0])
    for i, shape in enumerate(xs):
        if len(shape) != len(first) or any(
            d != dim and a != b
            for d, (a, b) in enumerate(zip(shape, first, strict=True))
        ):
            raise ShapeError(
                "cat", f"tensors[{i}]", was=f"of shape {tuple(shape)}",
                needed=f"the sizes of tensors[0] {first} in every dim but {dim}",
            )  # fmt: skip
    if not first:
        raise ShapeError("cat", "tensors[0]", was="0-d", needed="at least one dim",
                         remedy="use stack()")  # fmt: skip
    return (*first[:dim], sum(shape[dim] for shape in xs), *first[dim + 1 :])


def _cut(ct: Tensor, tensors_shape: Sequence[Sizes], dim: int) -> list[Tensor]:
    ends = list(accumulate((shape[dim] for shape in tensors_shape), initial=0))
    return [basic_index(ct, along(dim, slice(*cut))) for cut in pairwise(ends)]


@op(autocast="widest", shape=_joined, accepts=STORED, unrounded=True, grad=_cut,
    row_major=False, oracle=lambda xs, dim=0: np.concatenate(xs, dim), cases=lambda _: [
        ([[2, 3], [1, 3], [0, 3]], 0), ([[2, 3, 1], [2, 3, 2]], -1), ([[4]], 0),
        ([[2, 3]], -1), ([[3, 2]] * 40, 0),
    ])  # fmt: skip
def cat(tensors: list[Tensor], dim: Axis = 0) -> Tensor:
    """The tensors one behind the other along an existing dim."""
    shape = _joined([tuple(x._a.shape) for x in tensors], dim=dim)
    y = empty(shape, tensors[0]._kind)
    at = 0
    for x in tensors:
        end = at + x._a.shape[dim]
        write("cat", basic_index(y, along(dim, slice(at, end))), x)
        at = end
    return y


def along(dim: int, entry: Any) -> tuple[Any, ...]:
    """The basic index that applies `entry` to one dim."""
    return (*(slice(None),) * dim, entry)


def _stacked(xs: Sequence[Sizes], *, dim: int) -> Sizes:
    first = tuple(xs[0])
    for i, shape in enumerate(xs):
        if tuple(shape) != first:
            raise ShapeError(
                "stack", f"tensors[{i}]", was=f"of shape {tuple(shape)}",
                needed=f"{first}, as tensors[0] has",
                remedy="stack expects each tensor to be equal size",
            )  # fmt: skip
    return (*first[:dim], len(xs), *first[dim:])


def _unstacked(ct: Tensor, tensors_shape: Sequence[Sizes], dim: int) -> list[Tensor]:
    return [basic_index(ct, along(dim, i)) for i in range(len(tensors_shape))]


@op(autocast="widest", shape=_stacked, accepts=STORED, unrounded=True,
    torch="torch.stack", oracle=lambda xs, dim=0: np.stack(xs, dim), grad=_unstacked,
    cases=lambda _: [
        ([[2, 3], [2, 3]], 0), ([[2, 3], [2, 3], [2, 3]], -1), ([[], []], 0),
        ([[3]], 1), ([[2, 3]] * 40, 1),
    ])  # fmt: skip
def stack(tensors: list[Tensor], dim: NewAxis = 0) -> Tensor:
    """The tensors, all of one shape, side by side along a new dim.

    Returns: [..., count, ...], the new dim at `dim`.

    Raises: ShapeError for tensors of different shapes.

    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    shape = tuple(tensors[0]._a.shape)
    thick = (*shape[:dim], 1, *shape[dim:])
    return cat([reshape(x, thick) for x in tensors], dim)


def _repeated(x: Sizes, *, repeats: Sizes) -> Sizes:
    missing = len(repeats) - len(x)
    if missing < 0 or any(r < 0 for r in repeats):
        raise ArgumentError(
            "repeat", "repeats", was=repeats,
            needed=f"at least {len(x)} counts, one a dim, none negative",
        )  # fmt: skip
    return tuple(n * r for n, r in zip((*(1,) * missing, *x), repeats, strict=True))


def _whole(shape: Sizes, repeats: Sizes) -> Sizes:
    """A shape with dims of size 1 before it, as many as there are counts in all."""
    return (*(1,) * (len(repeats) - len(shape)), *shape)


def _added_up(ct: Tensor, input_shape: Sizes, repeats: Sizes) -> Tensor:
    whole = _whole(input_shape, repeats)
    pairs = tuple(size for r, n in zip(repeats, whole, strict=True) for size in (r, n))
    total = sums.sum(reshape(ct, pairs), tuple(range(0, len(pairs), 2)))
    return reshape(total, input_shape)


def _repeat_oracle(x: Array, repeats: Sizes) -> Array:
    whole = _whole(x.shape, repeats)
    at = (np.arange(r * n) % n for r, n in zip(repeats, whole, strict=True))
    return np.array(x.reshape(whole)[np.ix_(*at)])


@op(shape=_repeated, accepts=STORED, unrounded=True, torch="Tensor.repeat*",
    grad=_added_up, oracle=_repeat_oracle, cases=lambda _: [
        ([2, 3], (2, 1)), ([2, 3], (2, 3, 2)), ([], (3,)), ([2], (0,)),
    ])  # fmt: skip
def repeat(input: Tensor, repeats: Ints) -> Tensor:
    """`input` laid side by side with itself, `repeats` times along each dim.

    Returns: each dim `repeats` times as long; leading ones are new dims.

    Raises: ArgumentError for fewer counts than dims.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    shape = tuple(input._a.shape)
    whole = _whole(shape, tuple(repeats))
    pairs = [size for r, n in zip(repeats, whole, strict=True) for size in (r, n)]
    ones = [size for n in whole for size in (1, n)]
    copied = clone(expand(reshape(input, tuple(ones)), tuple(pairs)))
    return reshape(copied, _repeated(shape, repeats=tuple(repeats)))


@op(shape=lambda x, *, dims: x, accepts=STORED, unrounded=True, out=False, grows=(1,),
    row_major=False, torch="torch.flip Tensor.flip*",
    oracle=lambda x, dims: np.flip(x, dims) if x.ndim else x, cases=lambda _: [
        ([2, 3], (0,)), ([2, 3, 4], (-1, 0)), ([], (0,)), ([0, 2], (1,)),
        ([2, 3, 4], (2, 0, 1)),
    ])  # fmt: skip
def flip(input: Tensor, dims: AxisSet) -> Tensor:
    """`input` with the order along `dims` reversed."""
    y = clone(input)
    for d in dims if input._a.shape else ():
        n = int(input._a.shape[d])
        y = index_select(y, d, n - 1 - counted(n, input))
    return y


flip.grad(input=lambda ct, dims: flip(ct, dims))


def _rolled(x: Sizes, *, shifts: Sizes, dims: Sizes) -> Sizes:
    if len(shifts) != (len(dims) or 1):
        raise ArgumentError(
            "roll", "shifts", was=shifts,
            needed=f"one for each of {dims}" if dims else "one without dims",
        )  # fmt: skip
    return tuple(x)


@op(shape=_rolled, accepts=STORED, unrounded=True, torch="roll", out=False, grows=(1,),
    oracle=lambda x, shifts, dims=(): np.roll(x, shifts, dims or None),
    cases=lambda _: [
        ([5], (2,), (0,)), ([2, 3], (1, -4), (0, 1)), ([2, 3], (1, 1), (1, 1)),
        ([2, 3], (2,)), ([0, 3], (1,), (0,)),
    ])  # fmt: skip
def roll(input: Tensor, shifts: Ints, dims: AxisList = ()) -> Tensor:
    """`input` moved by `shifts` along `dims`; what leaves one end enters the other.

    Without `dims`, all elements are moved in a row.
    """
    if not dims:
        flat: Tensor = roll(reshape(input, (-1,)), shifts, (0,))
        return reshape(flat, tuple(input._a.shape))
    y = clone(input)
    for shift, d in zip(shifts, dims, strict=True):
        n = int(input._a.shape[d])
        cut = -shift % n if n else 0
        if cut:
            tail = basic_index(y, along(d, slice(cut, n)))
            y = cat([tail, basic_index(y, along(d, slice(0, cut)))], d)
    return y


roll.grad(input=lambda ct, shifts, dims: roll(ct, tuple(-s for s in shifts), dims))


def _below(x: Tensor, diagonal: int) -> Tensor:
    """Mask of the elements on and below a diagonal of a matrix: column - row <= it."""
    rows, columns = (int(n) for n in x._a.shape[-2:])
    row = reshape(counted(rows, x), (rows, 1))
    column = reshape(counted(columns, x), (1, columns))
    return column - row < diagonal + 1


def _kept_where(holds: Callable[[Any, int], Any]) -> Callable[..., Array]:
    """The oracle: zeros but where a condition of column - row and diagonal holds."""

    def oracle(x: Array, diagonal: int = 0) -> Array:
        row, column = np.indices(x.shape[-2:])
        return np.where(holds(column - row, diagonal), x, np.zeros_like(x))

    return oracle


_TRIANGLE: Any = {
    "shape": "(n,m)->(n,m)", "accepts": ANY, "unrounded": True,
    "cases": lambda _: [[3, 4], ([2, 4, 3], -1), ([4, 4], 2), ([0, 3], 1)],
}  # fmt: skip


@op(out="same", torch="tril Tensor.tril_", oracle=_kept_where(operator.le), **_TRIANGLE)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices in the last two dims with zeros above a diagonal."""
    return where(_below(input, diagonal), input, zeros_of(input, ()))


@op(out="same", torch="triu Tensor.triu_", oracle=_kept_where(operator.ge), **_TRIANGLE)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices in the last two dims with zeros below a diagonal."""
    above = ~_below(input, diagonal - 1)
    return where(above, input, zeros_of(input, ()))


tril.grad(input=lambda ct, diagonal: tril(ct, diagonal))
triu.grad(input=lambda ct, diagonal: triu(ct, diagonal))
