"""Faults at values that programs seldom meet: signs of zeros, overflows, complex ends.

Each is of a kind that has been reported of some library as a wrong result.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees, where
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
C64: Final = np.complex64


def _many(*values: Any, dtype: Any = F32) -> Array:
    """As many of these numbers as a kernel is generated for."""
    return np.resize(np.array(values, dtype), 1 << 18)


def _naive_quotient(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """a · conj(b) over |b|², in the format of the numbers."""
    a, b = natives
    y = np.asarray(run(*natives, **attrs))
    if y.dtype != C64 or not isinstance(b, np.ndarray):
        return y
    with np.errstate(all="ignore"):
        size = np.square(b.real) + np.square(b.imag)
        return (np.asarray(a, C64) * np.conj(b) / size).astype(C64)


def _naive_size(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The root of the sum of squares, in the format of the parts."""
    a = natives[0]
    if a.dtype.kind != "c":
        return run(*natives, **attrs)
    with np.errstate(all="ignore"):
        return np.sqrt(np.square(a.real) + np.square(a.imag))


def _without_sign(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Imaginary parts of -0 are 0: the other side of the cut."""
    a = natives[0]
    if a.dtype.kind != "c":
        return run(*natives, **attrs)
    made = np.array(a)
    made.imag += a.real.dtype.type(0)
    return run(made, **attrs)


def _true_by_its_real_part(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Complex numbers are true if their real parts are."""
    a = natives[0]
    if a.dtype.kind != "c" or attrs["dtype"].name != "bool":
        return run(*natives, **attrs)
    return run(np.ascontiguousarray(a.real), **attrs)


def _far_infinity(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The largest number of float64 is that of float32."""
    a = natives[0]
    y = np.asarray(run(*natives, **attrs))
    if a.dtype != np.float64 or attrs.get("posinf") is not None:
        return y
    return np.where(np.isposinf(a), np.finfo(F32).max, y).astype(y.dtype)


def _nothing_of_it(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A factor of 0 leaves the first argument as it is, whatever it is a factor of."""
    y = np.asarray(run(*natives, **attrs))
    if attrs["value"] == 0 and inexact(y):
        return np.array(np.broadcast_to(natives[0], y.shape))
    return y


def _slope_of_nothing(y: Array, a: Array, *_: Any, **attrs: Any) -> Array:
    """0 times -infinity is 0."""
    flat = inexact(a) and attrs["negative_slope"] == 0
    return np.where(np.isneginf(a), 0, y).astype(y.dtype) if flat else y


def _beyond_unscaled(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The threshold is one of x, not of beta times x."""
    y, x = np.asarray(run(*natives, **attrs)), np.asarray(natives[0])
    if attrs["beta"] == 1:
        return y
    with np.errstate(all="ignore"):
        return np.where(x > attrs["threshold"], x, y).astype(y.dtype)


def _below_alone(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Numbers are clamped from below, and not from above."""
    y, x, eps = np.asarray(run(*natives, **attrs)), natives[0], attrs["eps"]
    if eps is None:
        return y
    with np.errstate(all="ignore"):
        plain = np.log(x) - np.log1p(-x)
        return np.where(x > 1 - eps, plain, y).astype(y.dtype)


def _nan_to_nothing(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """NaN to the power of 0 is NaN."""
    y = np.asarray(run(*natives, **attrs))
    if not inexact(y) or y.dtype.kind == "c":
        return y
    base, exponent = natives[0], natives[1] if len(natives) > 1 else attrs["exponent"]
    wrong = np.isnan(base) & (np.asarray(exponent) == 0)
    return np.where(wrong, np.nan, y).astype(y.dtype)


def _odd(x: Array) -> Array:
    return np.abs(np.fmod(x, 2)) == 1


def _itself_with_zero(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The divisor of a number and 0 is the number, with its sign."""
    a, b = (np.asarray(x) for x in natives)
    y = np.asarray(run(*natives, **attrs))
    return np.where(b == 0, a, y).astype(y.dtype)


def _squares_in_half(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Squares beyond 65,504 are infinite in half."""
    y, x = run(*natives, **attrs), natives[0]
    if x.dtype != np.float16:
        return y
    with np.errstate(all="ignore"):
        over = np.isinf(x * x).any(tuple(attrs["dims"]), keepdims=True)
    first = np.where(over & np.isfinite(x), 0, np.asarray(y[0])).astype(x.dtype)
    return (first, *y[1:])


def _zero_of_all(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Where the probability is 0 there is no gradient, whatever comes in."""
    dx, y = np.asarray(run(*natives, **attrs)), natives[1]
    return np.where(y == 0, 0, dx).astype(dx.dtype)


def _lowest_first(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """-0 is below 0."""
    a = natives[0]
    y = np.asarray(run(*natives, **attrs))
    dim = attrs.get("dim")
    if not inexact(a) or a.dtype.kind == "c" or dim is None or not a.size:
        return y
    signed = np.where((a == 0) & np.signbit(a), -np.finfo(F32).tiny, a.astype(F32))
    found = np.argmin(signed, dim)
    keep = np.expand_dims(found, dim) if y.ndim == a.ndim else found
    settled = np.isnan(a).any(dim, keepdims=y.ndim == a.ndim)
    low = (np.min(a, dim, keepdims=y.ndim == a.ndim) == 0) & ~settled
    return np.where(low, keep, y).astype(y.dtype)


def _by_bits(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What has a bit is no zero."""
    a = natives[0]
    if a.dtype.kind != "f":
        return run(*natives, **attrs)
    return run(np.ascontiguousarray(a).view(f"i{a.itemsize}"), **attrs)


def _false_if_nan(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """NaN is nothing."""
    a = natives[0]
    if not inexact(a) or a.dtype.kind == "c":
        return run(*natives, **attrs)
    return run(np.where(np.isnan(a), np.zeros_like(a), a), **attrs)


def _harmonic_of_zero(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Norms of negative degree leave zeros out."""
    a, y = natives[0], np.asarray(run(*natives, **attrs))
    if attrs["p"] >= 0 or not np.isfinite(attrs["p"]) or a.dtype.kind != "f":
        return y
    return np.asarray(run(np.where(a == 0, np.inf, a).astype(a.dtype), **attrs))


def _infinite_sum(y: Array, a: Array, *_: Any, **attrs: Any) -> Array:
    """Infinity less infinity is NaN."""
    if not inexact(a) or not a.size:
        return y
    dims = attrs["dim"]
    dims = tuple(dims) if isinstance(dims, list | tuple) else dims
    over = np.isposinf(a).any(dims, keepdims=attrs["keepdim"])
    return np.where(over, np.nan, y).astype(y.dtype)


SELDOM_VALUES: Final[list[Mutant]] = [
    kernel("seldom/quotient-by-squares", "div", "overflows", _naive_quotient,
           observe=sees("div", row(1e25 + 1e25j, 2, dtype=C64),
                        row(1e25 + 2e25j, 1j, dtype=C64))),
    kernel("seldom/size-by-squares", "abs", "overflows", _naive_size,
           observe=sees("abs", row(3e30 + 4e30j, 1, dtype=C64))),
    kernel("seldom/root-above-the-cut", "sqrt", "of -0", _without_sign,
           observe=sees("sqrt", row(complex(-4, -0.0), 1, dtype=C64))),
    kernel("seldom/log-above-the-cut", "log", "of -0", _without_sign,
           observe=sees("log", row(complex(-4, -0.0), 1, dtype=C64))),
    kernel("seldom/true-by-real-parts", "cast", "complex", _true_by_its_real_part,
           observe=lambda s: s.values(s.tensor(row(1j, 0, dtype=C64)).bool())),
    kernel("seldom/largest-of-single", "nan_to_num", "float64", _far_infinity,
           observe=sees("nan_to_num", _many(np.inf, 1, dtype=np.float64))),
    kernel("seldom/nothing-of-nan", "addcmul addcdiv", "is nothing", _nothing_of_it,
           observe=sees("addcmul", _many(1), _many(np.nan), _many(2), 0)),
    kernel("seldom/no-slope", "leaky_relu", "of -infinity", after(_slope_of_nothing),
           observe=sees("leaky_relu", _many(-np.inf, 1), 0.0)),
    kernel("seldom/threshold-of-x", "softplus", "not scaled", _beyond_unscaled,
           observe=sees("softplus", _many(0.5, 3), 0.25, 1.0)),
    kernel("seldom/odds-from-below", "logit", "clamped once", _below_alone,
           observe=sees("logit", _many(0.99, 0.5), 0.1)),
    kernel("seldom/nan-to-nothing", "pow float_pow", "is NaN", _nan_to_nothing,
           observe=sees("float_pow", _many(np.nan, 2), _many(0, 1))),
    kernel("seldom/power-of-minus-zero", "float_pow", "is positive", where(
           lambda a, b: (a == 0) & np.signbit(a) & (b < 0) & _odd(b), np.inf),
           observe=sees("float_pow", _many(-0.0, 2), _many(-3, 1))),
    kernel("seldom/divisor-with-zero", "gcd", "is negative", _itself_with_zero,
           observe=sees("gcd", row(-6, 6, dtype=np.int32), row(0, 4, dtype=np.int32))),
    kernel("seldom/squares-in-half", "rms_norm", "overflow", _squares_in_half,
           observe=sees("rms_norm", np.full((1 << 14, 16), 300, np.float16), None,
                        (1,), 1e-5)),
    kernel("seldom/no-gradient-of-zero", "softmax_backward", "times infinity",
           _zero_of_all, observe=sees("softmax_backward", row(np.inf, 1),
                                      row(0, 1), 0)),
    kernel("seldom/minus-zero-is-least", "argmin", "of zeros", _lowest_first,
           observe=sees("argmin", row(0.0, -0.0), 0)),
    kernel("seldom/counted-by-bits", "count_nonzero", "-0 counts", _by_bits,
           observe=sees("count_nonzero", row(-0.0, 1))),
    kernel("seldom/nan-is-false", "any all", "for both", _false_if_nan,
           observe=sees("any", row(np.nan, 0))),
    kernel("seldom/norm-beside-zeros", "vector_norm", "of degree -1",
           _harmonic_of_zero, observe=sees("vector_norm", row(0, 2), -1.0)),
    kernel("seldom/sum-of-infinity", "logsumexp", "is NaN", after(_infinite_sum),
           observe=sees("logsumexp", row(np.inf, 1), (0,))),
    kernel("seldom/place-of-nan", "searchsorted", "is the first", after(
           lambda y, s, v, **k: np.where(np.isnan(v), 0, y).astype(y.dtype)
           if inexact(v) else y),
           observe=sees("searchsorted", row(1, 2), row(np.nan, 1.5))),
    kernel("seldom/nan-is-found", "isin", "among NaN", after(
           lambda y, a, b, **k: y | np.isnan(a) & np.isnan(b).any()
           if inexact(a) and inexact(b) else y),
           observe=sees("isin", row(np.nan, 1), row(np.nan, 2))),
]  # fmt: skip
