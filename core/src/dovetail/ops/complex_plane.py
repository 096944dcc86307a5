"""Functions of complex numbers by their parts, as bodies of the ops of that name.

Each is right on both sides of its branch cuts, where the sign of a zero decides, and
takes no square that leaves the format (Kahan, Branch cuts for complex elementary
functions, or much ado about nothing's sign bit, 1987).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import cos, eq, exp, log, lt, sin, sqrt
from dovetail.ops.bounds import minimum
from dovetail.ops.complex import complex, imag, real
from dovetail.ops.elementwise import abs, neg, square
from dovetail.ops.formats import where
from dovetail.ops.rounding import copysign
from dovetail.ops.transcendental import (
    IN_THE_PLANE,
    asinh,
    atan2,
    cosh,
    hypot,
    log1p,
    sinh,
)

Parts = tuple[Tensor, Tensor]
Function = Callable[[Tensor], Tensor]
_NEAR: Final = 0.5
_FLAT: Final = 20.0  # from here on, tanh is 1 in every format


def _of_complex(function: Function) -> Function:
    """Let a function be the body of its op for complex numbers."""
    IN_THE_PLANE[function.__name__.removesuffix("_of")] = function
    return function


@_of_complex
def log1p_of(x: Tensor) -> Tensor:
    """log|1 + x| + i arg(1 + x); log(1 + x) would lose digits of a small x."""
    a, b = real(x), imag(x)
    near = log1p(a * (2 + a) + square(b)) * 0.5
    size = where(lt(abs(x), _NEAR), near, log(hypot(1 + a, b)))
    return complex(size, atan2(b, 1 + a))


@_of_complex
def tan_of(x: Tensor) -> Tensor:
    """-i tanh(i x)."""
    imaginary, real_ = _tanh(imag(x), real(x))
    return complex(real_, imaginary)


@_of_complex
def tanh_of(x: Tensor) -> Tensor:
    """(sinh a cosh a + i sin b cos b) / (sinh² a + cos² b) of a + i b."""
    return complex(*_tanh(real(x), imag(x)))


def _tanh(a: Tensor, b: Tensor) -> Parts:
    size = abs(a)
    held = minimum(size, _FLAT)
    up, along = sinh(held), cos(b)
    below = square(up) + square(along)
    fades = exp((held - size) * 2)
    return copysign(up * cosh(held) / below, a), sin(b) * along / below * fades


@_of_complex
def asin_of(x: Tensor) -> Tensor:
    """By the roots of 1 - x and 1 + x."""
    return complex(*_asin(real(x), imag(x)))


@_of_complex
def asinh_of(x: Tensor) -> Tensor:
    """i asin(-i x)."""
    imaginary, real_ = _asin(imag(x), neg(real(x)))
    return complex(neg(real_), imaginary)


def _asin(a: Tensor, b: Tensor) -> Parts:
    (p, q), (r, s) = _root(1 - a, neg(b)), _root(1 + a, b)
    return atan2(a, p * r - q * s), asinh(p * s - q * r)


@_of_complex
def acos_of(x: Tensor) -> Tensor:
    """By the roots of 1 - x and 1 + x."""
    a, b = real(x), imag(x)
    (p, q), (r, s) = _root(1 - a, neg(b)), _root(1 + a, b)
    return complex(atan2(p, r) * 2, asinh(r * q - s * p))


@_of_complex
def acosh_of(x: Tensor) -> Tensor:
    """By the roots of x - 1 and x + 1."""
    a, b = real(x), imag(x)
    (p, q), (r, s) = _root(a - 1, b), _root(a + 1, b)
    return complex(asinh(p * r + q * s), atan2(q, r) * 2)


def _root(a: Tensor, b: Tensor) -> Parts:
    """The square root of a + i b that lies right of 0, on the side of b."""
    large = sqrt((abs(a) + hypot(a, b)) * 0.5)
    small = abs(b) * 0.5 / where(eq(large, 0), 1, large)
    left = lt(a, 0)
    return where(left, small, large), copysign(where(left, large, small), b)


@_of_complex
def atan_of(x: Tensor) -> Tensor:
    """-i atanh(i x)."""
    imaginary, real_ = _atanh(imag(x), real(x))
    return complex(real_, imaginary)


@_of_complex
def atanh_of(x: Tensor) -> Tensor:
    """(log(1 + x) - log(1 - x)) / 2."""
    return complex(*_atanh(real(x), imag(x)))


def _atanh(a: Tensor, b: Tensor) -> Parts:
    """Of a + i b; the angles have one sign, so that their sum cancels nothing."""
    size = abs(a)
    to_pole = hypot(1 - size, b)
    near = lt(to_pole, _NEAR)
    apart = where(near, 1, to_pole)
    far = log1p(size / apart / apart * 4) * 0.25
    close = (log(hypot(1 + size, b)) - log(where(near, to_pole, 1))) * 0.5
    angle = (atan2(b, 1 + a) + atan2(b, 1 - a)) * 0.5
    return copysign(where(near, close, far), a), angle
