"""Complex numbers: parts, angles, and the way from and to pairs of reals."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, COMPLEX, FLOAT, ORDERED, STORED, DType, int32
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.arithmetic import eq, lt
from dovetail.ops.compare import isfinite, isnan
from dovetail.ops.create import zeros_like
from dovetail.ops.elementwise import abs, neg
from dovetail.ops.formats import cast, clone, iota, where
from dovetail.ops.transcendental import atan2
from dovetail.ops.view import basic_index, unsqueeze


def real_dtype(dtypes: Any, attrs: Any) -> Any:
    """That of the parts of complex numbers; other floats have their own."""
    return dtypes[0].real


@op(out="same", accepts=STORED, unrounded=True, oracle=np.conj,
    torch="conj_physical conj_physical_")  # fmt: skip
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate, computed; real numbers are unchanged."""
    if not input.dtype.is_complex:
        return clone(input)
    real = cast(cast(input, input.dtype.real), input.dtype)
    return real - _turned(imag(input), input.dtype)


conj_physical.grad(input=lambda ct: conj_physical(ct))


@op(accepts=COMPLEX, result=real_dtype, oracle=lambda x: x.real,
    grad=lambda ct, input_dtype: cast(ct, input_dtype))  # fmt: skip
def real(input: Tensor) -> Tensor:
    """The real part, in memory of its own."""
    return cast(input, input.dtype.real)


@op(accepts=COMPLEX, result=real_dtype, oracle=lambda x: x.imag,
    grad=lambda ct, input_dtype: cast(ct, input_dtype) * 1j)  # fmt: skip
def imag(input: Tensor) -> Tensor:
    """The imaginary part, in memory of its own."""
    # Without the real part, which would make a zero of either sign one of its own.
    alone = input - cast(cast(input, input.dtype.real), input.dtype)
    return cast(alone * -1j, input.dtype.real)


def _of_parts(real: Any, imag: Any) -> Any:
    made = np.zeros(np.broadcast(real, imag).shape, np.complex128)
    made.real = real
    made.imag = imag
    return made


@op(accepts=FLOAT, result=lambda d, a: d[0].complex, unrounded=True,
    oracle=_of_parts,
    grad={"real": lambda ct: real(ct), "imag": lambda ct: imag(ct)})  # fmt: skip
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + imag * i."""
    wide = real.dtype.complex
    return cast(real, wide) + _turned(imag, wide)


def _turned(imag: Tensor, wide: DType) -> Tensor:
    """imag * i, whose real part is 0 where a product with i would make it NaN."""
    finite = isfinite(imag)
    turned = cast(where(finite, imag, 0), wide) * 1j
    for value, here in (
        (np.inf, eq(imag, np.inf)), (-np.inf, eq(imag, -np.inf)), (np.nan, isnan(imag)),
    ):  # fmt: skip
        turned = where(here, builtins.complex(0, value), turned)
    return turned


def _angle(m: Any, x: Any) -> Any:
    if x.dtype.kind == "c":
        return m.atan2(x.imag, x.real)
    # Unlike NumPy's, the angle of -0.0 is that of 0.0.
    return np.where(np.equal(x, x), np.where(x < 0, m.pi, 0), x)


@op(accepts=ANY - ORDERED | FLOAT, promote="float", result=real_dtype, torch="angle",
    oracle=exact(_angle))  # fmt: skip
def angle(input: Tensor) -> Tensor:
    """The angle in the complex plane in radians; 0 or pi for real numbers."""
    if input.dtype.is_complex:
        return atan2(imag(input), real(input))
    return where(lt(input, 0), np.pi, where(isnan(input), input, 0))


@angle.vjp
def _(ct: Tensor, input: Tensor) -> Tensor:
    if not input.dtype.is_complex:
        return zeros_like(ct)
    a, b, size = real(input), imag(input), abs(input)
    scaled = where(eq(size, 0), 0, ct / where(eq(size, 0), 1, size * size))
    return complex(neg(b) * scaled, a * scaled)


@op(shape=lambda shape: (*shape, 2), accepts=COMPLEX, result=real_dtype,
    oracle=lambda x: np.stack((x.real, x.imag), -1),
    cases=lambda _: [[2, 3], []])  # fmt: skip
def real_pairs(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last dim, in memory of their own."""
    first = iota(2, input._kind.with_dtype(int32)) == 0
    return where(first, unsqueeze(real(input), -1), unsqueeze(imag(input), -1))


def _unpaired(shape: Any) -> Any:
    if not shape or shape[-1] != 2:
        raise ShapeError(
            "view_as_complex", "input", was=f"of shape {tuple(shape)}",
            needed="a last dim of size 2: real and imaginary parts",
        )  # fmt: skip
    return tuple(shape[:-1])


@op(sums=True, shape=_unpaired, accepts=FLOAT, unrounded=True,
    result=lambda d, a: d[0].complex,
    oracle=lambda x: _of_parts(x[..., 0], x[..., 1]), cases=lambda _: [[3, 2], [2]],
    grad=lambda ct: real_pairs(ct))  # fmt: skip
def from_pairs(input: Tensor) -> Tensor:
    """Complex numbers from pairs along the last dim, in memory of their own."""
    last = tuple(slice(None) for _ in input._a.shape[:-1])
    return complex(basic_index(input, (*last, 0)), basic_index(input, (*last, 1)))


real_pairs.grad(input=lambda ct: from_pairs(ct))
