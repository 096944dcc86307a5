"""Factors of symmetric matrices that need not be definite: P L D Lᴴ Pᴴ, on the host.

Bunch and Kaufman's pivots, as LAPACK's sytf2 and hetf2 choose them (1977, Mathematics
of Computation 31, 163-179). Blocks of D have one row or two; of two, both pivots are
negative.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array, int32
from dovetail.engine.host import announce
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.scopes import outside
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, AutogradError, DTypeError, ShapeError
from dovetail.frontend.linalg.checks import numbers, refuse, squares
from dovetail.ops.create import empty

_ALPHA: Final = (1 + math.sqrt(17)) / 8  # keeps the growth of elements least


def _size(x: Any) -> Any:
    return np.abs(x.real) + np.abs(x.imag)


def _conj(x: Any, hermitian: bool) -> Any:
    return np.conj(x) if hermitian else x


def _pivot(a: Array, k: int) -> tuple[int, int]:
    """Which row comes next, and how many rows its block has."""
    n = len(a)
    own = _size(a[k, k])
    if k == n - 1:
        return k, 1
    below = _size(a[k + 1 :, k])
    at = k + 1 + int(np.argmax(below))
    largest = below.max()
    if max(own, largest) == 0 or own >= _ALPHA * largest:
        return k, 1
    row = np.concatenate([_size(a[at, k:at]), _size(a[at + 1 :, at])])
    if own >= _ALPHA * largest * (largest / row.max()):
        return k, 1
    if _size(a[at, at]) >= _ALPHA * row.max():
        return at, 1
    return at, 2


def _exchange(a: Array, k: int, at: int, hermitian: bool) -> None:
    """Rows and columns `k` and `at` of the part that is left, of its lower triangle."""
    if k == at:
        return
    below = a[at + 1 :, k].copy()
    a[at + 1 :, k] = a[at + 1 :, at]
    a[at + 1 :, at] = below
    between = a[k + 1 : at, k].copy()
    a[k + 1 : at, k] = _conj(a[at, k + 1 : at], hermitian)
    a[at, k + 1 : at] = _conj(between, hermitian)
    if hermitian:
        a[at, k] = np.conj(a[at, k])
    a[k, k], a[at, at] = a[at, at], a[k, k]


def _factored(a: Array, hermitian: bool) -> tuple[Array, int]:
    """Pivots, counted from 1, and where D is singular; L and D go into `a`."""
    n, k, info = len(a), 0, 0
    pivots = np.zeros(n, np.int32)
    while k < n:
        if hermitian:
            a[k, k] = a[k, k].real
        at, rows = _pivot(a, k)
        end = k + rows
        _exchange(a, end - 1, at, hermitian)
        if rows == 2 and end - 1 != at:
            a[[end - 1, at], k] = a[[at, end - 1], k]
        block = np.tril(a[k:end, k:end])
        block = block + _conj(np.tril(block, -1).T, hermitian)
        if rows == 1 and block[0, 0] == 0:
            info = info or k + 1
        else:
            column = a[end:, k:end].copy()
            low = np.linalg.solve(block.T, column.T).T
            a[end:, end:] -= np.tril(low @ _conj(column.T, hermitian))
            a[end:, k:end] = low
        pivots[k:end] = at + 1 if rows == 1 else -(at + 1)
        k = end
    return pivots, info


def _on_host(name: str, a: Tensor, hermitian: bool) -> tuple[Tensor, Tensor, Tensor]:
    squares(name, A=a)
    if a.requires_grad:
        raise AutogradError(
            name, "A", was="one that requires grad", needed="a tensor outside the "
            "graph: torch has no gradient of these factors", remedy="use detach()",
        )  # fmt: skip
    kind, whole = a._kind, a._kind.with_dtype(int32)
    shape = tuple(a._a.shape)
    if kind.backend.rules_only:
        return empty(shape, kind), empty(shape[:-1], whole), empty(shape[:-2], whole)
    outside(name)
    announce(name, kind)
    factors = np.tril(kind.backend.copy_out(a._a))
    pivots = np.zeros(shape[:-1], np.int32)
    info = np.zeros(shape[:-2], np.int32)
    for at in np.ndindex(*shape[:-2]):
        pivots[at], info[at] = _factored(factors[at], hermitian)
    back = kind.backend.copy_in
    return (
        wrap(back(factors, kind.index), kind), wrap(back(pivots, kind.index), whole),
        wrap(back(info, kind.index), whole),
    )  # fmt: skip


@public("linalg.ldl_factor", out=True)
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """L below the diagonal, where it has ones, and D, as LAPACK's sytrf or hetrf.

    Only the lower triangle of `A` is read.

    Raises: LinAlgError where D is singular, which names the batch element.
    """
    name = "linalg.ldl_factor"
    factors, pivots, info = _on_host(name, A, hermitian)
    refuse(name, info, "such that D has a zero at {}", "a D that can be inverted")
    return fields("linalg_ldl_factor", ("LD", "pivots"))((factors, pivots))


@public("linalg.ldl_factor_ex", out=True)
def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> Any:
    """`ldl_factor`; `info` has where D is singular, counted from 1, or 0."""
    name = "linalg.ldl_factor_ex"
    factors, pivots, info = _on_host(name, A, hermitian)
    if check_errors:
        refuse(name, info, "such that D has a zero at {}", "a D that can be inverted")
    names = ("LD", "pivots", "info")
    return fields("linalg_ldl_factor_ex", names)((factors, pivots, info))


def _solved(a: Array, pivots: Array, b: Array, hermitian: bool) -> None:
    """Forward by L, through D, and back, in place (LAPACK's sytrs)."""
    n, k = len(a), 0
    steps = []
    while k < n:
        rows = 2 if pivots[k] < 0 else 1
        end = k + rows
        at = abs(int(pivots[k])) - 1
        b[[end - 1, at]] = b[[at, end - 1]]
        b[end:] -= a[end:, k:end] @ b[k:end]
        block = np.tril(a[k:end, k:end])
        block = block + _conj(np.tril(block, -1).T, hermitian)
        b[k:end] = np.linalg.solve(block, b[k:end])
        steps.append((k, end, at))
        k = end
    for k, end, at in reversed(steps):
        b[k:end] -= _conj(a[end:, k:end].T, hermitian) @ b[end:]
        b[[end - 1, at]] = b[[at, end - 1]]


@public("linalg.ldl_solve", out=True)
def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False
) -> Tensor:
    """The X of A X = `B`, by the factors that `ldl_factor` gives for A."""
    name = "linalg.ldl_solve"
    squares(name, LD=LD)
    numbers(name, LD=LD, B=B)
    if pivots.dtype.is_inexact:
        raise DTypeError(name, "pivots", was=pivots.dtype.name, needed="integers")
    if B.ndim < 2 or B.shape[-2] != LD.shape[-1] or pivots.shape != LD.shape[:-1]:
        raise ShapeError(
            name, "B", was=f"of shape {tuple(B.shape)}, LD of {tuple(LD.shape)}, "
            f"pivots of {tuple(pivots.shape)}",
            needed="matrices of as many rows as LD has, and a pivot for each",
        )  # fmt: skip
    if LD.requires_grad or B.requires_grad:
        raise AutogradError(
            name, "LD or B", was="one that requires grad",
            needed="tensors outside the graph", remedy="use detach()",
        )  # fmt: skip
    kind = B._kind
    lead = np.broadcast_shapes(tuple(LD.shape[:-2]), tuple(B.shape[:-2]))
    shape = (*lead, *B.shape[-2:])
    if kind.backend.rules_only:
        return empty(shape, kind)
    outside(name)
    announce(name, kind)
    out = kind.backend.copy_out
    n = LD.shape[-1]
    factors = np.broadcast_to(out(LD._a), (*lead, n, n))
    places = np.broadcast_to(out(pivots._a), (*lead, n))
    if np.any(places == 0) or np.any(np.abs(places) > n):
        raise ArgumentError(name, "pivots", was="out of range", needed=f"1 to {n}")
    solution = np.array(np.broadcast_to(out(B._a), shape))
    for at in np.ndindex(*lead):
        _solved(factors[at], places[at], solution[at], hermitian)
    return wrap(kind.backend.copy_in(solution, kind.index), kind)
