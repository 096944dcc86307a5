"""Exponentials, logarithms, and the circular and hyperbolic functions.

Bodies for real numbers follow Kahan (expm1, log1p from exp and log without loss near
0) and fdlibm (atan); those for complex numbers that need more than a formula are in
`complex_plane.py`, which is made of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dovetail.dtypes import FLOAT, INEXACT
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import (
    bitwise_and,
    cos,
    eq,
    exp,
    float_pow,
    log,
    lt,
    maximum,
    sin,
    sqrt,
)  # fmt: skip
from dovetail.ops.bounds import minimum
from dovetail.ops.compare import bitwise_or, isnan, signbit
from dovetail.ops.elementwise import abs, neg, square
from dovetail.ops.formats import conj, where
from dovetail.ops.rounding import copysign

_FLOATS: Any = {"accepts": INEXACT, "promote": "float", "signed_zeros": True}
LN2: Final = math.log(2)
LN10: Final = math.log(10)
# Functions of complex numbers by name, which `complex_plane.py` makes of those of real
# ones.
IN_THE_PLANE: Final[dict[str, Callable[[Tensor], Tensor]]] = {}
_LARGE: Final = 1e9  # where x² + 1 is x² in every format used, and does not overflow


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """c0 + c1 x + c2 x² + …, by Horner's rule."""
    *rest, last, highest = coefficients
    y = x * highest + last
    for c in reversed(rest):
        y = y * x + c
    return y


@op(**_FLOATS, torch="expm1 expm1_", oracle=exact("expm1"),
    grad=lambda ct, y: ct * (conj(y) + 1))  # fmt: skip
def expm1(input: Tensor) -> Tensor:
    """exp(input) - 1, accurate near 0 (Kahan; Higham 2002, section 1.14.1)."""
    u = exp(input)
    if input.dtype.is_complex:
        near = bitwise_and(lt(abs(input), 0.5), eq(eq(u, 1), False))
        safe = where(near, u, 2)
        y = where(near, (safe - 1) * (input / log(safe)), u - 1)
        return where(eq(u, 1), input, y)
    # Below, u - 1 is -1 in every format, and u may be a subnormal of few digits.
    ordinary = bitwise_and(lt(u, float("inf")), lt(1e-30, u))
    near = eq(u, 1)
    safe = where(bitwise_and(ordinary, eq(near, False)), u, 2)
    y = (safe - 1) * (input / log(safe))
    return where(near, input, where(ordinary, y, u - 1))


@op(**_FLOATS, domain=(-0.9, 9.0), torch="log1p log1p_", oracle=exact("log1p"),
    grad=lambda ct, input: ct / (conj(input) + 1))  # fmt: skip
def log1p(input: Tensor) -> Tensor:
    """log(1 + input), accurate near 0 (Kahan; Higham 2002, problem 1.5)."""
    if input.dtype.is_complex:
        return IN_THE_PLANE["log1p"](input)
    u = 1 + input
    near = bitwise_or(eq(u, 1), eq(u, float("inf")))
    safe = where(near, 2, u)
    y = log(safe) * (input / (safe - 1))
    return where(near, input, where(eq(u, 0), float("-inf"), y))


@op(**_FLOATS, torch="exp2 exp2_", oracle=exact("exp2"),
    grad=lambda ct, y: ct * (conj(y) * LN2))  # fmt: skip
def exp2(input: Tensor) -> Tensor:
    """2 to the power of input."""
    return float_pow(2, input)


@op(**_FLOATS, domain=(0.1, 9.0), torch="log2 log2_", oracle=exact("log2"),
    grad=lambda ct, input: ct / (conj(input) * LN2))  # fmt: skip
def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2."""
    return log(input) * (1 / LN2)


@op(**_FLOATS, domain=(0.1, 9.0), torch="log10 log10_", oracle=exact("log10"),
    grad=lambda ct, input: ct / (conj(input) * LN10))  # fmt: skip
def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10."""
    return log(input) * (1 / LN10)


@op(**_FLOATS, domain=(-1.2, 1.2), torch="tan tan_", oracle=exact("tan"),
    grad=lambda ct, y: ct * (square(conj(y)) + 1))  # fmt: skip
def tan(input: Tensor) -> Tensor:
    """Tangent of input in radians."""
    if input.dtype.is_complex:
        return IN_THE_PLANE["tan"](input)
    return sin(input) / cos(input)


@op(**_FLOATS, domain=(-0.9, 0.9), torch="asin arcsin asin_ arcsin_",
    oracle=exact("asin"),
    grad=lambda ct, input: ct / sqrt(1 - square(conj(input))))  # fmt: skip
def asin(input: Tensor) -> Tensor:
    """Arcsine in radians; NaN outside [-1, 1]."""
    if input.dtype.is_complex:
        return IN_THE_PLANE["asin"](input)
    return atan(input / sqrt((1 - input) * (1 + input)))


@op(**_FLOATS, domain=(-0.9, 0.9), torch="acos arccos acos_ arccos_",
    oracle=exact("acos"),
    grad=lambda ct, input: neg(ct) / sqrt(1 - square(conj(input))))  # fmt: skip
def acos(input: Tensor) -> Tensor:
    """Arccosine in radians; NaN outside [-1, 1]."""
    if input.dtype.is_complex:
        return IN_THE_PLANE["acos"](input)
    return 2 * atan(sqrt((1 - input) / (1 + input)))


# s_atan.c of fdlibm, for |x| < 7/16: atan(x) = x - x³ (a0 + a1 x² + …)
_ATAN: Final = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01,
    1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02,
    6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)  # fmt: skip


@op(**_FLOATS, torch="atan arctan atan_ arctan_", oracle=exact("atan"),
    grad=lambda ct, input: ct / (square(conj(input)) + 1))  # fmt: skip
def atan(input: Tensor) -> Tensor:
    """Arctangent in radians."""
    if input.dtype.is_complex:
        return IN_THE_PLANE["atan"](input)
    size = abs(input)
    inverted = lt(1, size)
    z = where(inverted, 1 / where(inverted, size, 1), size)
    # atan(z) = atan(0.6) + atan((z - 0.6) / (1 + 0.6 z))
    shifted = lt(7 / 16, z)
    z = where(shifted, (z - 0.6) / (1 + 0.6 * z), z)
    s = z * z
    y = z - z * s * polynomial(s, _ATAN)
    y = where(shifted, math.atan(0.6) + y, y)
    return copysign(where(inverted, math.pi / 2 - y, y), input)


@op(signed_zeros=True, accepts=FLOAT, promote="float", oracle=exact("atan2"),
    torch="atan2 arctan2 Tensor.atan2_ Tensor.arctan2_",
    grad={
        "input": lambda ct, input, other: _over_size(ct, input, other) * other,
        "other": lambda ct, input, other: neg(_over_size(ct, input, other)) * input,
    })  # fmt: skip
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the point (other, input) in radians; IEEE 754 at zeros."""
    up, right = abs(input), abs(other)
    large, small = maximum(up, right), minimum(up, right)
    same = eq(large, small)
    q = where(eq(large, 0), 0, where(same, 1, small / where(same, 1, large)))
    q = where(isnan(large), large, q)
    angle = atan(q)
    angle = where(lt(right, up), math.pi / 2 - angle, angle)
    return copysign(where(signbit(other), math.pi - angle, angle), input)


def _over_size(ct: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """ct / (a² + b²), 0 at the origin, as torch chose."""
    size = square(a) + square(b)
    return ct / where(eq(size, 0), 1, size)


@op(accepts=FLOAT, promote="float", torch="hypot Tensor.hypot_", oracle=exact("hypot"),
    grad={
        "input": lambda ct, input, y: ct / y * input,
        "other": lambda ct, other, y: ct / y * other,
    })  # fmt: skip
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """sqrt(input² + other²) without overflow between."""
    a, b = abs(input), abs(other)
    large, small = maximum(a, b), minimum(a, b)
    unscaled = bitwise_or(eq(large, 0), eq(large, float("inf")))
    ratio = where(unscaled, 0, small / where(unscaled, 1, large))
    y = large * sqrt(1 + square(ratio))
    return where(bitwise_or(eq(a, float("inf")), eq(b, float("inf"))), float("inf"), y)


@op(**_FLOATS, torch="sinh sinh_", oracle=exact("sinh"))
def sinh(input: Tensor) -> Tensor:
    """Hyperbolic sine."""
    if input.dtype.is_complex:
        e = expm1(input)
        near = (e + e / (e + 1)) * 0.5  # without the cancellation next to 0
        return where(lt(abs(input), 0.5), near, (exp(input) - exp(neg(input))) * 0.5)
    size = abs(input)
    e = expm1(minimum(size, 20))
    half = exp(size * 0.5)
    y = where(lt(size, 20), (e + e / (e + 1)) * 0.5, (half * 0.5) * half)
    return copysign(y, input)


@op(**_FLOATS, torch="cosh cosh_", oracle=exact("cosh"),
    grad=lambda ct, input: ct * sinh(conj(input)))  # fmt: skip
def cosh(input: Tensor) -> Tensor:
    """Hyperbolic cosine."""
    if input.dtype.is_complex:
        return (exp(input) + exp(neg(input))) * 0.5
    size = abs(input)
    e = exp(minimum(size, 20))
    half = exp(size * 0.5)
    return where(lt(size, 20), (e + 1 / e) * 0.5, (half * 0.5) * half)


sinh.grad(input=lambda ct, input: ct * cosh(conj(input)))


@op(**_FLOATS, torch="tanh tanh_ F.tanh", oracle=exact("tanh"))
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent.

    Returns: floats; integers and bools become the default dtype.

    >>> torch.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    if input.dtype.is_complex:
        return IN_THE_PLANE["tanh"](input)
    t = expm1(abs(input) * -2)
    return copysign(neg(t) / (t + 2), input)


tanh.grad(
    input=lambda ct, y: ct * (1 - square(conj(y))),
    backward=True,
    oracle=exact(lambda m, ct, y: ct * (1 - np.conj(y) * np.conj(y))),
)


@op(**_FLOATS, torch="asinh arcsinh asinh_ arcsinh_", oracle=exact("asinh"),
    grad=lambda ct, input: ct / sqrt(square(conj(input)) + 1))  # fmt: skip
def asinh(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine."""
    if input.dtype.is_complex:
        return IN_THE_PLANE["asinh"](input)
    size = abs(input)
    a = minimum(size, _LARGE)
    s = square(a)
    y = log1p(a + s / (1 + sqrt(s + 1)))
    return copysign(where(lt(size, _LARGE), y, log(maximum(size, 1)) + LN2), input)


@op(**_FLOATS, domain=(1.1, 9.0), torch="acosh arccosh acosh_ arccosh_",
    oracle=exact("acosh"),
    grad=lambda ct, input: ct / conj(sqrt(input - 1) * sqrt(input + 1)))  # fmt: skip
def acosh(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1."""
    if input.dtype.is_complex:
        return IN_THE_PLANE["acosh"](input)
    t = minimum(input, _LARGE) - 1
    y = log1p(t + sqrt(t * (t + 2)))
    y = where(lt(_LARGE, input), log(input) + LN2, y)
    return where(lt(input, 1), float("nan"), y)


@op(**_FLOATS, domain=(-0.9, 0.9), torch="atanh arctanh atanh_ arctanh_",
    oracle=exact("atanh"),
    grad=lambda ct, input: ct / (1 - square(conj(input))))  # fmt: skip
def atanh(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""
    if input.dtype.is_complex:
        return IN_THE_PLANE["atanh"](input)
    size = abs(input)
    return copysign(log1p(2 * size / (1 - size)) * 0.5, input)
