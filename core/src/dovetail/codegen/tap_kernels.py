"""Kernels of weighted sums at any places, and of the places of `grid_sample`.

Nothing is fused, so that they have the bits of NumPy's kernels, but in NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

from dovetail.codegen.grid_places import Sampling
from dovetail.codegen.ir import (
    FIRST,
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
    bits,
    cast,
    choose,
    constant,
    index,
    load,
    parameter,
    unary,
)

Does = Literal["tap_sum", "tap_spread", "tap_dot"]
WORDS: Final = ("channels", "size", "taps", "places", "parts", "part_size")
"""The numbers of a call behind its arrays: an item is one of `parts` of the places of
a row, `part_size` long, or where sums go to elements, a channel of a row."""


def taps_kernel(does: Does, dtype: str) -> Kernel:
    """A function of two arrays around the indices, and of the result.

    The first is what `dovetail.ops.taps` calls input, then come index, and weight or
    other.
    """
    return _Taps(does, dtype).kernel()


class _Taps:
    """Writes the loops of a kernel."""

    def __init__(self, does: Does, dtype: str) -> None:
        self.does = does
        self.dtype = dtype
        self.x = Buffer("x", dtype)
        self.index = Buffer("index", "int64")
        self.other = Buffer("other", dtype)
        self.y = Buffer("y", dtype, written=True)
        self.p, self.k, self.c = index("p"), index("k"), index("c")

    def kernel(self) -> Kernel:
        """The whole of it."""
        item = index("item")
        body = self._spread(item) if self.does == "tap_spread" else self._parts(item)
        loop = Loop("grid", item.value, FIRST, LAST, body)
        buffers = (self.x, self.index, self.other, self.y)
        words = tuple((name, "int64") for name in WORDS)
        name = f"{self.does}_{self.dtype}"
        return Kernel(name, buffers, words, (loop,), fused=False)

    def _parts(self, item: Term) -> tuple[Statement, ...]:
        row, first, end = _part_of(item)
        line = row * parameter("channels") + self.c
        if self.does == "tap_sum":
            term = self._element(self.x, line, row) * self._by_tap(self.other, row)
            at = line * parameter("places") + self.p
            return self._sums(("c", "channels"), ("k", "taps"), term, at, first, end)
        term = self._element(self.other, line, row) * load(
            self.x, line * parameter("places") + self.p
        )
        return self._sums(
            ("k", "taps"), ("c", "channels"), term, self._tap(row), first, end
        )

    def _sums(
        self, each: tuple[str, str], over: tuple[str, str], term: Term, at: Term,
        first: Term, end: Term,
    ) -> tuple[Statement, ...]:  # fmt: skip
        """For `each`, and places side by side: the sums of terms `over` another."""
        total = Accumulator("add", self.dtype, 0)
        inner = self._loop("seq", *over, (Update(total, term.value),), (total,))
        stored = Store(self.y, at.value, total.value)
        lanes = Loop("lane", self.p.value, first.value, end.value, (inner, stored))
        return (self._loop("seq", *each, (lanes,), ()),)

    def _loop(
        self, kind: Any, name: str, count: str, body: tuple[Statement, ...],
        carries: tuple[Accumulator, ...],
    ) -> Loop:  # fmt: skip
        variable = self.k if name == "k" else self.c
        none = constant(0, "int64").value
        return Loop(kind, variable.value, none, parameter(count).value, body, carries)

    def _spread(self, item: Term) -> tuple[Statement, ...]:
        """The taps of one place after the other, for a channel of a row."""
        row = item / parameter("channels")
        value = load(self.x, item * parameter("places") + self.p)
        within, where = self._where(row)
        term = value * self._by_tap(self.other, row)
        term = choose(within, term, constant(0, self.dtype))
        at = item * parameter("size") + where
        added = Store(self.y, at.value, (load(self.y, at) + term).value)
        none = constant(0, "int64").value
        taps = self._loop("seq", "k", "taps", (added,), ())
        return (Loop("seq", self.p.value, none, parameter("places").value, (taps,)),)

    def _tap(self, row: Term) -> Term:
        at = row * parameter("taps") + self.k
        return at * parameter("places") + self.p

    def _by_tap(self, buffer: Buffer, row: Term) -> Term:
        return load(buffer, self._tap(row))

    def _where(self, row: Term) -> tuple[Term, Term]:
        """Whether a tap is within, and a place that is."""
        told = load(self.index, self._tap(row))
        within = bits(told, "uint64") < bits(parameter("size"), "uint64")
        return within, choose(within, told, constant(0, "int64"))

    def _element(self, buffer: Buffer, line: Term, row: Term) -> Term:
        within, where = self._where(row)
        found = load(buffer, line * parameter("size") + where)
        return choose(within, found, constant(0, self.dtype))


def _part_of(item: Term) -> tuple[Term, Term, Term]:
    """The row of an item, and where its places begin and end."""
    row = item / parameter("parts")
    first = (item - row * parameter("parts")) * parameter("part_size")
    end = first + parameter("part_size")
    return row, first, choose(end < parameter("places"), end, parameter("places"))


class _Terms:
    """Arithmetic on values of kernels."""

    def floor(self, x: Term) -> Term:
        return unary("floor", x)

    def choose(self, condition: Term, a: Any, b: Any) -> Term:
        return choose(condition, a, b)

    def ones(self, x: Term) -> Term:
        return constant(1, x.dtype)

    def number(self, n: Term, x: Term) -> Term:
        return cast(n, x.dtype)

    def whole(self, x: Term) -> Term:
        # Added to 2**52, a number below that is in the last bits of a float64.
        told = bits(cast(x, "float64") + float(_LAST_BITS + 1), "int64")
        return told & _LAST_BITS


_LAST_BITS: Final = (1 << 52) - 1
_TERMS: Final = _Terms()
PLACE_WORDS: Final = ("places", "parts", "part_size", "step")
Terms = list[Term]
Tap = Callable[[int], Term]


def grid_kernel(sampling: Sampling, axes: int, dtype: str) -> Kernel:
    """A function of the grid, and of the weights and indices that it makes."""
    weights = Buffer("weights", dtype, written=True)
    indices = Buffer("indices", "int64", written=True)

    def stores(at: Terms, sizes: Terms, tap: Tap, place: Term) -> Iterator[Store]:
        found = sampling.found(_TERMS, at, sizes)
        for k, (i, w) in enumerate(zip(*found, strict=True)):
            yield Store(weights, tap(k).value, w.value)
            yield Store(indices, tap(k).value, i.value)

    return _of_grid("grid_taps", sampling, axes, dtype, (weights, indices), stores)


def grid_slopes_kernel(sampling: Sampling, axes: int, dtype: str) -> Kernel:
    """A function of the grid, the weights' gradients, and the grid's that it makes.

    They lie one coordinate behind the other, as far apart as `step` says.
    """
    ct = Buffer("ct", dtype)
    made = Buffer("made", dtype, written=True)

    def stores(at: Terms, sizes: Terms, tap: Tap, place: Term) -> Iterator[Store]:
        given = [load(ct, tap(k)) for k in range(sampling.taps(axes))]
        found = sampling.slopes(_TERMS, at, sizes, given)
        for i, y in enumerate(found):
            yield Store(made, (parameter("step") * i + place).value, y.value)

    return _of_grid("grid_slopes", sampling, axes, dtype, (ct, made), stores)


def _of_grid(
    name: str, sampling: Sampling, axes: int, dtype: str, others: tuple[Buffer, ...],
    stores: Any,
) -> Kernel:  # fmt: skip
    grid = Buffer("grid", dtype)
    item, p = index("item"), index("p")
    row, first, end = _part_of(item)
    place = row * parameter("places") + p
    at = [load(grid, place * axes + i) for i in range(axes)]
    sizes = [parameter(f"size{i}") for i in range(axes)]

    def tap(k: int) -> Term:
        return (row * sampling.taps(axes) + k) * parameter("places") + p

    body = tuple(stores(at, sizes, tap, place))
    lanes = Loop("lane", p.value, first.value, end.value, body)
    words = (*PLACE_WORDS, *(f"size{i}" for i in range(axes)))
    edges = "aligned" if sampling.aligned else "edges"
    how = f"{sampling.mode}_{sampling.margin}_{edges}"
    return Kernel(
        f"{name}{axes}_{how}_{dtype}", (grid, *others),
        tuple((word, "int64") for word in words),
        (Loop("grid", item.value, FIRST, LAST, (lanes,)),), fused=False,
    )  # fmt: skip


__all__ = ["Does", "grid_kernel", "grid_slopes_kernel", "taps_kernel"]
