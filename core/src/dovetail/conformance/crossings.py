"""Calls of an op with other options than its own cases give: pair by pair.

Kernels that serve many elements alone meet them as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.layouts import REORDERED, laid
from dovetail.conformance.meaning import REFUSALS, means_something
from dovetail.conformance.options import CROSSED, Crossing, Options
from dovetail.conformance.sizes import (
    BEYOND,
    FOUR_DIMS,
    ONES,
    OWN,
    has_size,
    named_shapes,
    sizes_for,
)
from dovetail.conformance.values import FEW, ORDINARY, SPECIAL
from dovetail.conformance.verdicts import Check
from dovetail.dtypes import DType
from dovetail.engine.cases import Case, numbered_calls
from dovetail.engine.op import Op

_CROSSINGS: Final = 10  # attempts at options, of which ops refuse many
_ROOMY: Final = "32"  # elements, for special values that meet options
_BLOCK: Final = "1024"
_GROWN_EVERY: Final = 3  # rows of options
_OF_FOUR: Final = (0, 2)  # of six rows, those that are to have four dims
_OF_ONES: Final = 4  # that in which some sizes are to be 1
_THREES: Final = 8  # rows beyond those in which any two options meet
_CASES: Final = 6  # tried for a size
# Ways to size a call on devices for which every new shape is compiled.
FEW_SHAPES: Final = 3


def served_apart(op: Op, sizes: Sequence[str], boundaries: tuple[int, ...]) -> str:
    """A size that kernels for many elements may serve, as options matter to each.

    Elementwise ops are quick at the largest; of others the smallest will do.
    """
    found = sorted(int(s) for s in sizes if s in {_BLOCK, *map(str, boundaries)})
    if not found:
        return ""
    return str(found[-1] if op.is_elementwise else found[0])


def crossed(
    op: Op, dtype: DType, count: int, values: Sequence[str], layouts: Sequence[str],
    grown: str, run: int,
) -> Iterator[Example]:  # fmt: skip
    """The op's own cases with other options, each second one of special values.

    They lie in each layout in turn, and some have four dims in another order. Beside
    some, there is one as large as what kernels for many elements serve.
    """
    seed = Check(op.name, dtype.name, "options").seeded(run)
    crossing = Crossing(op, dtype, seed)
    # Special numbers meet some: a factor 0 of infinity is no reason to skip it. Where
    # none has a say in what becomes of others, half of all may be such.
    kinds = (SPECIAL,) if op.is_elementwise else (FEW, "zeros")
    others = [x for x in kinds if x in values] or [ORDINARY]
    found, turn, more = 0, 0, _THREES if len(crossing.levels) > 3 else 0
    for number in range(_CROSSINGS * count if crossing.levels else 0):
        if found == count:
            return
        row = crossing.wanted()
        if not crossing.is_new(row):  # all pairs have met
            if not more:
                return
            more -= 1
        options = crossing.options(row)
        values = others[number // 2 % len(others)] if number % 2 else ORDINARY
        layout = layouts[(number + number // 4) % len(layouts)]
        # Of six numbers few are special, and hardly each kind of them.
        sizes = (_ROOMY, OWN) if number % 2 else (OWN,)
        if number % 6 in _OF_FOUR and len(layouts) > 1:
            sizes = (FOUR_DIMS, OWN)
            layout = REORDERED[turn % len(REORDERED)]
        elif number % 6 == _OF_ONES:
            sizes = (ONES, OWN)
        asked = (
            _optioned(op, dtype, values, size, options, seed + number, layout)
            for size in sizes
        )
        example = next(filter(None, asked), None)
        crossing.drawn(row, example is not None)
        if example is not None:
            found += 1
            turn += example.size == FOUR_DIMS
            yield example
        grows, now = divmod(number, _GROWN_EVERY)
        if grown and not now and grows < crossing.turns:
            yield from _at_size(op, dtype, values, grown, crossing, number, seed)


def _at_size(
    op: Op, dtype: DType, values: str, size: str, crossing: Crossing, number: int,
    seed: int,
) -> Iterator[Example]:  # fmt: skip
    """The first of the op's cases that gets as large, with other options."""
    cases = len(named_shapes(op, dtype))
    for at in range(min(cases, _CASES)):
        turned = crossing.turned(number // _GROWN_EVERY, (number + at) % cases)
        example = _optioned(op, dtype, values, size, turned, seed + number)
        if example is not None and _has_elements(size, example):
            yield example
            return


def _has_elements(size: str, example: Example) -> bool:
    return has_size(size, [a.shape for a in example.arrays()])


def _optioned(
    op: Op, dtype: DType, values: str, size: str, options: Options, number: int,
    layout: str = PLAIN,
) -> Example | None:  # fmt: skip
    """One of the op's own cases in a size, with other options; None if refused."""
    named = named_shapes(op, dtype)
    if options.case >= len(named):
        return None
    how = number % FEW_SHAPES if size in (OWN, _ROOMY) else BEYOND
    how = number if size == ONES else how
    sizing = sizes_for(size, named[options.case], how)
    make = Varied(op, dtype, values, sizing, number)
    make.options = options
    case = chosen_case(op, make, options.case)
    if case is None:
        return None
    case = laid(op, case, layout)
    example = Example(case, layout, values, size, CROSSED)
    return example if means_something(op, example, dtype) else None


def chosen_case(op: Op, make: Varied, chosen: int) -> Case | None:
    """One of the op's cases in the sampler's sizes; None where it has none such."""
    # What cases compute of extreme numbers may overflow.
    with suppress(*REFUSALS), np.errstate(all="ignore"):
        for number, case in numbered_calls(op, make, chosen):
            if number == chosen:
                return None if make.oversized else make.together(case)
    return None
