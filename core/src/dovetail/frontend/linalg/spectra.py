"""Eigenvalues, singular values, and what is told from them."""

from __future__ import annotations

import math
from typing import Any

from dovetail.dtypes import int64
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.frontend.linalg.checks import matrices, numbers, squares
from dovetail.frontend.linalg.definite import from_triangle
from dovetail.limits import finfo
from dovetail.ops.arithmetic import maximum
from dovetail.ops.create import full, zeros_of
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import cast
from dovetail.ops.least_squares import least_squares
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import adjoint
from dovetail.ops.pseudo_inverse import pseudo_inverse
from dovetail.ops.shape import stack
from dovetail.ops.spectra import eigen_hermitian, singular_values
from dovetail.ops.sums import sum
from dovetail.ops.view import squeeze, unsqueeze


def _eigh(name: str, a: Tensor, triangle: Any) -> tuple[Tensor, Tensor]:
    squares(name, A=a)
    if not isinstance(triangle, str) or triangle.upper() not in ("L", "U"):
        raise ArgumentError(name, "UPLO", was=repr(triangle), needed="'L' or 'U'")
    return eigen_hermitian(from_triangle(a, triangle.upper() == "U"))


@public("linalg.eigh", out=True, autocast="float32")
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices, ascending, and their vectors as columns.

    One triangle is read, the lower one for "L". A vector's first large number is
    positive.
    """
    found = _eigh("linalg.eigh", A, UPLO)
    return fields("linalg_eigh", ("eigenvalues", "eigenvectors"))(found)


@public("linalg.eigvalsh", out=True, autocast="float32")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian matrices, ascending."""
    return _eigh("linalg.eigvalsh", A, UPLO)[0]


def _driver(name: str, driver: str | None) -> None:
    if driver is not None:
        raise ArgumentError(
            name, "driver", was=repr(driver), needed="None: drivers are CUDA's"
        )


@public("linalg.svd", out=True, autocast="float32")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and Vh with U S Vh = A: singular values, descending, and their vectors."""
    matrices("linalg.svd", A=A)
    _driver("linalg.svd", driver)
    return fields("linalg_svd", ("U", "S", "Vh"))(singular_values(A, full_matrices))


@public("svd", out=True, autocast="float32")
def plain_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V with U S Vᴴ = `input`; zeros for U and V unless `compute_uv`."""
    matrices("svd", input=input)
    u, s, vh = singular_values(input, not some and compute_uv)
    v = adjoint(vh)
    if not compute_uv:
        lead, (n, m) = tuple(input.shape[:-2]), input.shape[-2:]
        u, v = zeros_of(input, (*lead, n, n)), zeros_of(input, (*lead, m, m))
    return fields("svd", ("U", "S", "V"))((u, s, v))


@public("linalg.svdvals", out=True, autocast="float32")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Singular values, descending."""
    matrices("linalg.svdvals", A=A)
    _driver("linalg.svdvals", driver)
    return singular_values(A)[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tolerances(name: str, x: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Both tolerances; the usual relative one where neither is given.

    Raises: ArgumentTypeError for what is no real number and no tensor of such.
    """
    for argument, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, Tensor) and value.dtype.is_complex:
            raise ArgumentTypeError(
                name, argument, was=value.dtype.name, needed="real numbers"
            )
        if not (value is None or isinstance(value, Tensor) or _is_number(value)):
            raise ArgumentTypeError(
                name, argument, was=repr(value), needed="a number or a tensor"
            )
    usual = finfo(x.dtype.real).eps * max(x.shape[-2:], default=0)
    if isinstance(atol, Tensor) and rtol is None:
        return atol, cast(atol <= 0, x.dtype.real) * usual
    if rtol is None:
        rtol = 0.0 if atol is not None and atol > 0 else usual
    return (0.0 if atol is None else atol), rtol


def _one_way(name: str, argument: str, former: Any, atol: Any, rtol: Any) -> None:
    """Refuse the tolerance of former times beside those of today."""
    if former is not None and not (atol is None and rtol is None):
        raise ArgumentTypeError(
            name, argument, was="given beside atol or rtol", needed="one or the other"
        )


def _column(value: Any) -> Any:
    return unsqueeze(value, -1) if isinstance(value, Tensor) and value.ndim else value


def _kept(name: str, x: Tensor, s: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Which singular values are above the tolerance."""
    atol, rtol = map(_column, _tolerances(name, x, atol, rtol))
    first = s[..., :1] if s.shape[-1] else s
    return s > maximum(first * rtol, atol)


@public("linalg.matrix_rank", out=True, autocast="float32")
def matrix_rank(
    A: Tensor, tol: Any = None, *, atol: Any = None, rtol: Any = None,
    hermitian: bool = False,
) -> Tensor:  # fmt: skip
    """How many singular values are above the tolerances, as of `pinv`."""
    name = "linalg.matrix_rank"
    matrices(name, A=A)
    _one_way(name, "tol", tol, atol, rtol)
    if tol is not None:
        atol, rtol = tol, 0.0
    if hermitian:
        s = abs(_eigh(name, A, "L")[0]).sort(-1, True).values
    else:
        s = singular_values(A)[1]
    return sum(cast(_kept(name, A, s, atol, rtol), int64), -1)


def _pinv(name: str, a: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    matrices(name, A=a)
    if hermitian:
        squares(name, A=a)
    atol, rtol = _tolerances(name, a, atol, rtol)
    if not isinstance(atol, Tensor) and not isinstance(rtol, Tensor):
        return pseudo_inverse(a, float(atol), float(rtol), hermitian)
    # Matrices with tolerances of their own: one after the other.
    lead = tuple(a.shape[:-2])
    each = [
        [t.expand(lead).reshape(-1)[i].item() if isinstance(t, Tensor) else t
         for t in (atol, rtol)]
        for i in range(math.prod(lead))
    ]  # fmt: skip
    flat = a.reshape(math.prod(lead), *a.shape[-2:])
    found = [
        pseudo_inverse(flat[i], *map(float, t), hermitian) for i, t in enumerate(each)
    ]
    if not found:
        return pseudo_inverse(a, 0.0, 0.0)
    return stack(found, 0).reshape(*lead, a.shape[-1], a.shape[-2])


@public("linalg.pinv", out=True)
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None,
    rtol: Any = None,
) -> Tensor:  # fmt: skip
    """The pseudo-inverse of Moore and Penrose.

    Singular values count as 0 if they are not above the greater of `atol` and of `rtol`
    (formerly `rcond`) times the first.
    """
    _one_way("linalg.pinv", "rcond", rcond, atol, rtol)
    return _pinv("linalg.pinv", A, atol, rcond if rtol is None else rtol, hermitian)


@public("pinverse", autocast="float32")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv` under its older name."""
    return _pinv("pinverse", input, None, rcond, False)


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@public("linalg.lstsq", autocast="float32")
def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
) -> Any:
    """The X for which A X is nearest to B, of which it has the smallest norm.

    Returns: the solution; residuals, where A has full rank and more rows than columns,
        but for gelsy, the usual driver; the rank, but for gels; singular values, for
        gelsd and gelss.
    """
    name = "linalg.lstsq"
    matrices(name, A=A)
    numbers(name, A=A, B=B)
    if driver is not None and driver not in _DRIVERS:
        raise ArgumentError(
            name, "driver", was=repr(driver), needed=f"one of {', '.join(_DRIVERS)}"
        )
    vector = B.ndim == A.ndim - 1
    right = unsqueeze(B, -1) if vector else B
    if right.ndim != A.ndim or right.shape[-2] != A.shape[-2]:
        raise ArgumentError(
            name, "B", was=f"of shape {tuple(B.shape)} for A of {tuple(A.shape)}",
            needed="a number for each row of A",
        )  # fmt: skip
    n, m = A.shape[-2:]
    usual = finfo(A.dtype.real).eps * max(n, m)
    cut = usual if rcond is None else float(rcond)
    cut = 0.0 if driver == "gels" else cut
    x, ranks = least_squares(A, right, cut)
    s = full((0,), 0, A._kind.with_dtype(A.dtype.real))
    if driver in ("gelsd", "gelss"):
        s = singular_values(A.detach())[1]
    told = driver == "gels" or (
        driver in ("gelsd", "gelss") and bool((ranks == m).all())
    )
    rest = zeros_of(s, (0,))
    if n > m and told:
        off = abs(matmul(A, x) - right)
        rest = sum(off * off, -2)
    if driver == "gels":
        ranks = zeros_of(ranks, (0,))
    x = squeeze(x, (-1,)) if vector else x
    names = ("solution", "residuals", "rank", "singular_values")
    return fields("linalg_lstsq", names)((x, rest, ranks, s))
