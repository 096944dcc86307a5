"""A smaller, plainer call that still fails; at most 40 calls are spent on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dovetail.conformance.example import PLAIN, Example
from dovetail.dtypes import Array
from dovetail.engine.cases import Case

CALLS: Final = 40
Try = Callable[[Example], BaseException | None]


def shrunk(
    example: Example, error: BaseException, attempt: Try
) -> tuple[Example, BaseException]:
    """The plainest failing example found, and how it fails.

    Only the same kind of failure counts: a smaller call that is refused for its
    shape proves nothing about a wrong value.
    """
    best, seen, calls = example, error, 0
    moved = True
    while moved and calls < CALLS:
        moved = False
        for candidate in _plainer(best):
            if calls >= CALLS:
                break
            calls += 1
            found = attempt(candidate)
            if found is not None and type(found) is type(error):
                best, seen, moved = candidate, found, True
                break
    if best is not example:
        best = replace(best, shrunk_from=example.classes)
    return best, seen


def _plainer(example: Example) -> Iterator[Example]:
    """Candidates, the boldest first: layout, sizes, values."""
    case = example.case
    assert case is not None
    if example.layout != PLAIN:
        yield example.with_case(case, PLAIN)
    for size in sorted({n for a in example.arrays() for n in a.shape}, reverse=True):
        for smaller in dict.fromkeys((1, size // 2, size - 1)):
            if 0 < smaller < size:
                yield example.with_case(_cut(case, size, smaller))
    for change in (_zeroed, _rounded):
        for position in range(len(example.arrays())):
            made = _changed(example, position, change)
            if made is not None:
                yield made


def _mapped(case: Case, change: Callable[[Array], Array]) -> Case:
    def of(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return change(value)
        return [of(v) for v in value] if isinstance(value, list) else value

    return Case(tuple(map(of, case.args)), {k: of(v) for k, v in case.kwargs.items()})


def _cut(case: Case, size: int, to: int) -> Case:
    """Every dim of that size cut to its first elements."""

    def cut(a: Array) -> Array:
        return a[tuple(slice(to) if n == size else slice(None) for n in a.shape)].copy()

    return _mapped(case, cut)


def _changed(
    example: Example, position: int, change: Callable[[Array], Array]
) -> Example | None:
    """The example with one of its arrays changed; None if that changes nothing."""
    assert example.case is not None
    seen = [-1]
    differs = [False]

    def at(a: Array) -> Array:
        seen[0] += 1
        if seen[0] != position:
            return a
        new = change(a)
        differs[0] = new.tobytes() != a.tobytes()
        return new

    case = _mapped(example.case, at)
    return example.with_case(case) if differs[0] else None


def _zeroed(a: Array) -> Array:
    return np.zeros_like(a)


def _rounded(a: Array) -> Array:
    """Small whole numbers where values are finite."""
    if a.dtype.kind not in "fc" and a.dtype.name != "bfloat16":
        return a
    with np.errstate(all="ignore"):
        plain = np.round(np.asarray(a, np.complex128 if a.dtype.kind == "c" else float))
        return np.where(np.isfinite(a), np.clip(plain.real, -9, 9), a).astype(a.dtype)
