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
        return np.concatenate([whole, edges])
    return _floats(source, target, random)


def _floats(source: DType, target: DType, random: np.random.Generator) -> Array:
    reach = 100.0 if target.category == INT_CATEGORY else 1000.0
    least = 0 if _unsigned(target) or not source.is_signed else -reach
    made: Array = random.uniform(least, reach, 200)
    made[:40] = np.round(made[:40] * 2) / 2
    if target.is_inexact:
        # Half way between two numbers of the narrowest formats, and odd ones.
        made[40:60] = 1 + (2 * np.arange(20) + 1) * 2.0**-8
        made[60:80] = 1 + (2 * np.arange(20) + 1) * 2.0**-11
        made[80:84] = np.nan, np.inf, -np.inf, -0.0
        beyond = _beyond(source, target)
        made[84 : 84 + len(beyond)] = beyond
        made[100:120] = _beside_ties(source, target)
    if source.is_complex:
        return (made + 1j * made[::-1]).astype(source.numpy)
    return made.astype(source.numpy)


def _beside_ties(source: DType, target: DType) -> Array:
    """By a last place of the source above and below what is half way in the target.

    On the way through a third format, they become ties. What takes float64 to bfloat16
    in NumPy goes through float32 itself, and is no judge of these; of 8-bit floats
    that way is the law.
    """
    ties = 1 + (2 * np.arange(20) + 1) * float(limits(target).eps) / 2
    if target is dtypes.bfloat16 or FLOAT8 & {source, target}:
        return ties
    away = np.where(np.arange(20) % 4 < 2, 2.0, 0.0)
    exact = ties.astype(source.real.numpy)
    beside: Array = np.nextafter(exact, away.astype(exact.dtype))
    return beside


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
