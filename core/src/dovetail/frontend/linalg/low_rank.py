"""Few singular values, principal components or eigenvalues of large matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.modes import no_grad
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, AutogradError, ShapeError
from dovetail.frontend.linalg.checks import matrices, squares
from dovetail.frontend.linalg.definite import from_triangle
from dovetail.limits import finfo
from dovetail.ops.formats import cast
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import adjoint
from dovetail.ops.qr import qr_factorise
from dovetail.ops.shape import cat
from dovetail.ops.spectra import eigen_hermitian, singular_values
from dovetail.ops.view import basic_index, expand, unsqueeze


def _basis(name: str, a: Tensor, q: int, niter: int) -> Tensor:
    """Columns that span most of the range of `a` (Halko et al. 2009, algorithm 4.4)."""
    start = NAMESPACES["torch"]["randn"](a.shape[-1], q, dtype=a.dtype, device=a.device)
    found, _ = qr_factorise(matmul(a, start), False)
    for _ in range(niter):
        found, _ = qr_factorise(matmul(adjoint(a), found), False)
        found, _ = qr_factorise(matmul(a, found), False)
    return found


def _few(
    name: str, a: Tensor, q: int, niter: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the range of a random sample (Halko et al. 2009, 5.1)."""
    n, m = a.shape[-2:]
    if not 0 <= q <= min(n, m):
        raise ArgumentError(
            name, "q", was=q, needed=f"0 to {min(n, m)}, the lesser size"
        )
    if niter is not None and niter < 0:
        raise ArgumentError(name, "niter", was=niter, needed="at least 0")
    tall = adjoint(a) if n < m else a
    found = _basis(name, tall, q, 2 if niter is None else niter)
    u, s, vh = singular_values(matmul(adjoint(found), tall))
    u, v = matmul(found, u), adjoint(vh)
    return (v, s, u) if n < m else (u, s, v)


@public("torch.svd_lowrank")
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V for about the `q` greatest singular values of `A`, or of A - M.

    By a random sample of the range, which `niter` steps of iteration sharpen.
    """
    matrices("svd_lowrank", A=A)
    a = A if M is None else A - expand(M, tuple(A.shape))
    return _few("svd_lowrank", a, 6 if q is None else q, niter)


@public("torch.pca_lowrank")
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of rows less their mean: the columns of V are principal directions."""
    matrices("pca_lowrank", A=A)
    if center:
        A = A - A.mean(-2, True)
    return _few("pca_lowrank", A, min(6, *A.shape[-2:]) if q is None else q, niter)


def _orthonormal(s: Tensor, b: Tensor | None) -> Tensor:
    """Columns that span the same, orthonormal by the product that `b` says."""
    q, _ = qr_factorise(s, False)
    if b is None:
        return q
    w, v = eigen_hermitian(matmul(adjoint(q), matmul(b, q)))
    return matmul(q, v / cast(unsqueeze(w, -2), v.dtype).sqrt())


def _rayleigh_ritz(a: Tensor, s: Tensor, n: int, largest: bool) -> tuple[Tensor, ...]:
    """The outermost values of `a` within a space, and their vectors in it."""
    w, v = eigen_hermitian(matmul(adjoint(s), matmul(a, s)))
    if largest:
        w, v = w.flip(-1), v.flip(-1)
    return basic_index(w, slice(0, n)), basic_index(v, (slice(None), slice(0, n)))


def _flat(x: Tensor | None) -> Any:
    """Matrices in one dim, if there are any."""
    return None if x is None else x.reshape(-1, *x.shape[-2:])


def _iterated(
    a: Tensor, b: Tensor | None, k: Tensor | None, x: Tensor, niter: int, tol: float,
    largest: bool, tracker: Callable[..., Any] | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Knyazev 2001, Toward the optimal preconditioned eigensolver, algorithm 5.1."""
    n, size_a = x.shape[-1], float(a.norm())
    size_b = 1.0 if b is None else float(b.norm())
    x = _orthonormal(x, b)
    w, turn = _rayleigh_ritz(a, x, n, largest)
    x, p = matmul(x, turn), None
    for _ in range(niter if niter >= 0 else 10**6):
        rest = matmul(a, x) - (x if b is None else matmul(b, x)) * unsqueeze(w, -2)
        scale = x.norm(dim=-2) * (size_a + w.abs() * size_b)
        if bool(of_all_rows(rest.norm(dim=-2) <= tol * scale).all()):
            break
        step = rest if k is None else matmul(k, rest)
        s = _orthonormal(cat([x, step, *([] if p is None else [p])], -1), b)
        w, turn = _rayleigh_ritz(a, s, n, largest)
        moved = matmul(s, turn)
        own = x if b is None else matmul(b, x)
        p = moved - matmul(x, matmul(adjoint(own), moved))
        x = moved
        if tracker is not None:
            tracker(w, x)
    return w, x


def _check_pencil(a: Tensor, b: Tensor | None, start: Tensor | None, n: int) -> None:
    """Raise for matrices of which `lobpcg` does not find `n` vectors."""
    if any(t is not None and t.requires_grad for t in (a, b)):
        raise AutogradError(
            "lobpcg", "A", was="one that requires grad", needed="a tensor outside the "
            "graph", remedy="use linalg.eigh, which has gradients, or detach()",
        )  # fmt: skip
    *lead, _, m = a.shape
    if m < 3 * n:
        raise ArgumentError(
            "lobpcg", "A", was=f"of {m} rows", needed=f"at least {3 * n}, 3 x the "
            "number of eigenpairs", remedy="use linalg.eigh for small matrices",
        )  # fmt: skip
    if start is not None and tuple(start.shape) != (*lead, m, n):
        raise ShapeError(
            "lobpcg", "X", was=f"of shape {tuple(start.shape)}",
            needed=f"{(*lead, m, n)}",
        )  # fmt: skip


@public("torch.lobpcg")
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None,
    n: int | None = None, iK: Tensor | None = None, niter: int | None = None,
    tol: float | None = None, largest: bool | None = None, method: str | None = None,
    tracker: None = None, ortho_iparams: Any = None, ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The `k` greatest (or least) eigenvalues of A x = w B x, and their vectors.

    Args:
        A, B: [..., m, m], symmetric; B is positive definite, the identity if not given.
        X: [..., m, n], where to begin; random numbers if not given.
        iK: [..., m, m], nearly the inverse of A, to converge in fewer steps.
        niter: at most so many steps; -1 for as many as it takes.
        tol: of residuals beside the norms of A and B.

    Returns: values [..., k], and vectors [..., m, k] as columns. No gradients.
    """
    squares("lobpcg", A=A)
    if method not in (None, "basic", "ortho"):
        raise ArgumentError("lobpcg", "method", was=method, needed="basic or ortho")
    count = (1 if X is None else X.shape[-1]) if k is None else k
    width = count if n is None else n
    _check_pencil(A, B, X, width)
    m, lead = A.shape[-1], tuple(A.shape[:-2])
    near = finfo(A.dtype.real).eps ** 0.5 if tol is None else tol
    options: Any = (
        1000 if niter is None else niter,
        near,
        largest is not False,
        tracker,
    )
    with no_grad():
        start = X
        if start is None:
            randn = NAMESPACES["torch"]["randn"]
            start = randn(*lead, m, width, dtype=A.dtype, device=A.device)
        a = from_triangle(A, False)
        given: Any = [_flat(t) for t in (a, B, iK, start)]
        each = []
        for i in range(math.prod(lead)):
            one: Any = [None if t is None else t[i] for t in given]
            found: Any = _iterated(*one, *options)
            each.append(found)
        stack = NAMESPACES["torch"]["stack"]
        w = stack([found[0][:count] for found in each]).reshape(*lead, count)
        v = stack([found[1][:, :count] for found in each]).reshape(*lead, m, count)
    return w, v
