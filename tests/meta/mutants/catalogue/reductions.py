"""Kernels that are wrong along a dim: sums, extremes, orders, scans."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

from dovetail.conformance.subject import Subject

Array = np.ndarray[Any, Any]
_BLOCK: Final = 256


def _axes(attrs: dict[str, Any]) -> Any:
    dims = attrs.get("dim", attrs.get("dims"))
    return tuple(dims) if isinstance(dims, list | tuple) else dims


def _one_axis(attrs: dict[str, Any]) -> int | None:
    """The dim, where there is one alone."""
    axes = _axes(attrs)
    if isinstance(axes, tuple):
        return axes[0] if len(axes) == 1 else None
    return axes  # type: ignore[no-any-return]


def _in_order(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """Sums of float16 and bfloat16 that round after every term."""
    y = run(*natives, **attrs)
    (a,) = natives
    one = _one_axis(attrs)
    if a.dtype.itemsize != 2 or not inexact(a) or one is None or not a.shape[one]:
        return y
    total = np.zeros_like(np.take(a, 0, one))
    for i in range(a.shape[one]):
        total = (total + np.take(a, i, one)).astype(a.dtype)
    return total.reshape(np.shape(y)) if np.asarray(y).dtype == a.dtype else y


def _no_shift(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    a, d = natives[0], attrs["dim"]
    e = np.exp(a)
    return (e / np.sum(e, d, keepdims=True)).astype(a.dtype)


def _log_of_softmax(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    a, d = natives[0], attrs["dim"]
    e = np.exp(a - np.max(a, d, keepdims=True, initial=-np.inf))
    return np.log(e / np.sum(e, d, keepdims=True)).astype(a.dtype)


def _plain_logsumexp(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    a = natives[0]
    y = np.log(np.sum(np.exp(a), _axes(attrs), keepdims=attrs.get("keepdim", False)))
    return np.asarray(y).astype(a.dtype)


def _two_moments(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """E[x²] - E[x]² instead of the deviations."""
    a, axes = natives[0], _axes(attrs)
    y = np.asarray(run(*natives, **attrs))
    if a.dtype not in (np.float32, np.float64) or not a.size or not y.size:
        return y
    n = a.size // y.size
    mean = np.mean(a, axes, keepdims=True)
    square = np.mean(a * a, axes, keepdims=True) - mean * mean
    with np.errstate(all="ignore"):
        made = square * a.dtype.type(n) / a.dtype.type(n - attrs["correction"])
    return made.reshape(y.shape).astype(a.dtype)


def _lost_nan(y: Array, a: Array, **attrs: Any) -> Array:
    if not inexact(a):
        return y
    bad = np.isnan(y)
    return np.where(bad, 0, y).astype(np.asarray(y).dtype)


def _last_of_ties(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    a, d = natives[0], attrs.get("dim")
    y = run(*natives, **attrs)
    if (
        isinstance(d, tuple)
        or not a.ndim
        or not a.size
        or (inexact(a) and np.any(np.isnan(a)))
    ):
        return y
    last = a.shape[d] - 1 - np.argmax(np.flip(a, d), d)
    y = np.asarray(y)
    return last.reshape(y.shape).astype(y.dtype)


def _unstable(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """Equal elements come in reverse order."""
    a, d = natives[0], attrs["dim"]
    if not a.ndim or not a.size or a.shape[d] < 2:
        return run(*natives, **attrs)
    backwards = np.ascontiguousarray(np.flip(a, d))
    found = run(backwards, **attrs)
    if isinstance(found, tuple):
        values, order = found
        return values, a.shape[d] - 1 - order
    return a.shape[d] - 1 - found


def _blockwise(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """The carry between blocks is lost."""
    a, d = natives[0], attrs["dim"]
    y = np.array(run(*natives, **attrs))
    if not a.ndim or a.shape[d] <= _BLOCK or attrs.get("reverse"):
        return y
    tail = np.take(a, range(_BLOCK, a.shape[d]), d)
    rest = run(tail, **attrs)
    at = [slice(None)] * y.ndim
    at[d] = slice(_BLOCK, None)
    y[tuple(at)] = rest
    return y


def _without_attr(name: str, value: Any) -> Any:
    def fault(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
        return run(*natives, **{**attrs, name: value})

    return fault


def _one_less(y: Array, a: Array, **attrs: Any) -> Array:
    if not inexact(y) or not y.size:
        return y
    n = max(a.size // y.size, 2)
    return np.asarray(y * (n / (n - 1))).astype(y.dtype)


def _wrapped_sum(y: Array, a: Array, **attrs: Any) -> Array:
    """int32 sums wrap around at 32 bits."""
    y = np.asarray(y)
    if a.dtype.itemsize >= 8 or a.dtype.kind not in "iu" or y.dtype != np.int64:
        return y
    return y.astype(a.dtype).astype(np.int64)


def _full_warps(y: Array, a: Array, **attrs: Any) -> Array:
    """`any` looks at full groups of 32 only."""
    one = _one_axis(attrs)
    if one is None or not a.ndim or a.shape[one] <= 32 or not a.shape[one] % 32:
        return y
    kept = np.take(a, range(a.shape[one] // 32 * 32), one)
    return np.any(kept, one).reshape(np.shape(y))


def _one_true(subject: Subject) -> Any:
    values = np.zeros(40, bool)
    values[-1] = True
    return subject.values(subject.tensor(values).any(0))


def _shifted_inverse(found: Any, a: Array, **attrs: Any) -> Any:
    values, inverse, counts = found
    return values, inverse[::-1].copy(), counts


REDUCTIONS: Final[list[Mutant]] = [
    kernel("reductions/sum-rounds-each-term", "sum",
           "16-bit floats are summed in 16 bits", _in_order,
           dtypes=("float16", "bfloat16")),
    kernel("reductions/softmax-without-shift", "softmax", "exp overflows", _no_shift),
    kernel("reductions/log-of-softmax", "log_softmax", "underflows to -inf",
           _log_of_softmax),
    kernel("reductions/logsumexp-overflows", "logsumexp", "log of a sum of exp",
           _plain_logsumexp),
    kernel("reductions/var-of-two-moments", "var", "E[x²] - E[x]² cancels",
           _two_moments, dtypes=("float32", "float64")),
    kernel("reductions/var-population", "var std", "the correction is always 0",
           _without_attr("correction", 0)),
    kernel("reductions/amax-loses-nan", "amax amin", "NaN loses", after(_lost_nan)),
    kernel("reductions/argmax-last-of-ties", "argmax", "the last of equal maxima",
           _last_of_ties),
    kernel("reductions/sort-unstable", "sort argsort", "ties in reverse order",
           _unstable),
    kernel("reductions/topk-always-largest", "topk", "`largest` is not heeded",
           _without_attr("largest", True)),
    kernel("reductions/cumsum-loses-carry", "cumsum", "a new sum every 256 elements",
           _blockwise),
    kernel("reductions/mean-by-one-less", "mean", "divided by n - 1",
           after(_one_less)),
    kernel("reductions/sum-in-own-width", "sum", "int32 sums wrap at 32 bits",
           after(_wrapped_sum), dtypes=("int32", "int16", "uint8")),
    kernel("reductions/any-in-full-warps", "any", "a tail behind groups of 32 is lost",
           after(_full_warps), observe=_one_true, dtypes=("bool",)),
    kernel("reductions/unique-inverse", "unique", "the inverse is backwards",
           after(_shifted_inverse)),
    kernel("reductions/prod-of-nothing", "prod", "the product of nothing is 0",
           after(lambda y, a, **k: np.zeros_like(y) if not a.size else y)),
    kernel("reductions/logcumsumexp-plain", "logcumsumexp", "log of sums of exp",
           lambda run, natives, attrs: np.log(np.cumsum(np.exp(natives[0]),
               attrs["dim"])).astype(natives[0].dtype)),
]  # fmt: skip
