"""Benign variants whose arithmetic is another: widths, flushing, NaN, last units."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.benign.variant import (
    COMPLEX,
    FLOATS,
    HALVES,
    Benign,
    otherwise,
)
from tests.meta.mutants.mutant import Fault, Run, after, with_faults
from tests.meta.mutants.operators import each, results

from dovetail import dtypes
from dovetail.dtypes import HALF, from_numpy
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
_TINY: Final = np.finfo(np.float32).smallest_normal


class _DeclaresFlushing(CpuBackend):
    flushes_subnormals = frozenset({dtypes.float32})


def _flushed(a: Array) -> Array:
    if a.dtype != np.float32:
        return a
    return np.where(np.abs(a) < _TINY, np.copysign(np.float32(0), a), a)


def _flushes(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Subnormal inputs count as 0, and so do results."""
    return results(run(*each(natives, _flushed), **attrs), _flushed)


def _flushes_steps(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Nor is a product on the way to a sum kept, which a number then multiplies."""
    x, a, b, value = natives if len(natives) > 3 else (*natives, attrs["value"])
    if x.dtype != np.float32:
        return run(*natives, **attrs)
    with np.errstate(all="ignore"):
        product = _flushed(_flushed(a) * _flushed(b))
        return _flushed(_flushed(x) + _flushed(product * np.float32(value)))


def _saturates(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Integers of what they have no room for are the nearest, and 0 of NaN."""
    y, a = run(*natives, **attrs), natives[0]
    if y.dtype.kind not in "iu" or a.dtype.kind in "biuc":
        return y
    kept, wide = np.iinfo(y.dtype), a.astype(np.float64)
    above, below = wide >= 2.0 * (kept.max // 2 + 1), wide < kept.min
    ends = np.where(above, kept.max, np.where(below, kept.min, y))
    return np.where(np.isnan(wide), 0, ends).astype(y.dtype)


def _in_wider(**wider: Any) -> Fault:
    """Computed in another format, and rounded once."""
    formats = {
        dtypes.by_name(k).numpy: dtypes.by_name(v).numpy for k, v in wider.items()
    }

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        arrays = [a for a in natives if isinstance(a, np.ndarray)]
        narrow = arrays[0].dtype
        if narrow not in formats or attrs.get("dtype") is not None:
            return run(*natives, **attrs)

        def widened(a: Array) -> Array:
            return a.astype(formats[narrow]) if a.dtype == narrow else a

        def rounded(y: Array) -> Array:
            return y.astype(narrow) if y.dtype == formats[narrow] else y

        with np.errstate(all="ignore"):
            return results(run(*each(natives, widened), **attrs), rounded)

    return fault


def _one_ulp(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Every other result is the next number."""
    if y.dtype != np.float32 or not y.size:
        return y
    made = np.array(y, order="C")  # so that what follows is a view of it
    flat = made.reshape(-1)
    some = np.isfinite(flat) & (np.abs(flat) > 2 * _TINY)
    some[::2] = False
    flat[some] = np.nextafter(flat[some], np.float32(0))
    return made


def _next_half(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Every other result in 16 bits is the next number towards 0."""
    if from_numpy(y.dtype) not in HALF or not y.size:
        return y
    made = np.array(y, order="C")
    size = np.abs(made.astype(np.float32))
    some = np.isfinite(made) & (size > 1e-4) & (size < 1e4)
    some.reshape(-1)[::2] = False
    bits = made.view(np.uint16)
    bits[some] -= np.uint16(1)
    return made


def _odd_nan(y: Array, *natives: Any, **attrs: Any) -> Array:
    """NaN is another one: negative, with a payload."""
    if y.dtype != np.float32:
        return y
    odd = np.array(0xFFC1_2345, np.uint32).view(np.float32)
    return np.where(np.isnan(y), odd, y)


def _payloads_lost(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Every NaN becomes the usual one."""

    def usual(a: Array) -> Array:
        return np.where(np.isnan(a), np.nan, a).astype(a.dtype)

    return results(
        run(*natives, **attrs),
        lambda y: usual(y) if y.dtype in (np.float32, np.float64) else y,
    )


def _plain_zero(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Which of two zeros is the larger one, the standard leaves open."""
    return np.asarray(np.where(y == 0, y.dtype.type(0), y)).astype(y.dtype)


_WORD_BY_WORD: Final = "add sub mul div exp tanh square reciprocal"
_ROWS: Final = "sum mean softmax log_softmax logsumexp layer_norm var vector_norm"
_PRODUCTS: Final = "addcmul addcdiv matmul bmm linear"
_FUNCTIONS: Final = "exp log sin cos tanh sigmoid erf gelu sqrt"
_FLUSHED: Final = f"{_WORD_BY_WORD} {_ROWS} sigmoid log silu softmax_backward pow"
_EXTREMES: Final = "maximum minimum amax amin"
_PICKS: Final = "maximum minimum amax amin relu clamp"

ARITHMETIC: Final[list[Benign]] = [
    Benign("flush-to-zero", "float32 subnormals are 0, as declared",
           otherwise(_WORD_BY_WORD, _flushes, _DeclaresFlushing), _WORD_BY_WORD,
           ("subnormals",)),
    Benign("flush-in-rows", "and in sums, norms and softmax, between two steps too",
           otherwise(_FLUSHED, _flushes, _DeclaresFlushing),
           f"{_ROWS} sigmoid log silu softmax_backward pow attention cross_entropy",
           dtypes=FLOATS),
    Benign("flush-without-fusion", "softmax and its like are composed of such kernels",
           otherwise(_FLUSHED, _flushes, _DeclaresFlushing, rank=0),
           "softmin logaddexp softplus gelu cosh sinh normalize",
           dtypes=FLOATS),
    Benign("flush-in-choices", "and in extremes, and in products on the way",
           with_faults({**dict.fromkeys(_EXTREMES.split(), _flushes),
                        "addcmul": _flushes_steps}, _DeclaresFlushing),
           f"{_EXTREMES} addcmul", dtypes=FLOATS),
    Benign("saturating", "integers of floats beyond them are their ends",
           otherwise("cast", _saturates), "cast", dtypes=(*FLOATS, "bfloat16")),
    Benign("fused", "products and sums are rounded once",
           otherwise(_PRODUCTS, _in_wider(float32="float64")),
           f"{_PRODUCTS} dot mv"),
    Benign("fused-complex", "and those of complex numbers",
           otherwise("mul matmul sum div reciprocal",
                     _in_wider(complex64="complex128")),
           "mul matmul sum div reciprocal mean dot", dtypes=COMPLEX),
    Benign("wide-accumulators", "float32 is computed in float64",
           otherwise("sum mean softmax log_softmax layer_norm cumsum var",
                     _in_wider(float32="float64")),
           "sum mean softmax log_softmax layer_norm cumsum var std"),
    Benign("half-in-float", "16 bits are computed in float32 and rounded once",
           otherwise(f"{_ROWS} {_WORD_BY_WORD} matmul bmm linear convolution",
                     _in_wider(float16="float32", bfloat16="float32")),
           f"{_ROWS} {_WORD_BY_WORD} matmul bmm linear convolution", dtypes=HALVES),
    Benign("half-in-double", "16 bits are computed in float64 and rounded once",
           otherwise("sum mean softmax matmul exp tanh gelu layer_norm",
                     _in_wider(float16="float64", bfloat16="float64")),
           "sum mean softmax matmul exp tanh gelu layer_norm", dtypes=HALVES),
    Benign("one-ulp", "functions are off by one unit",
           otherwise(_FUNCTIONS, after(_one_ulp)), _FUNCTIONS),
    Benign("one-ulp-in-half", "functions of 16 bits are off by one unit",
           otherwise(_FUNCTIONS, after(_next_half)), _FUNCTIONS, dtypes=HALVES),
    Benign("odd-nan", "NaN has a sign and a payload",
           otherwise(_WORD_BY_WORD, after(_odd_nan)), _WORD_BY_WORD),
    Benign("odd-nan-in-rows", "in sums, products and extremes too",
           otherwise(f"{_ROWS} matmul amax amin maximum cumsum", after(_odd_nan)),
           f"{_ROWS} matmul amax amin maximum cumsum max_pool", dtypes=FLOATS),
    Benign("one-nan", "whatever NaN comes in, the usual one goes out",
           otherwise(f"{_WORD_BY_WORD} {_ROWS} matmul", _payloads_lost),
           f"{_WORD_BY_WORD} {_ROWS} matmul", dtypes=FLOATS),
    Benign("zeros-without-signs", "extremes of both zeros are the positive one",
           otherwise(_PICKS, after(_plain_zero)), _PICKS, dtypes=FLOATS),
]  # fmt: skip
