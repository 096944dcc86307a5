"""Complex numbers: parts, angles, and the way from and to pairs of reals."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import ANY, COMPLEX, FLOAT, ORDERED, int32
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.compare import isnan
from dovetail.ops.create import zeros_like
from dovetail.ops.elementwise import abs, neg
from dovetail.ops.primitive import cast, clone, cos, eq, iota, lt, sin, where
from dovetail.ops.transcendental import atan2
from dovetail.ops.view import basic_index, unsqueeze

Array = np.ndarray[Any, Any]


def _real(dtypes: Any, attrs: Any) -> Any:
    return dtypes[0].real


@op(accepts=ANY, exact=True)
def conj_physical(x: Tensor) -> Tensor:
    """The complex conjugate, computed; real numbers are unchanged."""
    if not x.dtype.is_complex:
        return clone(x)
    return cast(cast(x, x.dtype.real), x.dtype) - cast(imag(x), x.dtype) * 1j


@conj_physical.vjp
def _(ct: Tensor) -> Tensor:
    return conj_physical(ct)


@conj_physical.oracle
def _(x: Array) -> Array:
    return np.conj(x)


@op(accepts=COMPLEX, result=_real)
def real(x: Tensor) -> Tensor:
    """The real part, in memory of its own."""
    return cast(x, x.dtype.real)


@real.vjp
def _(ct: Tensor, x_dtype: Any) -> Tensor:
    return cast(ct, x_dtype)


@real.oracle
def _(x: Array) -> Array:
    return x.real


@op(accepts=COMPLEX, result=_real)
def imag(x: Tensor) -> Tensor:
    """The imaginary part, in memory of its own."""
    return cast(x * -1j, x.dtype.real)


@imag.vjp
def _(ct: Tensor, x_dtype: Any) -> Tensor:
    return cast(ct, x_dtype) * 1j


@imag.oracle
def _(x: Array) -> Array:
    return x.imag


@op(accepts=FLOAT, result=lambda d, a: d[0].complex)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + imag * i."""
    wide = real.dtype.complex
    return cast(real, wide) + cast(imag, wide) * 1j


@complex.vjp
def _(ct: Tensor) -> tuple[Tensor, Tensor]:
    return real(ct), imag(ct)


@complex.oracle
def _(real: Array, imag: Array) -> Array:
    return real + 1j * imag


def polar(size: Tensor, angle: Tensor) -> Tensor:
    """The complex number of that modulus and angle in radians."""
    return complex(size * cos(angle), size * sin(angle))


@op(accepts=ANY - ORDERED | FLOAT, promote="float", result=_real)
def angle(x: Tensor) -> Tensor:
    """The angle in the complex plane in radians; 0 or pi for real numbers."""
    if x.dtype.is_complex:
        return atan2(imag(x), real(x))
    return where(lt(x, 0), np.pi, where(isnan(x), x, 0))


@angle.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    if not x.dtype.is_complex:
        zeros: Tensor = zeros_like(ct)
        return zeros
    a, b, size = real(x), imag(x), abs(x)
    scaled = where(eq(size, 0), 0, ct / where(eq(size, 0), 1, size * size))
    return complex(neg(b) * scaled, a * scaled)


@angle.oracle
def _(x: Array) -> Array:
    # Unlike NumPy's, the angle of -0.0 is that of 0.0.
    return np.angle(x) if x.dtype.kind == "c" else np.angle(x + 0.0)


def _paired(shape: Any) -> Any:
    return (*shape, 2)


@op(shape=_paired, accepts=COMPLEX, result=_real)
def real_pairs(x: Tensor) -> Tensor:
    """Real and imaginary parts along a new last dim, in memory of their own."""
    parts = (real(x), imag(x))
    second = cast(_counted(x), x.dtype.real)
    first = 1 - second
    return unsqueeze(parts[0], -1) * first + unsqueeze(parts[1], -1) * second


def _counted(x: Tensor) -> Tensor:
    """0 and 1, as integers."""
    return iota(2, x._kind.with_dtype(int32))


@real_pairs.vjp
def _(ct: Tensor) -> Tensor:
    return from_pairs(ct)


def _unpaired(shape: Any) -> Any:
    if not shape or shape[-1] != 2:
        raise ShapeError(
            "view_as_complex", "input", was=f"of shape {tuple(shape)}",
            needed="a last dim of size 2: real and imaginary parts",
        )  # fmt: skip
    return tuple(shape[:-1])


@op(sums=True, shape=_unpaired, accepts=FLOAT, result=lambda d, a: d[0].complex)
def from_pairs(x: Tensor) -> Tensor:
    """Complex numbers from pairs along the last dim, in memory of their own."""
    last = tuple(slice(None) for _ in x._a.shape[:-1])
    return complex(basic_index(x, (*last, 0)), basic_index(x, (*last, 1)))


@from_pairs.vjp
def _(ct: Tensor) -> Tensor:
    return real_pairs(ct)


@real_pairs.oracle
def _(x: Array) -> Array:
    return np.stack((x.real, x.imag), -1)


@from_pairs.oracle
def _(x: Array) -> Array:
    return x[..., 0] + 1j * x[..., 1]


@real_pairs.cases
def _(make: Any) -> Any:
    yield case(make(2, 3))
    yield case(make())


@from_pairs.cases
def _(make: Any) -> Any:
    yield case(make(3, 2))
    yield case(make(2))
