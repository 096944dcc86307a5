"""Gaussian elimination, and equations, which it is for."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import Array, Sizes, int32
from dovetail.engine import signature as sig
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.complex import imag, real
from dovetail.ops.create import full, zeros_of
from dovetail.ops.elementwise import abs
from dovetail.ops.extremes import argmax
from dovetail.ops.formats import cast, iota, where
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import (
    OF_LAPACK,
    adjoint,
    identity,
    matrix,
    regular,
    square,
    well_posed,
)
from dovetail.ops.row_orders import moved_rows, row_order, swapped, unmoved
from dovetail.ops.shape import cat, stack, tril, triu
from dovetail.ops.sums import sum_to
from dovetail.ops.triangular import solve_triangle
from dovetail.ops.view import basic_index, expand, unsqueeze


def _column(x: Tensor, start: int, stop: int | None) -> Tensor:
    return basic_index(x, (Ellipsis, slice(start, stop)))


def _row(x: Tensor, start: int, stop: int | None) -> Tensor:
    return basic_index(x, (Ellipsis, slice(start, stop), slice(None)))


def _magnitude(x: Tensor) -> Tensor:
    """What LAPACK chooses pivots by: of complex numbers, the sum of the parts."""
    return abs(real(x)) + abs(imag(x)) if x.dtype.is_complex else abs(x)


_CLOSE = 2.0**-7  # which of two candidates that close is taken, rounding says


def _lu_shape(shape: Sizes, *, pivot: bool) -> tuple[Sizes, Sizes, Sizes]:
    found = matrix("lu_factorise", shape)
    lead, k = found[:-2], min(found[-2:])
    return found, (*lead, k), lead


def _eliminated(x: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """The truth, one number at a time; of pivots nearly equal there is none."""
    well_posed("lu_factorise", x)
    y, (n, m) = np.array(x), x.shape[-2:]
    pivots = np.zeros((*x.shape[:-2], min(n, m)), np.int32)
    info = np.zeros(x.shape[:-2], np.int32)
    for at in np.ndindex(*x.shape[:-2]):
        a = y[at]
        for k in range(min(n, m)):
            size = np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)
            if pivot and np.sum(size > (1 - _CLOSE) * size.max()) > 1:
                raise ArgumentError(
                    "lu_factorise", "input", was="of equal rows", needed="one pivot"
                )
            p = k + int(np.argmax(size)) if pivot else k
            pivots[at][k] = p + 1
            a[[k, p]] = a[[p, k]]
            if a[k, k] == 0:
                info[at] = info[at] or k + 1
                continue
            for i in range(k + 1, n):
                a[i, k] = a[i, k] / a[k, k]
                for j in range(k + 1, m):
                    a[i, j] = a[i, j] - a[i, k] * a[k, j]
    return y, pivots, info


def _lu_rule(ct: Tensor, y: Tensor, pivots: Tensor) -> Tensor:
    """The differential of P L U = A, read off triangle by triangle.

    L⁻¹ dA U⁻¹ = L⁻¹ dL + dU U⁻¹ on the square part; Murray 2016, arXiv:1602.07527.
    """
    g, (n, m) = ct, y._a.shape[-2:]
    k = min(n, m)
    lower, upper = _column(_row(y, 0, k), 0, k), _row(_column(y, 0, k), 0, k)
    g_lower = tril(_column(_row(g, 0, k), 0, k), -1)
    g_upper = triu(_column(_row(g, 0, k), 0, k))
    low, up = adjoint(lower), adjoint(triu(upper))
    unit = tril(lower, -1) + identity(k, y._kind)
    phi = tril(matmul(adjoint(unit), g_lower), -1) + triu(matmul(g_upper, up))
    if m > k:
        g_right, right = _column(_row(g, 0, k), k, None), _column(y, k, None)
        phi = phi - tril(matmul(g_right, adjoint(right)), -1)
    if n > k:
        g_below, below = _row(_column(g, 0, k), k, None), _row(y, k, None)
        phi = phi - triu(matmul(adjoint(below), g_below))
    # From the right by U⁻ᴴ, from the left by L⁻ᴴ.
    half = adjoint(solve_triangle(adjoint(up), adjoint(phi), True))
    whole = solve_triangle(low, half, True, True)
    if m > k:
        whole = cat([whole, solve_triangle(low, g_right, True, True)], -1)
    if n > k:
        rest = adjoint(solve_triangle(adjoint(up), adjoint(g_below), True))
        whole = cat([whole, rest], -2)
    return moved_rows(whole, unmoved(row_order(pivots, n)))


def _lu_cases(make: Any) -> Any:
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 3), (1, 1)):
        yield case(regular(make, *shape))
    yield case(np.asarray(regular(make, 3, 3)[..., [2, 0, 1]]), False)


@op(shape=_lu_shape, **OF_LAPACK, result=("same", int32, int32),
    outputs=("y", "pivots", "info"), oracle=_eliminated, cases=_lu_cases,
    grad={"input": _lu_rule})  # fmt: skip
def lu_factorise(input: Tensor, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """L below the diagonal, where it has ones, and U: P L U = `input`.

    As LAPACK's getrf: `pivots`, counted from 1, say which row each was exchanged with;
    `info` is 0, or the first place on the diagonal of U that is 0, counted from 1.
    """
    y, shape = input, tuple(input._a.shape)
    (n, m), lead = shape[-2:], shape[:-2]
    narrow = input._kind.with_dtype(int32)
    r, c = iota(n, narrow), iota(m, narrow)
    info: Tensor = full(lead, 0, narrow)
    pivots = []
    for k in range(min(n, m)):
        place: Tensor = full(lead, k, narrow)
        if pivot:
            size = where(r < k, -1, _magnitude(basic_index(y, (Ellipsis, k))))
            place = cast(argmax(size, -1), int32)
            y = moved_rows(y, swapped(n, k, place))
        pivots.append(place + 1)
        corner = basic_index(y, (Ellipsis, slice(k, k + 1), slice(k, k + 1)))
        zero = corner == 0
        first = basic_index(zero, (Ellipsis, 0, 0)) & (info == 0)
        info = where(first, k + 1, info)
        below = unsqueeze(r > k, -1)
        factor = where(below, _column(y, k, k + 1) / where(zero, 1, corner), 0)
        y = y - factor * where(c > k, _row(y, k, k + 1), 0)
        y = where(below & (c == k), factor, y)
    if not pivots:
        return y, zeros_of(info, (*lead, 0)), info
    return y, stack(pivots, -1), info


def _solved_shape(a: Sizes, b: Sizes) -> tuple[Sizes, Sizes]:
    square("solve_linear", a)
    (found,) = sig.infer(_SYSTEM, "solve_linear", (a, b), ("input", "other"), {})
    return found, found[:-2]


_SYSTEM = sig.parse("(n,n),(n,k)->(n,k)")


def _solve_matrix(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    back, _ = solve_linear(adjoint(input), ct)
    return sum_to(-matmul(back, adjoint(y)), tuple(input._a.shape))


def _solve_right(ct: Tensor, input: Tensor, other_shape: Sizes) -> Tensor:
    back, _ = solve_linear(adjoint(input), ct)
    return sum_to(back, other_shape)


def _solution(a: Array, b: Array) -> tuple[Array, Array]:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = (np.broadcast_to(x, lead + x.shape[-2:]) for x in (a, b))
    return np.asarray(np.linalg.solve(*wide)), np.zeros(lead, np.int32)


@op(shape=_solved_shape, **OF_LAPACK, result=("same", int32), outputs=("y", "info"),
    oracle=_solution,
    cases=lambda make: [
        case(regular(make, *a), make(*b)) for a, b in (
            ((3, 3), (3, 2)), ((2, 1, 3, 3), (4, 3, 2)), ((1, 1), (1, 3)),
            ((4, 2, 2), (2, 2)),
        )
    ],
    grad={"input": _solve_matrix, "other": _solve_right})  # fmt: skip
def solve_linear(input: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """The X of `input` @ X = `other`, and where elimination met a pivot of 0.

    `info` is 0, or the place of the first one, counted from 1: then X is no solution.
    """
    y, pivots, info = lu_factorise(input)
    right = moved_rows(other, row_order(pivots, input._a.shape[-1]))
    half = solve_triangle(y, right, False, True)
    x = solve_triangle(y, half, True)
    return x, expand(info, tuple(x._a.shape[:-2]))
