"""Linear algebra, as the array API standard has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import dovetail.frontend.linalg  # noqa: F401 (offers its names)
from dovetail import frontend as f
from dovetail.array_api import statistical
from dovetail.array_api.arrays import conforming, promoted
from dovetail.dtypes import DType
from dovetail.engine.public import NAMESPACES
from dovetail.errors import ShapeError

_linalg: Final = NAMESPACES["linalg"]


@conforming
def matmul(x1: Any, x2: Any, /) -> Any:
    """Products of matrices."""
    x1, x2 = promoted(x1, x2)
    return x1.matmul(x2)


@conforming
def matrix_transpose(x: Any, /) -> Any:
    """The matrices transposed; a view."""
    return x.mT


@conforming
def tensordot(
    x1: Any, x2: Any, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Any:
    """Sums of products over dims of both."""
    return f.tensordot(*promoted(x1, x2), dims=axes)


@conforming
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Dot products along a dim, the first operand conjugated.

    Raises: ShapeError where the dim is not of one size.
    """
    x1, x2 = promoted(x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ShapeError(
            "vecdot", "axis", was=f"of sizes {x1.shape[axis]} and {x2.shape[axis]}",
            needed="one size",
        )  # fmt: skip
    products = f.mul(f.conj(x1).movedim(axis, -1), x2.movedim(axis, -1))
    return f.sum(products, -1, dtype=products.dtype)


@conforming
def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """Cholesky's factor."""
    return _linalg["cholesky"](x, upper=upper)


@conforming
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Cross products along a dim of size 3."""
    x1, x2 = f.broadcast_tensors(*promoted(x1, x2))
    return _linalg["cross"](x1, x2, dim=axis)


@conforming
def det(x: Any, /) -> Any:
    """Determinants."""
    return _linalg["det"](x)


@conforming
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The matrices' diagonals."""
    return f.diagonal(x, offset, -2, -1)


@conforming
def eig(x: Any, /) -> Any:
    """Eigenvalues and eigenvectors of matrices."""
    return _linalg["eig"](x)


@conforming
def eigvals(x: Any, /) -> Any:
    """Eigenvalues of matrices."""
    return _linalg["eigvals"](x)


@conforming
def eigh(x: Any, /) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return _linalg["eigh"](x)


@conforming
def eigvalsh(x: Any, /) -> Any:
    """Eigenvalues of Hermitian matrices."""
    return _linalg["eigvalsh"](x)


@conforming
def inv(x: Any, /) -> Any:
    """Inverses."""
    return _linalg["inv"](x)


@conforming
def matrix_norm(
    x: Any, /, *, keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] | None = "fro",
) -> Any:  # fmt: skip
    """Norms of matrices."""
    return _linalg["matrix_norm"](x, "fro" if ord is None else ord, keepdim=keepdims)


@conforming
def matrix_power(x: Any, n: int, /) -> Any:
    """Powers of square matrices."""
    return _linalg["matrix_power"](x, n)


@conforming
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values are greater than `rtol` times the greatest."""
    return _linalg["matrix_rank"](x, rtol=rtol)


@conforming
def outer(x1: Any, x2: Any, /) -> Any:
    """Products of all pairs of elements of two vectors."""
    return f.outer(*promoted(x1, x2))


@conforming
def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """Pseudo-inverses."""
    return _linalg["pinv"](x, rtol=rtol)


@conforming
def qr(x: Any, /, *, mode: Literal["reduced", "complete"] = "reduced") -> Any:
    """Factors Q and R."""
    return _linalg["qr"](x, mode)


@conforming
def slogdet(x: Any, /) -> Any:
    """Signs of determinants, and logarithms of their magnitudes."""
    return _linalg["slogdet"](x)


@conforming
def solve(x1: Any, x2: Any, /) -> Any:
    """Solutions of linear systems: of vectors where `x2` is one vector."""
    x1, x2 = promoted(x1, x2)
    if x2.ndim == 1:
        return _linalg["solve"](x1, x2.unsqueeze(-1)).squeeze(-1)
    shape = f.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1, x2 = (x.broadcast_to((*shape, *x.shape[-2:])) for x in (x1, x2))
    return _linalg["solve"](x1, x2)


@conforming
def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """Factors U, S and Vh."""
    return _linalg["svd"](x, full_matrices)


@conforming
def svdvals(x: Any, /) -> Any:
    """Singular values, the greatest first."""
    return _linalg["svdvals"](x)


@conforming
def trace(x: Any, /, *, offset: int = 0, dtype: DType | None = None) -> Any:
    """Sums of diagonals."""
    return statistical.sum(f.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


@conforming
def vector_norm(
    x: Any, /, *, axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False, ord: float = 2,
) -> Any:  # fmt: skip
    """Norms over dims, of all elements by default."""
    if isinstance(axis, tuple) and not axis:
        return f.abs(x) if ord else (x != 0).to(x.dtype.real)
    return _linalg["vector_norm"](x, ord, axis, keepdims)
