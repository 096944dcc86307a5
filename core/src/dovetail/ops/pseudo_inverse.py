"""The inverse of Moore and Penrose."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import Array, Sizes
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import maximum
from dovetail.ops.formats import cast, where
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import OF_LAPACK, adjoint, matrix, regular
from dovetail.ops.mirrored import mirrored
from dovetail.ops.spectra import singular_values
from dovetail.ops.view import basic_index, unsqueeze


def _shape(shape: Sizes, *, atol: float, rtol: float, hermitian: bool) -> Sizes:
    *lead, n, m = matrix("pseudo_inverse", shape)
    return (*lead, m, n)


def through_inverse(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    """Golub and Pereyra 1973, The differentiation of pseudo-inverses."""
    g, yh = adjoint(ct), adjoint(y)
    n, m = input._a.shape[-2:]
    if n <= m:
        k = matmul(g, y)
        kyh = matmul(k, yh)
        y1 = kyh - adjoint(matmul(y, k)) - matmul(matmul(input, y), kyh)
        return y1 + matmul(matmul(yh, y), g - matmul(k, input))
    k = matmul(y, g)
    yhk = matmul(yh, k)
    y1 = yhk - adjoint(matmul(k, y)) - matmul(matmul(yhk, y), input)
    return y1 + matmul(matmul(g - matmul(input, k), y), yh)


def _inverted(
    x: Array, atol: float = 0.0, rtol: float = 0.0, hermitian: bool = False
) -> Array:
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    if not s.size:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    kept = s > np.maximum(atol, rtol * s[..., :1])
    over = np.where(kept, 1 / np.where(kept, s, 1), 0)
    turned = np.conj(np.swapaxes(vh, -1, -2)) * over[..., None, :]
    return np.asarray(turned @ np.conj(np.swapaxes(u, -1, -2)))


def _cases(make: Any) -> Any:
    for shape in ((3, 2), (2, 3)):
        yield case(regular(make, *shape), 0.0, 1e-4)


@op(shape=_shape, **(OF_LAPACK | {"largest": 9}), oracle=_inverted, cases=_cases,
    levels={"hermitian": (False,)},
    grad=through_inverse)  # fmt: skip
def pseudo_inverse(
    input: Tensor, atol: float = 0.0, rtol: float = 0.0, hermitian: bool = False
) -> Tensor:
    """V S⁺ Uᴴ: singular values that are not above a tolerance count as 0.

    That is the greater of `atol` and of `rtol` times the largest of them. Of
    `hermitian` matrices the lower triangle is read; the gradient is as of others.
    """
    u, s, vh = singular_values(mirrored(input, False) if hermitian else input)
    if not s._a.shape[-1]:
        return matmul(adjoint(vh), adjoint(u))
    first = basic_index(s, (Ellipsis, slice(0, 1)))
    kept = s > maximum(first * rtol, atol)
    over = where(kept, 1 / where(kept, s, 1), 0)
    scaled = adjoint(vh) * cast(unsqueeze(over, -2), input.dtype)
    return matmul(scaled, adjoint(u))
