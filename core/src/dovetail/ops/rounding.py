"""Rounding, and the quotients and remainders that rounding decides."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, INTEGRAL, ORDERED, REAL, DType, bool_, finfo
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.compare import bitwise_or, ne, signbit
from dovetail.ops.create import zeros_like
from dovetail.ops.elementwise import abs, flat, neg
from dovetail.ops.primitive import (
    add,
    bitwise_and,
    clone,
    eq,
    floor,
    fmod,
    idiv,
    lt,
    where,
)

Array = np.ndarray[Any, Any]
Pair = tuple[Any, Any]


@op(accepts=REAL, exact=True)
def ceil(x: Tensor) -> Tensor:
    """The least integer not below; keeps -0. Integers are unchanged."""
    return neg(floor(neg(x))) if x.dtype.is_floating_point else clone(x)


@ceil.oracle
def _(x: Array) -> Array:
    return np.ceil(x).astype(x.dtype)


@op(accepts=REAL, exact=True)
def trunc(x: Tensor) -> Tensor:
    """The integer part, towards zero; keeps -0. Integers are unchanged."""
    if not x.dtype.is_floating_point:
        return clone(x)
    return where(lt(x, 0), ceil(x), floor(x))


@trunc.oracle
def _(x: Array) -> Array:
    return np.trunc(x).astype(x.dtype)


@op(accepts=REAL, exact=True)
def round(x: Tensor) -> Tensor:
    """The nearest integer, halves to even; keeps -0. Integers are unchanged."""
    if not x.dtype.is_floating_point:
        return clone(x)
    size = abs(x)
    low = floor(size)
    part = size - low
    odd = ne(fmod(low, 2), 0)
    up = bitwise_or(lt(0.5, part), bitwise_and(eq(part, 0.5), odd))
    # At 2^(p-1) and above every float is an integer, and low + 1 may not exist.
    return copysign(where(up, low + 1, low), x)


@round.oracle
def _(x: Array) -> Array:
    return x if x.dtype.kind in "iu" else np.rint(x)


@op(accepts=FLOAT)
def frac(x: Tensor) -> Tensor:
    """What `trunc` takes away."""
    return x - trunc(x)


@frac.vjp
def _(ct: Tensor) -> Tensor:
    return ct


@frac.oracle
def _(x: Array) -> Array:
    return x - np.trunc(x)


for _op in (ceil, trunc, round):
    _op.vjp(flat)


@op(accepts=FLOAT, promote="float", exact=True)
def copysign(a: Tensor, b: Tensor) -> Tensor:
    """The magnitude of `a` with the sign of `b`, of -0 and NaN too."""
    return where(eq(signbit(a), signbit(b)), a, neg(a))


@copysign.vjp(a=("a",), b=("a",))
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    ga = gb = None
    if need[0]:
        same = eq(signbit(a), signbit(b))
        ga = where(eq(a, 0), 0, where(same, ct, neg(ct)))
    if need[1]:
        gb = flat(ct)
    return ga, gb


@copysign.oracle
def _(a: Array, b: Array) -> Array:
    return np.copysign(a, b)


# ---- quotients and remainders


@op(accepts=REAL, domain=(0.3, 9.0))
def trunc_divide(a: Tensor, b: Tensor) -> Tensor:
    """a / b rounded towards zero; n / 0 is 0 for integers."""
    return trunc(a / b) if a.dtype.is_floating_point else idiv(a, b)


@op(accepts=REAL, domain=(0.3, 9.0))
def floor_divide(a: Tensor, b: Tensor) -> Tensor:
    """a / b rounded down, from the exact remainder; n / 0 is 0 for integers."""
    if not a.dtype.is_floating_point:
        return _floor_integers(a, b)
    rest = fmod(a, b)
    crossed = bitwise_and(ne(rest, 0), ne(lt(b, 0), lt(rest, 0)))
    quotient = (a - rest) / b
    quotient = where(crossed, quotient - 1, quotient)
    whole = floor(quotient)
    whole = where(lt(0.5, quotient - whole), whole + 1, whole)
    whole = where(eq(quotient, 0), copysign(0 * whole, a / b), whole)
    return where(eq(b, 0), a / b, whole)


def _floor_integers(a: Tensor, b: Tensor) -> Tensor:
    quotient = idiv(a, b)
    if not a.dtype.is_signed:
        return quotient
    inexact = bitwise_and(ne(quotient * b, a), ne(b, 0))
    down = bitwise_and(inexact, ne(lt(a, 0), lt(b, 0)))
    return where(down, quotient - 1, quotient)


@op(accepts=REAL, domain=(0.3, 9.0))
def remainder(a: Tensor, b: Tensor) -> Tensor:
    """a modulo b, with the sign of `b`; integers modulo 0 are 0."""
    if a.dtype.is_floating_point:
        rest = fmod(a, b)
    else:
        rest = where(eq(b, 0), 0, a - idiv(a, b) * b)
    if not a.dtype.is_signed:
        return rest
    crossed = bitwise_and(ne(rest, 0), ne(lt(b, 0), lt(rest, 0)))
    return where(crossed, rest + b, rest)


@op(accepts=REAL, domain=(0.3, 9.0))
def truncated_remainder(a: Tensor, b: Tensor) -> Tensor:
    """What truncated division leaves, with the sign of `a`; integers by 0 leave 0."""
    if a.dtype.is_floating_point:
        return fmod(a, b)
    return where(eq(b, 0), 0, a - idiv(a, b) * b)


for _op in (trunc_divide, floor_divide):
    _op.vjp(lambda ct: (flat(ct), flat(ct)))


@remainder.vjp(a="b", b="b")
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    return ct, neg(ct) * floor_divide(a, b) if need[1] else None


@truncated_remainder.vjp(a="b", b="b")
def _(ct: Tensor, a: Tensor, b: Tensor, need: Any) -> Pair:
    return ct, neg(ct) * trunc_divide(a, b) if need[1] else None


def _by_python(function: Any, of_floats: Any) -> Any:
    """An oracle that computes integers by Python's own, floats by NumPy's."""

    def oracle(a: Array, b: Array) -> Array:
        if np.result_type(a, b).kind == "f":
            return np.asarray(of_floats(a, b))
        found = np.frompyfunc(lambda x, y: function(x, y) if y else 0, 2, 1)
        exact = np.asarray(found(a.astype(object), b.astype(object)), object)
        return exact.astype(np.result_type(a, b))

    return oracle


def _truncated(x: Any, y: Any) -> Any:
    quotient = x // y
    return quotient + 1 if quotient < 0 and quotient * y != x else quotient


@trunc_divide.oracle
def _(a: Array, b: Array, kind: Any) -> Array:
    if np.result_type(a, b).kind != "f":
        whole: Array = _by_python(_truncated, np.trunc)(a, b)
        return whole
    # The rounded quotient is cut, not the true one; 16 bits divide in float32.
    format_ = np.float32 if kind in HALF else kind.numpy
    return np.asarray(np.trunc(np.asarray(a / b).astype(format_)))


floor_divide.oracle(_by_python(lambda x, y: x // y, np.floor_divide))
remainder.oracle(_by_python(lambda x, y: x % y, np.remainder))
truncated_remainder.oracle(_by_python(lambda x, y: x - _truncated(x, y) * y, np.fmod))


@op(accepts=INTEGRAL, nondifferentiable=True)
def gcd(a: Tensor, b: Tensor) -> Tensor:
    """The greatest common divisor, not negative, by Euclid's algorithm."""
    a, b = add(abs(a), b * 0), add(abs(b), a * 0)
    # Lamé: Euclid takes at most log_phi(2^bits) steps.
    for _ in range(math.ceil(a.dtype.itemsize * 8 / math.log2(1.618))):
        a, b = b_or(a, b), where(eq(b, 0), 0, remainder(a, b))
    return abs(a)  # the least integer has no absolute value, and stays negative above


def b_or(a: Tensor, b: Tensor) -> Tensor:
    """`b`, or `a` where `b` is 0."""
    return where(eq(b, 0), a, b)


@gcd.oracle
def _(a: Array, b: Array) -> Array:
    found = np.frompyfunc(math.gcd, 2, 1)(a.astype(object), b.astype(object))
    return np.asarray(found, object).astype(a.dtype)


@op(accepts=INTEGRAL, nondifferentiable=True)
def lcm(a: Tensor, b: Tensor) -> Tensor:
    """The least common multiple, not negative; 0 if either is 0."""
    return abs(idiv(a, gcd(a, b)) * b)


@lcm.oracle
def _(a: Array, b: Array) -> Array:
    found = np.frompyfunc(math.lcm, 2, 1)(a.astype(object), b.astype(object))
    return np.asarray(found, object).astype(a.dtype)


@op(accepts=ORDERED, nondifferentiable=True, exact=True)
def heaviside(x: Tensor, values: Tensor) -> Tensor:
    """0 below zero and for NaN, 1 above, `values` at zero."""
    one = lt(0, x)
    step = one if x.dtype is bool_ else where(one, zeros_like(x) + 1, 0)
    return where(eq(x, 0), values, step)


@heaviside.oracle
def _(x: Array, values: Array) -> Array:
    return np.where(x == 0, values, x > 0).astype(x.dtype)


# ---- what is not finite


@op(accepts=ORDERED, exact=True)
def nan_to_num(
    x: Tensor, nan: float | None = None, posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:  # fmt: skip
    """NaN and infinities replaced: by 0 and the dtype's extremes unless given."""
    if not x.dtype.is_floating_point:
        return clone(x)
    limits = finfo(x.dtype)
    y = where(ne(x, x), 0.0 if nan is None else nan, x)
    y = where(eq(x, float("inf")), limits.max if posinf is None else posinf, y)
    return where(eq(x, float("-inf")), limits.min if neginf is None else neginf, y)


@nan_to_num.vjp
def _(ct: Tensor, x: Tensor) -> Tensor:
    return where(eq(x - x, 0), ct, 0)


@nan_to_num.oracle
def _(
    x: Array, nan: Any = None, posinf: Any = None, neginf: Any = None, *, kind: DType
) -> Array:
    if x.dtype.kind != "f":
        return x
    limits = finfo(kind)
    most = limits.max if posinf is None else posinf
    least = limits.min if neginf is None else neginf
    return np.nan_to_num(x, nan=nan or 0.0, posinf=most, neginf=least)


@nan_to_num.cases
def _(make: Any) -> Any:
    x = make(2, 3)
    yield case(x, None, None, None)
    if x.dtype.kind in "fV":
        x = x.copy()
        x[0] = [np.nan, np.inf, -np.inf]
        yield case(x, 1.0, 2.0, -2.0)
