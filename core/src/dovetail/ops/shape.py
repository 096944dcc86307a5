"""Copies under another shape: joined, repeated, reversed, cut to triangles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import ANY
from dovetail.engine.attributes import Axis, AxisList, AxisSet, Ints, NewAxis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops import sums
from dovetail.ops.create import counted, empty, zeros_of
from dovetail.ops.index_slices import index_select
from dovetail.ops.primitive import bitwise_xor, clone, lt, sub, where
from dovetail.ops.view import basic_index, expand, reshape

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]


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


@op(
    autocast="widest",
    shape=_joined,
    accepts=ANY,
    exact=True,
    oracle=lambda xs, dim=0: np.concatenate(xs, dim),
)
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


def _cut(ct: Tensor, tensors_shape: Sequence[Sizes], dim: int) -> list[Tensor]:
    found, at = [], 0
    for shape in tensors_shape:
        end = at + shape[dim]
        found.append(basic_index(ct, along(dim, slice(at, end))))
        at = end
    return found


cat.grad(tensors=_cut)


@cat.cases
def _(make: Any) -> Iterator[Case]:
    yield case([make(2, 3), make(1, 3), make(0, 3)], 0)
    yield case([make(2, 3, 1), make(2, 3, 2)], -1)
    yield case([make(4)], 0)
    yield case([make(2, 3)], -1)


def _stacked(xs: Sequence[Sizes], *, dim: int) -> Sizes:
    first = tuple(xs[0])
    for i, shape in enumerate(xs):
        if tuple(shape) != first:
            raise ShapeError(
                "stack", f"tensors[{i}]", was=f"of shape {tuple(shape)}",
                needed=f"{first}, as tensors[0] has",
            )  # fmt: skip
    return (*first[:dim], len(xs), *first[dim:])


@op(
    autocast="widest",
    shape=_stacked,
    accepts=ANY,
    exact=True,
    torch="torch.stack",
    oracle=lambda xs, dim=0: np.stack(xs, dim),
)
def stack(tensors: list[Tensor], dim: NewAxis = 0) -> Tensor:
    """The tensors, all of one shape, side by side along a new dim."""
    shape = tuple(tensors[0]._a.shape)
    thick = (*shape[:dim], 1, *shape[dim:])
    return cat([reshape(x, thick) for x in tensors], dim)


stack.grad(
    tensors=lambda ct, tensors_shape, dim: [
        basic_index(ct, along(dim, i)) for i in range(len(tensors_shape))
    ]
)


@stack.cases
def _(make: Any) -> Iterator[Case]:
    yield case([make(2, 3), make(2, 3)], 0)
    yield case([make(2, 3), make(2, 3), make(2, 3)], -1)
    yield case([make(), make()], 0)
    yield case([make(3)], 1)


def _repeated(x: Sizes, *, repeats: Sizes) -> Sizes:
    missing = len(repeats) - len(x)
    if missing < 0 or any(r < 0 for r in repeats):
        raise ArgumentError(
            "repeat", "repeats", was=repeats,
            needed=f"at least {len(x)} counts, one a dim, none negative",
        )  # fmt: skip
    return tuple(n * r for n, r in zip((*(1,) * missing, *x), repeats, strict=True))


@op(shape=_repeated, accepts=ANY, exact=True, torch="Tensor.repeat*")
def repeat(input: Tensor, repeats: Ints) -> Tensor:
    """`input` laid side by side with itself, `repeats` times along each dim."""
    shape = tuple(input._a.shape)
    whole = (*(1,) * (len(repeats) - len(shape)), *shape)
    pairs = [size for r, n in zip(repeats, whole, strict=True) for size in (r, n)]
    ones = [size for n in whole for size in (1, n)]
    copied = clone(expand(reshape(input, tuple(ones)), tuple(pairs)))
    return reshape(copied, _repeated(shape, repeats=tuple(repeats)))


def _repeat_gradient(ct: Tensor, input_shape: Sizes, repeats: Sizes) -> Tensor:
    whole = (*(1,) * (len(repeats) - len(input_shape)), *input_shape)
    pairs = tuple(size for r, n in zip(repeats, whole, strict=True) for size in (r, n))
    total = sums.sum(reshape(ct, pairs), tuple(range(0, len(pairs), 2)))
    return reshape(total, input_shape)


repeat.grad(input=_repeat_gradient)


@repeat.oracle
def _(x: Array, repeats: Sizes) -> Array:
    y = np.empty(_repeated(x.shape, repeats=repeats), x.dtype)
    for at in np.ndindex(*y.shape):
        tail = at[y.ndim - x.ndim :]
        y[at] = x[tuple(i % n for i, n in zip(tail, x.shape, strict=True))]
    return y


@repeat.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(2, 3), (2, 1))
    yield case(make(2, 3), (2, 3, 2))
    yield case(make(), (3,))
    yield case(make(2), (0,))


@op(
    shape=lambda x, *, dims: x,
    accepts=ANY,
    exact=True,
    grows=(1,),
    torch="torch.flip Tensor.flip*",
    out=False,
    oracle=lambda x, dims: np.flip(x, dims) if x.ndim else x,
)
def flip(input: Tensor, dims: AxisSet) -> Tensor:
    """`input` with the order along `dims` reversed."""
    y = clone(input)
    for d in dims if input._a.shape else ():  # type: ignore[union-attr]
        n = int(input._a.shape[d])
        y = index_select(y, d, sub(n - 1, counted(n, input)))
    return y


flip.grad(input=lambda ct, dims: flip(ct, dims))


@flip.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(2, 3), (0,))
    yield case(make(2, 3, 4), (-1, 0))
    yield case(make(), (0,))
    yield case(make(0, 2), (1,))


def _rolled(x: Sizes, *, shifts: Sizes, dims: Sizes) -> Sizes:
    if len(shifts) != (len(dims) or 1):
        raise ArgumentError(
            "roll", "shifts", was=shifts,
            needed=f"one for each of {dims}" if dims else "one without dims",
        )  # fmt: skip
    return tuple(x)


@op(shape=_rolled, accepts=ANY, exact=True, torch="roll", out=False, grows=(1,),
    oracle=lambda x, shifts, dims=(): np.roll(x, shifts, dims or None))  # fmt: skip
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


@roll.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(5), (2,), (0,))
    yield case(make(2, 3), (1, -4), (0, 1))
    yield case(make(2, 3), (1, 1), (1, 1))
    yield case(make(2, 3), (2,))
    yield case(make(0, 3), (1,), (0,))


def _matrix(name: str, x: Sizes) -> Sizes:
    if len(x) < 2:
        raise ShapeError(
            name, "x", was=f"of shape {tuple(x)}", needed="at least two dims"
        )
    return tuple(x)


def _below(x: Tensor, diagonal: int) -> Tensor:
    """Mask of the elements on and below a diagonal of a matrix: column - row <= it."""
    rows, columns = (int(n) for n in x._a.shape[-2:])
    row = reshape(counted(rows, x), (rows, 1))
    column = reshape(counted(columns, x), (1, columns))
    return lt(sub(column, row), diagonal + 1)


@op(
    shape=lambda x, *, diagonal: _matrix("tril", x),
    accepts=ANY,
    exact=True,
    torch="tril Tensor.tril_",
)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices in the last two dims with zeros above a diagonal."""
    return where(_below(input, diagonal), input, zeros_of(input, ()))


tril.grad(input=lambda ct, diagonal: tril(ct, diagonal))


@op(
    shape=lambda x, *, diagonal: _matrix("triu", x),
    accepts=ANY,
    exact=True,
    torch="triu Tensor.triu_",
)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices in the last two dims with zeros below a diagonal."""
    above = bitwise_xor(_below(input, diagonal - 1), True)
    return where(above, input, zeros_of(input, ()))


triu.grad(input=lambda ct, diagonal: triu(ct, diagonal))


@tril.oracle
def _(x: Array, diagonal: int = 0) -> Array:
    y = x.copy()
    for *batch, i, j in np.ndindex(*x.shape):
        if j - i > diagonal:
            y[(*batch, i, j)] = 0
    return y


@triu.oracle
def _(x: Array, diagonal: int = 0) -> Array:
    y = x.copy()
    for *batch, i, j in np.ndindex(*x.shape):
        if j - i < diagonal:
            y[(*batch, i, j)] = 0
    return y


def _triangle_cases(make: Any) -> Iterator[Case]:
    yield case(make(3, 4))
    yield case(make(2, 4, 3), -1)
    yield case(make(4, 4), 2)
    yield case(make(0, 3), 1)


tril.cases(_triangle_cases)
triu.cases(_triangle_cases)
