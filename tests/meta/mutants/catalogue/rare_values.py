"""Faults of ops that few programs call: elementwise functions at their edges.

Each has been reported in public, of one library or another, as a wrong result.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees, where
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _many(*values: float, dtype: Any = F32) -> Array:
    """As many of these numbers as a kernel is generated for."""
    return np.resize(row(*values, dtype=dtype), 1 << 18)


def _between(x: Array) -> Array:
    return (x > -1) & (x < 0)


def _beyond_words(x: Array) -> Array:
    return np.abs(x) >= 2.0**31


def _saturated(x: Array) -> Array:
    return np.clip(x, -(2.0**31), 2.0**31 - 1)


def _in_single(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """float64 is looked at as float32."""
    a = natives[0]
    if a.dtype != np.float64:
        return run(*natives, **attrs)
    with np.errstate(all="ignore"):
        return np.asarray(run(a.astype(F32), **attrs))


def _least_of_both(a: Array, b: Array) -> Array:
    return np.isnan(a) & np.isnan(b)


def _negative_zero(x: Array, *_: Array) -> Array:
    return (x == 0) & np.signbit(x)


def _zero_times_nan(a: Array, b: Array) -> Array:
    return (a == 0) & np.isnan(b)


def _tiny(x: Array) -> Array:
    return (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)


def _by_product(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The product, which overflows, over the divisor."""
    a, b = (np.asarray(x) for x in natives)
    with np.errstate(all="ignore"):
        divisor = np.gcd(a, b)
        product = np.abs((a * b).astype(a.dtype))
        found = np.where(divisor, product // np.where(divisor, divisor, 1), 0)
    return found.astype(np.asarray(run(*natives, **attrs)).dtype)


def _pole(x: Array) -> Array:
    return (x <= 0) & (x == np.floor(x)) & np.isfinite(x)


def _stuck_at_zero(y: Array, a: Array, *_: Any, **attrs: Any) -> Array:
    """A product that became 0 stays 0, whatever follows."""
    if not inexact(y) or y.dtype.kind == "c":
        return y
    dim = attrs["dim"]
    gone = np.logical_or.accumulate(np.asarray(a) == 0, axis=dim)
    return np.where(gone, 0, y).astype(y.dtype)


def _quotient_in_floats(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """int64 by the quotient of float64 numbers."""
    y = run(*natives, **attrs)
    a, b = natives
    if getattr(a, "dtype", None) != np.int64 or np.asarray(y).dtype != np.int64:
        return y
    with np.errstate(all="ignore"):
        return np.trunc(np.asarray(a, float) / np.asarray(b, float)).astype(np.int64)


def _unclamped(p: Array, target: Array) -> Array:
    """Logarithms of 0 are infinite."""
    return -(target * np.log(p) + (1 - target) * np.log1p(-p))


def _at_an_end(p: Array, target: Array) -> Array:
    return ((p == 0) & (target > 0)) | ((p == 1) & (target < 1))


def _by_a_multiple(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The sum of the real part and 1j times the other."""
    real, imag = (np.asarray(x) for x in natives)
    y = np.asarray(run(*natives, **attrs))
    with np.errstate(all="ignore"):
        return (real + imag * y.dtype.type(1j)).astype(y.dtype)


def _of_one_sign(y: Array, a: Array, **attrs: Any) -> Array:
    """Real numbers have the angle 0."""
    return y if np.iscomplexobj(a) else np.where(np.isnan(a), y, 0).astype(y.dtype)


def _same(a: Array, b: Array) -> Array:
    return (a == b) & (a != 0)


def _swallows(y: Array, a: Array, *_: Any, **attrs: Any) -> Array:
    """NaN is below any bound."""
    return np.where(np.isnan(a), 0, y).astype(y.dtype) if inexact(a) else y


def _no_corner(y: Array, a: Array, b: Array, *_: Any, **attrs: Any) -> Array:
    """Without a corner there is a division of 0 by 0."""
    beta = attrs.get("beta", 1.0)
    return np.where(a == b, np.nan, y).astype(y.dtype) if beta == 0 else y


RARE_VALUES: Final[list[Mutant]] = [
    kernel("rare/ceil-without-sign", "ceil", "above -1", where(_between, 0.0),
           observe=sees("ceil", row(-0.5, 1.5))),
    kernel("rare/trunc-through-words", "trunc", "saturates",
           where(_beyond_words, _saturated), observe=sees("trunc", row(1e10, 2.5))),
    kernel("rare/frac-above-zero", "frac", "of negative numbers",
           where(lambda x: x < 0, lambda x: x - np.floor(x)),
           observe=sees("frac", _many(-0.25, 1.5))),
    kernel("rare/sign-of-nan", "sign", "NaN", where(np.isnan, np.nan),
           observe=sees("sign", row(np.nan, -2))),
    kernel("rare/signbit-by-comparison", "signbit", "-0 has none",
           where(_negative_zero, False), observe=sees("signbit", row(-0.0, -1))),
    kernel("rare/infinite-in-single", "isinf isposinf isneginf", "beyond float32",
           _in_single, observe=sees("isinf", row(1e300, 1, dtype=np.float64))),
    kernel("rare/fmax-of-nothing", "fmax", "of two NaN is -inf",
           where(_least_of_both, -np.inf),
           observe=sees("fmax", row(np.nan, 1), row(np.nan, np.nan))),
    kernel("rare/nothing-times-nan", "xlogy", "is nothing", where(_zero_times_nan, 0.0),
           observe=sees("xlogy", _many(0, 1), _many(np.nan, 2))),
    kernel("rare/root-of-zero", "rsqrt", "is the largest number",
           where(lambda x: x == 0, lambda x: np.finfo(x.dtype).max),
           observe=sees("rsqrt", row(0, 4))),
    kernel("rare/reciprocal-flushes", "reciprocal", "subnormal results",
           after(lambda y, *_, **__: np.where(_tiny(y), 0, y).astype(y.dtype)
                 if inexact(y) and y.dtype.kind != "c" else y),
           observe=sees("reciprocal", row(2.0**127.5, 4))),
    kernel("rare/reciprocal-of-minus-zero", "reciprocal", "is positive",
           where(_negative_zero, np.inf), observe=sees("reciprocal", row(-0.0, 4))),
    kernel("rare/multiple-by-product", "lcm", "which overflows", _by_product,
           observe=sees("lcm", row(100_000, 6, dtype=np.int32),
               row(90_000, 4, dtype=np.int32))),
    kernel("rare/sum-of-no-powers", "logaddexp2", "NaN of two -inf",
           where(lambda a, b: np.isneginf(a) & np.isneginf(b), np.nan),
           observe=sees("logaddexp2", row(-np.inf, 1), row(-np.inf, 1))),
    kernel("rare/erfinv-is-finite", "erfinv", "at its ends",
           where(lambda x: np.abs(x) == 1, lambda x: 3.8 * x),
           observe=sees("erfinv", row(1, 0.5))),
    kernel("rare/erfinv-outside", "erfinv", "goes on", where(
           lambda x: np.abs(x) > 1, lambda x: np.inf * np.sign(x)),
           observe=sees("erfinv", row(1.5, 0.5))),
    kernel("rare/lgamma-of-poles", "lgamma", "NaN", where(_pole, np.nan),
           observe=sees("lgamma", row(-2, 3))),
    kernel("rare/next-of-itself", "nextafter", "moves", where(
           _same, lambda a, b: np.nextafter(a, np.full_like(a, np.inf))),
           observe=sees("nextafter", row(1, 2), row(1, 3))),
    kernel("rare/next-skips-subnormals", "nextafter", "from 0", where(
           lambda a, b: (a == 0) & (b != 0) & ~np.isnan(b),
           lambda a, b: np.copysign(np.finfo(a.dtype).tiny, b).astype(a.dtype)),
           observe=sees("nextafter", row(0, 2), row(1, 3))),
    kernel("rare/product-stays-zero", "cumprod", "before NaN", after(_stuck_at_zero),
           observe=sees("cumprod", row(1, 0, np.nan), 0)),
    kernel("rare/divides-in-doubles", "trunc_divide idiv", "int64",
           _quotient_in_floats, observe=sees("trunc_divide",
               np.array([2**62 + 1, 7]), np.array([1, 2]))),
    kernel("rare/entropy-without-floor", "binary_cross_entropy", "infinite at the ends",
           where(_at_an_end, _unclamped),
           observe=sees("binary_cross_entropy", _many(0, 0.5), _many(1, 1))),
    kernel("rare/complex-by-a-multiple", "complex", "∞ makes NaN", _by_a_multiple,
           observe=sees("complex", _many(1, 2), _many(np.inf, 1))),
    kernel("rare/angle-of-reals", "angle", "is 0 below 0", after(_of_one_sign),
           observe=sees("angle", _many(-1, 2))),
    kernel("rare/shrinks-nan", "softshrink hardshrink", "to 0", after(_swallows),
           observe=sees("softshrink", _many(np.nan, 2), 0.5)),
    kernel("rare/threshold-of-nan", "threshold", "is below it", after(_swallows),
           observe=sees("threshold", _many(np.nan, 2), 0.5, 0.0)),
    kernel("rare/loss-without-corner", "smooth_l1_loss", "NaN at 0", after(_no_corner),
           observe=sees("smooth_l1_loss", _many(1, 2), _many(1, 3), 0.0)),
]  # fmt: skip
