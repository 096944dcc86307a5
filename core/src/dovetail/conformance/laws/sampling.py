"""Which calls a law tries: a few of the common ones, chosen for what it looks at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.examples import examples
from dovetail.conformance.law import Examples
from dovetail.conformance.layouts import laid
from dovetail.conformance.options import DECLARED
from dovetail.conformance.sizes import OWN
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import DType
from dovetail.engine.op import Op
from dovetail.engine.results import DATA

Keep = Callable[[Example], bool]
# The layouts with memory around or between the elements, which a law may watch.
GUARDED: Final = ("strided", "offset", "transposed", "padded")


def own(example: Example) -> bool:
    """Whether it is one of the op's own cases."""
    classes = example.size, example.values, example.layout, example.options
    return classes == (OWN, ORDINARY, PLAIN, DECLARED)


def some(
    cases: int, rows: int, keep: Keep = lambda example: True, *, again: int = 8
) -> Examples:
    """At most that many of the op's own cases, and of the generated calls.

    Args:
        keep: which generated calls the law can judge.
        again: a budget this many times quick's tries that many more.
    """

    def choose(
        subject: Subject, op: Op, dtype: DType, budget: Budget
    ) -> Iterable[Example]:
        times = min(budget.depth, again)
        everything = examples(subject, op, dtype, budget)
        yield from islice(filter(own, everything), cases * times)
        generated = (e for e in everything if not own(e) and keep(e))
        yield from islice(generated, rows * times)

    return choose


def guarded(cases: int, rows: int) -> Examples:
    """The same, every call in a layout whose surroundings can be watched."""

    def choose(
        subject: Subject, op: Op, dtype: DType, budget: Budget
    ) -> Iterator[Example]:
        for number, example in enumerate(some(cases, rows)(subject, op, dtype, budget)):
            yield relaid(op, example, GUARDED[number % len(GUARDED)])

    return choose


def relaid(op: Op, example: Example, layout: str) -> Example:
    """A call that lies contiguous in another layout; others as they are."""
    if example.layout != PLAIN or op.layout_matters or example.case is None:
        return example
    case = laid(op, example.case, layout)
    return example.with_case(case, layout)


def of_values(*classes: str) -> Keep:
    """Keeps the calls whose values are of these classes."""
    return lambda example: example.values in classes


def largest(
    op: Op, dtype: DType, several: Iterable[Example], most: int
) -> Example | None:
    """The largest call of no more than so many elements."""
    sized = [(elements(op, example, dtype), example) for example in several]
    fitting = [pair for pair in sized if pair[0] <= most]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else None


def elements(op: Op, example: Example, dtype: DType) -> int:
    """How many a call takes, or makes where it takes none."""
    sizes = [a.size for a in example.arrays()]
    if not sizes and op.shape is not DATA:
        made = Subject("meta").run(op, example, dtype)
        sizes = [math.prod(y._a.shape) for y in made]
    return max(sizes, default=0)
