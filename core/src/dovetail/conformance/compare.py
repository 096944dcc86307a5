"""One result beside the truth: the same values, within what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong
from dovetail.conformance.options import CROSSED
from dovetail.conformance.oracle import ask, truth
from dovetail.conformance.probes import flushed
from dovetail.conformance.products import MANNERS
from dovetail.conformance.reference import listening, multiplying, reference
from dovetail.conformance.rounding import accumulates_in
from dovetail.conformance.sensitivity import partial_products_leave
from dovetail.conformance.tolerance import Bound, bound, sums_may_leave, terms
from dovetail.conformance.values import EDGE
from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine.cases import Case
from dovetail.engine.tensor import Tensor
from dovetail.float8 import values_in


def against_oracle(trial: Trial, results: list[Tensor]) -> None:
    """Every result of a call against the oracle's."""
    op, dtype = trial.op, trial.dtype
    assert op is not None
    assert dtype is not None
    wanted = truth(op, trial.example, dtype)
    if len(results) != len(wanted):
        raise Wrong(f"{len(results)} results, needed {len(wanted)}")
    for at, (y, want) in enumerate(zip(results, wanted, strict=True)):
        got = trial.subject.values(y)
        if got.shape != want.shape:
            raise Wrong(f"shape of result {at} is {got.shape}, needed {want.shape}")
        name = op.outputs[at] if at < len(op.outputs) else f"result {at}"
        if not y.dtype.is_inexact:
            flat = flushed_truth(trial, at)
            right = want.astype(got.dtype)
            # A device that flushes sees other inputs.
            exactly(
                name, got, right if flat is None else np.where(got == flat, got, right)
            )
            continue
        allowed = bound(op, trial.example, dtype, at, y.dtype)
        excuse = partial(left_open, trial, at, got, y.dtype)
        trial.measured(within(name, got, want, allowed, y.dtype, excuse))
        if op.unrounded and op.tensors and y.dtype.is_complex:
            parts_alike(name, got, want)
        if op.signed_zeros and not y.dtype.is_complex:
            signs_of_zeros(name, got, want)


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
        over = np.asarray(reach >= float(limits(dtype.real).max))
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
    """Where a device that flushes gave the answer for flushed inputs, or flushed it."""
    want = flushed_truth(trial, at)
    if want is None:
        return np.zeros(got.shape, bool)
    assert trial.op is not None
    assert trial.dtype is not None
    allowed = bound(trial.op, trial.example, trial.dtype, at, dtype)
    target = np.complex128 if dtype.is_complex else np.float64
    room = allowed.error + float(limits(dtype.real).smallest_normal)
    with np.errstate(all="ignore"):
        near = np.abs(got.astype(target) - want.astype(target)) <= room
        same = got == rounded_to(want, dtype)
        return np.asarray(near | same | (np.isnan(got) & np.isnan(want)))


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


def exactly(name: str, got: Array, want: Array) -> None:
    """Equal in every element; NaN equals NaN."""
    equal = got == want
    if got.dtype.kind not in "biu":  # ml_dtypes' are of a kind of their own
        equal = equal | (np.isnan(got) & np.isnan(want))
    if not np.all(equal):
        raise Wrong(_worst(name, got, want, ~np.asarray(equal)))


def parts_alike(name: str, got: Array, want: Array) -> None:
    """Complex numbers that are moved, and no NaN, have parts as finite as they were."""
    right = want.astype(got.dtype)
    numbers = ~np.isnan(right)
    for part in ("real", "imag"):
        have, need = getattr(got, part), getattr(right, part)
        alike = np.isfinite(have) & np.isfinite(need) | (have == need)
        lost = numbers & ~alike
        if np.any(lost):
            raise Wrong(_worst(f"{name}.{part}", have, need, lost))


def within(
    name: str,
    got: Array,
    want: Array,
    allowed: Bound,
    dtype: DType,
    excuse: Callable[[], Array] | None = None,
) -> float:
    """The largest error in ulp; raises where one is larger than allowed.

    Args:
        excuse: says which elements may differ all the same; asked only if any does.
    """
    rounded = rounded_to(want, dtype)
    target = np.complex128 if dtype.is_complex else np.float64
    with np.errstate(all="ignore"):
        have, exact = got.astype(target), want.astype(target)
        error = np.abs(have - exact)
        special = ~np.isfinite(exact) | ~np.isfinite(rounded.astype(target))
        same = _same_special(have, rounded.astype(target), exact)
        bad = np.where(special, ~same, ~(error <= allowed.least))
        if np.any(bad):
            # Also to a truth beyond the format that is allowed to be off by as much.
            near = np.isfinite(exact) & (error <= allowed.error)
            bad = ~(near | special & same)
            # Near the largest number, one may overflow where the other does not.
            bad &= ~_overflowed(have, exact, allowed, dtype)
        ulps = np.where(special, 0.0, error / allowed.unit)
    if np.any(bad) and excuse is not None:
        bad &= ~excuse()
        ulps = np.where(excuse(), 0.0, ulps)
    if np.any(bad):
        where = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.ndim else ()
        told = _worst(name, got, rounded, bad)
        off, most = float(ulps[where]), float((allowed.error / allowed.unit)[where])
        if np.isfinite(off) and not special[where]:  # else nothing can be counted
            told += f": off by {off:.3g} ulp, allowed {most:.3g}"
        raise Wrong(told, _farthest(np.where(special, np.inf, ulps)[bad]))
    return float(np.max(ulps, initial=0.0))


def signs_of_zeros(name: str, got: Array, want: Array) -> None:
    """Where the truth is 0, and no rounding made it so, a result of 0 has its sign."""
    zero = (got == 0) & (want == 0)
    lost = zero & (np.signbit(got) != np.signbit(want))
    if np.any(lost):
        raise Wrong(_worst(name, got, want, lost))


def _farthest(ulps: Array) -> float:
    """The largest of some errors; infinite where one is no number."""
    return float(np.max(np.where(np.isnan(ulps), np.inf, ulps), initial=0.0))


def rounded_to(want: Array, dtype: DType) -> Array:
    """The truth in the result's format."""
    with np.errstate(all="ignore"):
        return values_in(want, dtype.numpy)


def _same_special(have: Array, rounded: Array, exact: Array) -> Array:
    """Equal infinities, or NaN in both; complex ones by being finite at all."""
    if np.iscomplexobj(have):
        return np.asarray(~np.isfinite(have))
    nan = np.isnan(rounded)  # also of an infinity that a format does not have
    return np.where(nan, np.isnan(have), have == rounded)


def _overflowed(have: Array, exact: Array, allowed: Bound, dtype: DType) -> Array:
    largest = float(limits(dtype.real).max)
    reach = np.abs(exact) + allowed.error >= largest
    infinite = np.isinf(have) | ~np.isfinite(rounded_to(exact, dtype))
    near = np.isinf(exact) | np.isinf(have) | (np.abs(have) >= largest * 0.99)
    return np.asarray(reach & infinite & near & np.isfinite(exact) & ~np.isnan(have))


def _worst(name: str, got: Array, want: Array, bad: Array) -> str:
    """The first wrong element, and how many there are."""
    count = int(np.sum(bad))
    if not bad.ndim:
        return f"{name} is {got[()]!s}, needed {want[()]!s}"
    where = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    return (
        f"{name}[{', '.join(map(str, where))}] is {got[where]!s}, needed "
        f"{want[where]!s} ({count} of {bad.size} elements wrong)"
    )
