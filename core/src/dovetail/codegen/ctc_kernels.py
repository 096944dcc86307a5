"""Kernels of `dovetail.ops.ctc`: a sequence is an item, its states lie side by side.

Rows of states are in float64, with two of no way before them, or behind.
"""

from __future__ import annotations

import math
from typing import Final, Literal

from dovetail.codegen.ir import (
    FIRST,
    LAST,
    Buffer,
    Kernel,
    Loop,
    Statement,
    Store,
)
from dovetail.codegen.mathematics import FUNCTIONS
from dovetail.codegen.values import (
    Term,
    apply,
    cast,
    choose,
    constant,
    equal,
    index,
    load,
    parameter,
)

Does = Literal["forwards", "shares"]
WORDS: Final = ("steps", "count", "classes", "width")
_NONE: Final = -math.inf


def ctc_kernel(does: Does, dtype: str) -> Kernel:
    """`forwards`: fills the ways to states; `shares`: those on, and adds shares up.

    Arrays: x [t, n, classes]; states [n, width] and frames [n], int64; skips
    [n, width + 2] and ways [n, t + 1, width + 2], float64; of shares besides losses
    [n], ways on, a row of states for each n, and the result [t, n, classes], float64.
    """
    return _Ctc(does, dtype).kernel()


class _Ctc:
    """Writes the loops of a kernel."""

    def __init__(self, does: Does, dtype: str) -> None:
        self.does = does
        self.dtype = dtype
        self.x = Buffer("x", dtype)
        self.states = Buffer("states", "int64")
        self.frames = Buffer("frames", "int64")
        self.skips = Buffer("skips", "float64")
        forwards = does == "forwards"
        self.ways = Buffer("ways", "float64", written=forwards)
        self.losses = Buffer("losses", "float64")
        self.on = Buffer("on", "float64", written=True)
        self.row = Buffer("row", "float64", written=True)
        self.y = Buffer("y", "float64", written=True)
        self.item, self.t, self.s = index("item"), index("t"), index("s")
        self.wide = parameter("width") + 2

    def kernel(self) -> Kernel:
        """The whole of it."""
        forwards = self.does == "forwards"
        last = load(self.frames, self.item)
        body = self._forwards() if forwards else self._backwards(last)
        steps = Loop("seq", self.t.value, _zero().value, last.value, body)
        grid = Loop("grid", self.item.value, FIRST, LAST, (steps,))
        buffers = [self.x, self.states, self.frames, self.skips, self.ways]
        if not forwards:
            buffers += [self.losses, self.on, self.row, self.y]
        words = tuple((name, "int64") for name in WORDS)
        return Kernel(f"ctc_{self.does}_{self.dtype}", tuple(buffers), words, (grid,))

    def _line(self, t: Term) -> Term:
        """Where the row of a step begins."""
        return (self.item * (parameter("steps") + 1) + t) * self.wide

    def _seen(self, t: Term) -> tuple[Term, Term]:
        """The log probability of a state's class, and its place."""
        state = load(self.states, self.item * parameter("width") + self.s)
        row = (t * parameter("count") + self.item) * parameter("classes")
        return cast(load(self.x, row + state), "float64"), row + state

    def _over_states(self, *body: Statement) -> Loop:
        width = parameter("width").value
        return Loop("lane", self.s.value, _zero().value, width, body)

    def _forwards(self) -> tuple[Statement, ...]:
        line = self._line(self.t)
        skip = load(self.skips, self.item * self.wide + self.s)
        parts = [load(self.ways, line + self.s + i) for i in (0, 1, 2)]
        found = _log_sum(parts[2], parts[1], _jumped(parts[0], skip))
        seen, _ = self._seen(self.t)
        at = self._line(self.t + 1) + self.s + 2
        return (
            self._over_states(Store(self.ways, at.value, _seen_by(found, seen).value)),
        )

    def _backwards(self, last: Term) -> tuple[Statement, ...]:
        t = last - 1 - self.t
        line = self._line(t + 1)
        skip = load(self.skips, self.item * self.wide + self.s + 2)
        parts = [load(self.on, line + self.s + i) for i in (0, 1, 2)]
        found = _log_sum(parts[0], parts[1], _jumped(parts[2], skip))
        seen, place = self._seen(t)
        alpha = load(self.ways, line + self.s + 2)
        loss = load(self.losses, self.item)
        share = FUNCTIONS["exp"].make(alpha + found + loss)
        none = equal(alpha, _NONE) | equal(found, _NONE) | equal(loss, math.inf)
        share = choose(none, 0.0, share)
        onwards = _seen_by(found, seen)
        kept = self.item * parameter("width") + self.s
        filled = self._over_states(
            Store(self.on, (self._line(t) + self.s).value, onwards.value),
            Store(self.row, kept.value, share.value),
        )
        total = load(self.y, place) + load(self.row, kept)
        width = parameter("width").value
        added = Loop(
            "seq", self.s.value, _zero().value, width,
            (Store(self.y, place.value, total.value),),
        )  # fmt: skip
        return filled, added


def _zero() -> Term:
    return constant(0, "int64")


def _seen_by(ways: Term, seen: Term) -> Term:
    """Where no way leads, nothing is read, such as NaN of labels that are none."""
    return choose(equal(ways, _NONE), _NONE, ways + seen)


def _jumped(ways: Term, skip: Term) -> Term:
    return choose(equal(skip, 0.0), ways, _NONE)


def _log_sum(a: Term, b: Term, c: Term) -> Term:
    most = apply("maximum", apply("maximum", a, b), c)
    most = choose(equal(most, _NONE), 0.0, most)
    exp, log = FUNCTIONS["exp"].make, FUNCTIONS["log"].make
    total = exp(a - most) + exp(b - most) + exp(c - most)
    return log(total) + most


__all__ = ["WORDS", "Does", "ctc_kernel"]
