"""Eigenvalues and singular values by Jacobi's rotations."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import Array, Sizes
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.arithmetic import sqrt
from dovetail.ops.complex import imag, real_dtype
from dovetail.ops.diagonal import diag_embed, diagonal
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import cast, conj, take_along, where
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import (
    OF_LAPACK,
    adjoint,
    definite,
    hermitian,
    identity,
    matrix,
    regular,
    square,
    well_posed,
)
from dovetail.ops.qr import qr_factorise, real_of
from dovetail.ops.rotations import (
    inverse_gaps,
    order_of,
    ordered,
    partners,
    phases,
    phases_of,
    refuse_near,
    rotation,
    rounds_of_pairs,
    sweeps,
    turning_of,
    with_phases_held,
)
from dovetail.ops.shape import cat
from dovetail.ops.sums import sum
from dovetail.ops.view import basic_index, expand, transpose, unsqueeze

_FEW: Any = OF_LAPACK | {"largest": 9}  # elements, as sweeps are many steps


def _eigh_rule(ct: Any, w: Tensor, v: Tensor) -> Tensor:
    """Giles 2008, Collected matrix derivative results, 3.1."""
    gw, gv = ct
    inner = None if gw is None else diag_embed(cast(gw, v.dtype))
    if gv is not None:
        if v.dtype.is_complex:
            gv = with_phases_held(gv, v, turning_of(gv, v))
        turned = matmul(adjoint(v), gv) * cast(inverse_gaps(w), v.dtype)
        inner = turned if inner is None else inner + turned
    assert inner is not None
    return hermitian(matmul(v, matmul(inner, adjoint(v))))


def _eigh_shapes(shape: Sizes) -> tuple[Sizes, Sizes]:
    found = square("eigen_hermitian", shape)
    return found[:-1], found


def _eigh(x: Array) -> tuple[Array, Array]:
    if not x.shape[-1]:
        return np.zeros(x.shape[:-1], x.real.dtype), x
    w, v = np.linalg.eigh((x + np.conj(np.swapaxes(x, -1, -2))) / 2)
    refuse_near("eigen_hermitian", w)
    return w, v * phases_of(v)


@op(shape=_eigh_shapes, **_FEW, result=(real_dtype, "same"),
    outputs=("w", "v"), oracle=_eigh,
    cases=lambda make: [
        case(definite(make, *s)) for s in ((3, 3), (2, 2, 2))
    ],
    grad={"input": _eigh_rule})  # fmt: skip
def eigen_hermitian(input: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues of the Hermitian part of `input`, ascending, and their vectors.

    Vectors are columns of length 1, whose first large number is positive.
    """
    a, n = hermitian(input), input._a.shape[-1]
    v: Tensor = expand(identity(n, input._kind), tuple(input._a.shape))
    steps = [partners(pairs, a) for pairs in rounds_of_pairs(n)]
    for _ in range(sweeps(n)):
        for partner, side in steps:
            j = rotation(a, partner, side)
            a, v = matmul(adjoint(j), matmul(a, j)), matmul(v, j)
    w = real_of(diagonal(a, 0, -2, -1))
    if not n:
        return w, v
    order = order_of(w)
    w = take_along(w, order, w.ndim - 1)
    v = ordered(v, order)
    return w, v * phases(v)


def _svd_shapes(shape: Sizes, *, full: bool) -> tuple[Sizes, Sizes, Sizes]:
    *lead, n, m = matrix("singular_values", shape)
    k = min(n, m)
    return (*lead, n, n if full else k), (*lead, k), (*lead, m if full else k, m)


def _svd_rule(ct: Any, u: Tensor, s: Tensor, vh: Tensor) -> Tensor:
    """Townsend 2016, Differentiating the singular value decomposition."""
    gu, gs, gvh = ct
    k = s._a.shape[-1]
    cut = (Ellipsis, slice(0, k))
    u, v = basic_index(u, cut), basic_index(adjoint(vh), cut)
    gu = None if gu is None else basic_index(gu, cut)
    gv = None if gvh is None else basic_index(adjoint(gvh), cut)
    if u.dtype.is_complex and (gu is not None or gv is not None):
        gu = with_phases_held(gu, u, turning_of(gu, u) + turning_of(gv, v))
    row, column = (cast(unsqueeze(s, d), u.dtype) for d in (-2, -1))
    gaps = cast(inverse_gaps(s * s), u.dtype)
    inner = s * 0 if gs is None else gs
    middle = diag_embed(cast(inner, u.dtype))
    if gu is not None:
        middle = middle + _skew(u, gu) * gaps * row
        if u.dtype.is_complex:
            middle = middle + diag_embed(_turning(u, gu) / cast(s, u.dtype))
    if gv is not None:
        middle = middle + column * (_skew(v, gv) * gaps)
    y = matmul(matmul(u, middle), adjoint(v))
    if gu is not None and u._a.shape[-2] > k:
        outside = gu - matmul(u, matmul(adjoint(u), gu))
        y = y + matmul(outside / row, adjoint(v))
    if gv is not None and v._a.shape[-2] > k:
        outside = gv - matmul(v, matmul(adjoint(v), gv))
        y = y + matmul(u, adjoint(outside / row))
    return y


def _skew(x: Tensor, g: Tensor) -> Tensor:
    inner = matmul(adjoint(x), g)
    return inner - adjoint(inner)


def _turning(u: Tensor, gu: Tensor) -> Tensor:
    inner = diagonal(matmul(adjoint(u), gu), 0, -2, -1)
    return cast(imag(inner), u.dtype) * 1j


def _svd(x: Array, full: bool = False) -> tuple[Array, Array, Array]:
    if full and x.shape[-2] != x.shape[-1]:
        raise ArgumentError(
            "singular_values", "full", was="given of a matrix that is not square",
            needed="False: what is added to its vectors may be any that complete them",
        )  # fmt: skip
    well_posed("singular_values", x)
    u, s, vh = np.linalg.svd(x, full_matrices=full)
    refuse_near("singular_values", s)
    k = s.shape[-1]
    if k:
        phase = phases_of(u[..., :k])
        u[..., :k] *= phase
        vh[..., :k, :] *= np.conj(np.swapaxes(phase, -1, -2))
    return u, s, vh


def _svd_cases(make: Any) -> Any:
    for shape in ((3, 2), (2, 3), (2, 2, 2)):
        yield case(regular(make, *shape))
    yield case(regular(make, 2, 2), True)


@op(shape=_svd_shapes, **_FEW, result=("same", real_dtype, "same"),
    outputs=("u", "s", "vh"), oracle=_svd, cases=_svd_cases,
    grad={"input": _svd_rule})  # fmt: skip
def singular_values(input: Tensor, full: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and Vᴴ with U S Vᴴ = `input`, the singular values descending.

    Columns of U have a first large number that is positive. `full` makes U and V
    square. By rotations of columns (Hestenes 1958).
    """
    n, m = input._a.shape[-2:]
    if n < m:
        u, s, vh = _hestenes(adjoint(input), full)
        left = adjoint(vh)
        u, vh = left, adjoint(u)
    else:
        u, s, vh = _hestenes(input, full)
    k = min(n, m)
    if not k:
        return u, s, vh
    front = phases(basic_index(u, (Ellipsis, slice(0, k))))
    left = basic_index(u, (Ellipsis, slice(0, k))) * front
    right = basic_index(vh, (Ellipsis, slice(0, k), slice(None)))
    right = right * conj(transpose(front, -2, -1))
    u = cat([left, basic_index(u, (Ellipsis, slice(k, None)))], -1)
    vh = cat([right, basic_index(vh, (Ellipsis, slice(k, None), slice(None)))], -2)
    return u, s, vh


def _hestenes(x: Tensor, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The same of matrices with no fewer rows than columns."""
    n, m = x._a.shape[-2:]
    lead = tuple(x._a.shape[:-2])
    v: Tensor = expand(identity(m, x._kind), (*lead, m, m))
    if m:
        steps = [partners(pairs, x) for pairs in rounds_of_pairs(m)]
        for _ in range(sweeps(m)):
            for partner, side in steps:
                j = rotation(matmul(adjoint(x), x), partner, side)
                x, v = matmul(x, j), matmul(v, j)
    size = abs(x)
    s = sqrt(sum(size * size, -2))
    if m:
        order = order_of(s, True)
        s = take_along(s, order, s.ndim - 1)
        x, v = ordered(x, order), ordered(v, order)
    scale = cast(unsqueeze(s, -2), x.dtype)
    u = x / where(scale == 0, 1, scale)
    # Where a singular value is 0, and for the columns beyond, any that are orthogonal.
    q, _ = qr_factorise(u, full)
    u = where(scale == 0, basic_index(q, (Ellipsis, slice(0, m))), u)
    if full and n > m:
        u = cat([u, basic_index(q, (Ellipsis, slice(m, None)))], -1)
    return u, s, adjoint(v)
