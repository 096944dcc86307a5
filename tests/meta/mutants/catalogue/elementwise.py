"""Kernels that are wrong in single elements: NaN, signs, ties, overflow, precision."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np
from tests.meta.mutants.mutant import Mutant, after, instead, kernel
from tests.meta.mutants.operators import inexact

import dovetail as dt
from dovetail.conformance.subject import Subject

Array = np.ndarray[Any, Any]


def _is_float(a: Array) -> bool:
    return inexact(a) and a.dtype.kind != "c"


def _clean(a: Array) -> Array:
    """Without NaN."""
    return np.where(np.isnan(a), 0, a).astype(a.dtype) if inexact(a) else a


def _half_away(y: Array, a: Array, **_: Any) -> Array:
    if not _is_float(a):
        return y
    return (np.sign(a) * np.floor(np.abs(a) + a.dtype.type(0.5))).astype(a.dtype)


def _truncating_cast(y: Array, a: Array, dtype: Any = None, **_: Any) -> Array:
    """float32 to bfloat16 by dropping the low bits."""
    if y.dtype == ml_dtypes.bfloat16 and a.dtype == np.float32:
        high = np.ascontiguousarray(a).view(np.uint32) >> 16
        return high.astype(np.uint16).view(ml_dtypes.bfloat16).reshape(a.shape)
    return y


def _rounding_cast(y: Array, a: Array, dtype: Any = None, **_: Any) -> Array:
    if _is_float(a) and y.dtype.kind == "i":
        fits = np.isfinite(a) & (np.abs(a.astype(np.float64)) < 100)
        return np.where(fits, np.round(np.where(fits, a, 0)), y).astype(y.dtype)
    return y


def _cast_to_bool(y: Array, a: Array, dtype: Any = None, **_: Any) -> Array:
    if y.dtype == bool and _is_float(a):
        return np.asarray(np.trunc(np.nan_to_num(a.astype(np.float64))) != 0)
    return y


def _through_doubles(y: Array, a: Array, b: Array) -> Array:
    """64-bit integers compared as float64."""
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return np.asarray(a.astype(np.float64) == b.astype(np.float64))
    return y


def _flushed(y: Array, *natives: Array, **_: Any) -> Array:
    if y.dtype != np.float32:
        return y
    tiny = np.finfo(np.float32).smallest_normal
    return np.where(np.abs(y) < tiny, np.float32(0), y)


def _logical_shift(y: Array, a: Array, b: Array) -> Array:
    if a.dtype != np.int32:
        return y
    count = np.clip(b, 0, 31).astype(np.uint32)
    return (a.view(np.uint32) >> count).view(np.int32) if a.ndim else y


def _crude_erf(y: Array, a: Array) -> Array:
    """A formula of five digits (Abramowitz and Stegun 7.1.25)."""
    x = np.abs(a.astype(np.float64))
    t = 1 / (1 + 0.47047 * x)
    made = 1 - (0.3480242 * t - 0.0958798 * t**2 + 0.7478556 * t**3) * np.exp(-x * x)
    return np.where(np.isfinite(x), np.copysign(made, a), y).astype(a.dtype)


def _clipped_exp(y: Array, a: Array) -> Array:
    """Underflows too soon."""
    return np.where(a < -20, 0, y).astype(y.dtype) if _is_float(y) else y


def _low_log1p(a: Array) -> Array:
    return np.log(a + a.dtype.type(1))


def _naive_hypot(a: Array, b: Array) -> Array:
    return np.sqrt(a * a + b * b)


def _truncated_division(y: Array, a: Array, b: Array) -> Array:
    if a.dtype.kind != "i" or b.dtype.kind != "i" or not np.all(b):
        return y
    return np.asarray(np.trunc(a / b)).astype(y.dtype)


def _sign_of_dividend(y: Array, a: Array, b: Array) -> Array:
    return np.fmod(a, b).astype(y.dtype) if _is_float(y) else y


def _tanh_gelu(y: Array, a: Array, approximate: str = "none") -> Array:
    x = a.astype(np.float64)
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return (0.5 * x * (1 + np.tanh(inner))).astype(a.dtype)


def _infinity_by_zero(y: Array, a: Array, b: Array) -> Array:
    """0 / 0 is taken for an overflow."""
    return np.where(np.isnan(y) & (b == 0), np.inf, y).astype(y.dtype) if inexact(
        y
    ) else y  # fmt: skip


def _swapped_choice(y: Array, c: Array, a: Array, b: Array) -> Array:
    """A condition of fewer dims is read for each row anew."""
    if c.ndim and c.size > 1 and c.shape != y.shape:
        c = np.roll(c, 1, -1)
    return np.where(c, a, b)


def _conj_lost(y: Array, a: Array) -> Array:
    return np.array(a)


def _positive_power(y: Array, a: Array, b: Array) -> Array:
    """By logarithms: a negative base gives NaN."""
    if not _is_float(y):
        return y
    with np.errstate(all="ignore"):
        return np.where(a < 0, np.nan, y).astype(y.dtype)


def _softplus(y: Array, a: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    return (np.log(1 + np.exp(a * beta)) / beta).astype(a.dtype)


def _biased_sigmoid(y: Array, a: Array) -> Array:
    """The usual hard one, between -2 and 2 only."""
    near = np.abs(a) < 0.05
    return np.where(near, 0.5 + a / 5, y).astype(y.dtype)


# ---- what shows those that are right nearly everywhere


def _narrowed(subject: Subject) -> Any:
    x = subject.tensor(np.array([1 + 2.0**-8 + 2.0**-12], np.float32))
    return subject.values(x.to(dt.bfloat16)).astype(np.float32)


def _neighbours(subject: Subject) -> Any:
    x = subject.tensor(np.array([2**53 + 1], np.int64))
    return subject.values(x == subject.tensor(np.array([2**53], np.int64)))


def _tiny(subject: Subject) -> Any:
    return subject.values(subject.tensor(np.array([1e-40], np.float32)) * 1)


ELEMENTWISE: Final[list[Mutant]] = [
    kernel("values/relu-loses-nan", "relu", "relu of NaN is 0",
           after(lambda y, a: _clean(y))),
    kernel("values/maximum-loses-nan", "maximum minimum",
           "NaN loses against any number",
           after(lambda y, a, b: np.where(np.isnan(y), np.fmax(a, b), y).astype(
               y.dtype) if inexact(y) else y)),
    kernel("values/isnan-always-false", "isnan isfinite", "compiled with fast math",
           after(lambda y, a: np.zeros_like(y))),
    kernel("values/comparison-with-nan", "lt le", "a < b is computed as not b <= a",
           after(lambda y, a, b: y | np.isnan(a) | np.isnan(b)
                 if inexact(a) and inexact(b) else y)),
    kernel("values/round-half-away", "round", "ties are rounded away from zero",
           after(_half_away)),
    kernel("values/floor-truncates", "floor", "floor goes towards zero",
           after(lambda y, a: np.trunc(a) if inexact(a) else y)),
    kernel("values/cast-truncates", "cast", "bfloat16 by dropping bits",
           after(_truncating_cast), observe=_narrowed, dtypes=("float32",)),
    kernel("values/cast-rounds", "cast", "floats become the nearest integer",
           after(_rounding_cast)),
    kernel("values/cast-to-bool", "cast", "0.5 is False", after(_cast_to_bool)),
    kernel("values/eq-through-doubles", "eq", "2^53 equals 2^53 + 1",
           after(_through_doubles), observe=_neighbours,
           dtypes=("int64", "uint64")),
    kernel("values/mul-flushes", "mul add", "subnormals are flushed, undeclared",
           after(_flushed), observe=_tiny, dtypes=("float32",)),
    kernel("values/logical-right-shift", "bitwise_right_shift",
           "zeros come in for the sign", after(_logical_shift)),
    kernel("values/crude-erf", "erf", "a formula of five digits", after(_crude_erf)),
    kernel("values/exp-clipped", "exp", "0 below -20", after(_clipped_exp)),
    kernel("values/log1p-cancels", "log1p", "log(1 + a)", instead(_low_log1p)),
    kernel("values/expm1-cancels", "expm1", "exp(a) - 1",
           instead(lambda a: np.exp(a) - a.dtype.type(1))),
    kernel("values/hypot-overflows", "hypot", "by squares, which overflow",
           instead(_naive_hypot)),
    kernel("values/floor-divide-truncates", "floor_divide",
           "integers are divided as C does it", after(_truncated_division)),
    kernel("values/remainder-of-c", "remainder", "the sign is the dividend's",
           after(_sign_of_dividend)),
    kernel("values/gelu-always-tanh", "gelu", "the approximation is always used",
           after(_tanh_gelu)),
    kernel("values/zero-by-zero", "div", "0 / 0 is infinite", after(_infinity_by_zero)),
    kernel("values/where-misreads", "where", "broadcast conditions are off by one",
           after(_swapped_choice)),
    kernel("values/conj-forgotten", "conj_physical",
           "the imaginary part keeps its sign", after(_conj_lost)),
    kernel("values/pow-by-logarithm", "pow", "negative bases give NaN",
           after(_positive_power)),
    kernel("values/softplus-overflows", "softplus", "the threshold is not heeded",
           after(_softplus)),
    kernel("values/sigmoid-by-pieces", "sigmoid", "a straight line around 0",
           after(_biased_sigmoid)),
    kernel("values/abs-of-least", "abs", "the least integer becomes the largest",
           after(lambda y, a: np.where(y < 0, np.iinfo(y.dtype).max, y).astype(y.dtype)
                 if y.dtype.kind == "i" else y)),
    kernel("values/logical-and-bitwise", "logical_and", "1 and 2 is False",
           after(lambda y, a, b: (a & b) != 0 if a.dtype.kind in "iu" else y)),
    kernel("values/clamp-loses-nan", "clamp", "NaN is clamped to the bound",
           after(lambda y, a, *b, **k: _clean(y))),
]  # fmt: skip
