"""Determinants, by the pivots of Gaussian elimination."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import Array, Sizes, int32
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.limits import finfo
from dovetail.ops.arithmetic import log, mul
from dovetail.ops.complex import imag, real_dtype
from dovetail.ops.diagonal import diag_embed, diagonal
from dovetail.ops.elementwise import abs, sgn
from dovetail.ops.formats import cast, conj, iota, where
from dovetail.ops.lu import lu_factorise, solve_linear
from dovetail.ops.matrices import (
    OF_LAPACK,
    adjoint,
    identity,
    regular,
    square,
    well_posed,
)
from dovetail.ops.reduce import prod
from dovetail.ops.row_orders import moved_rows, row_order, unmoved
from dovetail.ops.sums import sum
from dovetail.ops.triangular import solve_triangle
from dovetail.ops.view import unsqueeze


def _det_rule(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    """det(A) A⁻ᴴ; of singular matrices by factors whose zeros are moved a little.

    Magnus and Neudecker 2019, 8.3. What is moved is a rounding of the largest pivot.
    """
    factors, pivots, _ = lu_factorise(input)
    n = input._a.shape[-1]
    d = diagonal(factors, 0, -2, -1)
    eps = finfo(input.dtype.real).eps
    safe = where(d == 0, eps, d)
    factors = factors + diag_embed(safe - d)
    scale = ct * conj(prod(safe, -1) * _parity(pivots)) if n else ct
    right = identity(n, input._kind) * unsqueeze(unsqueeze(scale, -1), -1)
    half = solve_triangle(adjoint(factors), right, False)
    whole = solve_triangle(adjoint(factors), half, True, True)
    return moved_rows(whole, unmoved(row_order(pivots, n)))


def _parity(pivots: Tensor) -> Tensor:
    """1 or -1: whether the rows were exchanged an even number of times."""
    k = iota(pivots._a.shape[-1], pivots._kind)
    odd = cast(pivots != k + 1, int32)
    return prod(1 - odd * 2, -1)


@op(shape=lambda shape: square("determinant", shape)[:-2], **OF_LAPACK,
    oracle=np.linalg.det,
    cases=lambda make: [
        case(regular(make, *s)) for s in ((3, 3), (2, 2, 2), (1, 1), (4, 4))
    ],
    grad=_det_rule)  # fmt: skip
def determinant(input: Tensor) -> Tensor:
    """The determinant of square matrices: the product of the pivots, up to its sign."""
    y, pivots, _ = lu_factorise(input)
    d = diagonal(y, 0, -2, -1)
    return mul(prod(d, -1), cast(_parity(pivots), y.dtype))


def _logdet_rule(ct: Any, input: Tensor, sign: Tensor) -> Any:
    g = None if ct[1] is None else cast(ct[1], input.dtype)
    if ct[0] is not None and input.dtype.is_complex:
        # The sign is on the unit circle, and moves along it alone.
        turn = cast(imag(conj(ct[0]) * sign), input.dtype) * -1j
        g = turn if g is None else g + turn
    if g is None:
        return None
    right = identity(input._a.shape[-1], input._kind) * unsqueeze(unsqueeze(g, -1), -1)
    return solve_linear(adjoint(input), right)[0]


def _two(shape: Sizes) -> tuple[Sizes, Sizes]:
    lead = square("log_determinant", shape)[:-2]
    return lead, lead


def _slogdet(x: Array) -> tuple[Any, ...]:
    well_posed("log_determinant", x)
    return tuple(np.linalg.slogdet(x))


@op(shape=_two, **OF_LAPACK, result=("same", real_dtype),
    outputs=("sign", "logabsdet"), oracle=_slogdet,
    cases=lambda make: [
        case(regular(make, *s)) for s in ((3, 3), (2, 2, 2), (1, 1), (4, 4))
    ],
    grad={"input": _logdet_rule})  # fmt: skip
def log_determinant(input: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    y, pivots, _ = lu_factorise(input)
    d = diagonal(y, 0, -2, -1)
    sign = mul(prod(sgn(d), -1), cast(_parity(pivots), y.dtype))
    return sign, sum(log(abs(d)), -1)
