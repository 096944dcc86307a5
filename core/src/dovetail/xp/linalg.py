"""Linear algebra by a library's LAPACK, and in blocks where it keeps that to itself."""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.dtypes import complex64, complex128, float32, float64, int32
from dovetail.xp.kernels import Kernels, on_device
from dovetail.xp.shape import triangle

_FORMATS: Final = (float32, float64, complex64, complex128)
_BLOCK: Final = 48  # columns that are eliminated before the rest is, by one product
kernels: Final = Kernels()
install = kernels.install


def _adjoint(xp: Any, a: Any) -> Any:
    return xp.conj(xp.swapaxes(a, -1, -2))


def _hermitian(xp: Any, a: Any) -> Any:
    return (a + _adjoint(xp, a)) * a.dtype.type(0.5)


@kernels("solve_triangle", _FORMATS, rows=True)
def _solve_triangle(xp: Any, a: Any, b: Any, upper: bool, unitriangular: bool) -> Any:
    lead = xp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = xp.array(xp.broadcast_to(b, (*lead, *b.shape[-2:])), order="C")
    _substitute(xp, a, x, upper, unitriangular)
    return x


def _substitute(xp: Any, a: Any, x: Any, upper: bool, unit: bool) -> None:
    """Solve in place: halves by themselves, and what one has of the other between."""
    n = a.shape[-1]
    if n > _BLOCK:
        h = n // 2
        first, second = slice(0, h), slice(h, n)
        if upper:
            first, second = second, first
        _substitute(xp, a[..., first, first], x[..., first, :], upper, unit)
        x[..., second, :] -= xp.matmul(a[..., second, first], x[..., first, :])
        _substitute(xp, a[..., second, second], x[..., second, :], upper, unit)
        return
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        row = x[..., i : i + 1, :]
        if known.start < known.stop:
            row -= xp.matmul(a[..., i : i + 1, known], x[..., known, :])
        if not unit:
            row /= a[..., i : i + 1, i : i + 1]


@kernels("lu_factorise", _FORMATS, rows=True)
def _lu(xp: Any, a: Any, pivot: bool) -> Any:
    """Columns in blocks, all matrices of a batch at once (Golub and Van Loan 3.2)."""
    n, m = a.shape[-2:]
    k, lead = min(n, m), a.shape[:-2]
    y = xp.array(a, order="C").reshape(math.prod(lead), n, m)
    pivots = xp.zeros((len(y), k), "int32")
    info = xp.zeros(len(y), "int32")
    for start in range(0, k, _BLOCK):
        stop = min(start + _BLOCK, k)
        for j in range(start, stop):
            _eliminate(xp, y, j, stop, pivots, info, pivot)
        if stop < m:
            corner, right = y[:, start:stop, start:stop], y[:, start:stop, stop:]
            _substitute(xp, corner, right, False, True)
            if stop < n:
                y[:, stop:, stop:] -= xp.matmul(y[:, stop:, start:stop], right)
    return y.reshape(a.shape), pivots.reshape(*lead, k), info.reshape(lead)


def _eliminate(
    xp: Any, y: Any, j: int, stop: int, pivots: Any, info: Any, pivot: bool
) -> None:
    """One column of a block, which ends at `stop`."""
    each = xp.arange(len(y))
    if pivot:
        column = y[:, j:, j]
        size = abs(column.real) + abs(column.imag)
        at = j + (size.argmax(-1) if size.size else each)
        pivots[:, j] = at + 1
        y[each, at], y[:, j] = y[:, j].copy(), y[each, at]
    else:
        pivots[:, j] = j + 1
    corner = y[:, j, j]
    zero = corner == 0
    xp.copyto(info, xp.int32(j + 1), where=zero & (info == 0))
    y[:, j + 1 :, j] /= xp.where(zero, 1, corner)[:, None]
    factor, row = y[:, j + 1 :, j : j + 1], y[:, j : j + 1, j + 1 : stop]
    y[:, j + 1 :, j + 1 : stop] -= factor * row


@kernels("row_order", (int32,))
def _row_order(xp: Any, pivots: Any, size: int) -> Any:
    """One row after the other, or one step of all rows after the other."""
    (*lead, k), count = pivots.shape, math.prod(pivots.shape[:-1])
    steps = min(k, size)
    order = xp.empty((count, size), "int32")
    order[...] = xp.arange(size, dtype="int32")
    at = pivots.reshape(count, k)[:, :steps] - 1
    at = xp.where((at >= 0) & (at < size), at, xp.arange(steps, dtype="int32"))
    if count < steps and not on_device(xp):
        for row, places in zip(order, at.tolist(), strict=True):
            row[...] = _exchanged(size, places)
        return order.reshape(*lead, size)
    each = xp.arange(count)
    for i in range(steps):
        j = at[:, i]
        order[each, j], order[:, i] = order[:, i].copy(), order[each, j]
    return order.reshape(*lead, size)


def _exchanged(size: int, places: list[int]) -> list[int]:
    order = list(range(size))
    for i, j in enumerate(places):
        order[i], order[j] = order[j], order[i]
    return order


@kernels("mirrored", _FORMATS, rows=True)
def _mirrored(xp: Any, a: Any, upper: bool) -> Any:
    shape = a.shape[-2:]
    above = triangle(xp, shape, -1 if upper else 0)
    other = _adjoint(xp, a) if a.dtype.kind == "c" else xp.swapaxes(a, -1, -2)
    y = xp.where(above, other, a) if upper else xp.where(above, a, other)
    if a.dtype.kind == "c":
        xp.copyto(y.imag, 0, where=xp.eye(*shape, dtype="bool"))
    return y


@kernels("solve_linear", _FORMATS, rows=True)
def _solve(xp: Any, a: Any, b: Any) -> Any:
    lead = xp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    info = xp.zeros(lead, "int32")
    try:
        return xp.linalg.solve(a, b), info
    except xp.linalg.LinAlgError:
        pass
    *_, found = _lu(xp, a, True)
    good = xp.where(
        (found == 0)[..., None, None], a, xp.eye(a.shape[-1], dtype=a.dtype)
    )
    info[...] = found
    return xp.linalg.solve(good, b), info


@kernels("determinant", _FORMATS, rows=True)
def _determinant(xp: Any, a: Any) -> Any:
    return xp.linalg.det(a)


@kernels("log_determinant", _FORMATS, rows=True)
def _log_determinant(xp: Any, a: Any) -> Any:
    return tuple(xp.linalg.slogdet(a))


@kernels("cholesky_factor", _FORMATS, rows=True)
def _cholesky(xp: Any, a: Any) -> Any:
    part = _hermitian(xp, a)
    info = xp.zeros(a.shape[:-2], "int32")
    try:
        y = xp.linalg.cholesky(part)
        if not on_device(xp) and xp.isfinite(y.sum()):
            return y, info
        # Of infinite numbers some libraries make what is none of their factors.
        if on_device(xp) or xp.isfinite(xp.einsum("...ii->...i", y)).all():
            return y, _first_nan(xp, y)
    except xp.linalg.LinAlgError:
        pass
    y = xp.zeros(a.shape, a.dtype)
    for at in xp.ndindex(*a.shape[:-2]):
        info[at] = _leading(xp, part[at], y[at])
    return y, info


def _first_nan(xp: Any, y: Any) -> Any:
    """Which number on the diagonal is the first NaN, counted from 1; else 0."""
    undefined = xp.isnan(xp.diagonal(y, 0, -2, -1))
    if not y.shape[-1]:
        return xp.zeros(y.shape[:-2], "int32")
    return xp.where(undefined.any(-1), undefined.argmax(-1) + 1, 0).astype("int32")


def _leading(xp: Any, part: Any, y: Any) -> int:
    """Factor into `y` as much as is positive definite; where that ends, or 0."""
    for k in range(len(part)):
        row = y[k, :k]
        rest = part[k:, k] - xp.matmul(y[k:, :k], xp.conj(row))
        if not rest[0].real > 0:
            return k + 1
        y[k, k] = xp.sqrt(rest[0].real)
        y[k + 1 :, k] = rest[1:] / y[k, k]
    return 0


@kernels("householder_factor", _FORMATS, rows=True)
def _householder_factor(xp: Any, a: Any) -> Any:
    if not a.size:
        return a.copy(), xp.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    turned, tau = xp.linalg.qr(a, "raw")
    return xp.swapaxes(turned, -1, -2).copy(), tau


@kernels("householder_product", _FORMATS, rows=True)
def _householder_product(xp: Any, a: Any, tau: Any) -> Any:
    n, m = a.shape[-2:]
    y = xp.array(xp.broadcast_to(xp.eye(n, m, dtype=a.dtype), a.shape))
    low = xp.tril(a, -1) + xp.eye(n, m, dtype=a.dtype)
    for k in reversed(range(tau.shape[-1])):
        v = low[..., k:, k : k + 1]
        scaled = tau[..., None, k : k + 1] * v
        y[..., k:, :] -= xp.matmul(scaled, xp.matmul(_adjoint(xp, v), y[..., k:, :]))
    return y


@kernels("qr_factorise", _FORMATS, rows=True)
def _qr(xp: Any, a: Any, complete: bool) -> Any:
    return tuple(xp.linalg.qr(a, "complete" if complete else "reduced"))


def _phases(xp: Any, v: Any) -> Any:
    """What makes the first large number of each column positive."""
    size = abs(v)
    large = size * 2 >= size.max(-2, keepdims=True)
    first = xp.take_along_axis(v, large.argmax(-2)[..., None, :], -2)
    return xp.conj(first) / xp.where(first == 0, 1, abs(first)).astype(v.real.dtype)


@kernels("eigen_hermitian", _FORMATS, rows=True)
def _eigen_hermitian(xp: Any, a: Any) -> Any:
    if not a.size:
        return xp.zeros(a.shape[:-1], a.real.dtype), a.copy()
    w, v = xp.linalg.eigh(_hermitian(xp, a))
    return w, v * _phases(xp, v)


@kernels("singular_values", _FORMATS, rows=True)
def _singular_values(xp: Any, a: Any, full: bool) -> Any:
    u, s, vh = xp.linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    if k and u.size:
        phases = _phases(xp, u[..., :k])
        u[..., :k] *= phases
        vh[..., :k, :] *= _adjoint(xp, phases)
    return u, s, vh


@kernels("pseudo_inverse", _FORMATS, rows=True)
def _pseudo_inverse(xp: Any, a: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if hermitian:
        low = xp.tril(a, -1)
        main = xp.diagonal(a, 0, -2, -1).real[..., None] * xp.eye(a.shape[-1])
        a = (low + _adjoint(xp, low) + main).astype(a.dtype)
    if not a.size:
        return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    kept = s > xp.maximum(s.dtype.type(atol), s[..., :1] * s.dtype.type(rtol))
    over = xp.where(kept, 1 / xp.where(kept, s, 1), 0).astype(s.dtype)
    return xp.matmul(_adjoint(xp, vh) * over[..., None, :], _adjoint(xp, u))


@kernels("least_squares", _FORMATS, rows=True)
def _least_squares(xp: Any, a: Any, b: Any, rtol: float) -> Any:
    lead = xp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not a.size:
        shape = (*lead, a.shape[-1], b.shape[-1])
        return xp.zeros(shape, a.dtype), xp.zeros(lead, "int64")
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    kept = s > s[..., :1] * s.dtype.type(rtol)
    over = xp.where(kept, 1 / xp.where(kept, s, 1), 0).astype(s.dtype)
    y = xp.matmul(_adjoint(xp, vh), over[..., None] * xp.matmul(_adjoint(xp, u), b))
    return y, xp.broadcast_to(kept.sum(-1), lead)
