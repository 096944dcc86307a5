"""Powers and exponentials of matrices."""

from __future__ import annotations

import math
from typing import Final

from dovetail.dtypes import HALF
from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError, ShapeError
from dovetail.frontend.linalg.systems import inv
from dovetail.ops.create import filled
from dovetail.ops.elementwise import abs
from dovetail.ops.extremes import amax
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import identity
from dovetail.ops.sums import sum

# Terms of the series, of which the next is below half a unit of float64 from here on.
_TERMS: Final = 18
_REACH: Final = 1.0


def _square(name: str, x: Tensor) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            name, "A", was=f"of shape {tuple(x.shape)}",
            needed="batches of square matrices of at least 2 dimensions",
        )  # fmt: skip


def _power(name: str, x: Tensor, n: int) -> Tensor:
    """By repeated squaring."""
    _square(name, x)
    if n < 0:
        return _power(name, inv(x), -n)
    if n == 0:
        return filled(x, 0) + identity(x.shape[-1], x._kind)
    y: Tensor | None = None
    while n:
        if n & 1:
            y = x if y is None else matmul(y, x)
        n >>= 1
        if n:
            x = matmul(x, x)
    assert y is not None
    return y


@public("linalg.matrix_power", out=True)
def matrix_power(A: Tensor, n: int) -> Tensor:
    """The product of `n` times A; of its inverse where `n` is negative."""
    return _power("linalg.matrix_power", A, n)


@public("matrix_power", out=True)
def plain_matrix_power(input: Tensor, n: int) -> Tensor:
    """`linalg.matrix_power` under its older name."""
    return _power("matrix_power", input, n)


def _exponential(name: str, x: Tensor) -> Tensor:
    """Scaled, by its series, and squared (Higham 2008, Functions of Matrices, 10.3)."""
    _square(name, x)
    if not x.dtype.is_inexact or x.dtype in HALF:
        raise DTypeError(
            name, "A", was=x.dtype.name,
            needed="float32, float64, complex64 or complex128",
        )  # fmt: skip
    eye = identity(x.shape[-1], x._kind)
    if not x.numel():
        return x + eye
    size = float(amax(sum(abs(of_all_rows(x.detach())), -2)).item())
    halvings = 0
    if math.isfinite(size) and size > _REACH:
        halvings = math.ceil(math.log2(size / _REACH))
    scaled = x * 2.0**-halvings
    y = eye + scaled * (1 / _TERMS)
    for k in range(_TERMS - 1, 0, -1):
        y = eye + matmul(scaled, y) * (1 / k)
    for _ in range(halvings):
        y = matmul(y, y)
    return y


@public("linalg.matrix_exp", autocast="none")
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices: I + A + A²/2 + …"""
    return _exponential("linalg.matrix_exp", A)


@public("matrix_exp", autocast="none")
def plain_matrix_exp(input: Tensor) -> Tensor:
    """`linalg.matrix_exp` under its older name."""
    return _exponential("matrix_exp", input)
