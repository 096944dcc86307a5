"""Diagonals: looked at, written to, made into matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import STORED, Array, Sizes
from dovetail.engine.attributes import Axis, Index, NewAxis
from dovetail.engine.cases import Case, calls_of, case
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.tensor import Tensor
from dovetail.errors import MisusedDimError, ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.primitive import clone
from dovetail.ops.read_write import derive_read, derive_write
from dovetail.ops.view import basic_index

Geometry = tuple[Sizes, Sizes, int]


def _line(
    size: Sizes, strides: Sizes | None, *, offset: int, dim1: int, dim2: int
) -> Geometry:
    if len(size) < 2 or dim1 == dim2:
        raise MisusedDimError(
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


@op(accepts=STORED, promote=None, view=True, unrounded=True, torch="diagonal",
    geometry=_line,
    oracle=lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    cases=lambda _: [[3, 4], ([3, 4], 1), ([2, 3, 4], -1, -1, 0), ([2, 3], 5)],
)  # fmt: skip
def diagonal(input: Tensor, offset: int = 0, dim1: Axis = 0, dim2: Axis = 1) -> Tensor:
    """A diagonal of the matrices in two dims, as the last dim; above for offset > 0."""


def _over(view: Any, name: str) -> Any:
    """The rule of an op of that name that writes over a view of its input."""

    def rule(x: Sizes, src: Sizes, **attrs: Any) -> Sizes:
        wanted = view.op.view_shape(x, attrs)
        if tuple(src) != wanted:
            raise ShapeError(
                name, "src", was=f"of shape {tuple(src)}", needed=f"{wanted}"
            )
        return x

    return rule


_WRITES: Any = {
    "accepts": STORED, "promote": "first", "unrounded": True, "row_major": False,
}  # fmt: skip


@op(shape=_over(diagonal, "diagonal_scatter"), torch="diagonal_scatter", out=False,
    **_WRITES)  # fmt: skip
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: Axis = 0, dim2: Axis = 1
) -> Tensor:
    """`input` with `src` as a diagonal."""
    y = clone(input)
    write("diagonal_scatter", diagonal(y, offset, dim1, dim2), src)
    return y


@op(shape=_over(basic_index, "slice_scatter"), **_WRITES)
def basic_put(input: Tensor, src: Tensor, index: Index) -> Tensor:
    """`input` with `src` written over the part that a basic index names."""
    y = clone(input)
    write("slice_scatter", basic_index(y, index), src)
    return y


def _cases_over(view: Any) -> Any:
    """Sample calls of an op that writes over a view: those of the view."""

    def cases(make: Any) -> Iterator[Case]:
        for (x, *args), named in calls_of(view.op, make):
            shape = view.op.oracle(x, *args, **named).shape
            yield case(x, make.exactly(shape), *args, **named)

    return cases


diagonal_scatter.cases(_cases_over(diagonal))
basic_put.cases(_cases_over(basic_index))
derive_write(diagonal_scatter, diagonal, "src")
derive_write(basic_put, basic_index, "src")
derive_read(diagonal, diagonal_scatter, "src")


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


def _in_zeros(x: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    n = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], n, n), x.dtype)
    for k in range(x.shape[-1]):
        y[..., k + max(0, -offset), k + max(0, offset)] = x[..., k]
    return np.moveaxis(y, (-2, -1), (dim1, dim2))


@op(shape=_embedded, accepts=STORED, unrounded=True, torch="diag_embed", out=False,
    oracle=_in_zeros,
    grad=lambda ct, offset, dim1, dim2: diagonal(ct, offset, dim1, dim2),
    cases=lambda _: [([3], 0, 0, 1), ([2, 3], 1, 0, 2), ([2, 3], -2, 1, 0), [2, 3]],
)  # fmt: skip
def diag_embed(
    input: Tensor, offset: int = 0, dim1: NewAxis = -2, dim2: NewAxis = -1
) -> Tensor:
    """Matrices in two new dims, the last dim of `input` as a diagonal in zeros."""
    shape = _embedded(tuple(input._a.shape), offset=offset, dim1=dim1, dim2=dim2)
    y = zeros_of(input, shape)
    write("diag_embed", diagonal(y, offset, dim1, dim2), input)
    return y
