"""Elementwise functions of the array API standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import frontend as f
from dovetail.array_api.arrays import conforming, floor_quotient, promoted
from dovetail.dtypes import bool_
from dovetail.engine.tensor import Tensor
from dovetail.frontend import logaddexp as logarithms
from dovetail.frontend.complex import complex_
from dovetail.ops import search

Function = Callable[..., Any]


def _of_one(name: str, compute: Function) -> Function:
    def function(x: Any, /) -> Any:
        return compute(x)

    return _named(name, function, compute)


def _of_two(name: str, compute: Function) -> Function:
    def function(x1: Any, x2: Any, /) -> Any:
        return compute(*promoted(x1, x2))

    return _named(name, function, compute)


def _named(name: str, function: Function, compute: Function) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = compute.__doc__
    return conforming(function)


def _of_floats(compute: Function) -> Function:
    """Integers are rounded already."""

    def function(x: Tensor) -> Any:
        """Round, leaving integers as they are."""
        return compute(x) if x.dtype.is_inexact else x.clone()

    return function


def _imag(x: Tensor) -> Any:
    """The imaginary part; 0 of real numbers."""
    return f.imag(x) if x.dtype.is_complex else f.zeros_like(x)


def _round(x: Tensor) -> Any:
    """The nearest integer, even at ties; of complex numbers, of both parts."""
    if x.dtype.is_complex:
        return complex_(f.round(f.real(x)), f.round(f.imag(x)))
    return f.round(x)


def _sign(x: Tensor) -> Any:
    """The direction from 0: of real numbers -1, 0 or 1; NaN of NaN."""
    found = f.sgn(x)
    return f.where(f.isnan(x), x, found) if x.dtype.is_floating_point else found


def _expm1(x: Tensor) -> Any:
    """exp(x) - 1; what is infinite is as exp has it."""
    if not x.dtype.is_complex:
        return f.expm1(x)
    found = f.where(f.isfinite(x), f.expm1(x), f.exp(x) - 1)
    return complex_(f.real(found) + 0.0, f.imag(found))  # never -0


def _log1p(x: Tensor) -> Any:
    """log(1 + x); what is infinite is as log has it."""
    if not x.dtype.is_complex:
        return f.log1p(x)
    return f.where(f.isfinite(x), f.log1p(x), f.log(x + 1))


def _tanh(x: Tensor) -> Any:
    """Hyperbolic tangents; the imaginary part vanishes where the real is infinite."""
    if not x.dtype.is_complex:
        return f.tanh(x)
    one = f.ones_like(f.real(x))
    limit = complex_(f.copysign(one, f.real(x)), f.copysign(one - one, f.imag(x)))
    at_limit = f.isinf(f.real(x)) & f.isfinite(f.imag(x))
    return f.where(at_limit, limit, f.tanh(x))


abs = _of_one("abs", f.abs)
acos = _of_one("acos", f.acos)
acosh = _of_one("acosh", f.acosh)
add = _of_two("add", f.add)
asin = _of_one("asin", f.asin)
asinh = _of_one("asinh", f.asinh)
atan = _of_one("atan", f.atan)
atan2 = _of_two("atan2", f.atan2)
atanh = _of_one("atanh", f.atanh)
bitwise_and = _of_two("bitwise_and", f.bitwise_and)
bitwise_invert = _of_one("bitwise_invert", f.bitwise_not)
bitwise_left_shift = _of_two("bitwise_left_shift", f.bitwise_left_shift)
bitwise_or = _of_two("bitwise_or", f.bitwise_or)
bitwise_right_shift = _of_two("bitwise_right_shift", f.bitwise_right_shift)
bitwise_xor = _of_two("bitwise_xor", f.bitwise_xor)
ceil = _of_one("ceil", _of_floats(f.ceil))
conj = _of_one("conj", f.conj)
copysign = _of_two("copysign", f.copysign)
cos = _of_one("cos", f.cos)
cosh = _of_one("cosh", f.cosh)
divide = _of_two("divide", f.divide)
equal = _of_two("equal", f.eq)
exp = _of_one("exp", f.exp)
expm1 = _of_one("expm1", _expm1)
floor = _of_one("floor", _of_floats(f.floor))
floor_divide = _of_two("floor_divide", floor_quotient)
greater = _of_two("greater", f.gt)
greater_equal = _of_two("greater_equal", f.ge)
hypot = _of_two("hypot", f.hypot)
imag = _of_one("imag", _imag)
isfinite = _of_one("isfinite", f.isfinite)
isinf = _of_one("isinf", f.isinf)
isnan = _of_one("isnan", f.isnan)
less = _of_two("less", f.lt)
less_equal = _of_two("less_equal", f.le)
log = _of_one("log", f.log)
log10 = _of_one("log10", f.log10)
log1p = _of_one("log1p", _log1p)
log2 = _of_one("log2", f.log2)
logaddexp = _of_two("logaddexp", logarithms.logaddexp)
logical_and = _of_two("logical_and", f.logical_and)
logical_not = _of_one("logical_not", f.logical_not)
logical_or = _of_two("logical_or", f.logical_or)
logical_xor = _of_two("logical_xor", f.logical_xor)
maximum = _of_two("maximum", f.maximum)
minimum = _of_two("minimum", f.minimum)
multiply = _of_two("multiply", f.multiply)
negative = _of_one("negative", f.neg)
nextafter = _of_two("nextafter", f.nextafter)
not_equal = _of_two("not_equal", f.ne)
positive = _of_one("positive", f.clone)
pow = _of_two("pow", f.pow)
real = _of_one("real", f.real)
reciprocal = _of_one("reciprocal", f.reciprocal)
remainder = _of_two("remainder", f.remainder)
round = _of_one("round", _round)
sign = _of_one("sign", _sign)
signbit = _of_one("signbit", f.signbit)
sin = _of_one("sin", f.sin)
sinh = _of_one("sinh", f.sinh)
sqrt = _of_one("sqrt", f.sqrt)
square = _of_one("square", f.square)
subtract = _of_two("subtract", f.sub)
tan = _of_one("tan", f.tan)
tanh = _of_one("tanh", _tanh)
trunc = _of_one("trunc", _of_floats(f.trunc))


@conforming
def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Each element brought between `min` and `max`, each a number, an array or None."""
    found = x if min is None else f.maximum(x, _bound(x, min))
    found = found if max is None else f.minimum(found, _bound(x, max))
    return found.clone() if found is x else found


def _bound(x: Any, bound: Any) -> Any:
    """A bound in the dtype of `x`."""
    if isinstance(bound, Tensor):
        return bound.to(x.dtype)
    return f.full((), bound, dtype=x.dtype, device=x.device)


@conforming
def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Elements of `x1` where the condition holds, of `x2` elsewhere."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        return f.where(condition, x1, x2)
    return f.where(condition, *promoted(x1, x2))


@conforming
def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Whether each element of `x1` is one of `x2`."""
    x1, x2 = promoted(x1, x2)
    if not x2.numel():
        return f.full_like(x1, invert, dtype=bool_)
    found = search.isin(x1, x2)
    return f.logical_not(found) if invert else found
