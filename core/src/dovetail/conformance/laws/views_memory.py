"""Views of memory, and writes through them, against a map of indices in NumPy."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import (
    expect_bits,
    expect_native,
    patterns,
    rng,
    sizes,
)
from dovetail.conformance.laws.places import (
    Look,
    alike,
    any_look,
    planes,
    row,
    single_look,
)
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType
from dovetail.float8 import values_in

_MEMORY: Final = 160  # elements of the memory that is looked into
_CHAINS: Final = 3  # views of views


def _drawn(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    for at in range(12 * budget.depth):
        yield Example(layout="any", size="drawn", known={"at": at})
    yield Example(layout="orphan", size="drawn", known={"at": 12 * budget.depth})


def _written(
    subject: Subject, dtype: DType | None, budget: Budget
) -> Iterator[Example]:
    yield from _drawn(subject, dtype, budget)
    for at, count in enumerate(sizes(subject, budget), 1000):
        for step in (1, 2):
            known = {"at": at, "row": row(count, step)}
            yield Example(layout=f"step {step}", size=str(count), known=known)
    for at, look in enumerate(planes(), 2000):
        yield Example(layout="plane", size="tiles", known={"at": at, "row": look})


@device_law("view", examples=_drawn, rank=1, first=True, carries=True)
def view(trial: Trial) -> None:
    """A view sees the elements that its strides and offset say, and `geometry` agrees.

    It keeps the memory alive when the array it was taken of is gone.
    """
    backend, random = trial.subject.backend, rng(trial)
    values, root = _memory(trial, random)
    native, seen = root, Look((_MEMORY,), (1,), 0)
    for _ in range(_CHAINS):
        parent, above = native, seen
        seen = any_look(random, _MEMORY)
        if not all(seen.shape):
            _expect_seen(trial, backend.view(parent, seen.shape, seen.strides, 0),
                         seen, values[:0].reshape(seen.shape))  # fmt: skip
            seen = above
            continue
        step = seen.offset - above.offset
        native = backend.view(parent, seen.shape, seen.strides, step)
        _expect_seen(trial, native, seen, values[seen.index()])
        _expect_geometry(trial, native, root, seen, seen.offset)
        _expect_geometry(trial, native, parent, seen, step)
    if trial.example.layout == "orphan":
        del root, parent
        gc.collect()
        for salt in range(3):  # what was freed would be handed out again
            backend.copy_in(_patterns(trial, (_MEMORY,), salt + 1), trial.subject.index)
        _expect_seen(trial, native, seen, values[seen.index()])


def _memory(trial: Trial, random: np.random.Generator) -> tuple[Array, Any]:
    dtype = trial.dtype
    assert dtype is not None
    values = patterns(dtype, (_MEMORY,), random)
    return values, trial.subject.backend.copy_in(values, trial.subject.index)


def _patterns(trial: Trial, shape: tuple[int, ...], salt: int) -> Array:
    assert trial.dtype is not None
    return patterns(trial.dtype, shape, rng(trial, salt))


def _expect_seen(trial: Trial, native: Any, look: Look, want: Array) -> None:
    expect_native(trial, str(look), native, look.shape)
    expect_bits(str(look), trial.subject.backend.copy_out(native), want)


def _expect_geometry(
    trial: Trial, native: Any, root: Any, look: Look, offset: int
) -> None:
    strides, first = trial.subject.backend.geometry(native, root)
    each = zip(look.shape, strides, look.strides, strict=True)
    if first != offset or any(n > 1 and got != want for n, got, want in each):
        raise Wrong(
            f"geometry of {look} is {tuple(strides)} and {first}, "
            f"needed {look.strides} and {offset}"
        )


# ---- writes


@device_law("copy", examples=_written, rank=2, first=True, carries=True)
def copy(trial: Trial) -> None:
    """`copy` moves bits between any two layouts, and writes nothing beside them.

    Where source and target overlap, as if the source had been copied first.
    """
    backend, random = trial.subject.backend, rng(trial)
    given = trial.example.known.get("row")
    target_look = given or single_look(random, _MEMORY)
    size = max(_MEMORY, 2 * math.prod(target_look.shape) + 2)
    overlaps = random.random() < 0.5
    values = _patterns(trial, (size,), 1)
    root = backend.copy_in(values, trial.subject.index)
    other = values if overlaps else _patterns(trial, (size,), 2)
    source = root if overlaps else backend.copy_in(other, trial.subject.index)
    look = alike(random, target_look.shape, size)
    want = values.copy()
    want[target_look.index()] = other[look.index()]
    backend.copy(_look(trial, root, target_look), _look(trial, source, look))
    where = "of the same memory" if overlaps else "of other memory"
    expect_bits(f"memory after copy into {target_look} from {look} {where}",
                backend.copy_out(root), want)  # fmt: skip
    if not overlaps:
        expect_bits("the source after copy", backend.copy_out(source), other)


def _look(trial: Trial, root: Any, look: Look) -> Any:
    return trial.subject.backend.view(root, look.shape, look.strides, look.offset)


@device_law("fill", examples=_written, rank=4, first=True)
def fill(trial: Trial) -> None:
    """`fill` sets every element of any layout to a number, and nothing beside them."""
    backend, random, dtype = trial.subject.backend, rng(trial), trial.dtype
    assert dtype is not None
    numbers = extremes(dtype)
    number = numbers[trial.example.known["at"] % len(numbers)]
    look = trial.example.known.get("row") or any_look(random, _MEMORY)
    size = max(_MEMORY, 2 * math.prod(look.shape) + 2)
    values = _patterns(trial, (size,), 1)
    root = backend.copy_in(values, trial.subject.index)
    want = values.copy()
    with np.errstate(all="ignore"):
        want[look.index()] = values_in(number, dtype.numpy)
    backend.fill(_look(trial, root, look), number)
    got = backend.copy_out(root)
    if number != number and got.shape == want.shape and got.dtype == want.dtype:  # noqa: PLR0124
        filled = np.unique(look.index())
        if not np.isnan(got[filled]).all():
            raise Wrong(f"fill of {look} with NaN gives {got[filled][:8]}")
        got[filled] = want[filled]  # any NaN will do
    expect_bits(f"memory after fill of {look} with {number}", got, want)


def extremes(dtype: DType) -> list[Any]:
    """Python numbers at the edges of a dtype, and one that has to be rounded."""
    if dtype.category == 0:
        return [True, False]
    if not dtype.is_inexact:
        bits = 8 * dtype.itemsize
        low = -(1 << (bits - 1)) if dtype.is_signed else 0
        found: list[Any] = [low, low + (1 << bits) - 1, 0, 1, 77]
        # What float32 and double would round.
        return [*found, *((1 << p) + 1 for p in (24, 53) if p < bits - 1)]
    info = limits(dtype.real)
    found = [
        0.0, -0.0, math.inf, -math.inf, math.nan, 0.1, -1.5, float(info.max),
        float(info.smallest_normal),
    ]  # fmt: skip
    if dtype.is_complex:
        return [complex(a, b) for a, b in zip(found, found[::-1], strict=True)]
    return found
