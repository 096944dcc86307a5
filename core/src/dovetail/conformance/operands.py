"""Shapes that broadcast, for the operands of elementwise ops."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np

from dovetail.conformance.example import PLAIN
from dovetail.conformance.layouts import holds
from dovetail.conformance.sizes import (
    DRAWN,
    EMPTY,
    FOUR_DIMS,
    MANY_DIMS,
    ONES,
    OWN,
    TALL,
    TILE_OF,
    WIDE,
    about,
    elements_of,
    tiles,
)

Ints = tuple[int, ...]
_LEADS: Final[tuple[Ints, ...]] = ((), (2,), (2, 2))
_FOUR: Final[Ints] = (2, 3, 3, 2)
_SQUARE: Final[Ints] = (47, 47)  # rows of no whole lanes, more than a block of elements
_CUBE: Final[Ints] = (9, 9, 9)
_DIMS: Final = {FOUR_DIMS: (4, 4), MANY_DIMS: (5, 6), ONES: (0, 2)}
_TRIES: Final = 8  # of shapes that can lie in a layout


def operand_shapes(
    count: int, size: str, number: int, layout: str = PLAIN
) -> list[Ints]:
    """Shapes of a class of sizes that broadcast.

    One of them at least can lie in that layout, unless there are no elements.
    """
    elements = elements_of(size)
    found: list[list[Ints]]
    if size in (DRAWN, EMPTY, ONES, FOUR_DIMS, MANY_DIMS):
        return _drawn_for(layout, count, size, number)
    if size == OWN:
        # Squares may be transposed.
        own: tuple[Ints, ...] = ((3, 4), (4, 4), (2, 3, 4), (2, 3, 2, 4))
        found = [[shape] * count for shape in own]
    elif elements:
        found = [
            [whole if i != 1 or number % 2 else whole[-1:] for i in range(count)]
            for whole in _large(size, about(elements, number))
        ]
    else:
        found = [
            _crossed(count, tiles(number + i, 2, TILE_OF[size]), lead)
            for i, lead in enumerate(_LEADS)
        ]
    turned = [found[(number + i) % len(found)] for i in range(len(found))]
    return next((s for s in turned if any(holds(a, layout) for a in s)), turned[0])


def repeated_shapes(count: int) -> Iterator[list[Ints]]:
    """Four dims, and for each set of them an operand that is repeated along these.

    It is the last and the first operand in turn. The same for two dims and for three
    of one size, where no size tells one dim from another; of two, for both operands.
    """
    for whole in (_SQUARE, _FOUR, _CUBE):
        sets = itertools.product((False, True), repeat=len(whole))
        for number, ones in enumerate(s for s in sets if any(s) and not all(s)):
            other = tuple(1 if one else n for n, one in zip(whole, ones, strict=True))
            for at in (0, -1) if whole is _SQUARE else (-(number % 2),):
                shapes = [whole] * count
                shapes[at] = other
                yield shapes


def _large(size: str, elements: int) -> list[Ints]:
    if size.startswith(TALL):
        return [(elements, 1)]
    if size.startswith(WIDE):
        return [(1, elements)]
    return [
        (elements,), (elements // 4, 4), (2, elements // 2), (2, elements // 8, 4),
        (2, 3, elements // 24, 4),
    ]  # fmt: skip


def _crossed(count: int, sizes: list[int], lead: Ints) -> list[Ints]:
    """A whole one, a column, a row."""
    rows, columns = sizes
    each = [(*lead, rows, columns), (rows, 1), (columns,)]
    return [each[i % 3] for i in range(count)]


def _drawn_for(layout: str, count: int, size: str, number: int) -> list[Ints]:
    for at in range(_TRIES):
        found = _drawn(count, size, number + 31 * at)
        if any(holds(a, layout) for a in found):
            break
    return found


def _drawn(count: int, size: str, number: int) -> list[Ints]:
    least, most = _DIMS.get(size, (0, 6))
    common = [*_common_shape(number, least, most)]
    if size == ONES:
        at = number % (len(common) + 1)
        common = [*common[:at], 1, *common[at:], 3]
    if size == EMPTY:
        common = [*common, 2]
        common[number % len(common)] = 0
    return [_operand(common, number + 7 * i) for i in range(count)]


def _common_shape(number: int, least: int, most: int) -> Ints:
    """What operands broadcast to: of so many dims at least, and at most."""
    random = np.random.default_rng(number)
    sizes = random.integers(1, 4 if least > 4 else 6, random.integers(least, most + 1))
    return tuple(int(n) for n in sizes)


def _operand(common: list[int], number: int) -> Ints:
    """A shape that broadcasts to the common one: fewer dims, some of them 1."""
    random = np.random.default_rng(number)
    first = int(random.integers(len(common) + 1)) if number % 2 else 0
    return tuple(1 if n and random.random() < 0.2 else n for n in common[first:])
