"""Copies of what lies in any way into what lies in any other: rows of lanes.

Elements are moved as unsigned numbers of their size. An item is a row, a few rows, or a
part of a long one, so that threads share what has any shape.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Statement, Store
from dovetail.codegen.layout import APART, ONE, RUN, Ints, walked
from dovetail.codegen.values import Term, choose, constant, index, load, parameter

BACK: Final = "back"
"""A source whose elements lie side by side, from the last lane to the first."""

SHORTEST: Final = 32  # bytes of a row; of shorter ones NumPy's loops take no longer
_GRAIN: Final = 1 << 16  # bytes that are worth a thread's while
_TURNED: Final = 128  # bytes of a row, of fewer of which too few fill a vector
_FEW: Final = 16  # items, which threads would share badly
_SHORT: Final = 256  # lanes, beside which the way to a row costs something
_UNROLLED: Final = 8  # elements that lie apart, moved in one step of a loop
_STEPS: Final = ("outer", "inner", "row")
WORDS: Final = (
    "inner", "rows", "parts", "part_size", "lanes", "step",
    *(f"{buffer}_{name}" for buffer in "xy" for name in _STEPS),
)  # fmt: skip
"""What a kernel gets behind its two addresses: how many items there are in each outer
one, rows in an item, and parts of a row; how long these are; the step from lane to lane
of the source; then, of the source and the result, from outer to outer, inner to inner
and row to row."""


class Move(NamedTuple):
    """What a kernel for arrays that lie so is, and gets.

    Attributes:
        kind: how lanes of the source lie: `ONE`, `RUN`, `BACK` or `APART`.
        parts: whether rows are cut into parts.
        words: see `WORDS`.
        items: how many there are.
        grain: how many of them a thread takes at a time.
    """

    kind: str
    parts: bool
    words: Ints
    items: int
    grain: int


def planned(shape: Ints, of: Ints, to: Ints, itemsize: int) -> Move | None:
    """How elements of a shape are moved; None where rows are too short, or too deep.

    Args:
        of, to: strides of the source and the result, in elements, along all dims.
        itemsize: bytes of an element.
    """
    dims = sorted(range(len(shape)), key=lambda d: -abs(to[d]))
    steps = [tuple([s[d] for d in dims]) for s in (of, to)]
    *outer, (lanes, (step, result_step)) = walked(
        tuple([shape[d] for d in dims]), steps
    )
    if result_step != 1 or lanes * itemsize < SHORTEST or len(outer) > 3:
        return None
    kind = {0: ONE, 1: RUN, -1: BACK}.get(step, APART)
    if kind == BACK and lanes * itemsize < _TURNED:
        kind = APART
    grain = _GRAIN // itemsize
    (a, of_a), (b, of_b), (c, of_c) = _dims(outer, lanes)
    parts = 1 if c > 1 else -(-lanes // grain)
    part_size = -(-lanes // parts)
    ways = [n for found in zip(of_a, of_b, of_c, strict=True) for n in found]
    words = (b, c, parts, part_size, lanes, step, *ways)
    return Move(kind, parts > 1, words, a * b * parts, max(grain // (c * part_size), 1))


_Dim = tuple[int, Ints]
_NO_DIM: Final[_Dim] = (1, (0, 0))


def _dims(outer: list[_Dim], lanes: int) -> tuple[_Dim, _Dim, _Dim]:
    """Outer dims, inner ones, and rows of an item, which need no division."""
    if not outer:
        return _NO_DIM, _NO_DIM, _NO_DIM
    if len(outer) == 3:
        a, b, c = outer
        return a, b, c
    if len(outer) == 2:
        a, b = outer
        return (_NO_DIM, a, b) if a[0] >= _FEW and lanes < _SHORT else (a, b, _NO_DIM)
    size, steps = outer[0]
    if lanes >= _SHORT:
        return _NO_DIM, (size, steps), _NO_DIM
    rows = next(n for n in (32, 16, 8, 4, 2, 1) if size % n == 0)
    return _NO_DIM, (size // rows, tuple([s * rows for s in steps])), (rows, steps)


def moved(dtype: str, kind: str, parts: bool) -> Kernel:
    """The kernel of elements of a size, by how their lanes lie; see `Move`."""
    x, y = Buffer("x", dtype), Buffer("y", dtype, True)
    item, row = index("item"), index("row")
    zero = constant(0, "int64")
    place, first, end = item, zero, parameter("lanes")
    if parts:
        place = item / parameter("parts")
        first = (item - place * parameter("parts")) * parameter("part_size")
        behind = first + parameter("part_size")
        end = choose(behind < end, behind, end)
    outer = place / parameter("inner")
    inner = place - outer * parameter("inner")
    begins = [
        outer * parameter(f"{name}_outer") + inner * parameter(f"{name}_inner")
        for name in "xy"
    ]
    if not parts:
        begins = [
            begin + row * parameter(f"{name}_row")
            for begin, name in zip(begins, "xy", strict=True)
        ]
    body = _lanes(kind, x, y, begins, first, end)
    if not parts:
        rows = parameter("rows").value
        body = (Loop("seq", row.value, zero.value, rows, body),)
    grid = Loop("grid", item.value, FIRST, LAST, body)
    name = f"moved_{'parts' if parts else 'rows'}_{kind}_{dtype}"
    return Kernel(name, (x, y), tuple((w, "int64") for w in WORDS), (grid,))


def _lanes(
    kind: str, x: Buffer, y: Buffer, begins: list[Term], first: Term, end: Term
) -> tuple[Statement, ...]:
    """A row, or a part of one: from `first` to `end` of its lanes."""
    of, to = begins
    if kind == APART:
        return _apart(x, y, begins, first, end)
    lane = index("lane")
    at = {ONE: of, RUN: of + lane, BACK: of - lane}[kind]
    store = Store(y, (to + lane).value, load(x, at).value)
    return (Loop("lane", lane.value, first.value, end.value, (store,)),)


def _apart(
    x: Buffer, y: Buffer, begins: list[Term], first: Term, end: Term
) -> tuple[Statement, ...]:
    """One after the other, a few in a step: processors gather no faster."""
    (of, to), step, zero = begins, parameter("step"), constant(0, "int64")

    def moving(lane: Term) -> Store:
        return Store(y, (to + lane).value, load(x, of + lane * step).value)

    group, rest = index("group"), index("rest")
    groups = (end - first) / constant(_UNROLLED, "int64")
    start = first + group * _UNROLLED
    several = tuple(moving(start + i) for i in range(_UNROLLED))
    return (
        Loop("seq", group.value, zero.value, groups.value, several),
        Loop("seq", rest.value, (first + groups * _UNROLLED).value, end.value,
             (moving(rest),)),
    )  # fmt: skip


__all__ = ["BACK", "WORDS", "Move", "moved", "planned"]
