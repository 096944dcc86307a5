"""Floats as a mantissa and a power of 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, Array, Sizes, float32, float64, int32, int64
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import bitwise_and, shift_right
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import bitcast, cast, where


def _two_shapes(input: Sizes) -> tuple[Sizes, Sizes]:
    return input, input


def _factors(exponent: Tensor, like: Tensor) -> tuple[Any, Any]:
    """2^-exponent as two factors, each of which the format holds."""
    half = exponent // 2
    return 2.0 ** cast(-half, like.dtype), 2.0 ** cast(half - exponent, like.dtype)


def _slope(ct: Tensor, exponent: Tensor) -> Tensor:
    wide = cast(ct, float32) if ct.dtype in HALF else ct
    one, other = _factors(exponent, wide)
    return cast(wide * one * other, ct.dtype)


def _parts(x: Array) -> tuple[Array, Array]:
    wide = x.astype(np.float64)
    mantissa, exponent = np.frexp(wide)
    return mantissa, np.where(np.isfinite(wide), exponent, 0).astype(np.int32)


def _cases(make: Any) -> Any:
    yield case(make(2, 3))
    yield case(make())
    x = make(7)
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, x[0] * 0.0 + 2.0**-24]
    yield case(x)


@op(shape=_two_shapes, accepts=FLOAT, promote=None, result=("same", int32),
    outputs=("mantissa", "exponent"), unrounded=True, row_major=False,
    oracle=_parts, cases=_cases, grad=_slope)  # fmt: skip
def float_parts(input: Tensor) -> tuple[Tensor, Tensor]:
    """A mantissa from 0.5 to 1 and a power of 2, whose product `input` is.

    Of zeros, infinities and NaN, themselves and 0.
    """
    x = cast(input, float32) if input.dtype in HALF else input
    wide = x.dtype is float64
    digits, middle, lift = (52, 1022, 64) if wide else (23, 126, 32)
    tiny = abs(x) < 2.0 ** (2 - middle)
    lifted = where(tiny, x * 2.0**lift, x)
    bits = bitcast(lifted, int64 if wide else int32)
    field = cast(bitwise_and(shift_right(bits, digits), 2 * middle + 3), int32)
    plain = (lifted != 0) & (lifted - lifted == 0)
    exponent = where(plain, field - middle - where(tiny, lift, 0), 0)
    one, other = _factors(exponent, x)
    return cast(x * one * other, input.dtype), cast(exponent, int32)


__all__ = ["float_parts"]
