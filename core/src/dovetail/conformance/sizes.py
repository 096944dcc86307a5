"""How large the calls of an op are: as declared, drawn, empty, at a boundary."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.layouts import holds
from dovetail.dtypes import DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

BOUNDARIES: Final = (1 << 5, 1 << 8, 1 << 10, 1 << 16)
# The classes of sizes, beside the boundaries.
OWN: Final = "own"
DRAWN: Final = "drawn"
EMPTY: Final = "empty"
_TRIES: Final = 8  # of shapes that can lie in a layout
_SHAPES: Final = 1 << 8  # as many are drawn, which takes a while; calls share them


def size_classes(
    op: Op, dtype: DType, largest: int, boundaries: tuple[int, ...]
) -> tuple[str, ...]:
    """The classes of sizes that an op is called in, up to `largest` elements."""
    rounds = dtype.is_inexact or op.promote == "float"
    # Integers wrap in sums of any length, but what only moves bits is slow in them too.
    limited = op.largest is not None and (rounds or op.unrounded)
    top = min(largest, op.largest or largest) if limited else largest
    if op.layout_matters:
        return (OWN,)
    grown = [str(n) for n in (*BOUNDARIES, *boundaries) if n <= top]
    return (OWN, DRAWN, EMPTY, *grown)


def as_named(n: int) -> int:
    """The size that a case names."""
    return n


def sizes_for(size: str, case: Case, number: int) -> Callable[[int], int]:
    """How a class of sizes maps those that a case names."""
    named = sorted({n for a in Example(case).arrays() for n in a.shape})
    if size == OWN or not named:
        return as_named
    if size == EMPTY:
        # Many numbers are tried in turn, each with another case.
        chosen = named[number // 5 % len(named)]
        return lambda n: 0 if n == chosen else n
    if size == DRAWN:
        drawn = _draw_sizes(tuple(named), number % _SHAPES)
        return lambda n: drawn.get(n, n)
    return _grown(case, int(size) + number % 3 - 1, number)


def _grown(case: Case, elements: int, number: int) -> Callable[[int], int]:
    """Let one size grow until the largest array with it has that many elements.

    Mostly the largest size: of few rows, the long ones; sometimes another.
    """
    arrays = [a for a in Example(case).arrays() if a.size]
    named = sorted({n for a in arrays for n in a.shape if n > 1}, reverse=True)
    if not named:
        return as_named
    chosen = named[number // 3 % len(named)] if number % 3 == 0 else named[0]
    shape = max((a.shape for a in arrays if chosen in a.shape), key=math.prod)
    times = shape.count(chosen)
    rest = math.prod(shape) // chosen**times
    grown = max(chosen, round((elements / rest) ** (1 / times)))
    return lambda n: grown if n == chosen else n


@lru_cache(maxsize=1024)
def _draw_sizes(named: tuple[int, ...], number: int) -> dict[int, int]:
    """Sizes that Hypothesis draws for those of a case, growing where they grow."""
    strategy = st.lists(
        st.integers(1, 9), min_size=len(named), max_size=len(named)
    ).map(sorted)
    return dict(zip(named, draw(strategy, number), strict=True))


def draw(strategy: st.SearchStrategy[Any], number: int) -> Any:
    """One value of a strategy, decided by the number alone; nothing is stored."""
    found: list[Any] = []

    @seed(number)
    @settings(
        max_examples=3, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def keep(value: Any) -> None:
        found.append(value)

    keep()
    return found[-1]  # the first is the simplest, which has been tried


Ints = tuple[int, ...]


def operand_shapes(
    count: int, size: str, number: int, layout: str = PLAIN
) -> list[Ints]:
    """Shapes that broadcast, for the operands of an elementwise op.

    At least one of them can lie in that layout, unless there are no elements.
    """
    found: list[list[Ints]]
    if size == OWN:
        # Squares may be transposed.
        found = [[(3, 4)] * count, [(4, 4)] * count, [(2, 3, 4)] * count]
    elif size.isdigit():
        elements = int(size) + number % 3 - 1
        wholes = (
            (elements,),
            (elements // 4, 4),
            (2, elements // 2),
            (2, elements // 8, 4),
        )
        found = [
            [whole if i != 1 or number % 2 else whole[-1:] for i in range(count)]
            for whole in wholes
        ]
    else:
        found = [_drawn_operands(count, size, number + 31 * i) for i in range(_TRIES)]
    turned = [found[(number + i) % len(found)] for i in range(len(found))]
    return next((s for s in turned if _any_holds(s, layout)), turned[0])


def _any_holds(shapes: list[Ints], layout: str) -> bool:
    return any(holds(shape, layout) for shape in shapes)


def _drawn_operands(count: int, size: str, number: int) -> list[Ints]:
    common = [*_common_shape(number % _SHAPES)]
    if size == EMPTY:
        common = [*common, 2]
        common[number % len(common)] = 0
    return [_operand(common, number + 7 * i) for i in range(count)]


@lru_cache(maxsize=_SHAPES)
def _common_shape(number: int) -> tuple[int, ...]:
    """What operands broadcast to."""
    return tuple(draw(st.lists(st.integers(1, 5), max_size=6), number))


def _operand(common: list[int], number: int) -> tuple[int, ...]:
    """A shape that broadcasts to the common one: fewer dims, some of them 1."""
    random = np.random.default_rng(number)
    first = int(random.integers(len(common) + 1)) if number % 2 else 0
    return tuple(1 if n and random.random() < 0.2 else n for n in common[first:])
