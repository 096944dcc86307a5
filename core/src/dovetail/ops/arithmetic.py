"""Level 0: arithmetic, comparison, bits, and the elementary functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import (
    ANY,
    BITS,
    FLOAT,
    HALF,
    INEXACT,
    INTEGRAL,
    NUMERIC,
    ORDERED,
    REAL,
    STORED,
    Array,
    bool_,
    float32,
)
from dovetail.engine.attributes import Operand
from dovetail.engine.cases import case, distinct, ints, values
from dovetail.engine.declare import op
from dovetail.engine.exact import exact, whole
from dovetail.engine.tensor import Tensor
from dovetail.ops.formats import absent, cast, clone, conj, where


@op(of_numbers=True,
    signed_zeros=True, sums=True, accepts=ANY, primitive=NUMERIC,
    oracle=exact(lambda m, a, b: a + b, lambda a, b: a + b),
    grad={"input": lambda ct: ct, "other": lambda ct: ct})  # fmt: skip
def add(input: Operand, other: Operand) -> Tensor:
    """input + other; integers wrap, the sum of bools is `or`."""
    return input | other


@op(of_numbers=True,
    signed_zeros=True, sums=True, accepts=NUMERIC, each=True, primitive=NUMERIC,
    oracle=exact(lambda m, a, b: a - b, lambda a, b: a - b),
    grad={"input": lambda ct: ct, "other": lambda ct: -ct})  # fmt: skip
def sub(input: Operand, other: Operand) -> Tensor:
    """input - other; integers wrap."""
    absent("sub")


@op(of_numbers=True,
    signed_zeros=True, sums=True, accepts=ANY, primitive=NUMERIC,
    torch="mul multiply Tensor.mul_ Tensor.multiply_",
    oracle=exact(lambda m, a, b: a * b, lambda a, b: a * b),
    grad={
        "input": lambda ct, other: ct * conj(other),
        "other": lambda ct, input: ct * conj(input),
    })  # fmt: skip
def mul(input: Operand, other: Operand) -> Tensor:
    """input * other; integers wrap, the product of bools is `and`.

    Returns: the dtype that both promote to, in their broadcast shape.

    Raises: ShapeError for shapes that do not broadcast.

    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """
    return input & other


def _of_divisor(ct: Tensor, input: Tensor, other: Tensor) -> Tensor:
    """Less the quotient over the divisor, which on the way may leave 16 bits."""
    dtype = other._kind.dtype
    if dtype in HALF:
        wide = (cast(x, float32) for x in (ct, input, other))
        return cast(_of_divisor(*wide), dtype)
    return -ct * conj((input / other) / other)


@op(of_numbers=True,
    signed_zeros=True, accepts=INEXACT, primitive=INEXACT, promote="float",
    torch="true_divide Tensor.true_divide_", oracle=exact(lambda m, a, b: a / b),
    grad={
        "input": lambda ct, other: ct / conj(other),
        "other": _of_divisor,
    })  # fmt: skip
def div(input: Operand, other: Operand) -> Tensor:
    """input / other, at most 2.5 ulp; IEEE 754 at 0; integers have become floats."""
    absent("div")


def _truncated_quotient(x: int, y: int) -> int:
    if not y:
        return 0
    size = abs(x) // abs(y)
    return size if (x < 0) == (y < 0) else -size


@op(accepts=INTEGRAL, primitive=INTEGRAL, nondifferentiable=True,
    oracle=lambda a, b: whole(_truncated_quotient, a, b))  # fmt: skip
def idiv(input: Operand, other: Operand) -> Tensor:
    """Integer quotient, truncated; MIN / -1 wraps, n / 0 is 0 and does not trap."""
    absent("idiv")


@op(signed_zeros=True, accepts=FLOAT, primitive=FLOAT, promote="float",
    oracle=exact(lambda m, a, b: np.fmod(a, b)),
    grad={
        "input": lambda ct: ct,
        "other": lambda ct, input, other: -ct * trunc_quotient(input, other),
    })  # fmt: skip
def float_fmod(input: Operand, other: Operand) -> Tensor:
    """Remainder with the sign of `input`: a - trunc(a / b) * b, unrounded."""
    absent("float_fmod")


@float_fmod.cases
def _(make: Any) -> Any:
    for a, b in (((2, 3), (2, 3)), ((2, 1, 4), (3, 1)), ((), ()), ((0, 3), (1, 3))):
        yield case(make(*a), make(*b, low=1, high=3))


def trunc_quotient(a: Tensor, b: Tensor) -> Tensor:
    """a / b rounded towards zero, from the exact remainder."""
    return (a - float_fmod(a, b)) / b


@op(signed_zeros=True,
    out="same", accepts=REAL, primitive=FLOAT, unrounded=True, torch="floor floor_",
    oracle=lambda x: np.floor(x).astype(x.dtype),
    grad=lambda ct: _flat(ct))  # fmt: skip
def floor(input: Tensor) -> Tensor:
    """The greatest integer not above; -0 stays, as integers do."""
    return clone(input)


@op(accepts=ORDERED, primitive=REAL, unrounded=True, torch="maximum", oracle=np.maximum,
    grad={
        "input": lambda ct, input, other: _share(ct, input, other),
        "other": lambda ct, input, other: _share(ct, other, input),
    })  # fmt: skip
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The greater of each pair; NaN if either is NaN.

    Returns: the dtype that both promote to, in their broadcast shape.

    Raises: ShapeError for shapes that do not broadcast, DTypeError for complex numbers.

    >>> torch.maximum(torch.tensor([1, 5]), torch.tensor([3, 2]))
    tensor([3, 5])
    """
    return input | other


def _flat(ct: Tensor) -> Tensor:
    """0 whatever comes in, as 0 times infinity is not: no number is below itself."""
    return where(lt(ct, ct), ct, 0)


def _share(ct: Tensor, mine: Tensor, theirs: Tensor) -> Tensor:
    """All of `ct` where `mine` is greater, half at ties; as in torch, all for NaN."""
    return where(eq(mine, theirs), ct / 2, where(lt(mine, theirs), 0, ct))


@op(accepts=ORDERED, primitive=ORDERED, result=bool_, nondifferentiable=True,
    torch="lt less Tensor.lt_ Tensor.less_", oracle=lambda a, b: a < b)  # fmt: skip
def lt(input: Tensor, other: Operand) -> Tensor:
    """Whether input < other; NaN compares false."""
    absent("lt")


@op(accepts=STORED, primitive=STORED, result=bool_, nondifferentiable=True,
    torch="eq Tensor.eq_", oracle=lambda a, b: a == b)  # fmt: skip
def eq(input: Tensor, other: Operand) -> Tensor:
    """Whether input equals other; NaN compares false."""
    absent("eq")


@op(accepts=BITS, primitive=BITS, nondifferentiable=True,
    torch="bitwise_and Tensor.bitwise_and_",
    oracle=lambda a, b: whole(lambda x, y: x & y, a, b))  # fmt: skip
def bitwise_and(input: Operand, other: Operand) -> Tensor:
    """Bitwise and."""
    absent("bitwise_and")


@op(accepts=BITS, primitive=BITS, nondifferentiable=True,
    torch="bitwise_xor Tensor.bitwise_xor_",
    oracle=lambda a, b: whole(lambda x, y: x ^ y, a, b))  # fmt: skip
def bitwise_xor(input: Operand, other: Operand) -> Tensor:
    """Bitwise exclusive or."""
    absent("bitwise_xor")


@op(accepts=INTEGRAL, primitive=INTEGRAL, nondifferentiable=True,
    oracle=lambda a, b: whole(lambda x, n: x << n, a, _by(b)))  # fmt: skip
def shift_left(input: Tensor, other: Tensor) -> Tensor:
    """`input` shifted left by 0 <= other < width bits."""
    absent("shift_left")


def _logical_shift(a: Array, b: Array) -> Array:
    mask = (1 << (a.dtype.itemsize * 8)) - 1
    return whole(lambda x, n: (x & mask) >> n, a, _by(b))


def _by(b: Array) -> Array:
    """How far elements are shifted, where that means something."""
    if np.any((b < 0) | (b >= b.dtype.itemsize * 8)):
        raise ValueError("elements are shifted by less than their width")
    return b


@op(accepts=INTEGRAL, primitive=INTEGRAL, nondifferentiable=True,
    oracle=_logical_shift)  # fmt: skip
def shift_right(input: Tensor, other: Tensor) -> Tensor:
    """`input` shifted right by 0 <= other < width bits, zeros coming in (logical)."""
    absent("shift_right")


@shift_left.cases
@shift_right.cases
def _(make: Any) -> Any:
    width = make.dtype.itemsize * 8
    counts = ints(3, 4, high=width, dtype=make.dtype.name)
    yield distinct(3, 4), counts
    yield values(4, low=-128, high=127), counts
    yield distinct(2, 1), np.array([0, width - 1], make.dtype.numpy)


@op(signed_zeros=True,
    accepts=INEXACT, primitive=INEXACT, promote="float", domain=(0.0, 9.0),
    torch="sqrt sqrt_", oracle=exact("sqrt"),
    grad=lambda ct, y: ct / (2 * conj(y)))  # fmt: skip
def sqrt(input: Tensor) -> Tensor:
    """Square root, at most 3 ulp; NaN below zero.

    Returns: floats; integers and bools become the default dtype.

    >>> torch.sqrt(torch.tensor([4.0, 2.0]))
    tensor([2.0000, 1.4142])
    """
    absent("sqrt")


@op(accepts=INEXACT, primitive=INEXACT, promote="float", torch="exp exp_",
    oracle=exact("exp"), grad=lambda ct, y: ct * conj(y))  # fmt: skip
def exp(input: Tensor) -> Tensor:
    """e to the power of `input`, at most 3 ulp.

    Returns: floats; integers and bools become the default dtype.

    >>> torch.exp(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """
    absent("exp")


@op(accepts=INEXACT, primitive=INEXACT, promote="float", domain=(0.1, 9.0),
    torch="log log_", oracle=exact("log"),
    grad=lambda ct, input: ct / conj(input))  # fmt: skip
def log(input: Tensor) -> Tensor:
    """Natural logarithm, at most 3 ulp; -inf at 0, NaN below.

    Returns: floats; integers and bools become the default dtype.

    >>> torch.log(torch.tensor([1.0, 0.0]))
    tensor([0., -inf])
    """
    absent("log")


@op(signed_zeros=True,
    accepts=INEXACT, primitive=INEXACT, promote="float", torch="sin sin_",
    oracle=exact("sin"))  # fmt: skip
def sin(input: Tensor) -> Tensor:
    """Sine of `input` in radians, at most 4 ulp."""
    absent("sin")


@op(accepts=INEXACT, primitive=INEXACT, promote="float", torch="cos cos_",
    oracle=exact("cos"), grad=lambda ct, input: -ct * conj(sin(input)))  # fmt: skip
def cos(input: Tensor) -> Tensor:
    """Cosine of `input` in radians, at most 4 ulp."""
    absent("cos")


sin.grad(input=lambda ct, input: ct * conj(cos(input)))


# exp(b log a) of complex numbers loses the digits that log a has before its point.
@op(accepts=INEXACT, primitive=INEXACT, promote="float", domain=(0.1, 3.0),
    undefined_on=("great",), oracle=exact("pow"))  # fmt: skip
def float_pow(input: Operand, other: Operand) -> Tensor:
    """`input` to the power of `other`, at most 16 ulp; IEEE 754 at special points."""
    absent("float_pow")


def power_rule(ct: Tensor, base: Tensor, exponent: Tensor, power: Any) -> Tensor:
    """The gradient of a base: n x^(n - 1), which is 0 and not NaN where n is 0."""
    slope = exponent * power(base, exponent - 1)
    return ct * where(eq(exponent, 0), 0, conj(slope))


def exponential_rule(ct: Tensor, input: Tensor, y: Tensor) -> Tensor:
    """The gradient of an exponent: y log(x), which is 0 where x is 0."""
    zero = eq(input, 0)
    return ct * conj(where(zero, 0, y * log(where(zero, 1, input))))


float_pow.grad(
    input=lambda ct, input, other: power_rule(ct, input, other, float_pow),
    other=exponential_rule,
)
