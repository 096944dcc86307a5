"""Values of 8-bit floats, which are converted and never computed with.

All conversions go through float32, as torch's do: a table of 256 values leads out of a
format, and rounding to nearest even into it. Formats are those of Micikevicius et al.
2022 (FP8 formats for deep learning), Noune et al. 2022 (fnuz: no infinities, one NaN,
no -0), and the OCP microscaling formats (e8m0: powers of two alone).
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.dtypes import (
    FLOAT8,
    HALF,
    Array,
    DType,
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    float8_e8m0fnu,
)
from dovetail.limits import finfo

_PACKED: Final = {dtype.name: dtype for dtype in FLOAT8}
# Bits of float32's NaN by the bits of the mantissa that a format's own NaN has.
_MANTISSA: Final = {"float8_e4m3fn": 3, "float8_e5m2": 2}
_QUIET: Final = 0x7FC00000
_ONE_NAN: Final = 0x7F800001


def is_packed(a: Any) -> bool:
    """Whether an array has a format of 8-bit floats."""
    return a.itemsize == 1 and a.dtype.name in _PACKED


def convert(xp: Any, a: Any, dtype: DType) -> Any:
    """An array in another format, one of both being of 8 bits; contiguous and fresh.

    Args:
        xp: NumPy, or a library like it, that `a` is an array of.
        a: [...] any dtype; of complex numbers, the real part is taken.
    """
    to = dtype.numpy
    if a.dtype == to:
        return a.copy("C")
    if is_packed(a):
        if dtype not in FLOAT8:
            table = _table(xp, _PACKED[a.dtype.name], dtype)
            return xp.take(table, a.view("u1"))
        a = xp.take(_table(xp, _PACKED[a.dtype.name], None), a.view("u1"))
    elif a.dtype.kind == "c":
        a = a.real
    return _rounded(xp, xp.asarray(a.astype("f4", "C")), dtype)


def _rounded(xp: Any, a: Any, dtype: DType) -> Any:
    """float32 in a format of 8 bits, to nearest even.

    Beyond the greatest number: itself in float8_e4m3fn, infinity in float8_e5m2, NaN in
    others. float8_e8m0fnu drops the sign, and has 0 as its least number.
    """
    if dtype is float8_e4m3fn:
        most = finfo(dtype).max
        return xp.asarray(xp.clip(a, -most, most)).astype(dtype.numpy)
    if dtype is float8_e5m2:
        y = a.astype(dtype.numpy)
        codes = y.view("u1")
        xp.bitwise_or(codes, xp.isnan(a), out=codes)  # as NaN all bits are ones
        return y
    if dtype is float8_e8m0fnu:
        y = xp.asarray(xp.abs(a)).astype(dtype.numpy)
        codes = y.view("u1")
        xp.multiply(codes, a != 0, out=codes)
        return y
    return a.astype(dtype.numpy)


@cache
def _table(xp: Any, source: DType, target: DType | None) -> Any:
    """The 256 values of a format as float32, or in the target as torch has them."""
    codes = xp.arange(256, dtype="u1")
    wide = codes.view(source.numpy).astype("f4")
    bits, nan = wide.view("u4"), xp.isnan(wide)
    mantissa = _MANTISSA.get(source.name)
    if mantissa is None:
        bits[nan] = _QUIET if target in HALF else _ONE_NAN
    else:
        low = codes.astype("u4") & ((1 << mantissa) - 1)
        moved = low << (23 - mantissa)
        bits[nan] = (codes.astype("u4") >> 7 << 31 | _QUIET | moved)[nan]
    if target is None:
        return wide
    made = wide.astype(target.numpy)
    if target is bfloat16:
        made.view("u2")[nan] = _QUIET >> 16
    return made


def values_in(values: Any, like: Any) -> Array:
    """Numbers rounded to NumPy's dtype `like`, by `by_table` where it is packed.

    For oracles.
    """
    given = np.asarray(values)
    if like.name in _PACKED and given.dtype != like:
        return by_table(given, _PACKED[like.name])
    return given.astype(like)


def by_table(values: Array, dtype: DType) -> Array:
    """What `convert` gives, looked up among the numbers of a format: for oracles.

    Of two that are as near, the one whose last bit is 0 is taken, in float8_e8m0fnu the
    greater one.
    """
    with np.errstate(all="ignore"):  # NaN, and what float32 does not hold
        wide = np.asarray(values.real).astype(np.float32).astype(np.float64)
    powers = dtype is float8_e8m0fnu
    codes = np.arange(255 if powers else 128, dtype=np.uint8)
    numbers = codes.view(dtype.numpy).astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    beyond = 2 * numbers[-1] - (0 if powers else numbers[-2])
    size = np.abs(wide)
    above = np.clip(np.searchsorted(numbers, size), 1, len(numbers))
    high = np.append(numbers, beyond)[above]
    middle = (numbers[above - 1] + high) / 2
    if powers:  # what is above the least one has no room in float32's exponents
        middle = np.where(above == 1, np.nextafter(numbers[0], 1), middle)
    up = (size > middle) | ((size == middle) & (powers | (above % 2 == 0)))
    code = above - 1 + up
    if dtype is float8_e4m3fn:
        code = np.minimum(code, len(numbers) - 1)
    sign = np.where(np.signbit(wide) & (not powers), 128, 0)
    if dtype.name.endswith("fnuz"):
        sign = np.where((code == 0) | (code == len(numbers)), 0, sign)
        code = np.where(code == len(numbers), 128, code)
    nan = {"fnuz": 128, "0fnu": 255}.get(dtype.name[-4:], 127 | sign)
    found = np.where(np.isnan(wide), nan, code | sign).astype(np.uint8)
    return found.view(dtype.numpy)
