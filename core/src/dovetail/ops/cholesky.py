"""Cholesky's factor of matrices that are Hermitian and positive definite."""

from __future__ import annotations

import numpy as np

from dovetail.dtypes import Array, Sizes, int32
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import sqrt
from dovetail.ops.complex import real
from dovetail.ops.create import full
from dovetail.ops.diagonal import diag_embed, diagonal
from dovetail.ops.formats import cast, iota, where
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import OF_LAPACK, adjoint, definite, hermitian, square
from dovetail.ops.shape import tril
from dovetail.ops.triangular import solve_triangle
from dovetail.ops.view import basic_index, unsqueeze


def _shapes(shape: Sizes) -> tuple[Sizes, Sizes]:
    found = square("cholesky_factor", shape)
    return found, found[:-2]


def _rule(ct: Tensor, y: Tensor) -> Tensor:
    """Murray 2016, arXiv:1602.07527: the triangle of Lᴴ dL, its diagonal halved."""
    phi = tril(matmul(adjoint(y), ct))
    d = real(diagonal(phi, 0, -2, -1)) if y.dtype.is_complex else diagonal(
        phi, 0, -2, -1)  # fmt: skip
    phi = tril(phi, -1) + diag_embed(cast(d, y.dtype) * 0.5)
    left = solve_triangle(adjoint(y), phi, True)
    whole = adjoint(solve_triangle(adjoint(y), adjoint(left), True))
    return hermitian(whole)


def _factor(x: Array) -> tuple[Array, Array]:
    part = (x + np.conj(np.swapaxes(x, -1, -2))) / 2
    return np.linalg.cholesky(part), np.zeros(x.shape[:-2], np.int32)


@op(shape=_shapes, **OF_LAPACK, result=("same", int32), outputs=("y", "info"),
    oracle=_factor,
    cases=lambda make: [
        case(definite(make, *s)) for s in ((3, 3), (2, 2, 2), (1, 1), (4, 4))
    ],
    grad={"input": _rule})  # fmt: skip
def cholesky_factor(input: Tensor) -> tuple[Tensor, Tensor]:
    """The lower triangle L with L Lᴴ = the Hermitian part of `input`.

    `info` is 0, or the size of the first leading part that is not positive definite;
    what comes after that is no factor.
    """
    rest, n = hermitian(input), input._a.shape[-1]
    narrow = input._kind.with_dtype(int32)
    info: Tensor = full(tuple(input._a.shape[:-2]), 0, narrow)
    r = iota(n, narrow)
    y = rest * 0
    for k in range(n):
        corner = basic_index(rest, (Ellipsis, slice(k, k + 1), slice(k, k + 1)))
        size = real(corner) if corner.dtype.is_complex else corner
        good = size > 0
        bad = ~basic_index(good, (Ellipsis, 0, 0)) & (info == 0)
        info = where(bad, k + 1, info)
        root = cast(sqrt(where(good, size, 1)), y.dtype)
        column = basic_index(rest, (Ellipsis, slice(k, k + 1))) / root
        column = where(unsqueeze(r >= k, -1), column, 0)
        rest = rest - matmul(column, adjoint(column))
        y = y + column * cast(r == k, y.dtype)
    return y, info
