"""How large the calls of an op are: as declared, drawn, empty, at a boundary, long.

A case names its sizes (2, 3, …), and a class of sizes says which others stand for them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Sampler, calls_of
from dovetail.engine.op import Op

Ints = tuple[int, ...]
BOUNDARIES: Final = (1 << 5, 1 << 8, 1 << 10, 1 << 16)
# The classes of sizes, beside the boundaries.
OWN: Final = "own"
DRAWN: Final = "drawn"
EMPTY: Final = "empty"
ONES: Final = "ones"
FOUR_DIMS: Final = "four dims"
MANY_DIMS: Final = "five dims"
# Sizes that grow together, past a tile of products, and past that of convolutions.
SEVERAL: Final = "several"
SEVERAL_SMALL: Final = "several small"
# One long dim, and nothing but ones beside it; before the number of elements.
TALL: Final = "tall "
WIDE: Final = "wide "
# What kernels cut their operands into.
TILE: Final = 1 << 6
SMALL_TILE: Final = 1 << 4
TILE_OF: Final = {SEVERAL: TILE, SEVERAL_SMALL: SMALL_TILE}
_BLOCK: Final = 1 << 5  # elements that most kernels take at once
_TILED: Final = 1 << 16  # elements of the largest calls whose sizes grow together
BEYOND: Final = 4  # of five numbers, that of sizes well past a boundary
_WORK: Final = 1 << 23  # products that such a call may take


@dataclass(frozen=True, slots=True)
class Sizing:
    """Maps the sizes that a case names.

    Attributes:
        of: the size that stands for a named one.
        lead: dims in front of those of every array.
    """

    of: Callable[[int], int]
    lead: Ints = ()

    def __call__(self, n: int) -> int:
        return self.of(n)

    def shape(self, named: Ints) -> Ints:
        """The shape that stands for a named one."""
        return (*self.lead, *map(self.of, named))


AS_NAMED: Final = Sizing(lambda n: n)


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
    usual = [n for n in BOUNDARIES if n <= top]
    grown = [*usual, *(n for n in boundaries if n <= top)]
    # Many rows are many blocks of a launch; long ones are among the grown.
    long = [f"{TALL}{usual[-1]}", f"{WIDE}{usual[-2]}"] if len(usual) > 1 else []
    several = [SEVERAL] if top >= _TILED else []
    if top >= SMALL_TILE**2:
        several.append(SEVERAL_SMALL)
    return (
        OWN,
        DRAWN,
        EMPTY,
        ONES,
        FOUR_DIMS,
        MANY_DIMS,
        *several,
        *long,
        *map(str, grown),
    )


def elements_of(size: str) -> int:
    """The number of elements that a class of sizes asks for; 0 if it asks for none."""
    number = size.removeprefix(TALL).removeprefix(WIDE)
    return int(number) if number.isdigit() else 0


class Asked(Sampler):
    """Hears the shapes that sample calls ask for: those that they name.

    Arrays of a call may have others: a gradient's cotangent has that of a result.
    """

    def __init__(self, op: Op, dtype: DType) -> None:
        super().__init__(op, dtype)
        self.shapes: list[Ints] = []

    def __call__(
        self, *shape: int, low: float | None = None, high: float | None = None
    ) -> Array:
        self.shapes.append(shape)
        return super().__call__(*shape, low=low, high=high)

    def exactly(
        self, shape: Ints, low: float | None = None, high: float | None = None
    ) -> Array:
        return super().__call__(*shape, low=low, high=high)

    def distinct(self, *shape: int) -> Array:
        self.shapes.append(shape)
        return super().distinct(*shape)

    def ints(
        self, *shape: int, low: int = 0, high: int = 10, dtype: str = "int64"
    ) -> Array:
        self.shapes.append(shape)
        return super().ints(*shape, low=low, high=high, dtype=dtype)

    def bools(self, *shape: int) -> Array:
        self.shapes.append(shape)
        return super().bools(*shape)

    def permutation(self, n: int) -> Array:
        self.shapes.append((n,))
        return super().permutation(n)


@lru_cache(maxsize=8)
def named_shapes(op: Op, dtype: DType) -> tuple[tuple[Ints, ...], ...]:
    """The shapes that each of an op's own cases names, as it asks for them."""
    asked = Asked(op, dtype)
    found = []
    for _ in calls_of(op, asked):
        found.append(tuple(asked.shapes))
        asked.shapes.clear()
    # Cases that are drawn all at once do not tell which asked for what.
    one_by_one = all(map(len, found[1:]))
    return tuple(found) if one_by_one else given_shapes(op, dtype)


@lru_cache(maxsize=8)
def given_shapes(op: Op, dtype: DType) -> tuple[tuple[Ints, ...], ...]:
    """The shapes of all arrays of each of them, as the cases have them."""
    calls = calls_of(op, Sampler(op, dtype))
    return tuple(tuple(a.shape for a in Example(call).arrays()) for call in calls)


def about(elements: int, number: int) -> int:
    """One less, as many, one more; or half as many again, well into what comes next."""
    if number % 5 == BEYOND:
        return elements + elements // 2 + 3
    return elements + number % 3 - 1


def sizes_for(
    size: str, shapes: Sequence[Ints], number: int, largest: int | None = None
) -> Sizing:
    """How a class of sizes maps those in the shapes that a case names.

    Args:
        largest: elements that an op has time for; matrices are not drawn larger.
    """
    named = sorted({n for shape in shapes for n in shape})
    if size == OWN or not named:
        return AS_NAMED
    if size == EMPTY:
        # Many numbers are tried in turn, each with another case.
        chosen = named[number // 5 % len(named)]
        return Sizing(lambda n: 0 if n == chosen else n)
    if size == ONES:
        count = 1 + number // 3 % 2  # one of them, or two
        ones = {named[(number + i) % len(named)] for i in range(count)}
        return Sizing(lambda n: min(n, 1) if n in ones else n)
    if size == DRAWN:
        drawn = _draw_sizes(len(named), number)
        if largest is not None:
            drawn = [min(n, math.isqrt(largest)) for n in drawn]
        return _mapped(dict(zip(named, drawn, strict=True)))
    if size == MANY_DIMS:
        return _lifted(max(map(len, shapes)), 5 + number % 2, number)
    if size == FOUR_DIMS:
        return _lifted(max(map(len, shapes)), 4, number)
    some = [shape for shape in shapes if 0 not in shape]
    if not size.isdigit() and len(some) < len(shapes):
        return AS_NAMED  # nothing is computed of nothing
    if size in TILE_OF:
        return _several(some, number, TILE_OF[size])
    elements = elements_of(size)
    if size.isdigit():
        return _grown(some, elements, number)
    return _long(some, 0 if size.startswith(TALL) else -1, about(elements, number))


def _mapped(sizes: dict[int, int]) -> Sizing:
    return Sizing(lambda n: sizes.get(n, n))


def _lifted(ndim: int, dims: int, number: int) -> Sizing:
    """So many dims, or one more than there are: others in front of every array's."""
    more = max(dims - ndim, int(ndim > dims))
    lead = [(2, 3, 1, 2, 2, 1), (2, 1, 3, 2, 1, 2)][number // 2 % 2]
    return Sizing(lambda n: n, lead[:more])


def _grown(shapes: list[Ints], elements: int, number: int) -> Sizing:
    """Let one size grow until the largest array with it has about that many elements.

    Mostly the largest size: of few rows, the long ones; sometimes another. It is that
    of whole blocks every other time, or one more or less: what is left of the last
    block is to be a little and nearly all of it, whatever the other sizes are.
    """
    named = sorted({n for shape in shapes for n in shape if n > 1}, reverse=True)
    if not named:
        return AS_NAMED
    chosen = named[number // 3 % len(named)] if number % 3 == 0 else named[0]
    shape = max((s for s in shapes if chosen in s), key=math.prod)
    times = shape.count(chosen)
    if number % 5 == BEYOND:
        elements = about(elements, number)
    rest = math.prod(shape) // chosen**times
    fitting = round((elements / rest) ** (1 / times))
    if number // 3 % 2 and fitting > _BLOCK:
        fitting = round(fitting / _BLOCK) * _BLOCK
    beside = (number + number // 3) % 3 - 1  # whichever size is chosen
    return _mapped({chosen: max(chosen, fitting + beside)})


def _long(shapes: list[Ints], at: int, elements: int) -> Sizing:
    """The first or the last dim of the largest array long, and all other sizes 1."""
    shape = max((s for s in shapes if len(s) > 1), key=math.prod, default=())
    if not shape or shape.count(shape[at]) > 1:
        return AS_NAMED
    chosen = shape[at]
    return Sizing(lambda n: elements if n == chosen else min(n, 1))


def _several(shapes: list[Ints], number: int, tile: int) -> Sizing:
    """Two sizes or more that reach a tile at once, as many as there is room for."""
    named = sorted({n for shape in shapes for n in shape if n > 1}, reverse=True)
    in_turn = np.random.default_rng(number).permutation(named).tolist()
    for count in range(min(len(named), 3), 1, -1):
        sets = [
            dict(zip(chosen, tiles(number, count, tile), strict=True))
            for chosen in itertools.combinations(in_turn, count)
        ]
        # Products and their like cut matrices, the last two dims, into tiles.
        sets.sort(key=lambda s: -sum(n in s for shape in shapes for n in shape[-2:]))
        for sizes in sets:
            if work(_mapped(sizes), shapes) <= _WORK:
                return _mapped(sizes)
    return AS_NAMED


def work(sizing: Sizing, shapes: list[Ints]) -> int:
    """About how many products a call takes: each of its sizes, met with all others."""
    times = {n: max(s.count(n) for s in shapes) for s in shapes for n in s}
    return math.prod(sizing(n) ** count for n, count in times.items())


def tiles(number: int, count: int, tile: int = TILE) -> list[int]:
    """Sizes of a tile or more, all of them whole tiles or none."""
    whole = [tile, 2 * tile, 3 * tile]
    others = [tile + 1, 2 * tile - 1, tile + tile // 2 + 3]
    sizes = others if number % 2 else whole
    return [sizes[(number // 2 + i) % 3] for i in range(count)]


def has_size(size: str, shapes: list[Ints]) -> bool:
    """Whether arrays of these shapes are as large as a class of sizes says."""
    most = max(map(math.prod, shapes), default=0)
    if size == EMPTY:
        return any(not math.prod(s) for s in shapes)
    if size == DRAWN:
        return most > 1
    if size == ONES:
        return most > 1 and any(1 in s for s in shapes)
    if size == OWN:
        return True
    if not all(map(math.prod, shapes)):
        return False
    if size == FOUR_DIMS:
        return any(len(s) == 4 and math.prod(s) > 1 for s in shapes)
    if size == MANY_DIMS:
        return any(len(s) > 4 and math.prod(s) > 1 for s in shapes)
    if size in TILE_OF:
        return len({n for s in shapes for n in s if n >= TILE_OF[size]}) > 1
    elements = elements_of(size) * 3 // 4
    if size.isdigit():
        return most >= elements
    ends = [s[0 if size.startswith(TALL) else -1] for s in shapes if len(s) > 1]
    return max(ends, default=0) >= elements


def _draw_sizes(count: int, number: int) -> list[int]:
    """Sizes for as many of a case, growing where they grow, by the number alone."""
    random = np.random.default_rng(number)
    return sorted(int(n) for n in random.integers(1, 10, count))
