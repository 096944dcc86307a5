"""Factors of elimination, and systems that they make triangular."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import int32
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError, ShapeError
from dovetail.frontend.linalg.checks import matrices, refuse_singular, squares
from dovetail.ops import lu as ops
from dovetail.ops.create import zeros_of
from dovetail.ops.matrices import adjoint, identity
from dovetail.ops.row_orders import moved_rows, row_order, unmoved
from dovetail.ops.shape import cat, tril, triu
from dovetail.ops.triangular import solve_triangle
from dovetail.ops.view import basic_index, contiguous, expand, transpose


def _factorised(name: str, a: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    matrices(name, A=a)
    return ops.lu_factorise(a, pivot)


@public("linalg.lu_factor", out=True)
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """Both triangles of P L U = A in one matrix, and the pivots, counted from 1."""
    y, pivots, _ = _factorised("linalg.lu_factor", A, pivot)
    return fields("linalg_lu_factor", ("LU", "pivots"))((y, pivots))


@public("linalg.lu_factor_ex", out=True)
def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
) -> Any:
    """`lu_factor`, and the first place of a pivot that is 0, counted from 1."""
    y, pivots, info = _factorised("linalg.lu_factor_ex", A, pivot)
    if check_errors:
        refuse_singular("linalg.lu_factor_ex", info)
    return fields("linalg_lu_factor_ex", ("LU", "pivots", "info"))((y, pivots, info))


def _permutation(pivots: Tensor, n: int, like: Tensor) -> Tensor:
    order = row_order(pivots, n)
    rows = identity(n, like._kind)
    lead = tuple(order.shape[:-1])
    return contiguous(adjoint(moved_rows(expand(rows, (*lead, n, n)), order)))


def _triangles(y: Tensor) -> tuple[Tensor, Tensor]:
    n, m = y.shape[-2:]
    k = min(n, m)
    low = tril(basic_index(y, (Ellipsis, slice(0, k))), -1)
    eye = identity(k, y._kind)
    if n > k:
        eye = cat([eye, zeros_of(eye, (n - k, k))], 0)
    return low + eye, triu(basic_index(y, (Ellipsis, slice(0, k), slice(None))))


@public("linalg.lu", out=True)
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """P, L and U with P L U = A: a permutation and two triangles."""
    y, pivots, _ = _factorised("linalg.lu", A, pivot)
    low, up = _triangles(y)
    p = _permutation(pivots, A.shape[-2], A) if pivot else zeros_of(A, (0,))
    return fields("linalg_lu", ("P", "L", "U"))((p, low, up))


@public("lu", autocast="float32")
def plain_lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """`linalg.lu_factor` under its older name; `get_infos` adds `info`."""
    y, pivots, info = _factorised("lu", input, pivot)
    if get_infos:
        return fields("lu_with_infos", ("LU", "pivots", "info"))((y, pivots, info))
    return fields("lu", ("LU", "pivots"))((y, pivots))


@public("torch.lu_unpack", out=True)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> Any:  # fmt: skip
    """P, L and U of what `lu_factor` gives; empty where they are not asked for."""
    if LU_data.ndim < 2:
        raise ShapeError(
            "lu_unpack", "LU_data", was=f"of shape {tuple(LU_data.shape)}",
            needed="at least 2 dimensions: a batch of matrices",
        )  # fmt: skip
    if unpack_pivots and LU_pivots.dtype is not int32:
        raise DTypeError("lu_unpack", "LU_pivots", was=LU_pivots.dtype, needed="int32")
    low, up = _triangles(LU_data) if unpack_data else [zeros_of(LU_data, (0,))] * 2
    p = zeros_of(LU_data, (0,))
    if unpack_pivots:
        p = _permutation(LU_pivots, LU_data.shape[-2], LU_data)
    return fields("lu_unpack", ("P", "L", "U"))((p, low, up))


def _lu_solved(
    name: str, y: Tensor, pivots: Tensor, b: Tensor, left: bool, adjoint_: bool
) -> Tensor:
    squares(name, LU=y)
    matrices(name, B=b, LU=y)
    if pivots.dtype is not int32:
        raise DTypeError(name, "pivots", was=pivots.dtype.name, needed="int32")
    if pivots.shape != y.shape[:-1]:
        raise ShapeError(
            name, "pivots", was=f"of shape {tuple(pivots.shape)}",
            needed=f"{tuple(y.shape[:-1])}, one for each row of LU",
        )  # fmt: skip
    if b.shape[-2 if left else -1] != y.shape[-1]:
        raise ShapeError(
            name, "B", was=f"of shape {tuple(b.shape)} for LU of {tuple(y.shape)}",
            needed="as many numbers as LU has rows",
        )  # fmt: skip
    if not left:
        # X A = B is Aᴴ Xᴴ = Bᴴ.
        turned = _lu_solved(name, y, pivots, adjoint(b), True, not adjoint_)
        return contiguous(adjoint(turned))
    order = row_order(pivots, y.shape[-1])
    if adjoint_:
        half = solve_triangle(adjoint(y), b)
        whole = solve_triangle(adjoint(y), half, True, True)
        return moved_rows(whole, unmoved(order))
    half = solve_triangle(y, moved_rows(b, order), False, True)
    return solve_triangle(y, half, True)


@public("linalg.lu_solve", out=True)
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True,
    adjoint: bool = False,
) -> Tensor:  # fmt: skip
    """The X of A X = B, by the factors of A; of X A = B where not `left`."""
    return _lu_solved("linalg.lu_solve", LU, pivots, B, left, adjoint)


@public("lu_solve", out=True, autocast="float32")
def plain_lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The x of A x = `input`, by the factors of A."""
    return _lu_solved("lu_solve", LU_data, LU_pivots, input, True, False)


def _triangular(
    name: str, a: Tensor, b: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    squares(name, A=a)
    matrices(name, A=a, B=b)
    if b.shape[-2 if left else -1] != a.shape[-1]:
        raise ShapeError(
            name, "B", was=f"of shape {tuple(b.shape)} for A of {tuple(a.shape)}",
            needed="as many numbers as A has rows",
        )  # fmt: skip
    if left:
        return solve_triangle(a, b, upper, unitriangular)
    turned = transpose(a, -2, -1), transpose(b, -2, -1)
    return transpose(solve_triangle(*turned, not upper, unitriangular), -2, -1)


@public("linalg.solve_triangular", out=True)
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True,
    unitriangular: bool = False,
) -> Tensor:  # fmt: skip
    """The X of A X = B, where one triangle of A counts; of X A = B where not `left`."""
    return _triangular("linalg.solve_triangular", A, B, upper, left, unitriangular)


@public("triangular_solve", out=True, autocast="float32")
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> Any:  # fmt: skip
    """The X of A X = `input` (of the transposed A where `transpose`), and A again."""
    a = A.mT if transpose else A
    side = upper is not transpose
    x = _triangular("triangular_solve", a, input, side, True, unitriangular)
    names = ("solution", "cloned_coefficient")
    return fields("triangular_solve", names)((x, A.clone()))
