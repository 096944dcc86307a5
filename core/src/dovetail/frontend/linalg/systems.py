"""Equations, inverses and determinants: torch's functions over elimination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.integers import axis_set
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, LinAlgError, ShapeError
from dovetail.frontend.linalg.checks import numbers, refuse_singular, squares
from dovetail.ops.arithmetic import log
from dovetail.ops.determinants import determinant, log_determinant
from dovetail.ops.formats import cast, where
from dovetail.ops.lu import solve_linear
from dovetail.ops.matrices import identity
from dovetail.ops.view import squeeze, transpose, unsqueeze

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
    x, info = solve_linear(a if left else transpose(a, -2, -1), right)
    if vector:
        return squeeze(x, (-1,)), info
    return (x if left else transpose(x, -2, -1)), info


@public("linalg.solve", out=True, autocast="float32")
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
    return solve_linear(a, identity(a.shape[-1], a._kind))


@public("linalg.inv", out=True, autocast="float32")
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices.

    Raises: LinAlgError for a singular one, which names the batch element.
    """
    y, info = _inverted("linalg.inv", A)
    refuse_singular("linalg.inv", info)
    return y


@public("inverse", out=True, autocast="float32")
def inverse(input: Tensor) -> Tensor:
    """`linalg.inv` under its older name."""
    return inv(input)


@public("linalg.inv_ex", out=True, autocast="float32")
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
    return determinant(A)


@public("det")
def plain_det(input: Tensor) -> Tensor:
    """The determinant of square matrices."""
    return det(input)


@public("linalg.slogdet", out=True)
def slogdet(A: Tensor) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""
    squares("linalg.slogdet", A=A)
    found = log_determinant(A)
    return fields("linalg_slogdet", ("sign", "logabsdet"))(found)


@public("slogdet", out=True)
def plain_slogdet(input: Tensor) -> Any:
    """`linalg.slogdet` under its older name."""
    return fields("slogdet", ("sign", "logabsdet"))(tuple(slogdet(input)))


@public("logdet")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""
    squares("logdet", input=input)
    sign, size = log_determinant(input)
    if sign.dtype.is_complex:
        return cast(size, sign.dtype) + log(sign)
    return where(sign == -1, float("nan"), size)


@public("linalg.tensorsolve", out=True, autocast="float32")
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """The X whose product with A over its last dims is B; `dims` of A go last first."""
    if dims is not None:
        last = list(axis_set("linalg.tensorsolve", "dims", dims, A.ndim))
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


@public("linalg.tensorinv", out=True, autocast="float32")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of products over the last dims of A, all but the first `ind`."""
    if not 0 < ind <= A.ndim:
        raise ArgumentError(
            "linalg.tensorinv", "ind", was=ind, needed=f"from 1 to {A.ndim}, A's dims"
        )
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
