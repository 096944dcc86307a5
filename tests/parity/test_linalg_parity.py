"""torch.linalg beside torch's own: values, gradients, forms of arguments, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

DRAW = np.random.default_rng(11)
A = DRAW.standard_normal((2, 4, 4)) + 4 * np.eye(4)
B = DRAW.standard_normal((2, 4, 3))
TALL = DRAW.standard_normal((2, 5, 3))
WIDE = np.swapaxes(TALL, -1, -2).copy()
DEFINITE = A @ np.swapaxes(A, -1, -2) + np.diag([1.0, 4, 9, 16])
SINGULAR = np.stack([np.eye(3), np.ones((3, 3))])

CALLS: dict[str, Any] = {
    "solve": (lambda lib, a, b: lib.linalg.solve(a, b), A, B),
    "solve from the right": (
        lambda lib, a, b: lib.linalg.solve(a, b.mT, left=False), A, B,
    ),
    "solve a vector": (lambda lib, a, b: lib.linalg.solve(a, b[..., 0]), A, B),
    "inv": (lambda lib, a: lib.linalg.inv(a), A),
    "det": (lambda lib, a: lib.linalg.det(a), A),
    "slogdet": (lambda lib, a: lib.slogdet(a), A),
    "logdet": (lambda lib, a: lib.logdet(a), DEFINITE),
    "cholesky": (lambda lib, a: lib.linalg.cholesky(a), DEFINITE),
    "upper cholesky": (lambda lib, a: lib.linalg.cholesky(a, upper=True), DEFINITE),
    "cholesky_solve": (
        lambda lib, a, b: lib.cholesky_solve(b, lib.linalg.cholesky(a)), DEFINITE, B,
    ),
    "lu": (lambda lib, a: lib.linalg.lu(a), A),
    "lu of tall matrices": (lambda lib, a: lib.linalg.lu(a), TALL),
    "lu of wide matrices": (lambda lib, a: lib.linalg.lu(a), WIDE),
    "lu_solve": (
        lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b), A, B,
    ),
    "lu_solve of the adjoint": (
        lambda lib, a, b: lib.linalg.lu_solve(
            *lib.linalg.lu_factor(a), b, adjoint=True
        ), A, B,
    ),
    "solve_triangular": (
        lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False), A, B,
    ),
    "qr": (lambda lib, a: lib.linalg.qr(a), A),
    "qr of tall matrices": (lambda lib, a: lib.linalg.qr(a), TALL),
    "qr of wide matrices": (lambda lib, a: lib.linalg.qr(a), WIDE),
    "eigvalsh": (lambda lib, a: lib.linalg.eigvalsh(a), DEFINITE),
    "eigh": (lambda lib, a: _same_phase(lib.linalg.eigh(a)[1]), DEFINITE),
    "svdvals": (lambda lib, a: lib.linalg.svdvals(a), TALL),
    "svd": (
        lambda lib, a: [abs(x) for x in lib.linalg.svd(a, full_matrices=False)], TALL,
    ),
    "pinv": (lambda lib, a: lib.linalg.pinv(a), WIDE),
    "lstsq": (lambda lib, a, b: lib.linalg.lstsq(a, b)[0], A, B),
    "matrix_exp": (lambda lib, a: lib.matrix_exp(a * 0.3), A),
    "matrix_power": (lambda lib, a: lib.matrix_power(a, -3), A),
    "householder_product": (
        lambda lib, a, t: lib.linalg.householder_product(a, t[:, 0]), TALL, TALL,
    ),
    "cond": (lambda lib, a: lib.linalg.cond(a, -2), A),
    "nuclear norm": (lambda lib, a: lib.norm(a[0], "nuc"), A),
    "spectral norm": (lambda lib, a: lib.linalg.matrix_norm(a, 2), TALL),
    "tensorinv": (lambda lib, a: lib.linalg.tensorinv(a[0].reshape(2, 2, 4), 2), A),
    "multi_dot": (lambda lib, a, b: lib.linalg.multi_dot([a[0], a[1], b[0]]), A, B),
    "vander": (lambda lib, a: lib.linalg.vander(a, N=4), TALL),
}  # fmt: skip


def _same_phase(v: Any) -> Any:
    return v * v[..., :1, :].sign()


def _found(lib: Any, name: str) -> tuple[list[Any], list[Any]]:
    """Results of a call, and the gradients of their weighted sum."""
    call, *arrays = CALLS[name]
    given = [lib.tensor(a, requires_grad=True) for a in arrays]
    y = call(lib, *given)
    results = [t for t in (y if isinstance(y, tuple | list) else [y])
               if t.is_floating_point()]  # fmt: skip
    weights = np.random.default_rng(5)
    total = sum(
        (t * lib.tensor(weights.standard_normal(tuple(t.shape)))).sum() for t in results
        if t.requires_grad
    )  # fmt: skip
    total.backward()
    grads = [g.grad.numpy() for g in given if g.grad is not None]
    return [t.detach().numpy() for t in results], grads


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str) -> None:
    """Results and gradients in double precision are torch's, up to rounding."""
    mine, theirs = _found(dt, name), _found(torch, name)
    for own, other in zip(mine, theirs, strict=True):
        assert len(own) == len(other)
        for x, y in zip(own, other, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def test_a_large_system() -> None:
    """Elimination in blocks gives LAPACK's factors and pivots."""
    a = np.random.default_rng(3).standard_normal((150, 150))
    mine, theirs = dt.linalg.lu_factor(dt.tensor(a)), torch.linalg.lu_factor(
        torch.tensor(a)
    )  # fmt: skip
    np.testing.assert_array_equal(mine.pivots.numpy(), theirs.pivots.numpy())
    np.testing.assert_allclose(mine.LU.numpy(), theirs.LU.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["inv", "solve", "cholesky"])
def test_the_batch_element_is_named(name: str) -> None:
    """A matrix that is singular is refused under its place in the batch."""
    a = SINGULAR if name != "cholesky" else SINGULAR - 2 * SINGULAR[1]
    for lib in (dt, torch):
        given = [lib.tensor(a)] * (2 if name == "solve" else 1)
        with pytest.raises(lib.linalg.LinAlgError, match=r"atch element [01]\)"):
            getattr(lib.linalg, name)(*given)


@pytest.mark.parametrize("name", ["inv_ex", "cholesky_ex", "lu_factor_ex"])
def test_info(name: str) -> None:
    """Where nothing is refused, `info` says the same as torch's."""
    own = getattr(dt.linalg, name)(dt.tensor(SINGULAR))
    theirs = getattr(torch.linalg, name)(torch.tensor(SINGULAR))
    np.testing.assert_array_equal(own.info.numpy(), theirs.info.numpy())


@pytest.mark.parametrize("call", [
    lambda lib: lib.linalg.inv(lib.ones(2, 3)),
    lambda lib: lib.linalg.inv(lib.ones(3)),
    lambda lib: lib.linalg.det(lib.ones(2, 2, dtype=lib.int64)),
    lambda lib: lib.linalg.solve(lib.eye(2), lib.ones(3, 1)),
    lambda lib: lib.linalg.solve(lib.eye(2), lib.ones(2, 1, dtype=lib.float64)),
    lambda lib: lib.linalg.eigh(lib.eye(2), UPLO="X"),
    lambda lib: lib.linalg.qr(lib.eye(2), mode="all"),
    lambda lib: lib.linalg.matrix_norm(lib.eye(2), ord=3),
    lambda lib: lib.linalg.multi_dot([lib.eye(2)]),
    lambda lib: lib.cholesky(lib.ones(2, 2, dtype=lib.float16)),
])  # fmt: skip
def test_refusals(call: Any) -> None:
    """What torch refuses is refused, with an error that torch's users catch."""
    for lib in (torch, dt):
        with pytest.raises((RuntimeError, ValueError)):
            call(lib)
