"""Equations, inverses and determinants: torch's functions over elimination."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import int32
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, LinAlgError, ShapeError
from dovetail.frontend.linalg.checks import matrices, numbers, refuse_singular, squares
from dovetail.ops import lu as ops
from dovetail.ops.arithmetic import log
from dovetail.ops.create import zeros_of
from dovetail.ops.formats import cast, where
from dovetail.ops.matrices import adjoint, identity
from dovetail.ops.shape import cat, tril, triu
from dovetail.ops.triangular import solve_triangle
from dovetail.ops.view import basic_index, expand, squeeze, transpose, unsqueeze

NAMESPACES.setdefault("linalg", {})["LinAlgError"] = LinAlgError


def _is_vector(a: Tensor, b: Tensor) -> bool:
    """Whether torch takes the right-hand side for a batch of vectors."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


def _solved(name: str, a: Tensor, b: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    squares(name, A=a)
    numbers(name, A=a, B=b)
    vector = _is_vector(a, b)
    if vector and not left:
        raise ArgumentError(
            name, "left", was="False with a vector", needed="a matrix on the left of A"
        )
    if not b.ndim:
        raise ShapeError(name, "B", was="0-d", needed="vectors or matrices")
    right = unsqueeze(b, -1) if vector else b if left else transpose(b, -2, -1)
    if right.shape[-2] != a.shape[-1]:
        raise ShapeError(
            name, "B", was=f"of shape {tuple(b.shape)} for A of {tuple(a.shape)}",
            needed=f"{a.shape[-1]} numbers for each equation",
        )  # fmt: skip
    x, info = ops.solve_linear(a if left else transpose(a, -2, -1), right)
    if vector:
        return squeeze(x, (-1,)), info
    return (x if left else transpose(x, -2, -1)), info


@public("linalg.solve", out=True)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X of A X = B; of X A = B where not `left`.

    Raises: LinAlgError for a singular A, which names the batch element.

    >>> import dovetail as dt
    >>> dt.linalg.solve(dt.tensor([[2.0, 0.0], [0.0, 4.0]]), dt.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    x, info = _solved("linalg.solve", A, B, left)
    refuse_singular("linalg.solve", info)
    return x


@public("linalg.solve_ex", out=True)
def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> Any:
    """`solve` without a look at the matrices: `info` has where a pivot was 0, or 0."""
    x, info = _solved("linalg.solve_ex", A, B, left)
    if check_errors:
        refuse_singular("linalg.solve_ex", info)
    return fields("linalg_solve_ex", ("result", "info"))((x, info))


def _inverted(name: str, a: Tensor) -> tuple[Tensor, Tensor]:
    squares(name, A=a)
    return ops.solve_linear(a, identity(a.shape[-1], a._kind))


@public("linalg.inv", out=True)
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices.

    Raises: LinAlgError for a singular one, which names the batch element.
    """
    y, info = _inverted("linalg.inv", A)
    refuse_singular("linalg.inv", info)
    return y


@public("inverse", out=True)
def inverse(input: Tensor) -> Tensor:
    """`linalg.inv` under its older name."""
    return inv(input)


@public("linalg.inv_ex", out=True)
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """`inv` without a look at the matrices: `info` has where a pivot was 0, or 0."""
    y, info = _inverted("linalg.inv_ex", A)
    if check_errors:
        refuse_singular("linalg.inv_ex", info)
    return fields("linalg_inv_ex", ("inverse", "info"))((y, info))


@public("linalg.det", out=True)
def det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""
    squares("linalg.det", A=A)
    return ops.determinant(A)


@public("det")
def plain_det(input: Tensor) -> Tensor:
    """The determinant of square matrices."""
    return det(input)


@public("linalg.slogdet", out=True)
def slogdet(A: Tensor) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""
    squares("linalg.slogdet", A=A)
    found = ops.log_determinant(A)
    return fields("linalg_slogdet", ("sign", "logabsdet"))(found)


@public("slogdet", out=True)
def plain_slogdet(input: Tensor) -> Any:
    """`linalg.slogdet` under its older name."""
    return fields("slogdet", ("sign", "logabsdet"))(tuple(slogdet(input)))


@public("logdet")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""
    squares("logdet", input=input)
    sign, size = ops.log_determinant(input)
    if sign.dtype.is_complex:
        return cast(size, sign.dtype) + log(sign)
    return where(sign == -1, float("nan"), size)


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
    order = ops.order_of(pivots, n)
    rows = identity(n, like._kind)
    lead = tuple(order.shape[:-1])
    return ops.moved_rows(expand(rows, (*lead, n, n)), ops.unmoved(order))


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


@public("lu")
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
        return adjoint(_lu_solved(name, y, pivots, adjoint(b), True, not adjoint_))
    order = ops.order_of(pivots, y.shape[-1])
    if adjoint_:
        half = solve_triangle(adjoint(y), b)
        whole = solve_triangle(adjoint(y), half, True, True)
        return ops.moved_rows(whole, ops.unmoved(order))
    half = solve_triangle(y, ops.moved_rows(b, order), False, True)
    return solve_triangle(y, half, True)


@public("linalg.lu_solve", out=True)
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True,
    adjoint: bool = False,
) -> Tensor:  # fmt: skip
    """The X of A X = B, by the factors of A; of X A = B where not `left`."""
    return _lu_solved("linalg.lu_solve", LU, pivots, B, left, adjoint)


@public("torch.lu_solve", out=True)
def plain_lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The x of A x = b, by the factors of A."""
    return _lu_solved("lu_solve", LU_data, LU_pivots, b, True, False)


@public("Tensor.lu_solve")
def method_lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The x of A x = this tensor, by the factors of A."""
    return _lu_solved("lu_solve", LU_data, LU_pivots, self, True, False)


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


@public("torch.triangular_solve", out=True)
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> Any:  # fmt: skip
    """The X of A X = b (of the transposed A where `transpose`), and A again."""
    a = A.mT if transpose else A
    side = upper is not transpose
    x = _triangular("triangular_solve", a, b, side, True, unitriangular)
    names = ("solution", "cloned_coefficient")
    return fields("triangular_solve", names)((x, A.clone()))


@public("Tensor.triangular_solve")
def method_triangular_solve(
    self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> Any:  # fmt: skip
    """`torch.triangular_solve`, of this right-hand side."""
    return triangular_solve(self, A, upper, transpose, unitriangular)


@public("linalg.tensorsolve", out=True)
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """The X whose product with A over its last dims is B; `dims` of A go last first."""
    if dims is not None:
        last = [d % A.ndim for d in dims]
        A = A.permute([d for d in range(A.ndim) if d not in last] + last)
    shape = tuple(A.shape[B.ndim :])
    rows, columns = B.numel(), 1
    for n in shape:
        columns *= n
    if tuple(A.shape[: B.ndim]) != tuple(B.shape) and rows * columns != A.numel():
        raise ShapeError(
            "linalg.tensorsolve", "A", was=f"of shape {tuple(A.shape)}",
            needed=f"{tuple(B.shape)} first",
        )  # fmt: skip
    if rows != columns:
        raise ShapeError(
            "linalg.tensorsolve", "A", was=f"{rows} equations for {columns} numbers",
            needed="as many equations as numbers",
        )  # fmt: skip
    return solve(A.reshape(rows, columns), B.reshape(rows)).reshape(shape)


@public("linalg.tensorinv", out=True)
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of products over the last dims of A, all but the first `ind`."""
    if ind <= 0:
        raise ArgumentError("linalg.tensorinv", "ind", was=ind, needed="above 0")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    rows, columns = 1, 1
    for n in first:
        rows *= n
    for n in last:
        columns *= n
    if rows != columns:
        raise ShapeError(
            "linalg.tensorinv", "A", was=f"{first} by {last}",
            needed="as many elements before `ind` as behind",
        )  # fmt: skip
    return inv(A.reshape(rows, columns)).reshape(*last, *first)
