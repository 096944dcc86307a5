"""Discrete Fourier transforms, unscaled: of complex numbers, of real ones, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import COMPLEX, Array, Sizes, float32, float64, int32
from dovetail.engine.attributes import Axis, AxisList
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.arithmetic import cos, sin
from dovetail.ops.complex import complex, imag, real, real_dtype
from dovetail.ops.formats import cast, iota, where
from dovetail.ops.matmul import matmul
from dovetail.ops.pad import constant_pad
from dovetail.ops.rounding import remainder
from dovetail.ops.view import transpose, unsqueeze

_REALS = frozenset({float32, float64})


def _turns(of: Tensor, rows: int, n: int, columns: int) -> Tensor:
    """exp(2 pi i r c / n) for each row r and column c, in the dtype of `of`."""
    small = of._kind.with_dtype(int32)
    r, c = (cast(iota(k, small), index_dtype(of._kind)) for k in (rows, columns))
    # Whole turns are taken off while the numbers are integers.
    parts = cast(remainder(unsqueeze(r, 1) * unsqueeze(c, 0), n), of.dtype.real)
    angle = parts * (2 * math.pi / n)
    return complex(cos(angle), sin(angle))


def _along(x: Tensor, dim: int, matrix: Tensor) -> Tensor:
    """The products of the lines along `dim` with a matrix."""
    return transpose(matmul(transpose(x, dim, -1), matrix), dim, -1)


def _filled(op_name: str, shape: Sizes, dims: Sequence[int]) -> None:
    for d in dims:
        if not shape or not shape[d]:
            raise ShapeError(
                op_name, f"dim {d}", was=f"{shape[d] if shape else 0} elements",
                needed="at least one: a transform of no number has no value",
            )  # fmt: skip


def _complex_shape(shape: Sizes, *, dim: Sizes, inverse: bool) -> Sizes:
    _filled("fft_complex", shape, dim)
    return shape


_LARGEST = 1 << 8  # the truth is a product with a matrix of as many rows and columns


def _by_matrix(x: Array, dim: Any, inverse: bool = False) -> Array:
    """The truth, by its definition; some columns of the matrix at a time."""
    y = np.asarray(x, np.clongdouble)
    for d in np.atleast_1d(dim):
        k = np.arange(y.shape[d])
        roots = np.exp((1 if inverse else -1) * 2j * _PI * k / max(len(k), 1))
        lines = np.moveaxis(y, d, -1)
        found = np.empty_like(lines)
        for at in range(0, len(k), _COLUMNS):
            turns = np.outer(k, k[at : at + _COLUMNS]) % len(k)
            found[..., at : at + _COLUMNS] = lines @ roots[turns]
        y = np.moveaxis(found, -1, d)
    return np.asarray(y.astype(np.complex128))


def _complex_rule(ct: Tensor, dim: Sizes, inverse: bool) -> Tensor:
    return fft_complex(ct, dim, not inverse)


_PI = 4 * np.arctan(np.longdouble(1))
_COLUMNS = 64
_LARGEST = 1 << 12  # elements: the truth takes n² steps for a line of n


@op(cancels=True, shape=_complex_shape, accepts=COMPLEX, promote="equal",
    largest=_LARGEST,
    oracle=_by_matrix, cases=lambda _: [
        ([5], 0), ([2, 6], (0, 1)), ([3, 4, 2], (0, 2), True), ([1], 0),
        ([2, 3, 2], (0, 1, 2), True),
        ([0, 3], 1, True),
    ],
    grad=_complex_rule)  # fmt: skip
def fft_complex(input: Tensor, dim: AxisList, inverse: bool = False) -> Tensor:
    """Sums of `input` times exp(-2 pi i k j / n) along each of `dim`; + for `inverse`.

    Cooley and Tukey 1965. Nothing is divided by: torch's `norm` is a factor.
    """
    y = input
    for d in dim:
        n = y._a.shape[d]
        w = _turns(y, n, n, n)
        y = _along(y, d, w if inverse else w.conj())
    return y


def _half_shape(shape: Sizes, *, dim: int) -> Sizes:
    _filled("fft_real", shape, (dim,))
    return (*shape[:dim], shape[dim] // 2 + 1, *shape[dim + 1 :])


def _real_rule(ct: Tensor, input_shape: Sizes, dim: int) -> Tensor:
    """The real part of the transform back, of what is padded with zeros."""
    n = input_shape[dim]
    missing = n - ct._a.shape[dim]
    behind = (0, 0) * (len(input_shape) - 1 - dim)
    padding = (*(0, 0) * dim, 0, missing, *behind)
    return real(fft_complex(constant_pad(ct, padding), (dim,), True))


@op(cancels=True, shape=_half_shape, accepts=_REALS, result=lambda d, a: d[0].complex,
    promote="equal", largest=_LARGEST,
    oracle=lambda x, dim: np.take(
        _by_matrix(x, dim), range(x.shape[dim] // 2 + 1), dim),
    cases=lambda _: [([5], 0), ([6, 2], 0), ([2, 7], 1), ([1], 0), ([0, 4], 1)],
    grad=_real_rule)  # fmt: skip
def fft_real(input: Tensor, dim: Axis) -> Tensor:
    """`fft_complex` of real numbers: the first n // 2 + 1, of which the rest follow."""
    n = input._a.shape[dim]
    w = _turns(input, n, n, n // 2 + 1).conj()
    parts = [_along(input, dim, part) for part in (real(w), imag(w))]
    return complex(*parts)


def _whole_shape(shape: Sizes, *, dim: int, n: int) -> Sizes:
    _filled("fft_hermitian", shape, (dim,))
    if n < 1 or shape[dim] != n // 2 + 1:
        raise ShapeError(
            "fft_hermitian", f"dim {dim}", was=f"{shape[dim]} elements for n={n}",
            needed="n // 2 + 1, and n of at least 1",
        )  # fmt: skip
    return (*shape[:dim], n, *shape[dim + 1 :])


def _weights(of: Tensor, n: int) -> Tensor:
    """How often each of n // 2 + 1 numbers stands for itself or its conjugate."""
    k = iota(n // 2 + 1, of._kind.with_dtype(int32))
    alone = (k == 0) | (k * 2 == n)
    return cast(where(alone, 1, 2), of.dtype.real)


def _hermitian_rule(ct: Tensor, input_shape: Sizes, dim: int, n: int) -> Tensor:
    w = _weights(ct, n)
    for _ in range(len(input_shape) - 1 - dim):
        w = unsqueeze(w, -1)
    return fft_real(ct, dim) * w


def _from_half(x: Array, dim: int, n: int) -> Array:
    half = np.moveaxis(np.asarray(x, np.clongdouble), dim, -1)
    full = np.zeros((*half.shape[:-1], n), np.clongdouble)
    full[..., : n // 2 + 1] = half
    for k in range(n // 2 + 1, n):
        full[..., k] = np.conj(half[..., n - k])
    return np.moveaxis(_by_matrix(full, -1, True).real, -1, dim)


@op(cancels=True, shape=_whole_shape, accepts=COMPLEX, result=real_dtype,
    promote="equal", largest=_LARGEST, oracle=_from_half,
    grad=_hermitian_rule)  # fmt: skip
def fft_hermitian(input: Tensor, dim: Axis, n: int) -> Tensor:
    """The transform back to n real numbers, of the first n // 2 + 1.

    The imaginary parts of what is its own conjugate have no effect.
    """
    back = _turns(input, n // 2 + 1, n, n) * unsqueeze(_weights(input, n), 1)
    parts = (real(input), real(back)), (imag(input), imag(back))
    (a, b), (c, d) = parts
    return _along(a, dim, b) - _along(c, dim, d)


@fft_hermitian.cases
def _(make: Any) -> Any:
    for shape, dim, odd in (
        ((3,), 0, 1), ((4, 2), 0, 0), ((2, 4), 1, 1), ((1,), 0, 1), ((0, 3), 1, 0),
    ):  # fmt: skip
        x = make(*shape)
        yield case(x, dim, 2 * (x.shape[dim] - 1) + odd)


__all__ = ["fft_complex", "fft_hermitian", "fft_real"]
