"""Rounding, and the quotients and remainders that rounding decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, INTEGRAL, ORDERED, REAL, Array, DType, bool_
from dovetail.engine.attributes import Operand
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.exact import whole
from dovetail.engine.tensor import Tensor
from dovetail.limits import finfo
from dovetail.ops.arithmetic import (
    float_fmod,
    floor,
    idiv,
)
from dovetail.ops.compare import isnan, signbit
from dovetail.ops.create import zeros_like
from dovetail.ops.elementwise import abs, flat
from dovetail.ops.formats import clone, where


@op(signed_zeros=True, out="same", accepts=REAL, unrounded=True, torch="ceil ceil_",
    oracle=lambda x: np.ceil(x).astype(x.dtype))  # fmt: skip
def ceil(input: Tensor) -> Tensor:
    """The least integer not below; -0 stays, as integers do."""
    return -floor(-input) if input.dtype.is_floating_point else clone(input)


@op(signed_zeros=True,
    out="same", accepts=REAL, unrounded=True, torch="trunc fix trunc_ fix_",
    oracle=lambda x: np.trunc(x).astype(x.dtype))  # fmt: skip
def trunc(input: Tensor) -> Tensor:
    """The integer part, towards zero; -0 stays, as integers do."""
    if not input.dtype.is_floating_point:
        return clone(input)
    return where(input < 0, ceil(input), floor(input))


@op(signed_zeros=True, accepts=REAL, unrounded=True,
    oracle=lambda x: x if x.dtype.kind in "iu" else np.rint(x))  # fmt: skip
def round(input: Tensor) -> Tensor:
    """The nearest integer, halves to even; -0 stays, as integers do."""
    if not input.dtype.is_floating_point:
        return clone(input)
    size = abs(input)
    low = floor(size)
    part = size - low
    odd = float_fmod(low, 2) != 0
    up = (part > 0.5) | ((part == 0.5) & odd)
    # At 2^(p-1) and above every float is an integer, and low + 1 may not exist.
    return copysign(where(up, low + 1, low), input)


for _op in (ceil, trunc, round):
    _op.grad(input=flat)


@op(out="same", accepts=FLOAT, torch="frac frac_", oracle=lambda x: x - np.trunc(x),
    grad=lambda ct: ct)  # fmt: skip
def frac(input: Tensor) -> Tensor:
    """What `trunc` takes away."""
    return input - trunc(input)


def _copysign_rule(ct: Tensor, input: Tensor, other: Tensor) -> Tensor:
    same = signbit(input) == signbit(other)
    return where(input == 0, 0, where(same, ct, -ct))


@op(signed_zeros=True,
    accepts=FLOAT, promote="float", unrounded=True, torch="copysign Tensor.copysign_",
    meta_only=("input", "other"), oracle=np.copysign,
    grad={"input": _copysign_rule, "other": flat})  # fmt: skip
def copysign(input: Tensor, other: Operand) -> Tensor:
    """The magnitude of `input` with the sign of `other`, of -0 and NaN too."""
    return where(signbit(input) == signbit(other), input, -input)


@op(of_numbers=True, accepts=REAL, domain=(0.3, 9.0))
def trunc_divide(input: Operand, other: Operand) -> Tensor:
    """input / other rounded towards zero; n / 0 is 0 for integers."""
    if input.dtype.is_floating_point:
        return trunc(input / other)
    return idiv(input, other)


@op(of_numbers=True, accepts=REAL, domain=(0.3, 9.0), meta_only=("input",))
def floor_divide(input: Operand, other: Operand) -> Tensor:
    """input / other rounded down, from the exact remainder; n / 0 is 0 for integers."""
    if not input.dtype.is_floating_point:
        return _floor_integers(input, other)
    rest = float_fmod(input, other)
    crossed = (rest != 0) & ((other < 0) != (rest < 0))
    quotient = (input - rest) / other
    quotient = where(crossed, quotient - 1, quotient)
    low = floor(quotient)
    low = where(quotient - low > 0.5, low + 1, low)
    low = where(quotient == 0, copysign(0 * low, input / other), low)
    return where(other == 0, input / other, low)


def _floor_integers(a: Tensor, b: Tensor) -> Tensor:
    quotient = idiv(a, b)
    if not a.dtype.is_signed:
        return quotient
    inexact = (quotient * b != a) & (b != 0)
    down = inexact & ((a < 0) != (b < 0))
    return where(down, quotient - 1, quotient)


for _op in (trunc_divide, floor_divide):
    _op.grad(input=flat, other=flat)


@op(accepts=REAL, domain=(0.3, 9.0),
    grad={
        "input": lambda ct: ct,
        "other": lambda ct, input, other: -ct * floor_divide(input, other),
    })  # fmt: skip
def remainder(input: Operand, other: Operand) -> Tensor:
    """input modulo other, with the sign of `other`; integers modulo 0 are 0."""
    rest = fmod(input, other)
    if not input.dtype.is_signed:
        return rest
    crossed = (rest != 0) & ((other < 0) != (rest < 0))
    return where(crossed, rest + other, rest)


@op(signed_zeros=True, accepts=REAL, domain=(0.3, 9.0),
    grad={
        "input": lambda ct: ct,
        "other": lambda ct, input, other: -ct * trunc_divide(input, other),
    })  # fmt: skip
def fmod(input: Tensor, other: Operand) -> Tensor:
    """What truncated division leaves, with the sign of `input`; integers by 0 leave 0.

    Floats are those of C's fmod: exact, however large the quotient.
    """
    if input.dtype.is_floating_point:
        return float_fmod(input, other)
    return where(other == 0, 0, input - idiv(input, other) * other)


def _unless_zero(function: Callable[[int, int], int], of_floats: Any) -> Any:
    """An oracle: integers by Python's own, 0 where the divisor is; floats by libm's."""

    def oracle(a: Array, b: Array) -> Array:
        if np.result_type(a, b).kind == "f":
            return np.asarray(of_floats(a, b))
        return whole(lambda x, y: function(x, y) if y else 0, a, b)

    return oracle


def _truncated(x: int, y: int) -> int:
    quotient = x // y
    return quotient + 1 if quotient < 0 and quotient * y != x else quotient


@trunc_divide.oracle
def _(a: Array, b: Array, kind: Any) -> Any:
    if np.result_type(a, b).kind != "f":
        return _unless_zero(_truncated, np.trunc)(a, b)
    # The rounded quotient is cut, not the true one; 16 bits divide in float32.
    format_ = np.float32 if kind in HALF else kind.numpy
    return np.asarray(np.trunc(np.asarray(a / b).astype(format_)))


floor_divide.oracle(_unless_zero(lambda x, y: x // y, np.floor_divide))
remainder.oracle(_unless_zero(lambda x, y: x % y, np.remainder))
fmod.oracle(_unless_zero(lambda x, y: x - _truncated(x, y) * y, np.fmod))


@op(accepts=INTEGRAL, nondifferentiable=True, torch="gcd gcd_",
    oracle=lambda a, b: whole(math.gcd, a, b))  # fmt: skip
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor, not negative, by Euclid's algorithm."""
    a, b = abs(input) + other * 0, abs(other) + input * 0
    # Lamé: Euclid takes at most log_phi(2^bits) steps.
    for _ in range(math.ceil(a.dtype.itemsize * 8 / math.log2(1.618))):
        a, b = where(b == 0, a, b), where(b == 0, 0, remainder(a, b))
    return abs(a)  # the least integer has no absolute value, and stays negative above


@op(accepts=INTEGRAL, nondifferentiable=True, torch="lcm lcm_",
    oracle=lambda a, b: whole(math.lcm, a, b))  # fmt: skip
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple, not negative while it fits; 0 if either is 0."""
    return abs(idiv(input, gcd(input, other))) * abs(other)


@op(out="same", accepts=ORDERED, nondifferentiable=True, unrounded=True,
    torch="heaviside Tensor.heaviside_",
    oracle=lambda x, at_0: np.where(x == 0, at_0, x > 0).astype(x.dtype))  # fmt: skip
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below zero and for NaN, 1 above, `values` at zero."""
    one = input > 0
    step = one if input.dtype is bool_ else where(one, zeros_like(input) + 1, 0)
    return where(input == 0, values, step)


@op(accepts=ORDERED, unrounded=True,
    grad=lambda ct, input: where(input - input == 0, ct, 0))  # fmt: skip
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:  # fmt: skip
    """NaN and infinities replaced: by 0 and the dtype's extremes unless given."""
    if not input.dtype.is_floating_point:
        return clone(input)
    limits = finfo(input.dtype)
    y = where(isnan(input), 0.0 if nan is None else nan, input)
    most = limits.max if posinf is None else posinf
    y = where(input == float("inf"), most, y)
    least = limits.min if neginf is None else neginf
    return where(input == float("-inf"), least, y)


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
    yield case(make(2, 3), None, None, None)
    if make.dtype.is_floating_point:
        x = make(2, 3)
        x[0] = [np.nan, np.inf, -np.inf]
        yield case(x, 1.0, 2.0, -2.0)
