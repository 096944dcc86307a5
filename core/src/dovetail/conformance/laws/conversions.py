"""Casts between all dtypes of a device: what is rounded, cut, and kept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dovetail import dtypes
from dovetail.conformance.budget import Budget
from dovetail.conformance.compare import exactly
from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import rng
from dovetail.conformance.subject import Subject
from dovetail.dtypes import BOOL_CATEGORY, FLOAT8, INT_CATEGORY, Array, DType
from dovetail.float8 import by_table


def _targets(
    subject: Subject, dtype: DType | None, budget: Budget
) -> Iterator[Example]:
    for at, target in enumerate(d for d in dtypes.ALL if subject.claims(d)):
        yield Example(size="200", known={"at": at, "to": target})


@device_law("conversions", examples=_targets, rank=43)
def conversions(trial: Trial) -> None:
    """A cast to a float rounds to nearest, ties to even; to an integer it truncates.

    To bool it asks whether a number is not 0; NaN and infinities stay what they are.
    """
    source, target = trial.dtype, trial.example.known["to"]
    assert source is not None
    values = _values(source, target, rng(trial))
    flushed = trial.subject.backend.flushes_subnormals
    if not {source.real, target.real} & {*flushed, *FLOAT8}:
        values = _with_subnormals(values, target)
    made = trial.subject.tensor(values).to(target)
    if made.dtype is not target:
        raise Wrong(f"{source.name} to {target.name} gives {made.dtype.name}")
    name = f"{source.name} to {target.name}: y"
    exactly(name, trial.subject.values(made), converted(values, target))


def converted(values: Array, target: DType) -> Array:
    """What NumPy makes of them, which rounds once."""
    real = target.is_complex or not np.iscomplexobj(values)
    with np.errstate(all="ignore"):
        if target in FLOAT8 and values.dtype != target.numpy:
            return by_table(values, target)
        if target.category == BOOL_CATEGORY:
            return np.asarray(values != 0)
        return np.asarray(values if real else values.real).astype(target.numpy)


def _values(source: DType, target: DType, random: np.random.Generator) -> Array:
    """Numbers that the target has room for: halves, neighbours, ties, and odd ones."""
    if source.category == BOOL_CATEGORY:
        return random.integers(0, 2, 200).astype(bool)
    if source.category == INT_CATEGORY:
        low, high = _range(source)
        if target.category == INT_CATEGORY:
            below, above = _range(target)
            low, high = max(low, below), min(high, above)
        exponents = random.uniform(0, np.log2(float(high)), 200)
        whole = np.minimum(2.0**exponents, float(high) / 2).astype(source.numpy)
        edges = np.array([low, high, high - 1, 0, 1]).astype(source.numpy)
        ties = np.array(_whole_ties(source, target), source.numpy)
        return np.concatenate([whole, edges, ties])
    return _floats(source, target, random)


def _with_subnormals(values: Array, target: DType) -> Array:
    """The same with numbers that are subnormal in the target, and ties of these."""
    if not target.is_inexact or values.dtype.kind not in "fcV":
        return values
    least = float(limits(target.real).smallest_subnormal)
    share = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.5, 3.0, 3.75, 100.5])
    small = np.concatenate([share, -share]) * least
    made = values.copy()
    made[140 : 140 + len(small)] = small.astype(values.dtype)
    return made


def _whole_ties(source: DType, target: DType) -> list[int]:
    """Integers half way between two numbers of a float, and beside those by one.

    A wider float on the way may lose that one, and make a tie of what is none.
    """
    if not target.is_inexact or _through_single(source, target):
        return []
    low, high = _range(source)
    found = []
    for power in range(limits(target.real).nmant + 1, high.bit_length()):
        step = 1 << (power - limits(target.real).nmant)
        for tie in ((1 << power) + step // 2, (1 << power) + step + step // 2):
            found += [sign * (tie + by) for sign in (1, -1) for by in (-1, 0, 1)]
    return [n for n in found if low <= n <= high]


def _floats(source: DType, target: DType, random: np.random.Generator) -> Array:
    reach = 100.0 if target.category == INT_CATEGORY else 1000.0
    least = 0 if _unsigned(target) or not source.is_signed else -reach
    made: Array = random.uniform(least, reach, 200)
    made[:40] = np.round(made[:40] * 2) / 2
    if target.is_inexact or target.category == BOOL_CATEGORY:
        made[80:84] = np.nan, np.inf, -np.inf, -0.0
    if target.is_inexact:
        # Half way between two numbers of the narrowest formats, and odd ones.
        made[40:60] = 1 + (2 * np.arange(20) + 1) * 2.0**-8
        made[60:80] = 1 + (2 * np.arange(20) + 1) * 2.0**-11
        beyond = _beyond(source, target)
        made[84 : 84 + len(beyond)] = beyond
        made[100:120] = _beside_ties(source, target)
    if source.is_complex:
        found = (made + 1j * made[::-1]).astype(source.numpy)
        found.real[120:124] = [0.0, -0.0, 0.0, -0.0]
        found.imag[120:124] = [1.0, -0.5, 0.0, -0.0]
    else:
        found = made.astype(source.numpy)
    if np.isnan(made[80]) and source not in FLOAT8:
        _signal(found.real, 124)
        _signal(found.imag, 128) if source.is_complex else None
    return found


def _signal(a: Array, at: int) -> None:
    """Put signalling NaNs with the least of payloads and a greater one, of both signs.

    Cut or rounded as bits, they become infinite, or overflow into the sign.
    """
    bits = np.dtype(f"u{a.itemsize}")
    infinity = int(np.array(np.inf, a.dtype).view(bits))
    sign = 1 << (8 * a.itemsize - 1)
    loud = [infinity + 1, sign | infinity + 1, infinity + 2, sign - 1]
    a[at : at + 4] = np.array(loud, bits).view(a.dtype)


def _beside_ties(source: DType, target: DType) -> Array:
    """By a last place of the source above and below what is half way in the target.

    On the way through a third format, they become ties.
    """
    ties = 1 + (2 * np.arange(20) + 1) * float(limits(target).eps) / 2
    if _through_single(source, target):
        return ties
    away = np.where(np.arange(20) % 4 < 2, 2.0, 0.0)
    exact = ties.astype(source.real.numpy)
    beside: Array = np.nextafter(exact, away.astype(exact.dtype))
    return beside


def _through_single(source: DType, target: DType) -> bool:
    """Whether a cast goes through float32, so that NumPy is no judge of its ties.

    What takes others to bfloat16 there does itself; of 8-bit floats that is the law.
    """
    return target is dtypes.bfloat16 or bool(FLOAT8 & {source, target})


def _beyond(source: DType, target: DType) -> Array:
    """About the end of the target: the last number, what rounds to it, what does not.

    Of either sign, as far as the source has room for them.
    """
    last, step = float(limits(target).max), float(limits(target).eps)
    with np.errstate(all="ignore"):
        near = last * np.array([1.0, 1 + step / 8, 1 + step / 2, 2.0])
        fits = near[np.abs(near) <= float(limits(source).max)]
    return np.concatenate([fits, -fits])


def _unsigned(dtype: DType) -> bool:
    return dtype.category == INT_CATEGORY and not dtype.is_signed


def _range(dtype: DType) -> tuple[int, int]:
    return int(limits(dtype).min), int(limits(dtype).max)
