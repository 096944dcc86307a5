"""Orthogonal factors by Householder's reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import Array, Sizes, int32
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported, ShapeError
from dovetail.ops.arithmetic import maximum, sqrt
from dovetail.ops.compare import signbit
from dovetail.ops.complex import real
from dovetail.ops.create import filled, zeros_of
from dovetail.ops.elementwise import abs
from dovetail.ops.extremes import amax
from dovetail.ops.formats import cast, clone, conj, iota, where
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import (
    OF_LAPACK,
    adjoint,
    identity,
    matrix,
    regular,
    well_posed,
)
from dovetail.ops.shape import cat, stack, triu
from dovetail.ops.sums import sum
from dovetail.ops.triangular import solve_triangle
from dovetail.ops.view import basic_index, unsqueeze

_SHAPES = ((3, 3), (4, 2), (2, 4), (2, 3, 3), (1, 1))


def _cases(make: Any) -> Any:
    for shape in _SHAPES:
        yield case(regular(make, *shape))


def _reflected(x: Array) -> Any:
    turned, tau = np.linalg.qr(x, "raw")
    return np.swapaxes(turned, -1, -2), tau


def _factor_shapes(shape: Sizes) -> tuple[Sizes, Sizes]:
    found = matrix("householder_factor", shape)
    return found, (*found[:-2], min(found[-2:]))


@op(shape=_factor_shapes, **OF_LAPACK, outputs=("a", "tau"), nondifferentiable=True,
    oracle=_reflected, cases=_cases)  # fmt: skip
def householder_factor(input: Tensor) -> tuple[Tensor, Tensor]:
    """R above the diagonal; below it, and in `tau`, the reflections that make it.

    As LAPACK's geqrf (Golub and Van Loan 2013, 5.2).
    """
    y, (n, m) = input, input._a.shape[-2:]
    r = iota(n, input._kind.with_dtype(int32))
    # Below it a quotient of complex numbers overflows.
    least = float(np.finfo(input.dtype.real.numpy).smallest_normal)
    taus = []
    for k in range(min(n, m)):
        column = basic_index(y, (Ellipsis, slice(k, k + 1)))
        alpha = basic_index(column, (Ellipsis, slice(k, k + 1), slice(None)))
        below = where(unsqueeze(r > k, -1), column, 0)
        size = abs(below)
        first = abs(alpha)
        # Squares of what is left of dependent columns may be 0, or infinite.
        most = maximum(amax(size, -2, True), first)
        nothing = most < least
        most = where(nothing, 1, most)
        rest = sum((size / most) * (size / most), -2, True)
        flat = nothing | ((rest == 0) & (alpha == real_part(alpha)))
        length = most * sqrt((first / most) * (first / most) + rest)
        # LAPACK asks for the sign alone, also of -0.0.
        beta = where(signbit(real_of(alpha)), length, -length)
        beta = cast(where(flat, real_of(alpha), beta), y.dtype)
        safe = where(flat, 1, beta)
        tau = where(flat, 0, (beta - alpha) / safe)
        v = below / where(flat, 1, alpha - beta) + cast(unsqueeze(r == k, -1), y.dtype)
        right = basic_index(y, (Ellipsis, slice(k + 1, None)))
        right = right - conj(tau) * matmul(v, matmul(adjoint(v), right))
        new = where(unsqueeze(r > k, -1), v, column)
        new = where(unsqueeze(r == k, -1), beta, new)
        left = basic_index(y, (Ellipsis, slice(0, k)))
        y = cat([left, new, right], -1)
        taus.append(basic_index(tau, (Ellipsis, 0, 0)))
    if not taus:
        return y, zeros_of(y, (*y._a.shape[:-2], 0))
    return y, stack(taus, -1)


def real_of(x: Tensor) -> Tensor:
    """The real parts, as real numbers."""
    return real(x) if x.dtype.is_complex else x


def real_part(x: Tensor) -> Tensor:
    """The real parts, in the dtype of `x`."""
    return cast(real(x), x.dtype) if x.dtype.is_complex else x


def _product_shape(a: Sizes, tau: Sizes) -> Sizes:
    found = matrix("householder_product", a)
    n, m = found[-2:]
    if m > n or tuple(tau[:-1]) != found[:-2] or tau[-1] > m:
        raise ShapeError(
            "householder_product", "tau", was=f"{tuple(tau)} for input {found}",
            needed="at most as many as columns, and no more columns than rows",
        )  # fmt: skip
    return found


def _reflections(a: Array, tau: Array) -> Array:
    n, m = a.shape[-2:]
    y = np.broadcast_to(np.eye(n, m, dtype=a.dtype), a.shape)
    for k in reversed(range(tau.shape[-1])):
        v = np.where(np.arange(n) > k, a[..., k], np.arange(n) == k)[..., None]
        scaled = tau[..., k, None, None] * v
        y = y - scaled * np.sum(np.conj(v) * y, -2, keepdims=True)
    return np.asarray(y)


def _product_cases(make: Any) -> Any:
    for shape in ((3, 3), (4, 2), (2, 3, 3)):
        yield case(regular(make, *shape), make(*shape[:-2], shape[-1]))


@op(shape=_product_shape, **OF_LAPACK, oracle=_reflections, cases=_product_cases)
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of reflections, as of `householder_factor`.

    Each is the identity minus tau v vᴴ, v being a column with 1 on the diagonal and 0
    above it.
    """
    n, m = input._a.shape[-2:]
    if not m:
        return clone(input)
    r = iota(n, input._kind.with_dtype(int32))
    eye = basic_index(identity(n, input._kind), (slice(None), slice(0, m)))
    y = filled(input, 0) + eye
    for k in reversed(range(tau._a.shape[-1])):
        column = basic_index(input, (Ellipsis, slice(k, k + 1)))
        v = where(unsqueeze(r > k, -1), column, cast(unsqueeze(r == k, -1), y.dtype))
        scale = unsqueeze(basic_index(tau, (Ellipsis, slice(k, k + 1))), -1)
        y = y - matmul(v * scale, matmul(adjoint(v), y))
    return y


def _qr_shapes(shape: Sizes, *, complete: bool) -> tuple[Sizes, Sizes]:
    *lead, n, m = matrix("qr_factorise", shape)
    k = n if complete else min(n, m)
    return (*lead, n, k), (*lead, k, m)


def _square_rule(g: Tensor | None, gr: Tensor | None, q: Tensor, r: Tensor) -> Tensor:
    """Of an R that is square: Walter and Lehmann 2018, arXiv:1009.6112."""
    phi = None if gr is None else matmul(gr, adjoint(r))
    if g is not None:
        inner = matmul(adjoint(q), g)
        phi = -inner if phi is None else phi - inner
    assert phi is not None
    up = triu(phi, 1)
    whole = up + adjoint(up) + real_part(phi) * identity(r._a.shape[-2], r._kind)
    y = matmul(q, whole)
    y = y if g is None else y + g
    return adjoint(solve_triangle(r, adjoint(y), True))


def _qr_rule(ct: Any, q: Tensor, r: Tensor, complete: bool) -> Tensor:
    g, gr = ct
    n, m = q._a.shape[-2], r._a.shape[-1]
    if complete and n > m:
        raise NotSupported(
            "qr_factorise", "complete", was="given of a matrix with more rows",
            needed="False, where gradients are wanted",
        )  # fmt: skip
    if m <= n:
        q, r = (basic_index(q, (Ellipsis, slice(0, m))),
                basic_index(r, (Ellipsis, slice(0, m), slice(None))))  # fmt: skip
        g = None if g is None else basic_index(g, (Ellipsis, slice(0, m)))
        if gr is not None:
            gr = basic_index(gr, (Ellipsis, slice(0, m), slice(None)))
        return _square_rule(g, gr, q, r)
    # R = (U, Qᴴ Y) where the input is (X, Y) and X = Q U.
    right = matmul(q, basic_index(r, (Ellipsis, slice(n, None))))
    square = basic_index(r, (Ellipsis, slice(0, n)))
    beyond = None
    if gr is not None:
        g_right = basic_index(gr, (Ellipsis, slice(n, None)))
        more = matmul(right, adjoint(g_right))
        g = more if g is None else g + more
        beyond = matmul(q, g_right)
        gr = basic_index(gr, (Ellipsis, slice(0, n)))
    left = _square_rule(g, gr, q, square)
    return cat([left, right * 0 if beyond is None else beyond], -1)


def _orthogonal(x: Array, complete: bool = False) -> tuple[Array, Array]:
    if complete and x.shape[-2] > x.shape[-1]:
        raise ArgumentError(
            "qr_factorise", "complete", was="given of a matrix with more rows",
            needed="False: columns beyond those of the input have no gradient",
        )  # fmt: skip
    well_posed("qr_factorise", x)
    q, r = np.linalg.qr(x, "complete" if complete else "reduced")
    return q, r


def _qr_cases(make: Any) -> Any:
    yield from _cases(make)
    yield case(regular(make, 3, 3), True)


@op(shape=_qr_shapes, **OF_LAPACK, outputs=("q", "r"),
    oracle=_orthogonal,
    cases=_qr_cases, grad={"input": _qr_rule})  # fmt: skip
def qr_factorise(input: Tensor, complete: bool = False) -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and R, upper triangular: Q R = `input`.

    Signs are LAPACK's. `complete` makes Q square.
    """
    a, tau = householder_factor(input)
    n, m = input._a.shape[-2:]
    k = n if complete else min(n, m)
    columns = basic_index(a, (Ellipsis, slice(0, min(k, m))))
    if k > m:
        columns = cat([columns, zeros_of(a, (*a._a.shape[:-2], n, k - m))], -1)
    r = triu(basic_index(a, (Ellipsis, slice(0, k), slice(None))))
    return householder_product(columns, tau), r


__all__ = ["householder_factor", "householder_product", "qr_factorise", "real_of"]
