"""torch's names for arithmetic that is more than one op, or more than its operands."""

from __future__ import annotations

import builtins
from typing import Any, Final, Literal

from dovetail.dtypes import bool_, complex128, float64
from dovetail.engine.attributes import Factor, Operand, Scalar
from dovetail.engine.casts import cast_in_order
from dovetail.engine.elements import check_factor, stored
from dovetail.engine.inplace import inplace
from dovetail.engine.kinds import Kind
from dovetail.engine.promotion import result_type
from dovetail.engine.public import public
from dovetail.engine.scopes import anywhere
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError
from dovetail.ops import arithmetic as a
from dovetail.ops import bounds
from dovetail.ops import elementwise as e
from dovetail.ops import rounding as r
from dovetail.ops.formats import cast
from dovetail.ops.power import power
from dovetail.ops.quotient import refuse_zero
from dovetail.ops.transcendental import exp2
from dovetail.ops.view import contiguous

_BOTH: Final = ("input", "other")


@public("add Tensor.add_", out=True, plain=a.add, takes=_BOTH)
def add(input: Operand, other: Operand, *, alpha: Scalar = 1) -> Tensor:
    """input + alpha * other; integers wrap, the sum of bools is `or`.

    Returns: the dtype that both promote to, in their broadcast shape.

    Raises: ShapeError for shapes that do not broadcast; ArgumentError for an `alpha`
        that is no integer where the results are.

    >>> import dovetail as dt
    >>> dt.add(dt.tensor([1.0, 2.0]), dt.tensor([10.0, 20.0]), alpha=0.5)
    tensor([ 6., 12.])
    """
    return a.add(input, _scaled("add", input, other, alpha))


@public("sub subtract Tensor.sub_ Tensor.subtract_", out=True, plain=a.sub, takes=_BOTH)
def sub(input: Operand, other: Operand, *, alpha: Scalar = 1) -> Tensor:
    """input - alpha * other; integers wrap.

    Returns: the dtype that both promote to, in their broadcast shape.

    Raises: ShapeError for shapes that do not broadcast; DTypeError for bools.

    >>> torch.sub(torch.tensor([3.0]), torch.tensor([1.0]), alpha=2)
    tensor([1.])
    """
    return a.sub(input, _scaled("sub", input, other, alpha))


@public("torch.rsub")
def rsub(input: Tensor, other: Operand, *, alpha: Scalar = 1) -> Tensor:
    """other - alpha * input."""
    return a.sub(other, _scaled("rsub", other, input, alpha))


@public(
    "addcmul Tensor.addcmul_", out=True, plain=e.addcmul,
    takes=("input", "tensor1", "tensor2"),
)  # fmt: skip
def addcmul(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Factor = 1
) -> Tensor:
    """input + value * tensor1 * tensor2; of integers the value is cut to one."""
    return e.addcmul(input, tensor1, tensor2, value=value)


@public(
    "addcdiv Tensor.addcdiv_", out=True, plain=e.addcdiv,
    takes=("input", "tensor1", "tensor2"),
)  # fmt: skip
def addcdiv(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Factor = 1
) -> Tensor:
    """input + value * tensor1 / tensor2, of which one is no integer."""
    if not (tensor1.dtype.is_inexact or tensor2.dtype.is_inexact):
        raise DTypeError(
            "addcdiv", "tensor1 and tensor2",
            was=f"of {tensor1.dtype.name} and {tensor2.dtype.name}",
            needed="a floating point or complex dtype in one of them",
            remedy="cast one with .float()",
        )  # fmt: skip
    return e.addcdiv(input, tensor1, tensor2, value=value)


def _is_bool(x: Any) -> bool:
    return x.dtype is bool_ if isinstance(x, Tensor) else isinstance(x, bool)


def _scaled(name: str, input: Any, other: Any, alpha: Any) -> Any:
    if type(alpha) is int and alpha == 1:
        return other
    if name != "add" and any(_is_bool(x) for x in (input, other)):
        return other  # which the op refuses
    target = result_type((input, other))
    check_factor(name, "alpha", target, alpha)
    if alpha == 1:
        return other
    if isinstance(other, Tensor) and other.dtype is not target:
        other = cast(other, target)  # so that alpha is of the result's dtype
    return other * alpha


@public("div divide Tensor.div_ Tensor.divide_", out=True)
def div(
    input: Operand, other: Operand, *,
    rounding_mode: Literal["trunc", "floor"] | None = None,
) -> Tensor:  # fmt: skip
    """input / other: exact, towards zero (`"trunc"`) or down (`"floor"`).

    Returns: floats, or with a `rounding_mode` the dtype that both promote to.

    Raises: ShapeError for shapes that do not broadcast; DivisionByZero for integers
        that are divided by 0.

    >>> import dovetail as dt
    >>> dt.div(dt.tensor([7, -7]), 2, rounding_mode="floor")
    tensor([ 3, -4])
    """
    if rounding_mode is None:
        return a.div(input, other)
    refuse_zero("div", input, other)
    if rounding_mode == "trunc":
        return r.trunc_divide(input, other)
    if rounding_mode == "floor":
        return r.floor_divide(input, other)
    raise ArgumentError(
        "div", "rounding_mode", was=repr(rounding_mode),
        needed="None, 'trunc' or 'floor'",
    )  # fmt: skip


@public("pow Tensor.pow_", out=True)
def pow(input: Operand, exponent: Operand) -> Tensor:
    """`input` to the power of `exponent`; integers wrap, exponents have to fit.

    Returns: the dtype that both promote to, in their broadcast shape.

    Raises: ArgumentError for integers to a negative number.

    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    base: Any = input  # of a number, the powers lie in rows
    y = power(base, exponent)
    return y if isinstance(base, Tensor) else contiguous(y)


@public("float_power", out=True)
def float_power(input: Operand, exponent: Operand) -> Tensor:
    """`input` to the power of `exponent`, computed in float64 or complex128."""
    return power(_double(input), _double(exponent))


@public("Tensor.float_power_")
def float_power_(input: Tensor, exponent: Operand) -> Tensor:
    """`float_power` written into the tensor, which has its dtype already."""
    y = float_power(input, exponent)
    if y.dtype is not input.dtype:
        raise DTypeError(
            "float_power_", "input", was=input.dtype.name,
            needed=f"{y.dtype.name}, the dtype of the result",
        )  # fmt: skip
    return inplace("float_power_", float_power, input, exponent)


def _double(x: Any) -> Any:
    if not isinstance(x, Tensor):
        return stored("float_power", complex128 if type(x) is complex else float64, x)
    return cast_in_order(x, complex128 if x.dtype.is_complex else float64)


@public("ldexp ldexp_", out=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2 ** other; integers become floats."""
    if input.dtype.is_floating_point and not other.dtype.is_inexact:
        other = cast(other, input.dtype)  # whose width the result has
    return a.mul(input, contiguous(exp2(other)))


@public("positive")
def positive(input: Tensor) -> Tensor:
    """`input` itself, which may not be bool."""
    return +input


@public("round round_", out="same")
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer or multiple of 10 ** -decimals, halves to even."""
    if not decimals:
        return r.round(input)
    if not input.dtype.is_floating_point:
        raise DTypeError(
            "round", "input", was=input.dtype.name,
            needed="floats where decimals are given",
        )  # fmt: skip
    scale = 10.0 ** builtins.abs(decimals)
    if decimals > 0:
        return r.round(input * scale) / scale
    return r.round(input / scale) * scale


@public("clamp clip clamp_ clip_", out="same")
def clamp(
    input: Tensor, min: Operand | None = None, max: Operand | None = None
) -> Tensor:
    """`input` raised to `min`, then lowered to `max`: numbers, tensors or None.

    Raises:
        ArgumentError: neither bound is given.

    >>> import dovetail as dt
    >>> dt.clamp(dt.tensor([-1.0, 0.5, 9.0]), min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise ArgumentError(
            "clamp", "min and max", was="None", needed="at least one of them"
        )
    return _bounded("clamp", input, min, max)


@public("clamp_min clamp_min_", out="same")
def clamp_min(input: Tensor, min: Operand) -> Tensor:
    """`input` raised to `min`."""
    return _bounded("clamp_min", input, min, None)


@public("clamp_max clamp_max_", out="same")
def clamp_max(input: Tensor, max: Operand) -> Tensor:
    """`input` lowered to `max`."""
    return _bounded("clamp_max", input, None, max)


def _bounded(name: str, x: Tensor, low: Any, high: Any) -> Tensor:
    """By the op, where both bounds are of one sort and numbers fit the result."""
    if type(x) is Tensor and not anywhere[0] and _is_small(low) and _is_small(high):
        kind = x._kind
        if kind.dtype is not bool_:
            return bounds.clamp(x, _of_kind(kind, low), _of_kind(kind, high))
    if isinstance(low, Tensor) != isinstance(high, Tensor) and None not in (low, high):
        low, high = _number(low), _number(high)
    given = {k: v for k, v in (("min", low), ("max", high)) if v is not None}
    numbers = {k: v for k, v in given.items() if not isinstance(v, Tensor)}
    for key, bound in numbers.items():
        if len(numbers) < len(given):
            raise ArgumentTypeError(
                name, key, was=repr(bound), needed="a Tensor, as the other bound is"
            )
        if x.dtype is bool_ or not _is_small(bound):
            stored(name, result_type((x, *numbers.values())), bound, key)
    return bounds.clamp(x, low, high)


def _number(bound: Any) -> Any:
    """The number that a tensor without dims is, where the other bound is a number."""
    plain = isinstance(bound, Tensor) and not bound.ndim and not bound.requires_grad
    return bound.item() if plain else bound


def _is_small(bound: Any) -> bool:
    """Whether a bound is absent, or a number that fits every dtype but bool."""
    if bound is None:
        return True
    return (type(bound) is int or type(bound) is float) and -128 < bound < 128


def _of_kind(kind: Kind, bound: Any) -> Any:
    """A number that leaves the dtype as a tensor, with which a call is remembered."""
    if bound is None:
        return None
    numbers = kind.scalars.get(type(bound))
    return bound if numbers is None else wrap(numbers[bound], kind)
