"""Eigenvalues and singular values by Jacobi's rotations."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array, Sizes, int32
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.arithmetic import sqrt
from dovetail.ops.complex import imag, real_dtype
from dovetail.ops.diagonal import diag_embed, diagonal
from dovetail.ops.elementwise import abs, sgn
from dovetail.ops.extremes import amax, argmax
from dovetail.ops.formats import cast, conj, iota, take_along, where
from dovetail.ops.lu import unmoved
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
from dovetail.ops.shape import cat
from dovetail.ops.sums import sum
from dovetail.ops.view import basic_index, expand, transpose, unsqueeze

_NEAR: Final = 1e-3  # in the samples: what is nearer is not told apart in float32
_FEW: Any = OF_LAPACK | {"largest": 9}  # elements, as sweeps are many steps


def _rounds(n: int) -> list[list[tuple[int, int]]]:
    """Every pair of 0 … n-1 once, in rounds whose pairs are apart: a tournament."""
    players = list(range(n + n % 2))
    rounds = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = zip(players[:half], reversed(players[half:]), strict=True)
        rounds.append([(min(p), max(p)) for p in pairs if max(p) < n])
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def _sweeps(n: int) -> int:
    """How many rounds of all pairs: each doubles the digits, once some are right."""
    return 2 if n < 3 else 3 + n.bit_length()  # of one pair the first is exact


def _partners(pairs: list[tuple[int, int]], of: Tensor) -> tuple[Tensor, Tensor]:
    """Who is paired with each column; -1 for the first of a pair, 1 for the other."""
    n = of._a.shape[-1]
    k = iota(n, of._kind.with_dtype(int32))
    partner, side = k, k * 0
    for p, q in pairs:
        partner = where(k == p, q, where(k == q, p, partner))
        side = where(k == p, -1, where(k == q, 1, side))
    return partner, side


def _rotation(gram: Tensor, partner: Tensor, side: Tensor) -> Tensor:
    """What makes the pairs of a Hermitian matrix 0 (Golub and Van Loan 2013, 8.5)."""
    shape = tuple(gram._a.shape)
    n, lead = shape[-1], shape[:-2]
    at = expand(partner, (*lead, 1, n))
    paired = basic_index(take_along(gram, at, len(lead)), (Ellipsis, 0, slice(None)))
    own = real_of(diagonal(gram, 0, -2, -1))
    other = take_along(own, expand(partner, (*lead, n)), len(lead))
    size = abs(paired)
    still = (size == 0) | (side == 0)
    tau = (own - other) * cast(side, own.dtype) / where(still, 1, size * 2)
    t = where(tau < 0, -1, 1) / (abs(tau) + sqrt(1 + tau * tau))
    t = where(still, 0, t)
    c = 1 / sqrt(1 + t * t)
    s = cast(c * t * cast(side, own.dtype), gram.dtype) * sgn(paired)
    rows = expand(unsqueeze(partner, -1), (n, n))
    exchange = take_along(identity(n, gram._kind), rows, 0)
    return diag_embed(cast(c, gram.dtype)) + matmul(exchange, diag_embed(s))


def _order(w: Tensor, descending: bool = False) -> Tensor:
    """Where numbers come from when they are sorted, by counting those before each.

    The matrix that they are of is as large as what is counted.
    """
    k = iota(w._a.shape[-1], w._kind.with_dtype(int32))
    own, other = unsqueeze(w, -1), unsqueeze(w, -2)
    before = other > own if descending else other < own
    before = before | ((other == own) & (unsqueeze(k, 0) < unsqueeze(k, 1)))
    return unmoved(cast(sum(cast(before, w.dtype), -1), int32))


def _ordered(x: Tensor, order: Tensor) -> Tensor:
    """The columns of matrices in another order."""
    at = expand(unsqueeze(order, -2), tuple(x._a.shape))
    return take_along(x, at, x.ndim - 1)


def _phases(v: Tensor) -> Tensor:
    """What turns each column so that its first large number is positive."""
    return conj(sgn(take_along(v, _first(v), v.ndim - 2)))


def _first(v: Tensor) -> Tensor:
    """Where the first large number of each column is."""
    size = abs(v)
    large = size * 2 >= amax(size, -2, True)
    return cast(argmax(cast(large, int32), -2, True), int32)


def _held(g: Tensor | None, v: Tensor, turning: Tensor) -> Tensor:
    """The gradient of vectors whose phase is held: the first large number stays real.

    What turns them, `turning` for each, is taken back by as much as that number is
    turned; of what does not depend on phases, nothing is.
    """
    if 0 in v._a.shape[-2:]:
        return v if g is None else g
    at = _first(v)
    back = turning / real_of(take_along(v, at, v.ndim - 2))
    rows = unsqueeze(iota(v._a.shape[-2], at._kind), -1)
    held = where(rows == at, cast(back, v.dtype) * 1j, 0)
    return held if g is None else g + held


def _turning_of(g: Tensor | None, v: Tensor) -> Any:
    """By how much a turn of each vector changes what the gradient is of."""
    return 0 if g is None else imag(sum(conj(g) * v, -2, True))


def _turned(v: Array) -> Array:
    size = np.abs(v)
    at = np.argmax(size * 2 >= size.max(-2, keepdims=True), -2, keepdims=True)
    first = np.take_along_axis(v, at, -2)
    return np.asarray(np.conj(first) / np.abs(first))


def _gaps(w: Tensor) -> Tensor:
    """1 / (w_j - w_i), and 0 on the diagonal."""
    gap = unsqueeze(w, -2) - unsqueeze(w, -1)
    main = identity(w._a.shape[-1], w._kind)
    return (1 - main) / (gap + main)


def _eigh_rule(ct: Any, w: Tensor, v: Tensor) -> Tensor:
    """Giles 2008, Collected matrix derivative results, 3.1."""
    gw, gv = ct
    inner = None if gw is None else diag_embed(cast(gw, v.dtype))
    if gv is not None:
        if v.dtype.is_complex:
            gv = _held(gv, v, _turning_of(gv, v))
        turned = matmul(adjoint(v), gv) * cast(_gaps(w), v.dtype)
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
    _apart("eigen_hermitian", w)
    return w, v * _turned(v)


def _apart(name: str, values: Array) -> None:
    """Refuse what has no one answer: vectors of values that are equal."""
    gaps = np.abs(np.diff(values, axis=-1))
    if gaps.size and gaps.min() <= _NEAR * np.abs(values).max():
        raise ArgumentError(name, "input", was="degenerate", needed="values apart")


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
    steps = [_partners(pairs, a) for pairs in _rounds(n)]
    for _ in range(_sweeps(n)):
        for partner, side in steps:
            j = _rotation(a, partner, side)
            a, v = matmul(adjoint(j), matmul(a, j)), matmul(v, j)
    w = real_of(diagonal(a, 0, -2, -1))
    if not n:
        return w, v
    order = _order(w)
    w = take_along(w, order, w.ndim - 1)
    v = _ordered(v, order)
    return w, v * _phases(v)


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
        gu = _held(gu, u, _turning_of(gu, u) + _turning_of(gv, v))
    row, column = (cast(unsqueeze(s, d), u.dtype) for d in (-2, -1))
    gaps = cast(_gaps(s * s), u.dtype)
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
    _apart("singular_values", s)
    k = s.shape[-1]
    if k:
        phase = _turned(u[..., :k])
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
    front = _phases(basic_index(u, (Ellipsis, slice(0, k))))
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
        steps = [_partners(pairs, x) for pairs in _rounds(m)]
        for _ in range(_sweeps(m)):
            for partner, side in steps:
                j = _rotation(matmul(adjoint(x), x), partner, side)
                x, v = matmul(x, j), matmul(v, j)
    size = abs(x)
    s = sqrt(sum(size * size, -2))
    if m:
        order = _order(s, True)
        s = take_along(s, order, s.ndim - 1)
        x, v = _ordered(x, order), _ordered(v, order)
    scale = cast(unsqueeze(s, -2), x.dtype)
    u = x / where(scale == 0, 1, scale)
    # Where a singular value is 0, and for the columns beyond, any that are orthogonal.
    q, _ = qr_factorise(u, full)
    u = where(scale == 0, basic_index(q, (Ellipsis, slice(0, m))), u)
    if full and n > m:
        u = cat([u, basic_index(q, (Ellipsis, slice(m, None)))], -1)
    return u, s, adjoint(v)
