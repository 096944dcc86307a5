"""One result beside the truth: the same values, within what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong
from dovetail.conformance.left_open import flushed_truth, left_open
from dovetail.conformance.oracle import truth
from dovetail.conformance.rounding import rounded_to
from dovetail.conformance.tolerance import Bound, bound
from dovetail.dtypes import Array, DType
from dovetail.engine.tensor import Tensor


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
            if flat is not None:  # a device that flushes sees other inputs
                right = np.where(got == flat, got, right)
            exactly(name, got, np.where(_has_room(want, got.dtype), right, got))
            continue
        allowed = bound(op, trial.example, dtype, at, y.dtype)
        excuse = partial(left_open, trial, at, got, y.dtype)
        trial.measured(within(name, got, want, allowed, y.dtype, excuse))
        if op.unrounded and op.tensors and y.dtype.is_complex:
            parts_alike(name, got, want)
        if op.signed_zeros and not y.dtype.is_complex:
            signs_of_zeros(name, got, want)


def _has_room(want: Array, dtype: np.dtype[Any]) -> Array:
    """Where integers can hold what is true; processors differ in what else they give.

    C (ISO 9899, 6.3.1.4) leaves it undefined, and NaN with it.
    """
    if want.dtype.kind != "f" or dtype.kind not in "iu":
        return np.ones(want.shape, bool)
    kept = np.iinfo(dtype)
    # The bound above is a power of two, as floats hold it.
    return np.asarray((want >= float(kept.min)) & (want < float(kept.max // 2 + 1) * 2))


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
