"""What calls of an op can differ in, values, layout and size, and what they reached."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from dovetail.conformance.coverage import Coverage
from dovetail.conformance.covering import Row
from dovetail.conformance.example import PLAIN, Example, shown
from dovetail.conformance.layouts import LAYOUTS
from dovetail.conformance.presence import reached
from dovetail.conformance.sizes import size_classes
from dovetail.conformance.values import EQUAL, ORDINARY, PAIRS, classes_for, undefined
from dovetail.dtypes import DType
from dovetail.engine.op import Op
from dovetail.engine.parameters import REQUIRED

Factors = Mapping[str, tuple[str, ...]]
NOT_TRIED: Final = "not tried: other calls came first"
REFUSED: Final = "the op or its oracle takes no such call"
NOT_HELD: Final = "no call drawn from the op's cases is so"
NONE_SUCH: Final = "the op's cases have no such sizes"
_VALUES_SHOWN: Final = 8  # of one option


def factors_of(
    op: Op, dtype: DType, largest: int, boundaries: tuple[int, ...]
) -> Factors:
    """What the calls of an op can differ in, and how."""
    return {
        "values": _values(op, dtype),
        "layout": _layouts(op),
        "size": size_classes(op, dtype, largest, boundaries),
    }


def _values(op: Op, dtype: DType) -> tuple[str, ...]:
    if not op.tensors:
        return (ORDINARY,)
    data = [p for p in op.tensors if p.name not in op.indices | op.masks]
    several = len(data) > 1 or op.has_list
    return tuple(
        name for name in classes_for(dtype)
        if not undefined(name, op.undefined_on)
        and (several or name not in (EQUAL, PAIRS))
    )  # fmt: skip


def _layouts(op: Op) -> tuple[str, ...]:
    if not op.tensors or op.layout_matters:
        return (PLAIN,)
    # Where elements share memory they are equal, and matrices singular.
    apart = undefined("ties", op.undefined_on)
    return tuple(name for name, how in LAYOUTS.items() if how.writable or not apart)


class Reasons:
    """Why levels were not reached, as the attempts to draw them ended."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, str], Counter[str]] = {}

    def ended(self, wanted: Row, has: Row, why: str) -> None:
        """An attempt at a row came to no more than what it has."""
        for level in set(wanted.items()) - set(has.items()):
            self._ends.setdefault(level, Counter())[why] += 1

    def why(self, factor: str, level: str) -> str:
        """The most frequent end of attempts at a level."""
        ends = self._ends.get((factor, level))
        return ends.most_common(1)[0][0] if ends else NOT_TRIED


def coverage_of(
    op: Op, dtype: DType, calls: Iterable[Example], factors: Factors, reasons: Reasons
) -> Coverage:
    """What calls reached of the levels of the factors."""
    met: Counter[tuple[str, str]] = Counter()
    pairs: set[frozenset[tuple[str, str]]] = set()
    given: dict[str, dict[str, None]] = {p.name: {} for p in op.rest}
    for call in calls:
        levels = [x for x in reached(op, dtype, call).items() if x[1] in factors[x[0]]]
        met.update(levels)
        pairs.update(map(frozenset, itertools.combinations(levels, 2)))
        for name, value in _options(op, call):
            given[name].setdefault(value)
    return Coverage(
        {f: {x: met[f, x] for x in found if met[f, x]} for f, found in factors.items()},
        {
            f: {x: reasons.why(f, x) for x in found if not met[f, x]}
            for f, found in factors.items()
        },
        (len(pairs), _crossings(factors)),
        {k: (len(v), tuple(v)[:_VALUES_SHOWN]) for k, v in given.items() if v},
    )


def _crossings(factors: Factors) -> int:
    sizes = [len(levels) for levels in factors.values()]
    return sum(a * b for a, b in itertools.combinations(sizes, 2))


def _options(op: Op, call: Example) -> Iterable[tuple[str, str]]:
    """The arguments of a call that are no tensors, defaults among them."""
    if call.case is None:
        return
    given = {**dict(zip(op.names, call.case.args, strict=False)), **call.case.kwargs}
    for p in op.rest:
        value = given.get(p.name, p.default)
        if value is not REQUIRED:
            yield p.name, shown(value)
