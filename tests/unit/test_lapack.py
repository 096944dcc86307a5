"""What LAPACK serves on the CPU: every way in which matrices lie and come together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.codegen import library_calls
from dovetail.codegen.runtime.blas import blas

pytestmark = pytest.mark.skipif(blas() is None, reason="NumPy's BLAS is not OpenBLAS")

DTYPES = ("float32", "float64", "complex64", "complex128")
BATCHES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (2, 10), (40, 1))
DIGITS = {"float32": 1e-3, "complex64": 1e-3, "float64": 1e-9, "complex128": 1e-9}


@pytest.fixture(params=["compiled", "called"])
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the compiled loop over matrices, and by one call after the other."""
    compiled = request.param == "compiled"
    if compiled:
        pytest.importorskip("llvmlite")
    monkeypatch.setattr(library_calls, "available", lambda: compiled)


def _drawn(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def _posed(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    """Square matrices that are far from singular."""
    return _drawn(dtype, *shape) + np.eye(shape[-1], dtype=dtype) * 3 * shape[-1]


def _lying(x: np.ndarray[Any, Any]) -> Iterator[dt.Tensor]:
    """The same matrices, by rows, by columns, with gaps, and from behind."""
    yield dt.tensor(x)
    yield dt.tensor(np.swapaxes(x, -1, -2).copy()).mT
    wide = np.repeat(np.repeat(x, 2, -1), 3, -2)
    yield dt.tensor(wide)[..., ::3, ::2]
    yield dt.tensor(x[..., ::-1, :].copy()).flip(-2)


def _near(found: dt.Tensor, truth: Any, dtype: str) -> None:
    assert found.dtype is getattr(dt, dtype)
    truth = np.asarray(truth)
    size = max(np.abs(truth).max(initial=0), 1)
    assert found.shape == truth.shape
    assert np.abs(found.numpy() - truth).max(initial=0) <= DIGITS[dtype] * size


def _wide(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.astype("complex128" if x.dtype.kind == "c" else "float64")


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", BATCHES)
def test_elimination(dtype: str, lead: tuple[int, ...]) -> None:
    """P L U is the matrix, of every shape; the pivots are LAPACK's."""
    for n, m in ((1, 1), (5, 5), (7, 4), (3, 6)):
        x = _drawn(dtype, *lead, n, m)
        for a in _lying(x):
            p, low, up = dt.linalg.lu(a)
            _near(p @ low @ up, x, dtype)
            assert (low.abs() <= 1 + 1e-5 if dtype[0] == "f" else low.abs() < 2).all()
            factors, pivots = dt.linalg.lu_factor(a)
            assert pivots.dtype is dt.int32
            assert int(pivots.min()) > 0
            _near(factors.tril(-1)[..., : min(n, m)], low.tril(-1).numpy(), dtype)


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("leads", [
    ((), ()), ((2,), (2,)), ((), (3,)), ((20,), ()), ((2, 1), (3,)), ((1,), (2, 2)),
])  # fmt: skip
def test_systems(dtype: str, leads: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Solutions of large and small systems, whose batches are spread."""
    for n, k in ((2, 1), (40, 60), (97, 3)):
        x, y = _posed(dtype, *leads[0], n, n), _drawn(dtype, *leads[1], n, k)
        truth = np.linalg.solve(_wide(x), _wide(y))
        for a, b in zip(_lying(x), _lying(y), strict=True):
            _near(dt.linalg.solve(a, b), truth, dtype)
            for upper in (False, True):
                part = np.triu(x) if upper else np.tril(x)
                found = dt.linalg.solve_triangular(a, b, upper=upper)
                _near(found, np.linalg.solve(_wide(part), _wide(y)), dtype)
        ones = np.tril(x, -1) / (4 * n) + np.eye(n, dtype=dtype)
        found = dt.linalg.solve_triangular(
            dt.tensor(ones * 1 + np.triu(x)), dt.tensor(y), upper=False,
            unitriangular=True,
        )  # fmt: skip
        whole = np.tril(ones + np.triu(x), -1) + np.eye(n)
        _near(found, np.linalg.solve(_wide(whole), _wide(y)), dtype)


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", BATCHES)
def test_factors(dtype: str, lead: tuple[int, ...]) -> None:
    """Q R and L Lᴴ give the matrices back, and are what they are called."""
    for n, m in ((6, 6), (70, 30), (30, 70)):
        x = _drawn(dtype, *lead, n, m)
        for a in _lying(x):
            for mode in ("reduced", "complete"):
                q, r = dt.linalg.qr(a, mode=mode)
                _near(q @ r, x, dtype)
                _near(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), (q.mH @ q).shape),
                      dtype)  # fmt: skip
                assert not r.tril(-1).any()
            turned, tau = dt.geqrf(a)
            _near(turned.triu(), np.triu(dt.linalg.qr(a, mode="complete")[1].numpy()),
                  dtype)  # fmt: skip
            if n >= m:
                _near(dt.linalg.householder_product(turned, tau),
                      dt.linalg.qr(a)[0].numpy(), dtype)  # fmt: skip
    y = _posed(dtype, *lead, 9, 9)
    y = y @ np.conj(np.swapaxes(y, -1, -2))
    for a in _lying(y):
        low = dt.linalg.cholesky(a)
        assert not low.triu(1).any()
        _near(low @ low.mH, y, dtype)
        _near(dt.linalg.cholesky(a.triu(), upper=True), low.mH.numpy(), dtype)


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", BATCHES)
def test_least_squares(dtype: str, lead: tuple[int, ...]) -> None:
    """Of more equations and of fewer, and of those that say the same."""
    for n, m, k in ((5, 5, 1), (12, 7, 3), (4, 9, 2), (60, 50, 8)):
        x, y = _drawn(dtype, *lead, n, m), _drawn(dtype, *lead, n, k)
        if n == 12:
            x[..., 3] = x[..., 1]
        truth = np.linalg.pinv(_wide(x), 1e-6) @ _wide(y)
        for a, b in zip(_lying(x), _lying(y), strict=True):
            found = dt.linalg.lstsq(a, b, 1e-5)
            _near(found.solution, truth, dtype)
            assert found.rank.eq(min(n, m) - (n == 12)).all()
            by_values = dt.linalg.lstsq(a, b, 1e-5, driver="gelsd")
            _near(by_values.solution, truth, dtype)


def test_one_workspace_serves_one_thread() -> None:
    """Of more matrices than a thread takes at a time otherwise."""
    x = _drawn("float64", 140_000, 2, 2)
    q, r = dt.linalg.qr(dt.tensor(x))
    _near(q @ r, x, "float64")
    found = dt.linalg.lstsq(dt.tensor(x), dt.tensor(x)).solution
    _near(found, np.broadcast_to(np.eye(2), x.shape), "float64")


def test_what_cannot_be_solved_is_named() -> None:
    """The batch element, also of large batches and matrices."""
    for count, n in ((3, 2), (40, 20)):
        x = _posed("float64", count, n, n)
        x[2, -1] = x[2, 0]
        for solve in (dt.linalg.inv, lambda a: dt.linalg.solve(a, a)):
            with pytest.raises(dt.linalg.LinAlgError, match="Batch element 2"):
                solve(dt.tensor(x))
        x = x @ x.swapaxes(-1, -2)
        x[1, 1, 1] = -1
        with pytest.raises(dt.linalg.LinAlgError, match=r"Batch element 1.*size 2"):
            dt.linalg.cholesky(dt.tensor(x))


def test_operands_stay_as_they_are() -> None:
    """LAPACK writes over what it is given, which is a copy."""
    x, y = dt.tensor(_posed("float32", 100, 100)), dt.ones(100, 100)
    whole = x @ x.mT
    before = x.clone(), whole.clone()
    dt.linalg.lu_factor(x), dt.linalg.solve(x, y), dt.linalg.qr(x)
    dt.linalg.cholesky(whole), dt.linalg.solve_triangular(x, y, upper=True)
    dt.geqrf(x), dt.linalg.householder_product(x, dt.zeros(100))
    assert x.equal(before[0])
    assert whole.equal(before[1])
    assert y.equal(dt.ones(100, 100))
