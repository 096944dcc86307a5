"""Equations of which there are too many or too few: what is nearest to a solution."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import Array, int64
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.formats import cast
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import OF_LAPACK, adjoint, regular, well_posed
from dovetail.ops.pseudo_inverse import pseudo_inverse, through_inverse
from dovetail.ops.spectra import singular_values
from dovetail.ops.sums import sum, sum_to
from dovetail.ops.view import basic_index


def _nearest(a: Array, b: Array, rtol: float = 0.0) -> tuple[Array, Array]:
    """The truth; nearly singular matrices have a rank by rounding only."""
    well_posed("least_squares", a)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = np.broadcast_to(a, lead + a.shape[-2:])
    right = np.broadcast_to(b, lead + b.shape[-2:])
    y = np.zeros((*lead, a.shape[-1], b.shape[-1]), np.result_type(a, b))
    rank = np.zeros(lead, np.int64)
    for at in np.ndindex(*lead):
        y[at], _, rank[at], _ = np.linalg.lstsq(wide[at], right[at], rcond=rtol)
    return y, rank


def _through_matrix(ct: Tensor, input: Tensor, other: Tensor, rtol: float) -> Tensor:
    inverse = pseudo_inverse(input, 0.0, rtol)
    of_inverse = matmul(ct, adjoint(other))
    whole = through_inverse(of_inverse, input, inverse)
    return sum_to(whole, tuple(input._a.shape))


def _through_right(ct: Tensor, input: Tensor, other_shape: Any, rtol: float) -> Tensor:
    inverse = pseudo_inverse(input, 0.0, rtol)
    return sum_to(matmul(adjoint(inverse), ct), other_shape)


def _cases(make: Any) -> Any:
    for a, b in (((3, 2), (3, 2)), ((2, 3), (2, 1)), ((2, 3, 3), (2, 3, 2))):
        yield case(regular(make, *a), make(*b), 1e-4)


@op(shape="(n,m),(n,k)->(m,k),()", **(OF_LAPACK | {"largest": 9}),
    result=("same", int64), outputs=("y", "rank"), oracle=_nearest, cases=_cases,
    grad={"input": _through_matrix, "other": _through_right})  # fmt: skip
def least_squares(
    input: Tensor, other: Tensor, rtol: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The X for which `input` @ X is nearest to `other`; of several, the smallest.

    `rank` counts the singular values above `rtol` times the largest, or what else
    tells them from rounding; what is below counts as 0.
    """
    y = matmul(pseudo_inverse(input, 0.0, rtol), other)
    _, s, _ = singular_values(input)
    first = basic_index(s, (Ellipsis, slice(0, 1)))
    rank = sum(cast(s > first * rtol, int64), -1)
    return y, rank
