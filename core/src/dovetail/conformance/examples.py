"""Calls of an op, generated from its declaration: values × layout × size.

The op's own cases say how its arguments belong together; each row of a covering array
draws one of them again with other values, other sizes and another layout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.covering import rows
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.layouts import LAYOUTS, layout_for, projected
from dovetail.conformance.oracle import truth
from dovetail.conformance.reference import reference
from dovetail.conformance.sizes import (
    DRAWN,
    EMPTY,
    OWN,
    as_named,
    operand_shapes,
    size_classes,
    sizes_for,
)
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY, SPECIAL, Varied, classes_for
from dovetail.conformance.verdicts import Check, How
from dovetail.dtypes import ALL, DType
from dovetail.engine.cases import Case, calls_of, case, cases_of
from dovetail.engine.op import Op
from dovetail.engine.results import DATA

# Ops whose work may grow faster than their inputs are tried on smaller ones.
_LINEAR_ONLY_ABOVE: Final = 1 << 16
_NOT_A_NUMBER: Final = {"values": SPECIAL, "size": OWN}
_EMPTY: Final = {"size": EMPTY}
_LARGEST_RESULT: Final = 1 << 18
# A row is given up if as many cases and sizes have none like it.
_TRIES: Final = 4
_EMPTY_TRIES: Final = 24  # they cost little
# Ways to size a call on devices for which every new shape is compiled.
_FEW_SHAPES: Final = 3
_REFUSED: Final = (
    ValueError, IndexError, TypeError, RuntimeError, ZeroDivisionError, OverflowError,
)  # fmt: skip


def examples(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> tuple[Example, ...]:
    """The op's own cases, then generated ones; the same for every law."""
    native = subject.how(op, dtype) is How.NATIVE
    boundaries = subject.backend.launch_boundaries
    count = budget.rows if native else max(budget.rows // 2, 1)
    largest = budget.largest
    if (callable(op.shape) or op.shape is DATA) and not (op.unrounded and native):
        largest = min(largest, _LINEAR_ONLY_ABOVE)
    shapes = _FEW_SHAPES if subject.backend.compiles_per_shape else None
    found = _examples(op, dtype, count, largest, tuple(boundaries), shapes)
    if all(subject.claims(d) for d in ALL):
        return found
    return tuple(e for e in found if asks_for_claimed(subject, e))


def asks_for_claimed(subject: Subject, example: Example) -> bool:
    """Whether a device has the dtypes that a call names; it has to refuse others."""
    case = example.case
    given = (*case.args, *case.kwargs.values()) if case is not None else ()
    return all(subject.claims(v) for v in given if isinstance(v, DType))


@lru_cache(maxsize=4)
def _examples(
    op: Op, dtype: DType, count: int, largest: int, boundaries: tuple[int, ...],
    shapes: int | None,
) -> tuple[Example, ...]:  # fmt: skip
    own = [Example(case) for case in cases_of(op, dtype)]
    return (*own, *_generated(op, dtype, count, largest, boundaries, shapes))


def _generated(
    op: Op, dtype: DType, count: int, largest: int, boundaries: tuple[int, ...],
    shapes: int | None,
) -> Iterator[Example]:  # fmt: skip
    check = Check(op.name, dtype.name, "examples")
    sizes = size_classes(op, dtype, largest, boundaries)
    factors = {
        "values": _values(op, dtype),
        "layout": _layouts(op),
        "size": sizes,
    }
    if max(map(len, factors.values())) == 1:
        return
    for i, row in enumerate(rows(factors, check.seed, count)):
        wanted = row | _always(i, factors)
        made = drawn(op, dtype, wanted, check.seed + i, shapes)
        if made is not None:
            yield made


def _always(number: int, factors: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """What a row has in every budget: NaN and nothing at all, which kernels forget."""
    if number == 0 and SPECIAL in factors["values"]:
        return _NOT_A_NUMBER
    return _EMPTY if number == 1 and EMPTY in factors["size"] else {}


def _values(op: Op, dtype: DType) -> tuple[str, ...]:
    if not op.tensors:
        return (ORDINARY,)
    return tuple(v for v in classes_for(dtype) if v not in op.undefined_on)


def _layouts(op: Op) -> tuple[str, ...]:
    if not op.tensors or op.layout_matters:
        return (PLAIN,)
    return tuple(LAYOUTS)


def drawn(
    op: Op, dtype: DType, row: dict[str, str], number: int, shapes: int | None = None
) -> Example | None:
    """A call for a row, or None where the op has none like it.

    `shapes` is how many ways to size a call there are; None for as many as numbers.
    """
    tries = _EMPTY_TRIES if row["size"] == EMPTY else _TRIES
    for at in range(number, number + tries):
        case = _case(op, dtype, row, at, at if shapes is None else at % shapes)
        if case is not None:
            case = laid(op, case, row["layout"])
            example = Example(case, row["layout"], row["values"], row["size"])
            holds = row["size"] != EMPTY or not all(a.size for a in example.arrays())
            if holds and means_something(op, example, dtype):
                return example
    return None


def means_something(op: Op, example: Example, dtype: DType) -> bool:
    """Whether the op takes the call: other sizes may break what it asks for."""
    try:
        # The rule says what an op refuses; bodies ask for more of odd sizes.
        device = reference() if example.size in (DRAWN, EMPTY) else None
        if device is None and op.shape is not DATA:
            device = Subject("meta")
        if device is not None:
            results = device.run(op, Example(example.case), dtype)
            largest = max((math.prod(y._a.shape) for y in results), default=0)
            if largest > _LARGEST_RESULT:
                return False  # a small input may ask for a huge result
        truth(op, example, dtype)
    except _REFUSED:
        return False
    return True


def _case(
    op: Op, dtype: DType, row: dict[str, str], number: int, sized: int
) -> Case | None:
    make = Varied(op, dtype, row["values"], as_named, number)
    if op.cases is None:
        return _elementwise(op, make, row, sized)
    own: list[Case] = list(calls_of(op, make))
    if not own:
        return None
    chosen = number % len(own)
    sizes = sizes_for(row["size"], own[chosen], sized)
    if sizes is as_named:
        return own[chosen]
    return _resized(op, Varied(op, dtype, row["values"], sizes, number), chosen)


def _resized(op: Op, make: Varied, chosen: int) -> Case | None:
    """One of the op's cases in the sampler's sizes; None where it has none such."""
    try:
        for number, case in enumerate(calls_of(op, make)):
            if number == chosen:
                return None if make.oversized else case
            make.oversized = False
    except _REFUSED:
        pass
    return None


def _elementwise(op: Op, make: Varied, row: dict[str, str], number: int) -> Case | None:
    """Operands that broadcast, of drawn shapes."""
    shapes = operand_shapes(len(op.tensors), row["size"], number, row["layout"])
    return case(
        *(
            make.bools(*shape) if p.name in op.masks else make(*shape)
            for p, shape in zip(op.tensors, shapes, strict=True)
        )
    )


def laid(op: Op, case: Case, layout: str) -> Case:
    """The call with values that the layout can hold."""
    if layout == PLAIN:
        return case
    args = [
        _projected(v, layout_for(op, p.name, layout))
        for v, p in zip(case.args, op.params, strict=False)
    ]
    kwargs = {
        k: _projected(v, layout_for(op, k, layout)) for k, v in case.kwargs.items()
    }
    return Case(tuple(args), kwargs)


def _projected(value: Any, layout: str) -> Any:
    if isinstance(value, np.ndarray):
        return projected(value, layout)
    if isinstance(value, list):
        return [_projected(v, layout) for v in value]
    return value
