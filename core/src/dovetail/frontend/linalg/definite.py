"""Cholesky's factor and what is solved by it."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import int32
from dovetail.engine.modes import is_grad_enabled
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.frontend.linalg.checks import matrices, refuse, squares
from dovetail.ops.cholesky import cholesky_factor
from dovetail.ops.diagonal import diagonal
from dovetail.ops.extremes import amin
from dovetail.ops.formats import iota, where
from dovetail.ops.lu import solve_linear
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import adjoint, hermitian, identity
from dovetail.ops.mirrored import mirrored
from dovetail.ops.shape import tril
from dovetail.ops.triangular import solve_triangle


def from_triangle(x: Tensor, upper: bool) -> Tensor:
    """The Hermitian matrices that one triangle of `x` says.

    Their gradient goes to both triangles alike, as torch has it.
    """
    whole = mirrored(x, upper)
    if not (x.requires_grad and is_grad_enabled()):
        return whole
    both = hermitian(x)
    return both + (whole - both).detach()


def _factored(name: str, a: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    squares(name, A=a)
    y, info = cholesky_factor(from_triangle(a, upper))
    return (adjoint(y) if upper else y), info


def _refuse(name: str, info: Tensor) -> None:
    was = "not positive definite: its leading part of size {} is not"
    refuse(name, info, was, "Hermitian matrices that are positive definite")


@public("linalg.cholesky", out=True, autocast="float32")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangle L with L Lᴴ = A; with `upper`, Lᴴ.

    Raises: LinAlgError where A is not positive definite; it names the batch element.
    """
    y, info = _factored("linalg.cholesky", A, upper)
    _refuse("linalg.cholesky", info)
    return y


@public("cholesky", out=True, autocast="float32")
def plain_cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """`linalg.cholesky` under its older name."""
    y, info = _factored("cholesky", input, upper)
    _refuse("cholesky", info)
    return y


@public("linalg.cholesky_ex", out=True, autocast="float32")
def cholesky_ex(
    A: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
) -> Any:
    """`cholesky` without a look: `info` has what is not positive definite, or 0."""
    y, info = _factored("linalg.cholesky_ex", A, upper)
    if check_errors:
        _refuse("linalg.cholesky_ex", info)
    return fields("linalg_cholesky_ex", ("L", "info"))((y, info))


def _solved(name: str, b: Tensor, factor: Tensor, upper: bool) -> Tensor:
    squares(name, L=factor)
    matrices(name, L=factor, B=b)
    if b.shape[-2] != factor.shape[-1]:
        raise ShapeError(
            name, "B", was=f"of shape {tuple(b.shape)} for L of {tuple(factor.shape)}",
            needed="as many rows as L has",
        )  # fmt: skip
    low = adjoint(factor) if upper else factor
    if low.requires_grad and is_grad_enabled():
        # torch's gradient goes to both triangles, though one is read.
        low = low + (tril(low) - low).detach()
        return solve_linear(matmul(low, adjoint(low)), b)[0]
    return solve_triangle(adjoint(low), solve_triangle(low, b), True)


@public("cholesky_solve", out=True, autocast="float32")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The X of A X = `input`, by Cholesky's factor `input2` of A."""
    return _solved("cholesky_solve", input, input2, upper)


def _first_zero(L: Tensor) -> Tensor:
    """Which of the numbers on a diagonal is the first 0, counted from 1; else 0."""
    n = L.shape[-1]
    places = iota(n, L._kind.with_dtype(int32))
    zero = diagonal(L.detach(), 0, -2, -1) == 0
    first = amin(where(zero, places + 1, n + 1), -1)
    return where(first > n, 0, first)


@public("cholesky_inverse", out=True, autocast="float32")
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, of which `input` is Cholesky's factor."""
    squares("cholesky_inverse", input=input)
    n = input.shape[-1]
    if n:
        refuse(
            "cholesky_inverse", _first_zero(input),
            "singular: The diagonal element {} is zero", "factors that can be inverted",
        )  # fmt: skip
    return _solved("cholesky_inverse", identity(n, input._kind), input, upper)
