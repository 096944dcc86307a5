"""Scans as kernels: of each element, what came up to it along a dim.

Where the dim lies along the lanes, a vector is scanned within itself and meets what
came before; where it does not, lanes are scans of their own, side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from dovetail.codegen.accumulation import Combine, accumulator
from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
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
    Value,
)
from dovetail.codegen.row_places import LANES
from dovetail.codegen.values import (
    Term,
    apply,
    cast,
    choose,
    compare,
    constant,
    equal,
    index,
    load,
    parameter,
)


class Scan(NamedTuple):
    """What a scan computes.

    Attributes:
        combine: what it does with each element and those before.
        dtype: of the elements.
        within: the dtype in which it gathers.
        result: the dtype of what it gives.
        places: whether it gives the last place of what it has found, too.
    """

    combine: Combine
    dtype: str
    within: str
    result: str
    places: bool = False


_PLACE: Final = "int32"  # within; results are int64


def scan_kernel(name: str, scan: Scan, across: bool) -> Kernel:
    """The kernel of a scan over `size1` elements, for each of `size0` and `size2`.

    Args:
        across: whether there are several of the last, which then lie along the lanes;
            a piece of work has `LANES` of them.
    """
    return _Writer(scan, across).kernel(name)


class _Writer:
    def __init__(self, scan: Scan, across: bool) -> None:
        self.scan = scan
        self.across = across
        self.x = Buffer("x", in_memory(scan.dtype))
        self.y = Buffer("y", in_memory(scan.result), written=True)
        self.place = Buffer("place", "int64", written=True)
        self.size, self.width = parameter("size1"), parameter("size2")
        first = accumulator(scan.combine, scan.within)
        if scan.combine == "add" and scan.within in FLOATS:
            first = replace(first, start=-0.0)  # to which nothing is added, not even 0
        self.sums = [first]
        if scan.places:
            self.sums.append(accumulator("maximum", _PLACE))

    def kernel(self, name: str) -> Kernel:
        piece = index("piece")
        body = self._columns(piece) if self.across else self._row(piece)
        buffers = (self.x, self.y, self.place) if self.scan.places else (self.x, self.y)
        words = [("size1", "int64")]
        if self.across:
            words += [("size2", "int64"), ("tiles", "int64")]
        pieces = Loop("grid", piece.value, FIRST, LAST, (body,))
        return Kernel(name, buffers, tuple(words), (pieces,), registers=1)

    def _row(self, piece: Term) -> Statement:
        lane, begin = index("lane"), piece * self.size
        body = self._stored(lane, lambda i: begin + i)
        first, end = constant(0, "int64").value, self.size.value
        return Loop("lane", lane.value, first, end, tuple(body), tuple(self.sums))

    def _columns(self, piece: Term) -> Statement:
        lane, along, tiles = index("lane"), index("along"), parameter("tiles")
        line = apply("div", piece, tiles)
        begin = line * self.size
        first = (piece - line * tiles) * LANES
        end = apply("minimum", first + LANES, self.width)
        body = self._stored(along, lambda i: (begin + i) * self.width + lane)
        zero = constant(0, "int64").value
        loop = Loop(
            "seq", along.value, zero, self.size.value, tuple(body), tuple(self.sums)
        )
        return Loop("lane", lane.value, first.value, end.value, (loop,))

    def _stored(self, i: Term, at: Callable[[Term], Term]) -> list[Statement]:
        """What is done with the element number `i`, which lies `at` some place."""
        found: list[Statement] = []
        x = cast(widened(load(self.x, at(i)), self.scan.dtype), self.scan.within)
        best = self._gathered(self.sums[0], x, found)
        if not self.scan.places:
            y = cast(best, computed_in(self.scan.result))
            stored = narrowed(y, self.scan.result)
            return [*found, Store(self.y, at(i).value, stored.value)]
        hit = equal(x, best)
        if self.scan.within in FLOATS:
            hit = hit | compare("ne", x, x)
        number = choose(hit, cast(i, _PLACE), 0)
        place = cast(self._gathered(self.sums[1], number, found), "int64")
        stores = [Store(self.y, at(i).value, best.value)]
        return [*found, *stores, Store(self.place, at(i).value, place.value)]

    def _gathered(self, into: Accumulator, x: Term, done: list[Statement]) -> Term:
        """What an accumulator holds once it has this value, too."""
        if not self.across:
            return Term(Value("prefix", into.dtype, (x.value,), into))
        done.append(Update(into, x.value))
        return Term(into.value)
