"""Maps onto triangular and positive definite matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.limits import finfo
from dovetail.linalg import cholesky

from . import constraints
from .transforms import Transform


class LowerCholeskyTransform(Transform):
    """A matrix's lower triangle, with the exponential of its diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Any:
        diagonal = ft.exp(ft.diagonal(x, dim1=-2, dim2=-1))
        return ft.tril(x, -1) + ft.diag_embed(diagonal)

    def _inverse(self, y: Tensor) -> Any:
        diagonal = ft.log(ft.diagonal(y, dim1=-2, dim2=-1))
        return ft.tril(y, -1) + ft.diag_embed(diagonal)


class PositiveDefiniteTransform(Transform):
    """A matrix's lower triangle, so mapped, times its transpose."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Any:
        return LowerCholeskyTransform()._inverse(cholesky(y))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 real numbers as the Cholesky factor of correlations.

    The tanh of each is a partial correlation; rows have length 1 (Lewandowski,
    Kurowicka & Joe 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Tensor) -> Any:
        eps = finfo(x.dtype).eps
        partial = ft.clamp(ft.tanh(x), -1 + eps, 1 - eps)
        n = _rows(x.shape[-1])
        r = _filled(partial, n)
        left = ft.cumprod(ft.sqrt(1 - r**2), -1)
        one = ft.ones_like(left[..., :1])
        unit = ft.eye(n, dtype=x.dtype, device=x.device)
        return (r + unit) * ft.cat([one, left[..., :-1]], -1)

    def _inverse(self, y: Tensor) -> Any:
        left = ft.clamp(1 - ft.cumsum(y * y, -1), min=finfo(y.dtype).eps)
        one = ft.ones_like(left[..., :1])
        before = ft.sqrt(ft.cat([one, left[..., :-1]], -1))
        return ft.atanh(_taken(ft.tril(y / before, -1)))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        left = ft.cumsum(ft.tril(y, -1) ** 2, -1)
        within = ft.tril(ft.log1p(-left), -2).sum((-2, -1)) * 0.5
        spread = x + ft.log1p(ft.exp(-2 * x)) - math.log(2)
        return within - 2 * spread.sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        n = _rows(shape[-1])
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        n = shape[-1]
        return (*shape[:-2], n * (n - 1) // 2)


def _rows(count: int) -> int:
    """Of a matrix, with as many elements below its diagonal."""
    n = (1 + math.isqrt(1 + 8 * count)) // 2
    if n * (n - 1) // 2 != count:
        raise ArgumentError(
            "CorrCholeskyTransform", "x", was=f"{count} numbers",
            needed="n (n - 1) / 2 for some n",
        )  # fmt: skip
    return n


def _below(n: int, like: Tensor) -> tuple[Any, Any]:
    rows, columns = ft.tril_indices(n, n, -1, device=like.device).unbind()
    return rows, columns


def _filled(x: Tensor, n: int) -> Any:
    """Numbers below the diagonal, row by row, and zeros."""
    rows, columns = _below(n, x)
    flat = ft.zeros((*x.shape[:-1], n * n), dtype=x.dtype, device=x.device)
    at = (rows * n + columns).expand(x.shape)
    return flat.scatter(-1, at, x).unflatten(-1, (n, n))


def _taken(matrix: Tensor) -> Any:
    """The numbers below the diagonal, row by row."""
    rows, columns = _below(matrix.shape[-1], matrix)
    return matrix[..., rows, columns]


__all__ = [
    "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
]  # fmt: skip
