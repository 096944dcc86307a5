"""Faults from bug reports of accelerators and array libraries: numbers and orders.

Each has been reported in public, of one library or another, as a wrong result.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, bits, row, sees
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
C64: Final = np.complex64


def _complex(change: Any) -> Any:
    """A fault in complex numbers alone."""

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        if natives[0].dtype.kind != "c":
            return y
        with np.errstate(all="ignore"):
            return np.asarray(change(np.asarray(y), *natives)).astype(y.dtype)

    return fault


def _modulus(y: Array, a: Array) -> Array:
    """The root of the sum of squares, in the format itself."""
    return np.sqrt(a.real * a.real + a.imag * a.imag)


def _quotient(y: Array, a: Array, b: Array) -> Array:
    """Both times the conjugate, by the square of the modulus."""
    size = b.real * b.real + b.imag * b.imag
    real = (a.real * b.real + a.imag * b.imag) / size
    imag = (a.imag * b.real - a.real * b.imag) / size
    return real + 1j * imag


def _upper_side(y: Array, a: Array) -> Array:
    """On the branch cut, -0 is 0."""
    cut = (a.real < 0) & (a.imag == 0)
    return np.where(cut, y.real + 1j * np.abs(y.imag), y)


def _as_float32(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """64-bit integers go through float32."""
    moved = [
        a.astype(F32).astype(a.dtype)
        if isinstance(a, np.ndarray) and a.dtype == np.int64
        else a
        for a in natives
    ]
    return run(*moved, **attrs)


def _in_32_bits(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """64-bit integers are cut to what 32 bits hold."""
    a = natives[0]
    if a.dtype != np.int64:
        return run(*natives, **attrs)
    info = np.iinfo(np.int32)
    return run(np.clip(a, info.min, info.max), *natives[1:], **attrs)


def _logical(y: Array, a: Array, b: Array, **attrs: Any) -> Array:
    """Signs are not shifted in."""
    if a.dtype.kind != "i":
        return y
    words = np.dtype(f"u{a.dtype.itemsize}")
    with np.errstate(all="ignore"):
        by = np.broadcast_to(b, y.shape).astype(words)
        made = np.right_shift(np.broadcast_to(a, y.shape).astype(words), by)
    low = by < 8 * a.dtype.itemsize
    return np.where(low, made.astype(a.dtype), y)


def _narrow_scan(y: Array, a: Array, **attrs: Any) -> Array:
    """Sums of 16 bits stay in 16 bits."""
    return y.astype(np.int16).astype(y.dtype) if a.dtype == np.int16 else y


def _plus_infinity(y: Array, a: Array, **attrs: Any) -> Array:
    """∞ - ∞ on the way."""
    if not inexact(a) or a.dtype.kind == "c":
        return y
    return np.where(np.asarray(y).astype(np.float64) == np.inf, np.nan, y).astype(
        np.asarray(y).dtype
    )


def _first_block(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The largest of the first 256 is taken off, whatever comes behind."""
    a, y = natives[0], run(*natives, **attrs)
    if a.dtype != F32 or not a.ndim or a.shape[attrs["dim"]] <= 256:
        return y
    rows = np.moveaxis(a, attrs["dim"], -1)
    with np.errstate(all="ignore"):
        up = np.exp(rows - np.max(rows[..., :256], -1, keepdims=True))
        made = up / np.sum(up, -1, keepdims=True)
    return np.ascontiguousarray(np.moveaxis(made, -1, attrs["dim"])).astype(F32)


def _flipped_ties(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Descending is ascending backwards, ties and all."""
    a = natives[0]
    if not attrs["descending"] or not a.ndim or (inexact(a) and np.isnan(a).any()):
        return run(*natives, **attrs)
    values, places = run(*natives, **{**attrs, "descending": False})
    dim = attrs["dim"]
    return tuple(np.ascontiguousarray(np.flip(x, dim)) for x in (values, places))


def _below_all(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A NaN with a sign is the least of all."""
    a = natives[0]
    if not inexact(a) or a.dtype.kind == "c":
        return run(*natives, **attrs)
    with np.errstate(all="ignore"):
        least = np.isnan(a) & np.signbit(a)
    return run(np.where(least, -np.inf, a).astype(a.dtype), *natives[1:], **attrs)


def _apart(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Where no order is asked for, places are of another order than values."""
    values, places = run(*natives, **attrs)
    if attrs["sorted"] or not np.ndim(places):
        return values, places
    return values, np.ascontiguousarray(np.flip(places, attrs["dim"]))


def _no_number_is_none(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """NaN counts as 0."""
    a = natives[0]
    seen = np.where(np.isnan(a), 0, a).astype(a.dtype) if inexact(a) else a
    return run(seen, *natives[1:], **attrs)


def _of_one(y: Array, a: Array, **attrs: Any) -> Array:
    """Nothing is left of one element, whatever is taken off their number."""
    y = np.asarray(y)
    return np.full_like(y, np.nan) if a.size == y.size > 0 else y


def _towards_zero(y: Array, a: Array, b: Array, **attrs: Any) -> Array:
    """Has the sign of the dividend, in 8 bits."""
    if a.dtype != np.int8:
        return y
    with np.errstate(all="ignore"):
        return np.where(b == 0, y, np.fmod(a, np.where(b == 0, 1, b))).astype(y.dtype)


def _reaches_the_end(y: Array, *natives: Any, **attrs: Any) -> Array:
    """16-bit numbers are rounded up to the upper bound."""
    if y.dtype != np.float16 or not y.size:
        return y
    below = np.nextafter(np.float16(attrs["high"]), np.float16(attrs["low"]))
    return np.where(y == below, np.float16(attrs["high"]), y)


def _offset_in_words(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Offsets count modulo 2^32."""
    return run(*natives, **{**attrs, "offset": int(attrs["offset"]) % (1 << 32)})


def _far_offset(subject: Any) -> Any:
    from tests.meta.mutants.catalogue.shipped_calls import _draws

    return _draws((1, 5 << 32, 8))(subject)


_TIED: Final = row(1, 2, 1, 2, 1)
_BIG: Final = np.array([1 << 24, (1 << 24) + 1])
_LATE: Final = np.append(np.zeros(300, F32), F32(200))

FIELD_VALUES: Final[list[Mutant]] = [
    kernel("field/modulus-overflows", "abs", "of complex numbers, by squares",
           _complex(_modulus), observe=sees("abs", row(1e30 + 1e30j, dtype=C64))),
    kernel("field/quotient-overflows", "div", "of complex numbers, by squares",
           _complex(_quotient), observe=sees("div", row(1e25 + 1j, dtype=C64),
               row(1e25 + 1e25j, dtype=C64))),
    kernel("field/cut-has-one-side", "sqrt", "of complex numbers",
           _complex(_upper_side), observe=lambda s: np.sign(s.values(
               s.tensor(np.array([complex(-1, -0.0)], C64)).sqrt()).imag)),
    kernel("field/chosen-in-floats", "where", "64-bit integers", _as_float32,
           observe=sees("where", np.array([True, True]), _BIG, _BIG)),
    kernel("field/bounds-in-floats", "clamp", "64-bit integers", _as_float32,
           observe=sees("clamp", _BIG, _BIG, _BIG)),
    kernel("field/extremes-in-floats", "argmax argmin", "64-bit integers", _as_float32,
           observe=sees("argmax", _BIG, 0)),
    kernel("field/extremes-in-32-bits", "amax amin", "64-bit integers", _in_32_bits,
           observe=sees("amax", np.array([1 << 40]), (0,))),
    kernel("field/shifts-in-zeros", "bitwise_right_shift", "of negative numbers",
           after(_logical),
           observe=sees("bitwise_right_shift", np.array([-8]), np.array([1]))),
    kernel("field/narrow-scan", "cumsum", "of 16-bit integers", after(_narrow_scan),
           observe=sees("cumsum", np.full(4, 20000, np.int16), 0)),
    kernel("field/infinite-row", "logsumexp", "∞ among the terms",
           after(_plus_infinity), observe=sees("logsumexp", row(np.inf, 1), (0,))),
    kernel("field/largest-of-a-block", "softmax", "overflows behind it", _first_block,
           observe=sees("softmax", _LATE, 0)),
    kernel("field/ties-backwards", "sort", "stable, descending", _flipped_ties,
           observe=sees("sort", _TIED, 0, True, True)),
    kernel("field/nan-with-a-sign", "topk sort", "the least", _below_all,
           observe=lambda s: [bits(s.values(x)) for x in s.tensor(
               np.array([0x3F800000, 0xFFC00000], np.uint32).view(F32)).topk(1)]),
    kernel("field/places-of-others", "topk", "unsorted", _apart,
           observe=sees("topk", row(3, 1, 2), 2, 0, True, False)),
    kernel("field/nan-is-nothing", "nonzero count_nonzero", "is not counted",
           _no_number_is_none, observe=lambda s: s.values(
               s.tensor(row(np.nan, 0, 1)).nonzero())),
    kernel("field/spread-of-one", "var std", "of one element", after(_of_one),
           observe=sees("var", row(3), (0,), 0)),
    kernel("field/rest-of-bytes", "remainder", "truncated", after(_towards_zero),
           observe=sees("remainder", np.array([-3], np.int8), np.array([2], np.int8))),
    kernel("field/upper-bound", "uniform", "16 bits", after(_reaches_the_end),
           dtypes=("float16",), observe=lambda s: _halves(s)),
    kernel("field/far-offset", "uniform", "beyond 2^32", _offset_in_words,
           observe=_far_offset),
]  # fmt: skip


def _halves(subject: Any) -> Any:
    from tests.meta.mutants.catalogue.shipped_calls import _kind, vocabulary

    draw = vocabulary["uniform"].function
    made = draw((1 << 15,), 0.0, 1.0, 1, 0, _kind(subject, "float16"))
    return int(np.sum(subject.values(made) == 1))
