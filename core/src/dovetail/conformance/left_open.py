"""What a definition leaves open: where its own steps leave the format, or lose all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial
from dovetail.conformance.options import CROSSED
from dovetail.conformance.oracle import ask, truth
from dovetail.conformance.probes import flushed
from dovetail.conformance.products import MANNERS
from dovetail.conformance.reference import listening, multiplying, reference
from dovetail.conformance.rounding import accumulates_in, rounded_to
from dovetail.conformance.sensitivity import partial_products_leave
from dovetail.conformance.tolerance import bound, sums_may_leave, terms
from dovetail.conformance.values import EDGE
from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine.cases import Case


def left_open(trial: Trial, at: int, got: Array, dtype: DType) -> Array:
    """Where the op's definition itself overflows or underflows, and so did this.

    An intermediate result may leave the range of the format though the truth is in
    it; the body on the reference device says where.
    """
    op, lead = trial.op, trial.dtype
    assert op is not None
    assert lead is not None
    flushes = dtype.real in trial.subject.backend.flushes_subnormals
    # What leaves the format in one order of its factors may stay within it in another,
    beyond = np.zeros(got.shape, bool)
    if op.multiplies:
        beyond = partial_products_leave(op, trial.example, lead, at, got, dtype)
    if trial.example.values not in EDGE:
        if trial.example.options == CROSSED:
            # Options that turn an exponential's argument take any number out.
            beyond = beyond | _leaves_alike(
                _defined(trial, at), got, _held(trial, at, dtype)
            )
        # Ordinary numbers have subnormal results too, such as an exponential's.
        if not flushes:
            return beyond
        return np.asarray(beyond | _subnormal(trial, at, got, dtype, flushes))
    # and so may a sum of its terms.
    finite = _of_the_finite(trial.example)
    if op.sums or op.cancels:
        reach = terms(op, finite, lead, at, dtype)
        over = np.asarray(reach >= float(limits(accumulates_in(dtype)).max))
        beyond = beyond | over & ~np.isfinite(got)
    if limits(dtype.real).bits == 64:  # the oracle leaves the format where the op does
        beyond = beyond | ~np.isfinite(ask(op, finite, lead)[at])
    held = _held(trial, at, dtype)
    over = _leaves_alike(_defined(trial, at), got, held)
    if sums_may_leave(op, trial.example, lead, at, dtype):
        over = over | ~held & ~np.isfinite(got)
    under = _subnormal(trial, at, got, dtype, flushes)
    open_ = beyond | over | under | _as_the_body(trial, at, got, dtype)
    return np.asarray(open_) | _flushed(trial, at, got, dtype)


def _as_the_body(trial: Trial, at: int, got: Array, dtype: DType) -> Array:
    """Where an op's body gives, in the format, what this did: steps may round all away.

    A large number that is added to all scores of a row leaves them equal, and what is
    chosen by them is their mean. Scores that leave the format are NaN in one order of
    their terms, and in another -inf, which hides.
    """
    op, lead = trial.op, trial.dtype
    assert op is not None
    assert lead is not None
    if lead in op.primitive:
        return np.zeros(got.shape, bool)
    allowed = bound(op, trial.example, lead, at, dtype)
    target = np.complex128 if dtype.is_complex else np.float64
    found = np.zeros(got.shape, bool)
    with np.errstate(all="ignore"):
        for defined in _definitions(trial, at):
            off = np.abs(got.astype(target) - defined.astype(target))
            found |= off <= allowed.least
    return found


def _leaves_alike(defined: Array, got: Array, held: Array) -> Array:
    """Where both are beyond the format, on the same side or as no number.

    Where the truth is held by the format, only steps towards it leave that: whether
    further ones make infinities or NaN of it depends on their order.
    """
    both = ~np.isfinite(defined) & ~np.isfinite(got)
    if np.iscomplexobj(got):  # which part is beyond is left open
        return np.asarray(both)
    same = (defined == got) | (np.isnan(defined) & np.isnan(got))
    return np.asarray(both & (held | same))


def _held(trial: Trial, at: int, dtype: DType) -> Array:
    """Where the format of a result has the truth in its range."""
    assert trial.op is not None
    assert trial.dtype is not None
    size = np.abs(truth(trial.op, trial.example, trial.dtype)[at])
    return np.asarray(size <= float(limits(dtype.real).max))


def _of_the_finite(example: Example) -> Example:
    """The call with 0 for inputs that are not finite, which leave no format."""
    assert example.case is not None

    def finite(value: Any) -> Any:
        if isinstance(value, list):
            return [finite(v) for v in value]
        if isinstance(value, np.ndarray) and value.dtype.kind not in "biu":
            return np.where(np.isfinite(value), value, 0).astype(value.dtype)
        return value

    kwargs = {k: finite(v) for k, v in example.case.kwargs.items()}
    return Example(Case(tuple(map(finite, example.case.args)), kwargs))


def _defined(trial: Trial, at: int) -> Array:
    """What the op's body gives on the reference device."""
    assert trial.op is not None
    assert trial.dtype is not None
    device = reference()
    results = device.run(trial.op, Example(trial.example.case), trial.dtype)
    return device.values(results[at])


def _definitions(trial: Trial, at: int) -> Iterator[Array]:
    """What the body gives, and what it gives by products made in other ways."""
    with listening() as called:
        usual = _defined(trial, at)
    yield usual
    if "bmm" in called:
        for manner in MANNERS:
            with multiplying(manner):
                found = _defined(trial, at)
            yield found


def _subnormal(trial: Trial, at: int, got: Array, dtype: DType, flushes: bool) -> Array:
    """Where the definition gives no normal number, and neither does this.

    What is computed in a format of a wider range may only be lost where the definition
    loses it, unless the device flushes; a kernel's own steps may leave the same range.
    """
    assert trial.op is not None
    assert trial.dtype is not None
    tiny = float(limits(dtype.real).smallest_normal)
    defined = _defined(trial, at)
    with np.errstate(all="ignore"):
        small = (np.abs(defined) <= tiny) & (np.abs(got) <= tiny)
        inner = float(limits(accumulates_in(dtype)).smallest_normal)
        if flushes or inner >= tiny or not np.any(small):
            return np.asarray(small)
        allowed = bound(trial.op, trial.example, trial.dtype, at, dtype)
        wide = defined.astype(np.complex128 if dtype.is_complex else np.float64)
        off = np.abs(wide - truth(trial.op, trial.example, trial.dtype)[at])
        return np.asarray(small & ~(off <= allowed.error))


def _flushed(trial: Trial, at: int, got: Array, dtype: DType) -> Array:
    """Where a device that flushes gave the answer for flushed inputs, or flushed it.

    Steps on the way are flushed, too, and what they lose later ones multiply.
    """
    flat = flushed_truth(trial, at)
    if flat is None:
        return np.zeros(got.shape, bool)
    assert trial.op is not None
    assert trial.dtype is not None
    allowed = bound(trial.op, trial.example, trial.dtype, at, dtype)
    target = np.complex128 if dtype.is_complex else np.float64
    tiny = float(limits(dtype.real).smallest_normal)
    room = allowed.error + tiny * _factor(trial)
    with np.errstate(all="ignore"):
        found = np.isnan(got) & np.isnan(flat) | (got == rounded_to(flat, dtype))
        for want in (flat, truth(trial.op, trial.example, trial.dtype)[at]):
            found |= np.abs(got.astype(target) - want.astype(target)) <= room
        return np.asarray(found)


def _factor(trial: Trial) -> float:
    """The largest number by which a call multiplies all it has computed; at least 1."""
    op, case = trial.op, trial.example.case
    assert op is not None
    assert case is not None
    given = [*zip(case.args, op.names, strict=False)]
    given += [(value, name) for name, value in case.kwargs.items()]
    sizes = [abs(v) for v, name in given if name in op.scalars and _is_finite(v)]
    return float(max([1.0, *sizes]))


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float | complex) and bool(np.isfinite(value))


def flushed_truth(trial: Trial, at: int) -> Array | None:
    """What is true where subnormal inputs are 0; None for a device that keeps them."""
    op, dtype, example = trial.op, trial.dtype, trial.example
    assert op is not None
    assert dtype is not None
    flushes = trial.subject.backend.flushes_subnormals
    if not (flushes and example.values in EDGE and example.case is not None):
        return None

    def flat(value: Any) -> Any:
        if isinstance(value, list):
            return [flat(v) for v in value]
        if isinstance(value, np.ndarray) and from_numpy(value.dtype) in flushes:
            return flushed(value, from_numpy(value.dtype))
        return value

    kwargs = {k: flat(v) for k, v in example.case.kwargs.items()}
    case = Case(tuple(map(flat, example.case.args)), kwargs)
    return ask(op, Example(case), dtype)[at]
