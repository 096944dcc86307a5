"""Linear algebra by NumPy's LAPACK itself, whose functions NumPy does not all offer.

A function is called for each matrix of a batch, by the pool's threads where there are
many. LAPACK takes matrices column by column: a row-major one is to it the transposed
one, which substitution and Cholesky's factors can be asked for; others are turned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.codegen.arrays import Array, address
from dovetail.codegen.library_calls import call_each
from dovetail.codegen.products import AS_IT_IS, lie_of
from dovetail.codegen.runtime.blas import Blas, blas
from dovetail.device_api import KernelTable
from dovetail.xp.orders import rows
from dovetail.xp.shape import triangle

_LETTERS: Final = {"f": "s", "d": "d", "F": "c", "D": "z"}
_CHUNK: Final = 1 << 17  # multiplications that a thread makes at a time, at least
_BLOCK: Final = 64  # columns that LAPACK turns at a time, and so those of its workspace
_FEW: Final = 1 << 13  # elements, below which NumPy's own function takes less time
_ONE: Final = {code: np.ones((), code) for code in _LETTERS}

Serve = Callable[..., Any]


class _Call:
    """One function of LAPACK's for all matrices of a batch.

    Args:
        name: without the letter of the dtype.
        dtype: of the matrices.
    """

    def __init__(self, name: str, dtype: np.dtype[Any], found: Blas) -> None:
        function = found.address(_LETTERS[dtype.char] + name)
        assert function is not None, name
        self.function = function
        self.integer = np.dtype(f"int{found.bits}")

    def __call__(self, count: int, work: int, *given: Any) -> Array:
        """What LAPACK said about each matrix: its `info`, [count].

        Args:
            work: multiplications that a matrix takes; 0 where one thread has to do all,
                because they use one workspace.
            given: letters, integers, and arrays: [count, ...], [1, ...] where all
                share it, or of one number. `info` comes last in LAPACK, and is added.
        """
        info = np.zeros(count, self.integer)
        self.without_info(count, work, *given, info)
        return info

    def without_info(self, count: int, work: int, *given: Any) -> None:
        """The same for a function of BLAS, which has none."""
        numbers = [x for x in given if type(x) is int]
        held = np.array(numbers, self.integer)
        letters = "".join([x for x in given if type(x) is str]).encode()
        text = np.frombuffer(letters + b"\0", np.uint8)
        next_number, next_letter = address(held), address(text)
        arguments: list[tuple[int, int]] = []
        for x in given:
            if type(x) is int:
                arguments.append((next_number, 0))
                next_number += held.itemsize
            elif type(x) is str:
                arguments.append((next_letter, 0))
                next_letter += 1
            else:
                step = x.strides[0] if x.ndim and len(x) > 1 else 0
                arguments.append((address(x), step))
        grain = max(_CHUNK // work, 1) if work else count
        call_each(self.function, arguments, count, grain)


def _batch(x: Array) -> Array:
    """[matrices, rows, columns]"""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def _lead(a: Array, b: Array) -> tuple[int, ...]:
    """The dims of both batches."""
    lead = a.shape[:-2]
    return lead if lead == b.shape[:-2] else np.broadcast_shapes(lead, b.shape[:-2])


def _spread(x: Array, lead: tuple[int, ...]) -> Array:
    """The matrices for all of a batch."""
    if x.shape[:-2] == lead:
        return x
    return np.broadcast_to(x, (*lead, *x.shape[-2:]))


def _turned(x: Array) -> Array:
    """A copy whose rows are the columns, [matrices, columns, rows]."""
    return np.array(_batch(x).swapaxes(-1, -2), order="C")


class Lapack:
    """Kernels of the ops that LAPACK serves.

    Args:
        found: the library.
    """

    def __init__(self, found: Blas) -> None:
        self.found = found
        self.made: dict[tuple[str, np.dtype[Any]], _Call] = {}

    def call(self, name: str, dtype: np.dtype[Any]) -> _Call:
        """The function of a name for matrices of a dtype."""
        made = self.made.get((name, dtype))
        if made is None:
            made = self.made[name, dtype] = _Call(name, dtype, self.found)
        return made

    def _eliminated(self, a: Array) -> tuple[Array, Array, Array]:
        """Factors, column by column, with pivots and `info` of each matrix."""
        n, m = a.shape[-2:]
        y = _turned(a)
        getrf = self.call("getrf", y.dtype)
        pivots = np.zeros((len(y), min(n, m)), getrf.integer)
        info = getrf(len(y), n * m * min(n, m), n, m, y, n, pivots)
        return y, pivots, info

    def lu_factorise(self, own: Serve, a: Array, pivot: bool) -> Any:
        """By getrf, which always pivots."""
        if not pivot or not a.size:
            return own(a, pivot)
        y, pivots, info = self._eliminated(a)
        lead = a.shape[:-2]
        return (
            rows(y.swapaxes(-1, -2)).reshape(a.shape),
            pivots.astype(np.int32).reshape(*lead, -1),
            info.astype(np.int32).reshape(lead),
        )

    def solve_linear(self, own: Serve, a: Array, b: Array) -> Any:
        """By getrf and getrs."""
        lead = _lead(a, b)
        (n, k), count = b.shape[-2:], math.prod(lead)
        if max(a.size, b.size) < _FEW or not (count and n and k):
            return own(a, b)
        factors, pivots, info = self._eliminated(a)
        if len(factors) not in (1, count):
            at = np.broadcast_to(np.arange(len(factors)).reshape(a.shape[:-2]), lead)
            factors, pivots, info = (x[at.ravel()] for x in (factors, pivots, info))
        x = _turned(_spread(b, lead))
        getrs = self.call("getrs", a.dtype)
        getrs(count, n * n * k, "N", n, k, factors, n, pivots, x, n)
        info = np.broadcast_to(info.astype(np.int32), count)
        return rows(x.swapaxes(-1, -2)).reshape(*lead, n, k), rows(info.reshape(lead))

    def solve_triangle(
        self, own: Serve, a: Array, b: Array, upper: bool, unitriangular: bool
    ) -> Any:
        """By BLAS's trsm: Xᵀ Aᵀ = Bᵀ, for row-major is transposed to it."""
        lead = _lead(a, b)
        (n, k), count = b.shape[-2:], math.prod(lead)
        # BLAS multiplies by what 1 over the diagonal is; alone, that is better divided.
        if not (count and n > 1 and k):
            return own(a, b, upper, unitriangular)
        lies = lie_of(a.shape, a.strides, a.itemsize) if a.size == n * n else None
        if lies is not None:
            a = a.reshape(1, n, n)
        else:
            a = _batch(np.ascontiguousarray(_spread(a, lead)))
            lies = AS_IT_IS, n
        y = np.array(_spread(b, lead), order="C").reshape(count, n, k)
        plain = lies[0] == AS_IT_IS
        above, turn = ("L", "N") if upper else ("U", "N")
        if not plain:
            above, turn = ("U", "T") if upper else ("L", "T")
        diagonal = "U" if unitriangular else "N"
        trsm, one = self.call("trsm", a.dtype), _ONE[a.dtype.char]
        given = "R", above, turn, diagonal, k, n, one, a, lies[1], y, k
        trsm.without_info(count, n * n * k, *given)
        return y.reshape(*lead, n, k)

    def cholesky_factor(self, own: Serve, a: Array) -> Any:
        """By potrf, which is given the transposed matrices, and asked for Lᵀ."""
        if not a.size:
            return own(a)
        other = a.swapaxes(-1, -2)
        y = _batch(rows(a + (np.conj(other) if a.dtype.kind == "c" else other)))
        y *= a.dtype.type(0.5)
        n = y.shape[-1]
        info = self.call("potrf", y.dtype)(len(y), n**3, "U", n, y, n)
        # Of infinite numbers LAPACK makes what is none of their factors.
        if info.any() or not np.isfinite(np.einsum("kii->", y)):
            return own(a)
        np.copyto(y, 0, where=~triangle(np, (n, n), 0))
        return y.reshape(a.shape), np.zeros(a.shape[:-2], np.int32)

    def _householder(self, a: Array) -> tuple[Array, Array]:
        """Factors of QR, column by column, [matrices, columns, rows], and scales."""
        n, m = a.shape[-2:]
        y = _turned(a)
        tau = np.zeros((len(y), min(n, m)), y.dtype)
        work = np.empty(_BLOCK * m, y.dtype)
        geqrf = self.call("geqrf", y.dtype)
        geqrf(len(y), 0, n, m, y, n, tau, work.reshape(1, -1), work.size)
        return y, tau

    def householder_factor(self, own: Serve, a: Array) -> Any:
        """By geqrf."""
        if not a.size:
            return own(a)
        y, tau = self._householder(a)
        return rows(y.swapaxes(-1, -2)).reshape(a.shape), tau.reshape(*a.shape[:-2], -1)

    def _product(self, y: Array, tau: Array) -> Array:
        """The unitary matrices that factors say, in their place."""
        m, n = y.shape[-2:]
        work = np.empty(_BLOCK * m, y.dtype)
        name = "ungqr" if y.dtype.kind == "c" else "orgqr"
        call, k = self.call(name, y.dtype), tau.shape[-1]
        call(len(y), 0, n, m, k, y, n, tau, work.reshape(1, -1), work.size)
        return y

    def householder_product(self, own: Serve, a: Array, tau: Array) -> Any:
        """By orgqr or ungqr."""
        if not (a.size and tau.size):
            return own(a, tau)
        scales = rows(tau).reshape(-1, tau.shape[-1])
        y = self._product(_turned(a), scales)
        return rows(y.swapaxes(-1, -2)).reshape(a.shape)

    def qr_factorise(self, own: Serve, a: Array, complete: bool) -> Any:
        """By geqrf, and orgqr or ungqr."""
        if a.size < _FEW:
            return own(a, complete)
        (n, m), lead = a.shape[-2:], a.shape[:-2]
        k = min(n, m)
        y, tau = self._householder(a)
        width = n if complete else k
        right = np.triu(y.swapaxes(-1, -2)[:, :width])
        if width > m:
            wide = np.zeros((len(y), width, n), y.dtype)
            wide[:, :m] = y
            y = wide
        left = self._product(np.ascontiguousarray(y[:, :width]), tau)
        return (
            rows(left.swapaxes(-1, -2)).reshape(*lead, n, width),
            rows(right).reshape(*lead, width, m),
        )

    def least_squares(self, own: Serve, a: Array, b: Array, rtol: float) -> Any:
        """By gelsy: a complete orthogonal factorisation, with pivots."""
        lead = _lead(a, b)
        (n, m), k, count = a.shape[-2:], b.shape[-1], math.prod(lead)
        if not (count and n and m and k and np.isfinite(a).all()):
            return own(a, b, rtol)
        most, dtype = max(n, m), a.dtype
        y = _turned(_spread(a, lead))
        x = np.zeros((count, k, most), dtype)
        x[..., :n] = _spread(b, lead).reshape(count, n, k).swapaxes(-1, -2)
        gelsy = self.call("gelsy", dtype)
        order, rank = (np.zeros((count, i), gelsy.integer) for i in (m, 1))
        real = np.zeros((), dtype).real.dtype
        work = np.empty((1, 2 * min(n, m) + _BLOCK * (most + k + 1)), dtype)
        more = (np.empty((1, 2 * m), real),) if dtype.kind == "c" else ()
        cut = np.full((), rtol, real)
        given = n, m, k, y, n, x, most, order, cut, rank, work, work.size, *more
        gelsy(count, 0, *given)
        found = x[..., :m].swapaxes(-1, -2)
        return rows(found).reshape(*lead, m, k), rank.astype(np.int64).reshape(lead)


SERVED: Final[tuple[str, ...]] = (
    "cholesky_factor", "householder_factor", "householder_product",
    "least_squares", "lu_factorise", "qr_factorise", "solve_linear", "solve_triangle",
)  # fmt: skip
_FUNCTIONS: Final = ("getrf", "getrs", "trsm", "potrf", "geqrf", "gelsy")


def install(table: KernelTable) -> None:
    """Let LAPACK serve what NumPy's kernels of a table do, where it is within reach."""
    found = blas()
    if found is None or not all(found.address(f"s{name}") for name in _FUNCTIONS):
        return
    served = Lapack(found)
    for op in SERVED:
        (own,) = table.rivals(op)
        function = _in_front(getattr(served, op), own.function)
        table.exchange({op: (own.function, function)})


def _in_front(serve: Serve, own: Serve) -> Serve:
    def kernel(*arrays: Any, **attributes: Any) -> Any:
        return serve(own, *arrays, **attributes)

    return kernel
