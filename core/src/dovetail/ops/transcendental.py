"""Exponentials, logarithms, and the circular and hyperbolic functions.

Bodies for real numbers follow Kahan (expm1, log1p from exp and log without loss near
0) and fdlibm (atan); bodies for complex numbers are the textbook formulas.
"""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail.dtypes import FLOAT, INEXACT
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.compare import bitwise_or, isnan, le, signbit
from dovetail.ops.elementwise import abs, minimum, neg, square
from dovetail.ops.primitive import (
    bitwise_and,
    cast,
    conj,
    cos,
    eq,
    exp,
    float_pow,
    log,
    lt,
    maximum,
    sin,
    sqrt,
    where,
)  # fmt: skip
from dovetail.ops.rounding import copysign

Array = np.ndarray[Any, Any]
Pair = tuple[Any, Any]
_FLOATS: Any = {"accepts": INEXACT, "promote": "float"}
LN2: Final = math.log(2)
LN10: Final = math.log(10)
_LARGE: Final = 1e9  # where x² + 1 is x² in every format used, and does not overflow


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """c0 + c1 x + c2 x² + …, by Horner's rule."""
    *rest, last, highest = coefficients
    y = x * highest + last
    for c in reversed(rest):
        y = y * x + c
    return y


# ---- exponentials and logarithms


@op(**_FLOATS)
def expm1(x: Tensor) -> Tensor:
    """exp(x) - 1, accurate near 0 (Kahan; Higham 2002, section 1.14.1)."""
    u = exp(x)
    if x.dtype.is_complex:
        near = bitwise_and(lt(abs(x), 0.5), eq(eq(u, 1), False))
        safe = where(near, u, 2)
        y = where(near, (safe - 1) * (x / log(safe)), u - 1)
        return where(eq(u, 1), x, y)
    # Below, u - 1 is -1 in every format, and u may be a subnormal of few digits.
    ordinary = bitwise_and(lt(u, float("inf")), lt(1e-30, u))
    near = eq(u, 1)
    safe = where(bitwise_and(ordinary, eq(near, False)), u, 2)
    y = (safe - 1) * (x / log(safe))
    return where(near, x, where(ordinary, y, u - 1))


@expm1.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    return ct * (conj(y) + 1)


@op(**_FLOATS, domain=(-0.9, 9.0))
def log1p(x: Tensor) -> Tensor:
    """log(1 + x), accurate near 0 (Kahan; Higham 2002, problem 1.5)."""
    u = 1 + x
    if x.dtype.is_complex:
        return where(lt(abs(x), 0.5), _log1p_of_parts(x), log(u))
    near = bitwise_or(eq(u, 1), eq(u, float("inf")))
    safe = where(near, 2, u)
    y = log(safe) * (x / (safe - 1))
    return where(near, x, where(eq(u, 0), float("-inf"), y))


def _log1p_of_parts(x: Tensor) -> Tensor:
    """log|1 + x| + i arg(1 + x) for |x| < 1, where log(1 + x) would lose digits."""
    a, b = cast(x, x.dtype.real), cast(x * -1j, x.dtype.real)
    size = log1p(a * (2 + a) + square(b)) * 0.5
    found: Tensor = cast(size, x.dtype) + cast(atan2(b, 1 + a), x.dtype) * 1j
    return found


@log1p.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / (conj(x) + 1)


@op(**_FLOATS)
def exp2(x: Tensor) -> Tensor:
    """2 to the power of x."""
    return float_pow(2, x)


@exp2.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    return ct * (conj(y) * LN2)


@op(**_FLOATS, domain=(0.1, 9.0))
def log2(x: Tensor) -> Tensor:
    """The logarithm to base 2."""
    return log(x) * (1 / LN2)


@log2.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / (conj(x) * LN2)


@op(**_FLOATS, domain=(0.1, 9.0))
def log10(x: Tensor) -> Tensor:
    """The logarithm to base 10."""
    return log(x) * (1 / LN10)


@log10.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / (conj(x) * LN10)


# ---- circular


@op(**_FLOATS, domain=(-1.2, 1.2))
def tan(x: Tensor) -> Tensor:
    """Tangent of x in radians."""
    return sin(x) / cos(x)


@tan.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    return ct * (square(conj(y)) + 1)


@op(**_FLOATS, domain=(-0.9, 0.9))
def asin(x: Tensor) -> Tensor:
    """Arcsine in radians; NaN outside [-1, 1]."""
    if x.dtype.is_complex:
        return asinh(x * 1j) * -1j
    return atan(x / sqrt((1 - x) * (1 + x)))


@asin.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / sqrt(1 - square(conj(x)))


@op(**_FLOATS, domain=(-0.9, 0.9))
def acos(x: Tensor) -> Tensor:
    """Arccosine in radians; NaN outside [-1, 1]."""
    if x.dtype.is_complex:
        return math.pi / 2 - asin(x)
    return 2 * atan(sqrt((1 - x) / (1 + x)))


@acos.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return neg(ct) / sqrt(1 - square(conj(x)))


# s_atan.c of fdlibm, for |x| < 7/16: atan(x) = x - x³ (a0 + a1 x² + …)
_ATAN: Final = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01,
    1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02,
    6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)  # fmt: skip


@op(**_FLOATS)
def atan(x: Tensor) -> Tensor:
    """Arctangent in radians."""
    if x.dtype.is_complex:
        return atanh(x * 1j) * -1j
    size = abs(x)
    inverted = lt(1, size)
    z = where(inverted, 1 / where(inverted, size, 1), size)
    # atan(z) = atan(0.6) + atan((z - 0.6) / (1 + 0.6 z))
    shifted = lt(7 / 16, z)
    z = where(shifted, (z - 0.6) / (1 + 0.6 * z), z)
    s = z * z
    y = z - z * s * polynomial(s, _ATAN)
    y = where(shifted, math.atan(0.6) + y, y)
    return copysign(where(inverted, math.pi / 2 - y, y), x)


@atan.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / (square(conj(x)) + 1)


@op(accepts=FLOAT, promote="float")
def atan2(a: Tensor, b: Tensor) -> Tensor:
    """The angle of the point (b, a) in radians, by quadrant; IEEE 754 at zeros."""
    up, right = abs(a), abs(b)
    large, small = maximum(up, right), minimum(up, right)
    same = eq(large, small)
    q = where(eq(large, 0), 0, where(same, 1, small / where(same, 1, large)))
    q = where(isnan(large), large, q)
    angle = atan(q)
    angle = where(lt(right, up), math.pi / 2 - angle, angle)
    return copysign(where(signbit(b), math.pi - angle, angle), a)


@atan2.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    size = square(a) + square(b)
    scaled = ct / where(eq(size, 0), 1, size)  # 0 at the origin, as torch chose
    return scaled * b if need[0] else None, neg(scaled) * a if need[1] else None


@op(accepts=FLOAT, promote="float")
def hypot(a: Tensor, b: Tensor) -> Tensor:
    """sqrt(a² + b²) without overflow between."""
    a, b = abs(a), abs(b)
    large, small = maximum(a, b), minimum(a, b)
    unscaled = bitwise_or(eq(large, 0), eq(large, float("inf")))
    ratio = where(unscaled, 0, small / where(unscaled, 1, large))
    y = large * sqrt(1 + square(ratio))
    return where(bitwise_or(eq(a, float("inf")), eq(b, float("inf"))), float("inf"), y)


@hypot.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, y: Tensor, need: Any) -> Pair:
    scaled = ct / y
    return scaled * a if need[0] else None, scaled * b if need[1] else None


@op(**_FLOATS)
def sinc(x: Tensor) -> Tensor:
    """sin(pi x) / (pi x), which is 1 at 0."""
    zero = eq(x, 0)
    z = where(zero, 1, x) * math.pi
    return where(zero, 1, sin(z) / z)


# of cos(z) / z - sin(z) / z^2, by powers of z^2
_SINC_SLOPE: Final = tuple(
    (-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 8)
)


@sinc.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    """Next to 0 by its series, where the difference of the two terms loses digits."""
    z = x * math.pi
    square, small = z * z, lt(abs(z), 0.5)
    series: Any = _SINC_SLOPE[-1]
    for factor in _SINC_SLOPE[-2::-1]:
        series = square * series + factor
    far = where(small, 1, z)
    slope = where(small, series * z, (cos(far) - sin(far) / far) / far)
    return ct * conj(slope * math.pi)


@sinc.oracle
def _(x: Array) -> Array:
    return np.sinc(x)


# ---- hyperbolic


@op(**_FLOATS)
def sinh(x: Tensor) -> Tensor:
    """Hyperbolic sine."""
    if x.dtype.is_complex:
        e = expm1(x)
        near = (e + e / (e + 1)) * 0.5  # without the cancellation next to 0
        return where(lt(abs(x), 0.5), near, (exp(x) - exp(neg(x))) * 0.5)
    size = abs(x)
    e = expm1(minimum(size, 20))
    half = exp(size * 0.5)
    y = where(lt(size, 20), (e + e / (e + 1)) * 0.5, (half * 0.5) * half)
    return copysign(y, x)


@sinh.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct * cosh(conj(x))


@op(**_FLOATS)
def cosh(x: Tensor) -> Tensor:
    """Hyperbolic cosine."""
    if x.dtype.is_complex:
        return (exp(x) + exp(neg(x))) * 0.5
    size = abs(x)
    e = exp(minimum(size, 20))
    half = exp(size * 0.5)
    return where(lt(size, 20), (e + 1 / e) * 0.5, (half * 0.5) * half)


@cosh.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct * sinh(conj(x))


@op(**_FLOATS)
def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    if x.dtype.is_complex:
        e = expm1(x * 2)
        return e / (e + 2)
    t = expm1(abs(x) * -2)
    return copysign(neg(t) / (t + 2), x)


@tanh.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    return tanh_grad(ct, y)


@op(accepts=INEXACT, outputs=("gx",))
def tanh_grad(g: Tensor, y: Tensor) -> Tensor:
    """The gradient `g` taken through tanh, by its result."""
    return g * (1 - square(conj(y)))


@tanh_grad.vjp(g="y", y=("g", "y"))
def _(ct: Tensor, g: Any, y: Any, need: Any) -> Pair:
    first = tanh_grad(ct, conj(y)) if need[0] else None
    return first, conj(ct) * g * conj(y) * -2 if need[1] else None


@tanh_grad.oracle
def _(g: Array, y: Array) -> Array:
    found: Array = g * (1 - np.conj(y) ** 2)
    return found


@op(**_FLOATS)
def asinh(x: Tensor) -> Tensor:
    """Inverse hyperbolic sine."""
    if x.dtype.is_complex:
        flipped = lt(cast(x, x.dtype.real), 0)
        z = where(flipped, neg(x), x)  # away from the cancellation of x + sqrt(x² + 1)
        s = square(z)
        y = log1p(z + s / (1 + sqrt(s + 1)))
        return where(flipped, neg(y), y)
    size = abs(x)
    a = minimum(size, _LARGE)
    s = square(a)
    y = log1p(a + s / (1 + sqrt(s + 1)))
    return copysign(where(lt(size, _LARGE), y, log(maximum(size, 1)) + LN2), x)


@asinh.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / sqrt(square(conj(x)) + 1)


@op(**_FLOATS, domain=(1.1, 9.0))
def acosh(x: Tensor) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1."""
    if x.dtype.is_complex:
        return log(x + sqrt(x + 1) * sqrt(x - 1))
    t = minimum(x, _LARGE) - 1
    y = log1p(t + sqrt(t * (t + 2)))
    y = where(lt(_LARGE, x), log(x) + LN2, y)
    return where(lt(x, 1), float("nan"), y)


@acosh.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    c = conj(x)
    return ct / (sqrt(c - 1) * sqrt(c + 1))


@op(**_FLOATS, domain=(-0.9, 0.9))
def atanh(x: Tensor) -> Tensor:
    """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""
    if x.dtype.is_complex:
        return (log1p(x) - log1p(neg(x))) * 0.5
    size = abs(x)
    return copysign(log1p(2 * size / (1 - size)) * 0.5, x)


@atanh.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct / (1 - square(conj(x)))


# ---- of two


@op(accepts=FLOAT, promote="float")
def logaddexp(a: Tensor, b: Tensor) -> Tensor:
    """log(exp(a) + exp(b)) without overflow."""
    same = eq(a, b)
    y = maximum(a, b) + log1p(exp(neg(abs(where(same, 0, a - b)))))
    return where(same, a + LN2, y)


@logaddexp.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    ga = ct / (1 + exp(b - a)) if need[0] else None
    return ga, ct / (1 + exp(a - b)) if need[1] else None


@op(accepts=FLOAT, promote="float")
def logaddexp2(a: Tensor, b: Tensor) -> Tensor:
    """log2(2^a + 2^b) without overflow."""
    same = eq(a, b)
    y = maximum(a, b) + log1p(exp2(neg(abs(where(same, 0, a - b))))) * (1 / LN2)
    return where(same, a + 1, y)


@logaddexp2.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    ga = ct / (1 + exp2(b - a)) if need[0] else None
    return ga, ct / (1 + exp2(a - b)) if need[1] else None


@op(accepts=FLOAT, promote="float", domain=(0.1, 3.0))
def xlogy(a: Tensor, b: Tensor) -> Tensor:
    """a log(b), which is 0 where a is 0 and b is not NaN."""
    zero = bitwise_and(eq(a, 0), eq(b, b))
    return where(zero, 0, a * log(where(zero, 1, b)))


@xlogy.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    ga = None
    if need[0]:
        flat = bitwise_and(eq(a, 0), le(b, 0))
        ga = where(flat, 0, ct * log(where(flat, 1, b)))
    return ga, ct * (a / b) if need[1] else None


@log1p.oracle
def _(x: Array) -> Array:
    if x.dtype.kind != "c":
        return np.log1p(x)
    a, b = x.real, x.imag  # NumPy's own loses digits near 0
    near = 0.5 * np.log1p(a * (2 + a) + b * b)
    size = np.where(np.abs(x) < 0.5, near, np.log(np.abs(1 + x)))
    return np.asarray(size + 1j * np.arctan2(b, 1 + a))


@xlogy.oracle
def _(a: Array, b: Array) -> Array:
    return np.where((a == 0) & ~np.isnan(b), 0, a * np.log(b))


_ORACLES: Final = {
    "expm1": expm1, "exp2": exp2, "log2": log2, "log10": log10,
    "tan": tan, "arcsin": asin, "arccos": acos, "arctan": atan, "arctan2": atan2,
    "hypot": hypot, "sinh": sinh, "cosh": cosh, "tanh": tanh, "arcsinh": asinh,
    "arccosh": acosh, "arctanh": atanh, "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
}  # fmt: skip
for _name, _op in _ORACLES.items():
    _op.oracle(getattr(np, _name))
