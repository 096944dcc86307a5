"""Eigenvalues of matrices that need not be Hermitian, by LAPACK on the host.

LAPACK's factors are numbers; gradients come from what perturbation theory says of
them: in the basis of its vectors the matrix is diagonal but for rounding errors E, and
to second order in E (Kato 1995, II.2)

    w_i = d_i + E_ii + sum_j E_ij E_ji / (d_i - d_j)

and likewise for vectors. So first and second derivatives are those of the factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.engine.host import announce
from dovetail.engine.modes import grad_enabled
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.scopes import outside
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import LinAlgError
from dovetail.frontend.linalg.checks import squares
from dovetail.ops.arithmetic import sqrt
from dovetail.ops.create import empty
from dovetail.ops.diagonal import diag_embed, diagonal
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import cast, where
from dovetail.ops.lu import solve_linear
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import identity
from dovetail.ops.sums import sum
from dovetail.ops.view import unsqueeze


def _on_host(name: str, a: Tensor) -> tuple[Tensor, Tensor]:
    """Values and vectors, outside the graph."""
    kind = a._kind.with_dtype(a.dtype.complex)
    shape = tuple(a._a.shape)
    if kind.backend.rules_only:
        return empty(shape[:-1], kind), empty(shape, kind)
    outside(name)
    announce(name, a._kind)
    try:
        w, v = np.linalg.eig(a._kind.backend.copy_out(a._a))
    except np.linalg.LinAlgError as error:
        raise LinAlgError(
            name, "A", was=f"such that LAPACK says: {error}",
            needed="finite numbers, for which its iterations converge",
        ) from error  # fmt: skip
    natives = (
        kind.backend.copy_in(x.astype(kind.dtype.numpy), kind.index) for x in (w, v)
    )
    first, second = (wrap(x, kind) for x in natives)
    return first, second


def _factors(name: str, a: Tensor) -> tuple[Tensor, Tensor]:
    squares(name, A=a)
    d, v = _on_host(name, a)
    if not (a.requires_grad and grad_enabled()):
        return d, v
    one = identity(a._a.shape[-1], d._kind)
    inner, _ = solve_linear(v, matmul(cast(a, v.dtype), v))
    e = inner - diag_embed(d)
    # 1 / (d_i - d_j) in row j, column i, and 0 on the diagonal.
    gap = unsqueeze(d, -2) - unsqueeze(d, -1)
    over = (1 - one) / (gap + one)
    first = e * over
    second = matmul(e, first)
    shift = diagonal(e, 0, -2, -1)
    w = d + shift + diagonal(second, 0, -2, -1)
    mixed = one + first + over * second - first * over * unsqueeze(shift, -2)
    vectors = matmul(v, mixed)
    size = abs(vectors)
    length = sqrt(sum(size * size, -2, True))
    return w, vectors / cast(where(length == 0, 1, length), vectors.dtype)


@public("linalg.eig", out=True, autocast="float32")
def eig(A: Tensor) -> Any:
    """Eigenvalues of square matrices, complex, and their vectors as columns.

    Vectors have length 1; they and their order are LAPACK's. Gradients are finite where
    the eigenvalues differ, and mean something where what is differentiated does not
    depend on the phases of the vectors.

    Raises: LinAlgError for numbers that are not finite.
    """
    found = _factors("linalg.eig", A)
    return fields("linalg_eig", ("eigenvalues", "eigenvectors"))(found)


@public("linalg.eigvals", out=True, autocast="float32")
def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices, complex, in LAPACK's order."""
    return _factors("linalg.eigvals", A)[0]
