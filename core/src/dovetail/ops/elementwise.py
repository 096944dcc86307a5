"""Arithmetic: signs, roots, powers, bounds, and sums of products."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from dovetail.dtypes import (
    COMPLEX,
    INEXACT,
    NUMERIC,
    ORDERED,
    REAL,
    bool_,
)  # fmt: skip
from dovetail.engine.attributes import Scalar
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.compare import bitwise_not, bitwise_or, ge, isnan, le
from dovetail.ops.create import zeros_like
from dovetail.ops.primitive import (
    bitwise_and,
    cast,
    clone,
    conj,
    eq,
    float_pow,
    idiv,
    log,
    lt,
    maximum,
    mul,
    sqrt,
    where,
)  # fmt: skip

Array = np.ndarray[Any, Any]
Pair = tuple[Any, Any]


def flat(ct: Tensor) -> Tensor:
    """The gradient of what is constant almost everywhere."""
    zeros: Tensor = zeros_like(ct)
    return zeros


# ---- signs


@op(accepts=NUMERIC)
def neg(x: Tensor) -> Tensor:
    """-x; integers wrap."""
    return mul(x, -1)


@neg.vjp
def _(ct: Tensor) -> Tensor:
    return neg(ct)


@neg.oracle
def _(x: Array) -> Array:
    return np.negative(x)


@op(accepts=NUMERIC, result=lambda d, a: d[0].real)
def abs(x: Tensor) -> Tensor:
    """The magnitude; the smallest integer wraps to itself."""
    if x.dtype.is_complex:
        return _modulus(x)
    return where(lt(0, x), x, 0 - x) if x.dtype.is_signed else clone(x)


def _modulus(x: Tensor) -> Tensor:
    real, imag = (abs(cast(p, x.dtype.real)) for p in (x, x * -1j))
    large = maximum(real, imag)
    safe = where(eq(large, 0), 1, large)
    a, b = real / safe, imag / safe
    return sqrt(a * a + b * b) * large


@abs.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct * sgn(x)


@abs.oracle
def _(x: Array) -> Array:
    return np.abs(x)


@op(accepts=ORDERED, exact=True)
def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1; 0 for NaN. Bools are unchanged."""
    if x.dtype is bool_:
        return clone(x)
    return cast(lt(0, x), x.dtype) - cast(lt(x, 0), x.dtype)


@sign.vjp
def _(ct: Tensor) -> Tensor:
    return flat(ct)


@sign.oracle
def _(x: Array) -> Array:
    return np.where(x > 0, 1, np.where(x < 0, -1, 0)).astype(x.dtype)


@op(accepts=ORDERED | COMPLEX)
def sgn(x: Tensor) -> Tensor:
    """The sign; x / |x| for complex numbers, 0 at 0."""
    if not x.dtype.is_complex:
        return sign(x)
    size = abs(x)
    return where(eq(size, 0), 0, x / where(eq(size, 0), 1, size))


@sgn.oracle
def _(x: Array) -> Array:
    if x.dtype.kind != "c":
        return np.where(x > 0, 1, np.where(x < 0, -1, 0)).astype(x.dtype)
    return x / np.where(x == 0, 1, np.abs(x))


# ---- squares, roots, powers


@op(accepts=NUMERIC)
def square(x: Tensor) -> Tensor:
    """x * x; integers wrap."""
    return mul(x, x)


@square.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return ct * (conj(x) * 2)


@square.oracle
def _(x: Array) -> Array:
    return x * x


@op(accepts=INEXACT, promote="float", domain=(0.2, 3.0))
def reciprocal(x: Tensor) -> Tensor:
    """1 / x."""
    return 1 / x


@reciprocal.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    return ct * neg(conj(square(y)))


@reciprocal.oracle
def _(x: Array) -> Array:
    return 1 / x


@op(accepts=INEXACT, promote="float", domain=(0.2, 9.0))
def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x)."""
    return 1 / sqrt(x)


@rsqrt.vjp
def _(ct: Tensor, y: Tensor) -> Tensor:
    c = conj(y)
    return ct * (square(c) * c * -0.5)


@rsqrt.oracle
def _(x: Array) -> Array:
    return 1 / np.sqrt(x)


@op(accepts=NUMERIC, domain=(0.3, 3.0))
def pow(a: Tensor, b: Tensor) -> Tensor:
    """a to the power of b; integers wrap, and a negative power of them truncates."""
    if a.dtype.is_inexact:
        return float_pow(a, b)
    return _integer_pow(a, b)


def _integer_pow(a: Tensor, b: Tensor) -> Tensor:
    """By repeated squaring over the bits of b."""
    y, base, bits = a * 0 + 1, a, b * 1
    for _ in range(a.dtype.itemsize * 8 - a.dtype.is_signed):
        y = where(eq(bitwise_and(bits, 1), 1), y * base, y)
        base = mul(base, base)
        bits = idiv(bits, 2)
    if not a.dtype.is_signed:
        return y
    odd = eq(bitwise_and(b, 1), 1)
    of_unit = where(eq(a, 1), 1, where(eq(a, -1), where(odd, -1, 1), 0))
    return where(lt(b, 0), cast(of_unit, a.dtype), y)


@pow.vjp(a=("a", "b"), b=("a", "b"), y="b")
def _(ct: Tensor, a: Tensor, b: Tensor, y: Tensor, need: Any) -> Pair:
    ga = gb = None
    if need[0]:
        # b * a^(b-1), which is 0 and not NaN where b is 0
        ga = ct * where(eq(b, 0), 0, conj(b * pow(a, b - 1)))
    if need[1]:
        # y * log a, which is 0 where a = 0
        safe = where(eq(a, 0), 1, a)
        gb = ct * conj(where(eq(a, 0), 0, y * log(safe)))
    return ga, gb


@pow.oracle
def _(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    bits = a.dtype.itemsize * 8

    def power(x: Any, n: Any) -> int:
        x, n = int(x), int(n)
        if n < 0:  # 1 / x ** -n, towards zero
            x, n = x if x in (1, -1) else 0, -n
        y: int = builtins.pow(x, n, 1 << bits)
        return y

    return (
        np.asarray(np.frompyfunc(power, 2, 1)(a, b), object)
        .astype("u8")
        .astype(a.dtype)
    )


# ---- bounds


@op(accepts=ORDERED, exact=True)
def minimum(a: Tensor, b: Tensor) -> Tensor:
    """The less; NaN if either is NaN."""
    if a.dtype is bool_:
        return a & b
    if a.dtype.is_floating_point:
        return neg(maximum(neg(a), neg(b)))
    return bitwise_not(maximum(bitwise_not(a), bitwise_not(b)))


@minimum.vjp
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    half = ct * 0.5
    tie = eq(a, b)
    ga = where(tie, half, where(lt(b, a), 0, ct)) if need[0] else None
    gb = where(tie, half, where(lt(a, b), 0, ct)) if need[1] else None
    return ga, gb


@minimum.oracle
def _(a: Array, b: Array) -> Array:
    return np.minimum(a, b)


@op(accepts=ORDERED, exact=True)
def fmax(a: Tensor, b: Tensor) -> Tensor:
    """The greater; of a number and NaN, the number."""
    return where(isnan(a), b, where(isnan(b), a, maximum(a, b)))


@fmax.vjp
def _(ct: Tensor, a: Tensor, b: Tensor) -> Pair:
    first = bitwise_or(ge(a, b), isnan(b))
    return where(first, ct, 0), where(first, 0, ct)


@fmax.oracle
def _(a: Array, b: Array) -> Array:
    return np.fmax(a, b)


@op(accepts=ORDERED, exact=True)
def fmin(a: Tensor, b: Tensor) -> Tensor:
    """The less; of a number and NaN, the number."""
    return where(isnan(a), b, where(isnan(b), a, minimum(a, b)))


@fmin.vjp
def _(ct: Tensor, a: Tensor, b: Tensor) -> Pair:
    first = bitwise_or(le(a, b), isnan(b))
    return where(first, ct, 0), where(first, 0, ct)


@fmin.oracle
def _(a: Array, b: Array) -> Array:
    return np.fmin(a, b)


@op(accepts=ORDERED, exact=True)
def clamp(x: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """`x` raised to `min`, then lowered to `max`; NaN stays and bounds pass it on."""
    y = x if min is None else maximum(x, min)
    y = y if max is None else minimum(y, max)
    return clone(x) if y is x else y


@op(accepts=REAL)
def clip(x: Tensor, low: Scalar | None = None, high: Scalar | None = None) -> Tensor:
    """`clamp` with numbers, which do not change the dtype."""
    return clamp(x, low, high)


@clip.vjp
def _(ct: Tensor, x: Tensor, low: Any, high: Any) -> Tensor:
    g = ct if low is None else where(ge(x, low), ct, 0)
    return g if high is None else where(le(x, high), g, 0)


@clip.oracle
def _(x: Array, low: Any = None, high: Any = None) -> Array:
    y = x if low is None else np.where(x < low, low, x)
    return y if high is None else np.where(y > high, high, y)


@clip.cases
def _(make: Any) -> Any:
    yield case(make(3, 4), 1, 2)
    yield case(make(2, 1, 3), None, 1)
    yield case(make(), 0, None)
    yield case(make(0, 2), 2, 1)


@clamp.vjp
def _(ct: Tensor, x: Tensor, min: Any, max: Any, need: Any) -> tuple[Any, Any, Any]:
    gx = glow = ghigh = None
    if need[0]:
        gx = ct if min is None else where(ge(x, min), ct, 0)
        gx = gx if max is None else where(le(x, max), gx, 0)
    if min is not None and need[1]:
        glow = where(lt(x, min), ct, 0)
        glow = glow if max is None else where(lt(min, max), glow, 0)
    if max is not None and need[2]:
        above = lt(max, x)
        above = above if min is None else bitwise_or(above, lt(max, min))
        ghigh = where(above, ct, 0)
    return gx, glow, ghigh


@clamp.oracle
def _(x: Array, min: Any = None, max: Any = None) -> Array:
    y = x if min is None else np.where(np.isnan(x) | (x >= min), x, min)
    return y if max is None else np.where(np.isnan(y) | (y <= max), y, max)


@clamp.cases
def _(make: Any) -> Any:
    x = make.distinct(3, 4)
    if x.dtype.kind in "fiu":
        yield case(x, make(3, 1, low=-1, high=0), make(4, low=1, high=3))
        yield case(x, None, make(low=1, high=3))
    yield case(x, make(4), None)
    yield case(make(0, 2), make(2), make(2))


# ---- sums of products


@op(cancels=True, sums=True, accepts=INEXACT)
def lerp(a: Tensor, b: Tensor, weight: Tensor) -> Tensor:
    """a + weight * (b - a), which is exactly `b` where the weight is 1."""
    near_a = lt(abs(weight), 0.5)
    step = b - a
    return where(near_a, a + weight * step, b - step * (1 - weight))


@lerp.vjp(weight=("a", "b"), a="weight", b="weight")
def _(ct: Tensor, a: Any, b: Any, weight: Any, need: Any) -> tuple[Any, Any, Any]:
    ga = ct * conj(1 - weight) if need[0] else None
    gb = ct * conj(weight) if need[1] else None
    return ga, gb, ct * conj(b - a) if need[2] else None


@lerp.oracle
def _(a: Array, b: Array, weight: Array) -> Array:
    near_a = np.abs(weight) < 0.5
    return np.asarray(
        np.where(near_a, a + weight * (b - a), b - (b - a) * (1 - weight))
    )


@op(sums=True, accepts=NUMERIC)
def addcmul(x: Tensor, a: Tensor, b: Tensor, value: Scalar = 1) -> Tensor:
    """x + value * a * b."""
    product = a * b
    return x + (product if value == 1 else product * value)


@addcmul.vjp(a="b", b="a")
def _(ct: Tensor, a: Any, b: Any, value: Any, need: Any) -> tuple[Any, Any, Any]:
    scaled = ct if value == 1 else ct * _conj_number(value)
    ga = scaled * conj(b) if need[1] else None
    return ct, ga, scaled * conj(a) if need[2] else None


def _conj_number(value: Any) -> Any:
    return value.conjugate() if isinstance(value, complex) else value


@addcmul.oracle
def _(x: Array, a: Array, b: Array, value: Any = 1) -> Array:
    y: Array = x + value * a * b
    return y


@op(accepts=INEXACT, domain=(0.3, 3.0))
def addcdiv(x: Tensor, a: Tensor, b: Tensor, value: Scalar = 1) -> Tensor:
    """x + value * a / b."""
    quotient = a / b
    return x + (quotient if value == 1 else quotient * value)


@addcdiv.vjp(a="b", b=("a", "b"))
def _(ct: Tensor, a: Any, b: Any, value: Any, need: Any) -> tuple[Any, Any, Any]:
    scaled = ct if value == 1 else ct * _conj_number(value)
    ga = scaled / conj(b)
    gb = neg(ga) * conj(a / b) if need[2] else None
    return ct, ga if need[1] else None, gb


@addcdiv.oracle
def _(x: Array, a: Array, b: Array, value: Any = 1) -> Array:
    y: Array = x + value * (a / b)
    return y


def _three(make: Any) -> Any:
    yield case(make(2, 3), make(2, 3), make(2, 3))
    yield case(make(2, 3), make(3), make(2, 1), value=2)
    yield case(make(), make(), make(), value=-1 if make.dtype.is_signed else 3)


addcmul.cases(_three)
addcdiv.cases(_three)
