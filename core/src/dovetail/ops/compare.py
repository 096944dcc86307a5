"""Predicates, logic and bits."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import (
    ANY,
    BITS,
    FLOAT,
    HALF,
    INTEGRAL,
    ORDERED,
    DType,
    bool_,
    float32,
    int16,
    int32,
    int64,
)  # fmt: skip
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.create import full
from dovetail.ops.primitive import (
    bitcast,
    bitwise_and,
    bitwise_xor,
    cast,
    eq,
    lt,
    shift_left,
    shift_right,
    where,
)  # fmt: skip

Array = np.ndarray[Any, Any]
_PREDICATE: Any = {"result": bool_, "nondifferentiable": True, "exact": True}
_BITS: Any = {"nondifferentiable": True, "exact": True}


def constant(x: Tensor, value: bool) -> Tensor:
    """A bool tensor of the shape of `x`."""
    made: Tensor = full(tuple(x._a.shape), value, x._kind.with_dtype(bool_))
    return made


# ---- comparison


@op(accepts=ORDERED, **_PREDICATE)
def gt(a: Tensor, b: Tensor) -> Tensor:
    """Whether a > b; NaN compares false."""
    return lt(b, a)


@gt.oracle
def _(a: Array, b: Array) -> Array:
    return a > b


@op(accepts=ORDERED, **_PREDICATE)
def le(a: Tensor, b: Tensor) -> Tensor:
    """Whether a <= b; NaN compares false."""
    return bitwise_or(lt(a, b), eq(a, b))


@le.oracle
def _(a: Array, b: Array) -> Array:
    return a <= b


@op(accepts=ORDERED, **_PREDICATE)
def ge(a: Tensor, b: Tensor) -> Tensor:
    """Whether a >= b; NaN compares false."""
    return bitwise_or(lt(b, a), eq(a, b))


@ge.oracle
def _(a: Array, b: Array) -> Array:
    return a >= b


@op(accepts=ANY, **_PREDICATE)
def ne(a: Tensor, b: Tensor) -> Tensor:
    """Whether a differs from b; NaN differs from itself."""
    return bitwise_not(eq(a, b))


@ne.oracle
def _(a: Array, b: Array) -> Array:
    y: Array = a != b
    return y


@op(accepts=ANY, **_PREDICATE)
def isnan(x: Tensor) -> Tensor:
    """Whether x is NaN, which is never so for integers."""
    return ne(x, x) if x.dtype.is_inexact else constant(x, False)


@isnan.oracle
def _(x: Array) -> Array:
    return np.isnan(x)


@op(accepts=ANY, **_PREDICATE)
def isinf(x: Tensor) -> Tensor:
    """Whether x, or a part of it, is infinite."""
    if not x.dtype.is_inexact:
        return constant(x, False)
    if x.dtype.is_complex:
        return bitwise_or(
            isinf(cast(x, x.dtype.real)), isinf(cast(x * -1j, x.dtype.real))
        )
    return bitwise_or(eq(x, float("inf")), eq(x, float("-inf")))


@isinf.oracle
def _(x: Array) -> Array:
    return np.isinf(x)


@op(accepts=ANY, **_PREDICATE)
def isfinite(x: Tensor) -> Tensor:
    """Whether x is neither infinite nor NaN."""
    return eq(x - x, 0) if x.dtype.is_inexact else constant(x, True)


@isfinite.oracle
def _(x: Array) -> Array:
    return np.isfinite(x)


@op(accepts=ORDERED, **_PREDICATE)
def isposinf(x: Tensor) -> Tensor:
    """Whether x is +inf."""
    is_float = x.dtype.is_floating_point
    return eq(x, float("inf")) if is_float else constant(x, False)


@isposinf.oracle
def _(x: Array) -> Array:
    return (np.isinf(x)) & (x > 0)


@op(accepts=ORDERED, **_PREDICATE)
def isneginf(x: Tensor) -> Tensor:
    """Whether x is -inf."""
    is_float = x.dtype.is_floating_point
    return eq(x, float("-inf")) if is_float else constant(x, False)


@isneginf.oracle
def _(x: Array) -> Array:
    return np.array(np.isinf(x) & (x < 0))


@op(accepts=ORDERED, **_PREDICATE)
def signbit(x: Tensor) -> Tensor:
    """Whether the sign bit is set: of -0 and of negative NaN too."""
    if not x.dtype.is_floating_point:
        return lt(x, 0) if x.dtype.is_signed else constant(x, False)
    wide = cast(x, float32) if x.dtype in HALF else x
    return lt(bitcast(wide, bits_of(wide.dtype)), 0)


@signbit.oracle
def _(x: Array) -> Array:
    return np.signbit(x) if x.dtype.kind == "f" else x < 0


def bits_of(dtype: DType) -> DType:
    """The signed integer dtype of the same width."""
    return {2: int16, 4: int32, 8: int64}[dtype.itemsize]


@op(accepts=FLOAT, nondifferentiable=True, exact=True)
def nextafter(a: Tensor, b: Tensor) -> Tensor:
    """The next representable value after `a` in the direction of `b` (IEEE 754)."""
    ints = bits_of(a.dtype)
    bits = bitcast(a, ints)
    # The bits of floats of one sign are ordered as their magnitudes are.
    grow = eq(lt(a, b), lt(0, a))
    stepped = bitcast(where(grow, bits + 1, bits - 1), a.dtype)
    smallest = bitcast(full((), 1, a._kind.with_dtype(ints)), a.dtype)
    from_zero = where(lt(0, b), smallest, smallest * -1)
    y = where(eq(a, 0), from_zero, stepped)
    y = where(eq(a, b), b, y)
    return where(bitwise_or(ne(a, a), ne(b, b)), a + b, y)


# ---- logic: every number is a truth value


@op(accepts=ANY, **_PREDICATE)
def logical_not(x: Tensor) -> Tensor:
    """Whether x is zero."""
    return eq(x, 0)


@logical_not.oracle
def _(x: Array) -> Array:
    y: Array = x == 0
    return y


@op(accepts=ANY, **_PREDICATE)
def logical_and(a: Tensor, b: Tensor) -> Tensor:
    """Whether both are not zero."""
    return bitwise_and(ne(a, 0), ne(b, 0))


@logical_and.oracle
def _(a: Array, b: Array) -> Array:
    y: Array = (a != 0) & (b != 0)
    return y


@op(accepts=ANY, **_PREDICATE)
def logical_or(a: Tensor, b: Tensor) -> Tensor:
    """Whether any of the two is not zero."""
    return bitwise_or(ne(a, 0), ne(b, 0))


@logical_or.oracle
def _(a: Array, b: Array) -> Array:
    y: Array = (a != 0) | (b != 0)
    return y


@op(accepts=ANY, **_PREDICATE)
def logical_xor(a: Tensor, b: Tensor) -> Tensor:
    """Whether exactly one is not zero."""
    return bitwise_xor(ne(a, 0), ne(b, 0))


@logical_xor.oracle
def _(a: Array, b: Array) -> Array:
    y: Array = (a != 0) != (b != 0)
    return y


# ---- bits


@op(accepts=BITS, **_BITS)
def bitwise_not(x: Tensor) -> Tensor:
    """Bits inverted; `not` for bools."""
    return bitwise_xor(x, True if x.dtype is bool_ else -1)


@bitwise_not.oracle
def _(x: Array) -> Array:
    return np.invert(x)


@op(accepts=BITS, **_BITS)
def bitwise_or(a: Tensor, b: Tensor) -> Tensor:
    """Bitwise or."""
    return bitwise_xor(bitwise_xor(a, b), bitwise_and(a, b))


@bitwise_or.oracle
def _(a: Array, b: Array) -> Array:
    return a | b


def _width(x: Tensor) -> int:
    return x.dtype.itemsize * 8


def _beyond(x: Tensor, count: Tensor) -> Tensor:
    """Whether a count is negative or not below the width."""
    return bitwise_or(lt(count, 0), gt(count, _width(x) - 1))


@op(accepts=INTEGRAL, **_BITS)
def bitwise_left_shift(a: Tensor, b: Tensor) -> Tensor:
    """`a` shifted left by any count; 0 where b is negative or not below the width."""
    beyond = _beyond(a, b)
    return where(beyond, 0, shift_left(a, where(beyond, 0, b)))


@bitwise_left_shift.oracle
def _(a: Array, b: Array) -> Array:
    width = a.dtype.itemsize * 8
    return _each(lambda x, n: x << n if 0 <= n < width else 0, a, b)


@op(accepts=INTEGRAL, **_BITS)
def bitwise_right_shift(a: Tensor, b: Tensor) -> Tensor:
    """`a` shifted right by any count, its sign coming in (arithmetic)."""
    count = where(_beyond(a, b), _width(a) - 1, b)
    if not a.dtype.is_signed:
        return where(_beyond(a, b), 0, shift_right(a, count))
    inverted = bitwise_not(shift_right(bitwise_not(a), count))
    return where(lt(a, 0), inverted, shift_right(a, count))


@bitwise_right_shift.oracle
def _(a: Array, b: Array) -> Array:
    width = a.dtype.itemsize * 8
    return _each(lambda x, n: x >> (n if 0 <= n < width else width), a, b)


def _each(function: Any, a: Array, b: Array) -> Array:
    """Python integers through `function`, wrapped to the width of `a`."""
    mask = (1 << (a.dtype.itemsize * 8)) - 1
    found = np.frompyfunc(lambda x, y: function(int(x), int(y)) & mask, 2, 1)(a, b)
    wide = np.asarray(found, object).astype(np.uint64)
    return wide.astype(a.dtype)


@nextafter.oracle
def _(a: Array, b: Array, kind: DType) -> Array:
    """In the op's own format: between its numbers lie others of a wider one."""
    stepped: Array = np.nextafter(a.astype(kind.numpy), b.astype(kind.numpy))
    return stepped
