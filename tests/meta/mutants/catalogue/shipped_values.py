"""Faults of the kind that accelerators have shipped: values that kernels get wrong.

Each is right for nearly every call: it takes a value, a place or a length of its own to
be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Fault, Mutant, Observe, Run, after, kernel
from tests.meta.mutants.operators import inexact

from dovetail.conformance.subject import Subject
from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
F32: Final = np.float32


def sees(op: str, *args: Any, **attrs: Any) -> Observe:
    """What an op gives of these arrays and attributes."""

    def observe(subject: Subject) -> Any:
        given = [subject.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
        made = vocabulary[op].function(*given, **attrs)
        made = made if isinstance(made, tuple) else (made,)
        return [bits(subject.values(y)) for y in made]

    return observe


def bits(a: Array) -> Array:
    """The elements as integers, so that signs of zeros are seen."""
    a = np.asarray(a)
    return a.view(f"u{a.itemsize}") if a.dtype.kind == "f" else a


def row(*values: float, dtype: Any = F32) -> Array:
    """An array of these numbers."""
    return np.array(values, dtype)


def where(condition: Callable[..., Any], value: Callable[..., Any] | float) -> Fault:
    """Where the condition holds of the inputs, the result is another."""

    def change(y: Array, *natives: Any, **attrs: Any) -> Array:
        with np.errstate(all="ignore"):
            wrong = condition(*natives)
            new = value(*natives) if callable(value) else value
            return np.asarray(np.where(wrong, new, y)).astype(y.dtype)

    return after(lambda y, *n, **k: change(y, *n, **k) if inexact(n[0]) else y)


def _blended(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    c, a, b = natives
    if not inexact(a) or a.dtype.itemsize != 4:
        return run(*natives, **attrs)
    with np.errstate(all="ignore"):
        m = c.astype(a.dtype)
        return (a * m + b * (1 - m)).astype(a.dtype)


def _low_words(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Factors below 2^31 are multiplied in 32 bits."""
    a, b = natives
    y = np.asarray(run(*natives, **attrs))
    if a.dtype != np.int64 or b.dtype != np.int64:
        return y
    small = (np.abs(a) < 1 << 31) & (np.abs(b) < 1 << 31)
    with np.errstate(all="ignore"):
        low = (a.astype(np.int32) * b.astype(np.int32)).astype(np.int64)
    return np.where(small, low, y)


def _shifted(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Powers of two are divided by shifting the magnitude."""
    a, b = natives
    y = np.asarray(run(*natives, **attrs))
    if y.dtype.kind != "i":
        return y
    power = (b > 1) & ((b & (b - 1)) == 0)
    return np.where(power & (a < 0), -(np.abs(a) // np.maximum(b, 1)), y).astype(
        y.dtype
    )


def _truncated(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Ties between two bfloat16 go towards zero."""
    (a,) = natives
    y = np.asarray(run(*natives, **attrs))
    if a.dtype != F32 or y.dtype.name != "bfloat16":
        return y
    words = np.ascontiguousarray(a).view(np.uint32)
    tie = (words & 0xFFFF) == 0x8000
    cut = (words >> 16).astype(np.uint16).view(y.dtype)
    return np.where(tie & np.isfinite(a), cut, y)


def _largest_half(y: Array, a: Array, **attrs: Any) -> Array:
    """What lies above the largest float16 becomes that."""
    if y.dtype != np.float16 or not inexact(a):
        return y
    far = np.isinf(y) & np.isfinite(a.astype(np.float64))
    return np.where(far, np.copysign(np.float16(65504), y), y)


def _canonical(y: Array, a: Array, **attrs: Any) -> Array:
    """NaN is one pattern of bits."""
    if a.dtype != F32:
        return y
    return np.ascontiguousarray(a).view(np.uint32) == 0x7FC00000


def _by_bits(y: Array, a: Array, b: Array, **attrs: Any) -> Array:
    """The sign bit decides before the magnitudes do."""
    if not inexact(a):
        return y
    zeros = (a == 0) & (b == 0)
    return np.where(zeros, np.signbit(a) & ~np.signbit(b), y)


def _root(a: Array, b: Array) -> Array:
    return np.sqrt(np.abs(a)) * np.sign(a)


def _width(y: Array, a: Array, b: Array, **attrs: Any) -> Array:
    """Shifts count modulo the width."""
    bits_of = a.dtype.itemsize * 8
    far = b >= bits_of
    return np.where(far, np.left_shift(a, (b % bits_of).astype(a.dtype)), y).astype(
        y.dtype
    )


def _number(name: str, seen: Callable[[Any], bool], other: Any) -> Fault:
    """A number among the attributes counts as another."""

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        if name in attrs and attrs[name] is not None and seen(attrs[name]):
            attrs = {**attrs, name: other}
        return run(*natives, **attrs)

    return fault


def _is_negative_zero(x: Any) -> bool:
    return isinstance(x, float) and x == 0 and bool(np.signbit(x))


_NANS: Final = np.array([0x7FC00000, 0x7FC00001, 0xFFC00000], np.uint32).view(F32)
_NEAR: Final = np.linspace(-6, 6, 25, dtype=F32)

SHIPPED_VALUES: Final[list[Mutant]] = [
    kernel("shipped/where-blends", "where", "the branch not taken times 0", _blended,
           observe=sees("where", np.array([True]), row(1), row(np.inf))),
    kernel("shipped/relu-of-nan", "relu", "NaN becomes 0",
           where(lambda a: np.isnan(a), 0.0), observe=sees("relu", row(np.nan))),
    kernel("shipped/int64-low-words", "mul", "factors of 31 bits", _low_words,
           observe=sees("mul", np.array([70000]), np.array([70000]))),
    kernel("shipped/division-by-shift", "floor_divide", "rounds to 0 by 2^k", _shifted,
           observe=sees("floor_divide", np.array([-3]), np.array([2]))),
    kernel("shipped/bfloat16-ties", "cast", "ties to zero", _truncated,
           observe=lambda s: s.values(s.tensor(
               row(1.01171875)).bfloat16().float())),
    kernel("shipped/half-saturates", "cast", "no infinity above the largest",
           after(_largest_half), laws=("conversions",),
           observe=lambda s: bits(s.values(s.tensor(row(70000.0)).half()))),
    kernel("shipped/isnan-by-pattern", "isnan", "other NaNs are none",
           after(_canonical), observe=sees("isnan", _NANS)),
    kernel("shipped/less-by-sign", "lt", "-0 < 0", after(_by_bits),
           observe=sees("lt", row(-0.0), row(0.0))),
    kernel("shipped/half-power", "pow float_pow", "x^0.5 of negative numbers",
           where(lambda a, b: (b == 0.5) & (a < 0), _root),
           observe=sees("pow", row(-4), row(0.5))),
    kernel("shipped/square-of-minus-infinity", "pow float_pow", "by logarithms",
           where(lambda a, b: (a == -np.inf) & (b == 2), -np.inf),
           observe=sees("pow", row(-np.inf), row(2))),
    kernel("shipped/exp-flushes", "exp", "results below the normal ones",
           where(lambda a: (a < -87.34) & (a > -103), 0.0),
           observe=sees("exp", row(-90))),
    kernel("shipped/expm1-plain", "expm1", "exp(x) - 1 near 0",
           where(lambda a: np.abs(a) < 1e-3, lambda a: np.exp(a) - a.dtype.type(1)),
           observe=sees("expm1", row(1e-5))),
    kernel("shipped/tanh-saturates", "tanh", "1 from 4 on",
           where(lambda a: np.abs(a) > 4, lambda a: np.copysign(1, a)),
           observe=sees("tanh", _NEAR)),
    kernel("shipped/erf-saturates", "erf", "1 from 3 on",
           where(lambda a: np.abs(a) > 3, lambda a: np.copysign(1, a)),
           observe=sees("erf", _NEAR)),
    kernel("shipped/sine-of-large", "sin cos", "2π in float32 is taken off",
           where(lambda a: (np.abs(a) > 1e4) & np.isfinite(a),
                 lambda a: np.sin(a - F32(6.2831855) * np.round(a / F32(6.2831855)))),
           observe=sees("sin", row(123456.0))),
    kernel("shipped/gelu-far-out", "gelu", "0 below -4",
           where(lambda a: (a < -4) & np.isfinite(a), -0.0),
           observe=sees("gelu", row(-4.5))),
    kernel("shipped/shift-by-width", "bitwise_left_shift", "modulo the width",
           after(_width),
           observe=sees("bitwise_left_shift", np.array([1]), np.array([64]))),
    kernel("shipped/clamp-of-nan", "clamp", "NaN becomes the lower bound",
           lambda run, n, k: np.where(np.isnan(n[0]), n[1], run(*n, **k)).astype(
               n[0].dtype) if inexact(n[0]) and n[1] is not None else run(*n, **k),
           observe=sees("clamp", row(np.nan), row(0.0), row(1.0))),
    kernel("shipped/fmod-of-far-apart", "fmod float_fmod", "by a quotient",
           where(lambda a, b: np.abs(a) > np.abs(b) * 2**24,
                 lambda a, b: a - b * np.trunc(a / b)),
           observe=sees("fmod", row(1e30), row(7.0))),
    kernel("shipped/remainder-keeps-sign", "remainder", "a rest of 0 of negatives",
           where(lambda a, b: (a < 0) & (b > 0) & np.isinf(b), lambda a, b: a),
           observe=sees("remainder", row(-1), row(np.inf))),
    kernel("shipped/copysign-of-zero", "copysign", "-0 has no sign",
           where(lambda a, b: b == 0, lambda a, b: np.abs(a)),
           observe=sees("copysign", row(1), row(-0.0))),
    kernel("shipped/atan2-at-zero", "atan2", "the signs of zeros do not count",
           where(lambda a, b: (a == 0) & (b == 0), 0.0),
           observe=sees("atan2", row(0.0), row(-0.0))),
    kernel("shipped/negative-zero-number", "masked_fill", "-0.0 is 0",
           _number("value", _is_negative_zero, 0.0),
           observe=sees("masked_fill", row(1), np.array([True]), -0.0)),
    kernel("shipped/scale-of-zero", "addcmul addcdiv", "a factor 0 skips the product",
           lambda run, n, k: n[0] * np.ones_like(run(*n, **k))
           if inexact(n[0]) and k.get("value") == 0 else run(*n, **k),
           observe=sees("addcmul", row(1), row(np.inf), row(1), value=0.0)),
    kernel("shipped/log-of-subnormal", "log log2 log10", "of numbers below normal ones",
           where(lambda a: (a > 0) & (a < 1.1754944e-38), -np.inf),
           observe=sees("log", row(1e-40))),
    kernel("shipped/round-half-up", "round", "ties go up",
           where(lambda a: np.abs(a - np.trunc(a)) == 0.5, lambda a: np.floor(a + 0.5)),
           observe=sees("round", row(2.5))),
    kernel("shipped/hypot-overflows", "hypot", "squares overflow",
           where(lambda a, b: np.isfinite(a) & np.isfinite(b),
                 lambda a, b: np.sqrt(a * a + b * b)),
           observe=sees("hypot", row(1e30), row(1e30))),
]  # fmt: skip
