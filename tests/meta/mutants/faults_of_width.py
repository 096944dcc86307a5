"""Operators of wrongness: numbers in too few bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np
from tests.meta.mutants.mutant import Fault, Run
from tests.meta.mutants.operators import (
    Array,
    Attrs,
    Natives,
    computes,
    each,
    gives_new,
    on_inputs,
    on_results,
    operator,
    real,
    results,
    takes_tensors,
)

from dovetail.engine.op import Op

_HALF: Final = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def _integers(op: Op) -> bool:
    return gives_new(op) and any(d.category == 1 for d in op.accepts)


def _cut(name: str) -> Callable[[Array], Array]:
    """Integers of 64 bits through a narrower format."""

    def through(a: Array) -> Array:
        if a.dtype not in (np.int64, np.uint64):
            return a
        with np.errstate(all="ignore"):
            return a.astype(name).astype(a.dtype)

    return through


@operator(_integers)
def long_results_in_32_bits(op: Op, number: int) -> Fault:
    """Results of 64 bits pass through 32."""
    return on_results(_cut("int32"))


@operator(_integers)
def long_inputs_in_32_bits(op: Op, number: int) -> Fault:
    """So do inputs."""
    return on_inputs(_cut("int32"))


@operator(_integers)
def longs_through_doubles(op: Op, number: int) -> Fault:
    """Integers beyond 2^53 lose bits on their way."""
    return on_inputs(_cut("float64"))


@operator(lambda op: gives_new(op) and any(
    d.category == 1 and not d.is_signed for d in op.accepts))  # fmt: skip
def unsigned_is_signed(op: Op, number: int) -> Fault:
    """Unsigned inputs beyond half their range are negative."""

    def signed(a: Array) -> Array:
        return a.view(a.dtype.str.replace("u", "i")) if a.dtype.kind == "u" else a

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        kinds = {a.dtype for a in natives if isinstance(a, np.ndarray)}
        (kind,) = kinds if len(kinds) == 1 else (np.dtype(bool),)
        if kind.kind != "u":
            return run(*natives, **attrs)
        y = run(*each(natives, signed), **attrs)
        other = signed(np.empty(0, kind)).dtype
        return results(y, lambda p: p.view(kind) if p.dtype == other else p)

    return fault


@operator(computes)
def truncates_to_half(op: Op, number: int) -> Fault:
    """Results of 16 bits are cut, not rounded."""

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        wide = run(*each(natives, _widened), **attrs)
        pairs = zip(_parts(y), _parts(wide), strict=True)
        made = tuple(_towards_zero(p, w) for p, w in pairs)
        return made if isinstance(y, tuple | list) else made[0]

    return fault


def _parts(y: Any) -> list[Array]:
    return [np.asarray(p) for p in (y if isinstance(y, tuple | list) else [y])]


def _widened(a: Array) -> Array:
    return a.astype(np.float32) if a.dtype in _HALF else a


def _towards_zero(narrow: Array, wide: Array) -> Array:
    """The nearest number of 16 bits, or the one before it where that is too large."""
    if narrow.dtype not in _HALF or wide.dtype != np.float32:
        return narrow
    far = np.abs(narrow.astype(np.float32)) > np.abs(wide)
    bits = np.array(narrow).view(np.uint16)
    return np.where(far, bits - 1, bits).astype(np.uint16).view(narrow.dtype)


@operator(computes)
def half_stays_finite(op: Op, number: int) -> Fault:
    """What overflows 16 bits is the largest number."""

    def finite(y: Array) -> Array:
        if y.dtype not in _HALF:
            return y
        top = ml_dtypes.finfo(y.dtype).max
        return np.where(np.isinf(y), np.copysign(top, y), y).astype(y.dtype)

    return on_results(finite)


@operator(computes)
def narrow_subnormals_are_zero(op: Op, number: int) -> Fault:
    """float16 knows no subnormal numbers."""

    def flushed(y: Array) -> Array:
        if y.dtype != np.float16:
            return y
        return np.where(np.abs(y) < 6.1e-5, 0 * y, y).astype(y.dtype)

    return on_results(flushed)


@operator(computes)
def wide_exponents_are_cut(op: Op, number: int) -> Fault:
    """Results beyond 2^15 or below 2^-15 pass through float16."""

    def cut(y: Array) -> Array:
        if y.dtype != np.float32:
            return y
        with np.errstate(all="ignore"):
            far = (np.abs(y) > 65536) | (np.abs(y) < 2.0**-24)
            return np.where(far, y.astype(np.float16), y).astype(y.dtype)

    return on_results(cut)


@operator(computes)
def one_scale_a_row(op: Op, number: int) -> Fault:
    """Inputs are kept to a part of the largest number of their row."""

    def scaled(a: Array) -> Array:
        if not real(a) or not a.ndim or not a.size:
            return a
        with np.errstate(all="ignore"):
            wide = a.astype(np.float64)
            size = np.abs(np.where(np.isfinite(wide), wide, 0)).max(-1, keepdims=True)
            step = size * 2.0**-13
            made = np.where(step > 0, np.round(wide / step) * step, wide)
            return np.where(np.isfinite(wide), made, wide).astype(a.dtype)

    return on_inputs(scaled)


@operator(gives_new)
def odd_bools(op: Op, number: int) -> Fault:
    """True is 255 in memory."""

    def odd(y: Array) -> Array:
        return (y.view(np.uint8) * 255).view(bool) if y.dtype == bool else y

    return on_results(odd)


@operator(lambda op: op.sums and computes(op) and takes_tensors(op))
def half_sums_stay_half(op: Op, number: int) -> Fault:
    """Long sums of 16 bits are added in 16 bits: two parts, each rounded coarsely."""

    def coarse(y: Array) -> Array:
        if y.dtype not in _HALF:
            return y
        wide = y.astype(np.float32)
        step = np.spacing(np.abs(wide).astype(y.dtype)).astype(np.float32) * 8
        with np.errstate(all="ignore"):
            made = np.where(np.isfinite(wide), np.round(wide / step) * step, wide)
        return np.asarray(made).astype(y.dtype)

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        long = any(isinstance(a, np.ndarray) and a.size > 64 for a in natives)
        return results(y, coarse) if long else y

    return fault
