"""Signs, roots, powers, and sums of products."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from dovetail.dtypes import (
    BOOL,
    COMPLEX,
    FLOAT,
    INEXACT,
    INTEGRAL,
    NUMERIC,
    ORDERED,
    Array,
    bool_,
    int64,
)
from dovetail.engine.attributes import Factor, Operand, Weight
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.exact import exact, whole
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import (
    bitwise_and,
    div,
    eq,
    exponential_rule,
    float_pow,
    idiv,
    lt,
    maximum,
    mul,
    power_rule,
    sqrt,
)
from dovetail.ops.create import zeros_like
from dovetail.ops.formats import cast, clone, conj, where


def flat(ct: Tensor) -> Tensor:
    """The gradient of what is constant almost everywhere."""
    return zeros_like(ct)


@op(signed_zeros=True, out="same", accepts=NUMERIC, torch="neg negative neg_ negative_",
    oracle=exact(lambda m, x: -x, lambda x: -x), grad=lambda ct: -ct)  # fmt: skip
def neg(input: Tensor) -> Tensor:
    """-input; integers wrap."""
    return mul(input, -1)


@op(signed_zeros=True, out="same", accepts=NUMERIC, result=lambda d, a: d[0].real,
    torch="abs absolute abs_ Tensor.absolute_",
    oracle=exact(lambda m, x: np.abs(x), builtins.abs))  # fmt: skip
def abs(input: Tensor) -> Tensor:
    """The magnitude; the smallest integer wraps to itself.

    Returns: the dtype of `input`; of complex numbers that of their parts.

    Raises: DTypeError for bools.

    >>> import dovetail as dt
    >>> dt.abs(dt.tensor([-1.5, 0.0, 2.0]))
    tensor([1.5000, 0.0000, 2.0000])
    """
    if input.dtype.is_complex:
        return _modulus(input)
    if not input.dtype.is_signed:
        return clone(input)
    return where(lt(0, input), input, 0 - input)


def _modulus(x: Tensor) -> Tensor:
    real, imag = (abs(cast(p, x.dtype.real)) for p in (x, x * -1j))
    large = maximum(real, imag)
    safe = where(eq(large, 0), 1, large)
    a, b = real / safe, imag / safe
    return sqrt(a * a + b * b) * large


def _sign(x: Array) -> Array:
    return np.where(x > 0, 1, np.where(x < 0, -1, 0)).astype(x.dtype)


@op(out="same", accepts=ORDERED, unrounded=True, torch="sign Tensor.sign_",
    oracle=_sign, grad=flat)  # fmt: skip
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; 0 for NaN. Bools are unchanged."""
    if input.dtype is bool_:
        return clone(input)
    return cast(lt(0, input), input.dtype) - cast(lt(input, 0), input.dtype)


@op(out="same", accepts=ORDERED | COMPLEX, torch="sgn Tensor.sgn_",
    oracle=lambda x: x / np.where(x == 0, 1, np.abs(x)) if x.dtype.kind == "c"
    else _sign(x))  # fmt: skip
def sgn(input: Tensor) -> Tensor:
    """The sign; input / |input| for complex numbers, 0 at 0."""
    if not input.dtype.is_complex:
        return sign(input)
    size = abs(input)
    return where(eq(size, 0), 0, input / where(eq(size, 0), 1, size))


abs.grad(input=lambda ct, input: ct * sgn(input))


def _square_dtype(dtypes: Any, attrs: Any) -> Any:
    return int64 if dtypes[0] is bool_ else dtypes[0]


@op(accepts=NUMERIC | BOOL, result=_square_dtype, torch="square square_",
    oracle=exact(lambda m, x: x * x, lambda x: x * x),
    grad=lambda ct, input: ct * (conj(input) * 2))  # fmt: skip
def square(input: Tensor) -> Tensor:
    """input * input; integers wrap, bools count as int64."""
    if input.dtype is bool_:
        return cast(input, int64)
    return mul(input, input)


@op(accepts=NUMERIC, oracle=exact(lambda m, x: x * x * x, lambda x: x * x * x),
    grad=lambda ct, input: ct * (square(conj(input)) * 3))  # fmt: skip
def cube(input: Tensor) -> Tensor:
    """input * input * input, in this order; integers wrap. `input**3` is this."""
    return square(input) * input


@op(accepts=INEXACT, promote="float", domain=(0.2, 3.0), torch="reciprocal reciprocal_",
    oracle=exact(lambda m, x: 1 / x),
    grad=lambda ct, y: ct * neg(conj(square(y))))  # fmt: skip
def reciprocal(input: Tensor) -> Tensor:
    """1 / input."""
    return div(1, input)


@op(accepts=INEXACT, promote="float", domain=(0.2, 9.0), torch="rsqrt rsqrt_",
    oracle=exact(lambda m, x: 1 / m.sqrt(x)),
    grad=lambda ct, y: ct * (square(conj(y)) * conj(y) * -0.5))  # fmt: skip
def rsqrt(input: Tensor) -> Tensor:
    """1 / sqrt(input)."""
    return div(1, sqrt(input))


def _integer_power(x: int, n: int, bits: int) -> int:
    """Modulo 2^bits; to a negative power 1 / x^-n, towards zero."""
    if n < 0:
        x, n = x if x in (1, -1) else 0, -n
    return builtins.pow(x, n, 1 << bits)


@op(accepts=NUMERIC, domain=(0.3, 3.0), undefined_on=("great",))
def pow(input: Operand, exponent: Operand) -> Tensor:
    """`input` to the power of `exponent`; integers wrap, 1 / n truncates."""
    if input.dtype.is_inexact:
        return float_pow(input, exponent)
    return _by_squaring(input, exponent)


def _by_squaring(a: Tensor, b: Tensor) -> Tensor:
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


pow.grad(
    input=lambda ct, input, exponent: power_rule(ct, input, exponent, pow),
    exponent=exponential_rule,
)


@pow.oracle
def _(a: Array, b: Array) -> Any:
    if a.dtype.kind not in "iu":
        return exact("pow")(a, b)
    bits = a.dtype.itemsize * 8
    return whole(lambda x, n: _integer_power(x, n, bits), a, b)


def _lerp(m: Any, a: Any, b: Any, weight: Any) -> Any:
    return np.where(
        np.abs(weight) < 0.5, a + weight * (b - a), b - (b - a) * (1 - weight)
    )


@op(out="same", cancels=True, sums=True, accepts=INEXACT, torch="lerp Tensor.lerp_",
    oracle=exact(_lerp),
    grad={
        "input": lambda ct, weight: ct * conj(1 - weight),
        "end": lambda ct, weight: ct * conj(weight),
        "weight": lambda ct, input, end: ct * conj(end - input),
    })  # fmt: skip
def lerp(input: Tensor, end: Tensor, weight: Weight) -> Tensor:
    """input + weight * (end - input), which is exactly `end` where the weight is 1.

    >>> import dovetail as dt
    >>> dt.lerp(dt.tensor([0.0, 10.0]), dt.tensor([1.0, 20.0]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    step = end - input
    near_input = lt(abs(weight), 0.5)
    return where(near_input, input + weight * step, end - step * (1 - weight))


def _scaled(ct: Tensor, value: Any) -> Tensor:
    """`ct` times the conjugate of a number."""
    if value == 1:
        return ct
    return ct * (value.conjugate() if isinstance(value, complex) else value)


@op(sums=True, accepts=NUMERIC,
    oracle=exact(lambda m, x, a, b, value=1: x + value * a * b,
                 lambda x, a, b, value=1: x + int(value) * a * b),
    grad={
        "input": lambda ct: ct,
        "tensor1": lambda ct, tensor2, value: _scaled(ct, value) * conj(tensor2),
        "tensor2": lambda ct, tensor1, value: _scaled(ct, value) * conj(tensor1),
    })  # fmt: skip
def addcmul(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Factor = 1
) -> Tensor:
    """input + value * tensor1 * tensor2; of integers the value is cut to one."""
    product = tensor1 * tensor2
    if product.dtype in INTEGRAL:
        value = int(value.real)
    return input + product * value


def _divisor_rule(ct: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    c = conj(tensor2)
    return neg(_scaled(ct, value) / c) * conj(tensor1 / tensor2)


@op(accepts=INEXACT, domain=(0.3, 3.0),
    oracle=exact(lambda m, x, a, b, value=1: x + value * (a / b)),
    grad={
        "input": lambda ct: ct,
        "tensor1": lambda ct, tensor2, value: _scaled(ct, value) / conj(tensor2),
        "tensor2": _divisor_rule,
    })  # fmt: skip
def addcdiv(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Factor = 1
) -> Tensor:
    """input + value * tensor1 / tensor2."""
    quotient = tensor1 / tensor2
    return input + quotient * value


@addcmul.cases
@addcdiv.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), make(2, 3), make(2, 3))
    yield case(make(2, 3), make(3), make(2, 1), value=2)
    yield case(make(), make(), make(), value=-1 if make.dtype.is_signed else 3)
    yield case(make(3), make(3), make(3), value=2.75)


@op(signed_zeros=True, accepts=FLOAT, promote="float", torch="deg2rad deg2rad_",
    oracle=exact(lambda m, x: x * (m.pi / 180)))  # fmt: skip
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""
    return input * (math.pi / 180)


@op(signed_zeros=True, accepts=FLOAT, promote="float", torch="rad2deg rad2deg_",
    oracle=exact(lambda m, x: x * (180 / m.pi)))  # fmt: skip
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""
    return input * (180 / math.pi)
