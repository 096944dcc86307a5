"""Hermitian matrices of which one triangle is given."""

from __future__ import annotations

import numpy as np

from dovetail.dtypes import Array, Sizes, int32
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.complex import real
from dovetail.ops.diagonal import diag_embed, diagonal
from dovetail.ops.formats import cast, iota, where
from dovetail.ops.matrices import FORMATS, adjoint, square
from dovetail.ops.shape import tril, triu
from dovetail.ops.view import unsqueeze


def _shape(shape: Sizes, *, upper: bool) -> Sizes:
    return square("mirrored", shape)


def _whole(x: Array, upper: bool = False) -> Array:
    """The truth, an element at a time."""
    y = np.array(x)
    for *at, i, j in np.ndindex(*x.shape):
        given = i <= j if upper else i >= j
        y[(*at, i, j)] = x[(*at, i, j)] if given else np.conj(x[(*at, j, i)])
        if i == j:
            y[(*at, i, j)] = x[(*at, i, j)].real
    return y


def _one_triangle(ct: Tensor, upper: bool) -> Tensor:
    both = ct + adjoint(ct)
    main = diagonal(ct, 0, -2, -1)
    if main.dtype.is_complex:
        main = cast(real(main), ct.dtype)
    return (triu(both, 1) if upper else tril(both, -1)) + diag_embed(main)


@op(shape=_shape, accepts=FORMATS, unrounded=True,
    oracle=_whole,
    cases=lambda make: [
        case(make(*shape), upper)
        for shape in ((3, 3), (2, 4, 4), (1, 1)) for upper in (False, True)
    ],
    grad={"input": _one_triangle})  # fmt: skip
def mirrored(input: Tensor, upper: bool = False) -> Tensor:
    """The Hermitian matrices that one triangle says; of its diagonal, the real part."""
    r = iota(input._a.shape[-1], input._kind.with_dtype(int32))
    row, column = unsqueeze(r, -1), unsqueeze(r, -2)
    given = row <= column if upper else row >= column
    whole: Tensor = where(given, input, adjoint(input))
    if whole.dtype.is_complex:
        whole = where(row == column, cast(real(whole), whole.dtype), whole)
    return whole
