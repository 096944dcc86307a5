"""Predicates, logic and bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import (  # fmt: skip
    ANY,
    BITS,
    FLOAT,
    HALF,
    INTEGRAL,
    ORDERED,
    STORED,
    Array,
    DType,
    bool_,
    float32,
    int16,
    int32,
    int64,
)
from dovetail.engine.attributes import Operand
from dovetail.engine.declare import op
from dovetail.engine.exact import whole
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import (
    bitwise_and,
    bitwise_xor,
    eq,
    lt,
    shift_left,
    shift_right,
)
from dovetail.ops.create import full
from dovetail.ops.formats import bitcast, cast, where

_PREDICATE: Any = {"result": bool_, "nondifferentiable": True, "unrounded": True}
_BITS: Any = {"nondifferentiable": True, "unrounded": True}


def constant(input: Tensor, value: bool) -> Tensor:
    """A bool tensor of the shape of `input`."""
    return full(tuple(input._a.shape), value, input._kind.with_dtype(bool_))


@op(accepts=ORDERED, **_PREDICATE, torch="gt greater Tensor.gt_ Tensor.greater_",
    oracle=lambda a, b: a > b)  # fmt: skip
def gt(input: Tensor, other: Operand) -> Tensor:
    """Whether input > other; NaN compares false."""
    return lt(other, input)


@op(accepts=ORDERED, **_PREDICATE, torch="le less_equal Tensor.le_ Tensor.less_equal_",
    oracle=lambda a, b: a <= b)  # fmt: skip
def le(input: Tensor, other: Operand) -> Tensor:
    """Whether input <= other; NaN compares false."""
    return bitwise_or(lt(input, other), eq(input, other))


@op(accepts=ORDERED, **_PREDICATE,
    torch="ge greater_equal Tensor.ge_ Tensor.greater_equal_",
    oracle=lambda a, b: a >= b)  # fmt: skip
def ge(input: Tensor, other: Operand) -> Tensor:
    """Whether input >= other; NaN compares false."""
    return bitwise_or(lt(other, input), eq(input, other))


@op(accepts=STORED, **_PREDICATE, torch="ne not_equal Tensor.ne_ Tensor.not_equal_",
    oracle=lambda a, b: a != b)  # fmt: skip
def ne(input: Tensor, other: Operand) -> Tensor:
    """Whether input differs from other; NaN differs from itself."""
    return bitwise_not(eq(input, other))


@op(accepts=STORED, **_PREDICATE, torch="isnan", out=False, oracle=np.isnan)
def isnan(input: Tensor) -> Tensor:
    """Whether an element is NaN, which is never so for integers.

    Returns: bools in the shape of `input`.

    >>> import dovetail as dt
    >>> dt.isnan(dt.tensor([1.0, float("nan")]))
    tensor([False,  True])
    """
    return ne(input, input) if input.dtype.is_inexact else constant(input, False)


@op(accepts=ANY, **_PREDICATE, torch="isinf", out=False, oracle=np.isinf)
def isinf(input: Tensor) -> Tensor:
    """Whether an element, or a part of it, is infinite."""
    if not input.dtype.is_inexact:
        return constant(input, False)
    if input.dtype.is_complex:
        real, imag = (cast(p, input.dtype.real) for p in (input, input * -1j))
        return bitwise_or(isinf(real), isinf(imag))
    return bitwise_or(eq(input, float("inf")), eq(input, float("-inf")))


@op(accepts=ANY, **_PREDICATE, torch="isfinite", out=False, oracle=np.isfinite)
def isfinite(input: Tensor) -> Tensor:
    """Whether an element is neither infinite nor NaN."""
    return eq(input - input, 0) if input.dtype.is_inexact else constant(input, True)


@op(out="same", accepts=ORDERED, **_PREDICATE, torch="isposinf",
    oracle=lambda x: np.isinf(x) & (x > 0))  # fmt: skip
def isposinf(input: Tensor) -> Tensor:
    """Whether an element is +inf."""
    is_float = input.dtype.is_floating_point
    return eq(input, float("inf")) if is_float else constant(input, False)


@op(out="same", accepts=ORDERED, **_PREDICATE, torch="isneginf",
    oracle=lambda x: np.isinf(x) & (x < 0))  # fmt: skip
def isneginf(input: Tensor) -> Tensor:
    """Whether an element is -inf."""
    is_float = input.dtype.is_floating_point
    return eq(input, float("-inf")) if is_float else constant(input, False)


@op(out="same", accepts=ORDERED, **_PREDICATE, torch="signbit",
    oracle=lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0)  # fmt: skip
def signbit(input: Tensor) -> Tensor:
    """Whether the sign bit is set: of -0 and of negative NaN too."""
    if not input.dtype.is_floating_point:
        return lt(input, 0) if input.dtype.is_signed else constant(input, False)
    wide = cast(input, float32) if input.dtype in HALF else input
    return lt(bitcast(wide, bits_of(wide.dtype)), 0)


def bits_of(dtype: DType) -> DType:
    """The signed integer dtype of the same width."""
    return {2: int16, 4: int32, 8: int64}[dtype.itemsize]


def _nextafter(a: Array, b: Array, kind: DType) -> Any:
    """In the op's own format: between its numbers lie others of a wider one.

    What equals `b` goes to `b`, as C has it; NumPy's float16 keeps the sign of `a`.
    """
    a, b = a.astype(kind.numpy), b.astype(kind.numpy)
    return np.where(a == b, b, np.nextafter(a, b))


@op(signed_zeros=True, accepts=FLOAT, unrounded=True,
    torch="nextafter Tensor.nextafter_", oracle=_nextafter,
    grad={
        "input": lambda ct, input, other: where(eq(input, other), 0, ct),
        "other": lambda ct: ct * 0,
    })  # fmt: skip
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next representable value after `input` towards `other` (IEEE 754)."""
    ints = bits_of(input.dtype)
    bits = bitcast(input, ints)
    # The bits of floats of one sign are ordered as their magnitudes are.
    grow = eq(lt(input, other), lt(0, input))
    stepped = bitcast(where(grow, bits + 1, bits - 1), input.dtype)
    smallest = bitcast(full((), 1, input._kind.with_dtype(ints)), input.dtype)
    from_zero = where(lt(0, other), smallest, smallest * -1)
    y = where(eq(input, 0), from_zero, stepped)
    y = where(eq(input, other), other, y)
    unordered = bitwise_or(ne(input, input), ne(other, other))
    return where(unordered, input + other, y)


@op(accepts=ANY, **_PREDICATE, torch="logical_not Tensor.logical_not_",
    oracle=lambda x: x == 0)  # fmt: skip
def logical_not(input: Tensor) -> Tensor:
    """Whether an element is zero."""
    return eq(input, 0)


@op(accepts=ANY, **_PREDICATE, torch="logical_and Tensor.logical_and_",
    oracle=lambda a, b: (a != 0) & (b != 0))  # fmt: skip
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Whether both are not zero."""
    return bitwise_and(ne(input, 0), ne(other, 0))


@op(accepts=ANY, **_PREDICATE, torch="logical_or Tensor.logical_or_",
    oracle=lambda a, b: (a != 0) | (b != 0))  # fmt: skip
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Whether any of the two is not zero."""
    return bitwise_or(ne(input, 0), ne(other, 0))


@op(accepts=ANY, **_PREDICATE, torch="logical_xor Tensor.logical_xor_",
    oracle=lambda a, b: (a != 0) != (b != 0))  # fmt: skip
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Whether exactly one is not zero."""
    return bitwise_xor(ne(input, 0), ne(other, 0))


@op(out="same", accepts=BITS, **_BITS, torch="bitwise_not Tensor.bitwise_not_",
    oracle=lambda x: ~x)  # fmt: skip
def bitwise_not(input: Tensor) -> Tensor:
    """Bits inverted; `not` for bools."""
    return bitwise_xor(input, True if input.dtype is bool_ else -1)


@op(accepts=BITS, **_BITS, torch="bitwise_or Tensor.bitwise_or_",
    oracle=lambda a, b: whole(lambda x, y: x | y, a, b))  # fmt: skip
def bitwise_or(input: Operand, other: Operand) -> Tensor:
    """Bitwise or."""
    return bitwise_xor(bitwise_xor(input, other), bitwise_and(input, other))


def _width(x: Any) -> Any:
    return x.dtype.itemsize * 8


def _beyond(x: Tensor, count: Tensor) -> Tensor:
    """Whether a count is negative or not below the width."""
    return bitwise_or(lt(count, 0), gt(count, _width(x) - 1))


def _shifted_left(a: Array, b: Array) -> Array:
    width = _width(a)
    return whole(lambda x, n: x << n if 0 <= n < width else 0, a, b)


@op(accepts=INTEGRAL, **_BITS, oracle=_shifted_left,
    torch="bitwise_left_shift Tensor.bitwise_left_shift_")  # fmt: skip
def bitwise_left_shift(input: Operand, other: Operand) -> Tensor:
    """`input` shifted left; 0 where `other` is negative or not below the width."""
    beyond = _beyond(input, other)
    return where(beyond, 0, shift_left(input, where(beyond, 0, other)))


def _shifted_right(a: Array, b: Array) -> Array:
    width = _width(a)
    return whole(lambda x, n: x >> (n if 0 <= n < width else width), a, b)


@op(accepts=INTEGRAL, **_BITS, oracle=_shifted_right,
    torch="bitwise_right_shift Tensor.bitwise_right_shift_")  # fmt: skip
def bitwise_right_shift(input: Operand, other: Operand) -> Tensor:
    """`input` shifted right by any count, its sign coming in (arithmetic)."""
    beyond = _beyond(input, other)
    count = where(beyond, _width(input) - 1, other)
    if not input.dtype.is_signed:
        return where(beyond, 0, shift_right(input, count))
    inverted = bitwise_not(shift_right(bitwise_not(input), count))
    return where(lt(input, 0), inverted, shift_right(input, count))
