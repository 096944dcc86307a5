"""Kernels that read, write and add where indices say, along one dim.

An array is [outer, size, inner] with the dim in the middle; `count` indices stand for
its `size`. Indices are looked at on the way: where one is out of range, those beside it
count as 0, and the greatest is told, as an unsigned number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from dovetail.codegen.ir import (
    FIRST,
    FLOATS,
    LAST,
    Accumulator,
    Buffer,
    Kernel,
    Loop,
    Statement,
    Store,
    Update,
)
from dovetail.codegen.values import (
    Term,
    apply,
    bits,
    cast,
    choose,
    compare,
    constant,
    index,
    load,
    parameter,
)

WORDS: Final = (
    "size", "count", "inner", "parts", "part_size", "blocks", "block_size", "shift"
)  # fmt: skip
"""The numbers of a call, behind its arrays.

An item of the grid is one of `parts` of the indices, `part_size` long, for one of
`blocks` of the inner elements, `block_size` long, in one of the outer ones. The
greatest index of 2**shift items is told at the number of the first of them.
"""


Does = Literal["read", "write", "add", "mul", "maximum", "minimum"]
COMBINES: Final = frozenset({"add", "mul", "maximum", "minimum"})
"""Arithmetic of what is there and what comes."""


@dataclass(frozen=True, slots=True)
class Places:
    """What a kernel does.

    Attributes:
        does: `"read"`: y[k] = x[index[k]]; `"write"`: y[index[k]] = x[k]; or what
            combines what is there with what comes.
        dtype: of the elements.
        index: the dtype of the indices.
        line: one index for all outer and inner elements, not one for each element.
        wide: whether there are several inner elements.
        signed: whether indices may count from the end.
    """

    does: Does
    dtype: str
    index: str
    line: bool
    wide: bool
    signed: bool = False

    def kernel(self) -> Kernel:
        """The kernel: a function of x, the indices, y and what it tells of them."""
        return _Form(self).kernel()


class _Form:
    """Writes the loops of a kernel, from the outside to the inside."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.x = Buffer("x", places.dtype)
        self.index = Buffer("index", places.index)
        self.y = Buffer("y", places.dtype, written=True)
        self.greatest = Buffer("greatest", "uint64", written=True)

    def kernel(self) -> Kernel:
        """The whole of it."""
        item = index("item")
        worst = Accumulator("maximum", "uint64", 0)
        loop = self._items(item, worst)
        at = Term(FIRST) >> parameter("shift")
        p = self.places
        words = [p.does, p.dtype, p.index, "line" if p.line else "each"]
        words += ["wide"] * p.wide + ["signed"] * p.signed
        buffers = (self.x, self.index, self.y, self.greatest)
        told = Store(self.greatest, at.value, worst.value)
        named = tuple((name, "int64") for name in WORDS)
        return Kernel("places_" + "_".join(words), buffers, named, (loop, told))

    def _items(self, item: Term, worst: Accumulator) -> Loop:
        blocks, parts = parameter("blocks"), parameter("parts")
        rest = item / blocks
        outer = rest / parts
        part, block = rest - outer * parts, item - rest * blocks
        body = self._part(outer, part, block, worst)
        return Loop("grid", item.value, FIRST, LAST, body, (worst,))

    def _part(
        self, outer: Term, part: Term, block: Term, worst: Accumulator
    ) -> tuple[Statement, ...]:
        """The indices of an item, one after the other."""
        k, inner = index("k"), parameter("inner")
        first, end = _cut(part, "part_size", "count")
        if not self.places.wide:
            start = constant(0, "int64")
            if not self.places.line:
                start = outer * parameter("count")
            return self._run(k, first, end, start, worst, lambda where: (
                outer * parameter("size") + where, outer * parameter("count") + k
            ))  # fmt: skip
        within = Accumulator("maximum", "uint64", 0)
        row = outer * parameter("count") + k
        least, most = _cut(block, "block_size", "inner")
        j = index("j")

        def pair(where: Term) -> tuple[Term, Term]:
            return (outer * parameter("size") + where) * inner + j, row * inner + j

        if self.places.line:
            found = self._index(k)
            told = bits(found, "uint64")
            where = choose(told < _size(), found, constant(0, "int64"))
            step = self._moved(*pair(where))
            copied = Loop("lane", j.value, least.value, most.value, (step,))
            body: tuple[Statement, ...] = (Update(within, told.value), copied)
        else:
            body = self._run(j, least, most, row * inner, within, pair)
        loop = Loop("seq", k.value, first.value, end.value, body, (within,))
        return loop, Update(worst, within.value)

    def _run(
        self, k: Term, first: Term, end: Term, start: Term, worst: Accumulator,
        pair: Callable[[Term], tuple[Term, Term]],
    ) -> tuple[Statement, ...]:  # fmt: skip
        """Indices that lie side by side from `start` on: looked at, and then used."""
        lane = index("lane")
        greatest = Accumulator("maximum", "uint64", 0)
        told = bits(self._index(start + lane), "uint64")
        look = Loop(
            "lane", lane.value, first.value, end.value,
            (Update(greatest, told.value),), (greatest,),
        )  # fmt: skip
        # All bits of an index count if all indices are good, else none.
        good = Term(greatest.value) < _size()
        mask = choose(good, constant(-1, "int64"), constant(0, "int64"))
        step = self._moved(*pair(self._index(start + k) & mask))
        use = Loop("seq", k.value, first.value, end.value, (step,))
        return look, use, Update(worst, greatest.value)

    def _index(self, at: Term) -> Term:
        """An index as it is, counted from the front."""
        found = cast(load(self.index, at), "int64")
        if not self.places.signed:
            return found
        return found + ((found >> 63) & parameter("size"))

    def _moved(self, place: Term, at: Term) -> Store:
        """The statement for an element at `at`, whose index names `place`."""
        if self.places.does == "read":
            return Store(self.y, at.value, load(self.x, place).value)
        value = load(self.x, at)
        if self.places.does in COMBINES:
            value = self._combined(load(self.y, place), value)
        return Store(self.y, place.value, value.value)

    def _combined(self, held: Term, value: Term) -> Term:
        """As NumPy has it: of zeros of either sign, extremes take the later one."""
        does = self.places.does
        if does not in ("maximum", "minimum") or self.places.dtype not in FLOATS:
            return apply(does, held, value)
        further = value >= held if does == "maximum" else value <= held
        return choose(further | compare("ne", value, value), value, held)


def _size() -> Term:
    return bits(parameter("size"), "uint64")


def _cut(number: Term, length: str, whole: str) -> tuple[Term, Term]:
    """Where a piece of a whole begins and ends, pieces being of one length."""
    first = number * parameter(length)
    end = first + parameter(length)
    return first, choose(end < parameter(whole), end, parameter(whole))


__all__ = ["COMBINES", "WORDS", "Does", "Places"]
