"""Oracles of the elementwise primitives: NumPy's own, or Python's for integers."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import bool_, complex128, float32, float64, int32, int64
from dovetail.engine.cases import case
from dovetail.ops import primitive as p

Array = np.ndarray[Any, Any]


@p.add.oracle
def _(a: Array, b: Array) -> Array:
    return a + b


@p.sub.oracle
def _(a: Array, b: Array) -> Array:
    return a - b


@p.mul.oracle
def _(a: Array, b: Array) -> Array:
    return a * b


@p.div.oracle
def _(a: Array, b: Array) -> Array:
    return np.true_divide(a, b)


@p.idiv.oracle
def _(a: Array, b: Array) -> Array:
    def quotient(x: Any, y: Any) -> int:
        x, y = int(x), int(y)
        if not y:
            return 0
        size = builtin_abs(x) // builtin_abs(y)
        return size if (x < 0) == (y < 0) else -size

    exact = np.asarray(np.frompyfunc(quotient, 2, 1)(a, b), object)
    mask = (1 << (a.dtype.itemsize * 8)) - 1
    return np.asarray(exact & mask, object).astype(np.uint64).astype(a.dtype)


def builtin_abs(n: int) -> int:
    """|n| of a Python integer."""
    return n if n >= 0 else -n


@p.fmod.oracle
def _(a: Array, b: Array) -> Array:
    return np.fmod(a.astype(np.float64), b.astype(np.float64))


@p.fmod.cases
def _(make: Any) -> Any:
    for a, b in (((2, 3), (2, 3)), ((2, 1, 4), (3, 1)), ((), ()), ((0, 3), (1, 3))):
        yield case(make(*a), make(*b, low=1, high=3))


@p.floor.oracle
def _(x: Array) -> Array:
    return np.floor(x).astype(x.dtype)


@p.maximum.oracle
def _(a: Array, b: Array) -> Array:
    return np.maximum(a, b)


@p.lt.oracle
def _(a: Array, b: Array) -> Array:
    return a < b


@p.eq.oracle
def _(a: Array, b: Array) -> Array:
    y: Array = a == b
    return y


@p.bitwise_and.oracle
def _(a: Array, b: Array) -> Array:
    return a & b


@p.bitwise_xor.oracle
def _(a: Array, b: Array) -> Array:
    return a ^ b


@p.shift_left.oracle
def _(a: Array, b: Array) -> Array:
    return np.left_shift(a, b)


@p.shift_right.oracle
def _(a: Array, b: Array) -> Array:
    unsigned = a.dtype.str.replace("i", "u")
    y: Array = np.right_shift(a.view(unsigned), b.astype(unsigned)).view(a.dtype)
    return y


def _shifts(make: Any) -> Any:
    width = make.dtype.itemsize * 8
    counts = make.ints(3, 4, high=width, dtype=make.dtype.name)
    yield case(make.distinct(3, 4), counts)
    yield case(make(4, low=-128, high=127), counts)
    yield case(make.distinct(2, 1), np.array([0, width - 1], make.dtype.numpy))


p.shift_left.cases(_shifts)
p.shift_right.cases(_shifts)


@p.sqrt.oracle
def _(x: Array) -> Array:
    return np.sqrt(x)


@p.exp.oracle
def _(x: Array) -> Array:
    return np.exp(x)


@p.log.oracle
def _(x: Array) -> Array:
    return np.log(x)


@p.sin.oracle
def _(x: Array) -> Array:
    return np.sin(x)


@p.cos.oracle
def _(x: Array) -> Array:
    return np.cos(x)


@p.float_pow.oracle
def _(a: Array, b: Array) -> Array:
    return np.power(a, b)


@p.where.oracle
def _(condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)


@p.cast.oracle
def _(x: Array, dtype: Any) -> Array:
    to = dtype.numpy
    if x.dtype.kind == "c" and to.kind not in "cb":
        x = x.real
    return x.astype(to)


@p.cast.cases
def _(make: Any) -> Any:
    low = 0 if not make.dtype.is_signed else None
    # Not from float64 to float32, whose steps are no gradient.
    double = make.dtype in (float64, complex128)
    for to in (int32, bool_, make.dtype, float64 if double else float32):
        yield case(make(2, 3, low=low), to)
    yield case(make(), make.dtype)
    yield case(make(0, 2), int32)


@p.clone.oracle
def _(x: Array) -> Array:
    return x


@p.bitcast.oracle
def _(x: Array, dtype: Any) -> Array:
    if x.dtype.kind == "f" and dtype.category == 1:
        return x.astype(f"f{dtype.itemsize}").view(dtype.numpy)
    return x


@p.bitcast.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), {float32: int32, float64: int64}.get(make.dtype, make.dtype))
    yield case(make(0, 3), make.dtype)
    yield case(make(), make.dtype)


@p.assign_.oracle
def _(x: Array, source: Array) -> Array:
    return source


@p.assign_.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), make(2, 3))
    yield case(make(), make())
