"""linalg.

Written by `python -m dovetail.signatures`.
"""

from collections.abc import Sequence
from typing import Any

from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.errors import LinAlgError as LinAlgError

def cholesky(
    A: Tensor, *, upper: bool = False, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The lower triangle L with L Lᴴ = A; with `upper`, Lᴴ."""

def cholesky_ex(
    A: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """`cholesky` without a look: `info` has what is not positive definite, or
    0.
    """

def cond(
    A: Tensor,
    p: float | str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The norm of A times that of its inverse; by singular values for None, 2,
    -2.
    """

def cross(
    input: Tensor,
    other: Tensor,
    *,
    dim: int = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The vector product along `dim`, where both have size 3."""

def det(A: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The determinant of square matrices."""

def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""

def eig(A: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Any:
    """Eigenvalues of square matrices, complex, and their vectors as columns."""

def eigh(
    A: Tensor, UPLO: str = "L", *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Any:
    """Eigenvalues of Hermitian matrices, ascending, and their vectors as
    columns.
    """

def eigvals(A: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Eigenvalues of square matrices, complex, in LAPACK's order."""

def eigvalsh(
    A: Tensor, UPLO: str = "L", *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Eigenvalues of Hermitian matrices, ascending."""

def householder_product(
    A: Tensor, tau: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The first columns of the product of reflections, as `geqrf` has them."""

def inv(A: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The inverse of square matrices."""

def inv_ex(
    A: Tensor,
    *,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """`inv` without a look at the matrices: `info` has where a pivot was 0, or
    0.
    """

def ldl_factor(
    A: Tensor,
    *,
    hermitian: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """L below the diagonal, where it has ones, and D, as LAPACK's sytrf or
    hetrf.
    """

def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """`ldl_factor`; `info` has where D is singular, counted from 1, or 0."""

def ldl_solve(
    LD: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    hermitian: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The X of A X = `B`, by the factors that `ldl_factor` gives for A."""

def lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Any:
    """The X for which A X is nearest to B, of which it has the smallest norm."""

def lu(
    A: Tensor, *, pivot: bool = True, out: Tensor | tuple[Tensor, ...] | None = None
) -> Any:
    """P, L and U with P L U = A: a permutation and two triangles."""

def lu_factor(
    A: Tensor, *, pivot: bool = True, out: Tensor | tuple[Tensor, ...] | None = None
) -> Any:
    """Both triangles of P L U = A in one matrix, and the pivots, counted from
    1.
    """

def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """`lu_factor`, and the first place of a pivot that is 0, counted from 1."""

def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The X of A X = B, by the factors of A; of X A = B where not `left`."""

def matmul(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """`torch.matmul` under another name."""

def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices: I + A + A²/2 + …"""

def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = ...,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """A norm of matrices: of elements ("fro"), sums, or singular values."""

def matrix_power(
    A: Tensor, n: int, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The product of `n` times A; of its inverse where `n` is negative."""

def matrix_rank(
    A: Tensor,
    tol: Any = None,
    *,
    atol: Any = None,
    rtol: Any = None,
    hermitian: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """How many singular values are above the tolerances, as of `pinv`."""

def multi_dot(
    tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The product of several matrices in the order that costs least."""

def norm(
    input: Tensor,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """A norm of vectors, or of matrices where `dim` (or `input`) has two dims."""

def pinv(
    A: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The pseudo-inverse of Moore and Penrose."""

def qr(
    A: Tensor, mode: str = "reduced", *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Any:
    """Q with orthonormal columns and R, an upper triangle: Q R = A."""

def slogdet(A: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""

def solve(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The X of A X = B; of X A = B where not `left`."""

def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """`solve` without a look at the matrices: `info` has where a pivot was 0,
    or 0.
    """

def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The X of A X = B, where one triangle of A counts; of X A = B where not
    `left`.
    """

def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """U, S and Vh with U S Vh = A: singular values, descending, and their
    vectors.
    """

def svdvals(
    A: Tensor,
    *,
    driver: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Singular values, descending."""

def tensorinv(
    A: Tensor, ind: int = 2, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The inverse of products over the last dims of A, all but the first
    `ind`.
    """

def tensorsolve(
    A: Tensor,
    B: Tensor,
    dims: Sequence[int] | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The X whose product with A over its last dims is B; `dims` of A go last
    first.
    """

def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers 0 … N-1 of each element along a new last dim."""

def vecdot(
    x: Tensor,
    y: Tensor,
    *,
    dim: int = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The sum of products along `dim`, with the conjugate of `x`."""

def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """sum(|x|^ord)^(1/ord) over `dim`; inf and -inf are the extremes, 0
    counts.
    """
