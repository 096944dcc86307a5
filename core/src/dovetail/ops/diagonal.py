"""Diagonals: looked at, written to, made into matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import ANY
from dovetail.engine.attributes import Axis, Index, NewAxis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.tensor import Tensor
from dovetail.errors import DimError, ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.primitive import clone
from dovetail.ops.view import basic_index

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]
Geometry = tuple[Sizes, Sizes, int]


@op(
    accepts=ANY,
    promote=None,
    view=True,
    exact=True,
    torch="diagonal",
    oracle=lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
)
def diagonal(input: Tensor, offset: int = 0, dim1: Axis = 0, dim2: Axis = 1) -> Tensor:
    """A diagonal of the matrices in two dims, as the last dim; above for offset > 0."""


@diagonal.geometry
def _(
    size: Sizes, strides: Sizes | None, *, offset: int, dim1: int, dim2: int
) -> Geometry:
    if len(size) < 2 or dim1 == dim2:
        raise DimError(
            "diagonal", "dims", was=f"{dim1} and {dim2} for shape {tuple(size)}",
            needed="two different dims",
        )  # fmt: skip
    steps = strides or (0,) * len(size)
    row, column = max(0, -offset), max(0, offset)
    length = max(0, min(size[dim1] - row, size[dim2] - column))
    rest = [d for d in range(len(size)) if d not in (dim1, dim2)]
    start = row * steps[dim1] + column * steps[dim2] if length else 0
    return (
        (*(size[d] for d in rest), length),
        (*(steps[d] for d in rest), steps[dim1] + steps[dim2]),
        start,
    )


@diagonal.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(3, 4))
    yield case(make(3, 4), 1)
    yield case(make(2, 3, 4), -1, -1, 0)
    yield case(make(2, 3), 5)


@op(shape=lambda x, src, **_: x, accepts=ANY, exact=True)
def diagonal_put(
    input: Tensor, src: Tensor, offset: int = 0, dim1: Axis = 0, dim2: Axis = 1
) -> Tensor:
    """`input` with `src` written over a diagonal."""
    y = clone(input)
    write("diagonal_scatter", diagonal(y, offset, dim1, dim2), src)
    return y


diagonal.grad(
    input=lambda ct, input_shape, offset, dim1, dim2: diagonal_put(
        zeros_of(ct, input_shape), ct, offset, dim1, dim2
    )
)
diagonal_put.grad(
    input=lambda ct, src_shape, offset, dim1, dim2: diagonal_put(
        ct, zeros_of(ct, src_shape), offset, dim1, dim2
    ),
    src=lambda ct, offset, dim1, dim2: diagonal(ct, offset, dim1, dim2),
)


@diagonal_put.oracle
def _(x: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    y = x.copy()
    moved = np.moveaxis(y, (dim1, dim2), (-2, -1))
    for k in range(src.shape[-1]):
        moved[..., k + max(0, -offset), k + max(0, offset)] = src[..., k]
    return y


@diagonal_put.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(3, 4), make(3))
    yield case(make(2, 3, 4), make(3, 2), -1, 2, 0)


@op(shape=lambda x, src, *, index: x, accepts=ANY, exact=True)
def basic_put(input: Tensor, src: Tensor, index: Index) -> Tensor:
    """`input` with `src` written over the part that a basic index names."""
    y = clone(input)
    write("slice_scatter", basic_index(y, index), src)
    return y


basic_put.grad(
    input=lambda ct, src_shape, index: basic_put(ct, zeros_of(ct, src_shape), index),
    src=lambda ct, index: basic_index(ct, index),
)


@basic_put.oracle
def _(x: Array, src: Array, index: Any) -> Array:
    y = x.copy()
    y[index] = src
    return y


@basic_put.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(3, 4), make(3, 2), (slice(None), slice(0, 4, 2)))
    yield case(make(3, 4), make(4), (1,))


def _embedded(x: Sizes, *, offset: int, dim1: int, dim2: int) -> Sizes:
    if not x or dim1 == dim2:
        raise ShapeError(
            "diag_embed", "x", was=f"of shape {tuple(x)}, dims {dim1} and {dim2}",
            needed="at least one dim, and two different places",
        )  # fmt: skip
    n = x[-1] + abs(offset)
    shape = list(x[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, n)
    return tuple(shape)


@op(shape=_embedded, accepts=ANY, exact=True, torch="diag_embed", out=False)
def diag_embed(
    input: Tensor, offset: int = 0, dim1: NewAxis = -2, dim2: NewAxis = -1
) -> Tensor:
    """Matrices in two new dims, the last dim of `input` as a diagonal in zeros."""
    shape = _embedded(tuple(input._a.shape), offset=offset, dim1=dim1, dim2=dim2)
    return diagonal_put(zeros_of(input, shape), input, offset, dim1, dim2)


diag_embed.grad(input=lambda ct, offset, dim1, dim2: diagonal(ct, offset, dim1, dim2))


@diag_embed.oracle
def _(x: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    n = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], n, n), x.dtype)
    for k in range(x.shape[-1]):
        y[..., k + max(0, -offset), k + max(0, offset)] = x[..., k]
    return np.moveaxis(y, (-2, -1), (dim1, dim2))


@diag_embed.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(3), 0, 0, 1)
    yield case(make(2, 3), 1, 0, 2)
    yield case(make(2, 3), -2, 1, 0)
    yield case(make(2, 3))
