"""Rows of attention's weights, for devices: softmax of scores, and its gradient.

A block of threads does a row, in the dtype that kernels compute in. For products of
16-bit floats a number is written in two: as it is rounded, and what rounding left. By
both of them, sums have nearly as many digits as float32 has.
"""

from __future__ import annotations

import numpy as np

from dovetail.codegen import pointwise
from dovetail.codegen.accumulation import accumulator
from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
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
from dovetail.codegen.program import Step
from dovetail.codegen.values import (
    Term,
    apply,
    choose,
    compare,
    constant,
    index,
    load,
    parameter,
)


def weights(dtype: str, causal: bool) -> Kernel:
    """Rows of scores become their softmax; zeros where all scores are -inf.

    Buffers: the scores, which are overwritten; of 16-bit floats, they and the weights
    in two. Parameters: how many keys and queries there are, and the place of the first
    query, from which on `causal` hides later keys. Items: rows.
    """
    rows, out = _Rows(dtype, causal), _Parts("y", dtype)
    stores = out.stores(rows.scores, rows.place, rows.weight())
    buffers = (rows.scores, *out.buffers)
    return rows.kernel(f"attention_weights_{dtype}", buffers, rows.lanes(*stores))


def slopes(dtype: str, causal: bool) -> Kernel:
    """Rows of scores become their softmax, and what it is sent what scores are sent.

    Buffers: the scores, and what weights are sent, which are overwritten; of 16-bit
    floats, both, then the weights in two, and what scores are sent, times the last
    parameter, in two. Parameters: those of `weights`, and that number. Items: rows.
    """
    rows, p, out = _Rows(dtype, causal), _Parts("p", dtype), _Parts("y", dtype)
    dot = accumulator("add", rows.dtype)
    through = Buffer("t", rows.dtype, written=not out.buffers)
    weight, sent = rows.weight(), load(through, rows.place)
    slope = weight * (sent - Term(dot.value)) * parameter("factor", rows.dtype)
    stores = (
        *out.stores(through, rows.place, slope),
        *p.stores(rows.scores, rows.place, weight),
    )
    body = (
        rows.lanes(Update(dot, (weight * sent).value), gathered=(dot,)),
        rows.lanes(*stores),
    )
    buffers = (rows.scores, through, *p.buffers, *out.buffers)
    name = f"attention_slopes_{dtype}"
    return rows.kernel(name, buffers, *body, words=(("factor", rows.dtype),))


class _Parts:
    """Where numbers are written that are products' operands.

    Attributes:
        buffers: for what is rounded, and what that leaves; none where it is in place.
    """

    def __init__(self, name: str, dtype: str) -> None:
        self._dtype = dtype
        held = in_memory(dtype)
        names = (name, f"{name}_rest") if computed_in(dtype) != dtype else ()
        self.buffers = tuple([Buffer(n, held, written=True) for n in names])

    def stores(self, place: Buffer, at: Term, number: Term) -> list[Store]:
        """Write a number; in place of another one, where there are no parts."""
        if not self.buffers:
            return [Store(place, at.value, number.value)]
        rounded = narrowed(number, self._dtype)
        rest = narrowed(number - widened(rounded, self._dtype), self._dtype)
        both = zip(self.buffers, (rounded, rest), strict=True)
        return [Store(buffer, at.value, x.value) for buffer, x in both]


class _Rows:
    """Rows of scores, each of as many keys, with what their softmax needs.

    Attributes:
        dtype: of the scores.
        scores: where they are.
        place: where that of a row and a key is.
    """

    def __init__(self, stored: str, causal: bool) -> None:
        self.dtype = dtype = computed_in(stored)
        self.scores = Buffer("x", dtype, written=dtype == stored)
        self._causal = causal
        self._row, self._key, self._keys = index("row"), index("key"), parameter("keys")
        self._top = accumulator("maximum", dtype)
        self._total = accumulator("add", dtype)
        self.place = self._row * self._keys + self._key

    def _score(self) -> Term:
        found = load(self.scores, self.place)
        if not self._causal:
            return found
        queries, row = parameter("queries"), self._row
        query = row - apply("div", row, queries) * queries + parameter("before")
        hidden = constant(-float("inf"), self.dtype)
        return choose(compare("le", self._key, query), found, hidden)

    def _share(self) -> Term:
        """The weight, but for the sum of all."""
        lowest = constant(float(np.finfo(self.dtype).min), self.dtype)
        most = apply("maximum", Term(self._top.value), lowest)
        return pointwise.done(Step("exp", (0,), self.dtype), [self._score() - most])

    def weight(self) -> Term:
        """The softmax of the scores."""
        total = Term(self._total.value)
        whole = choose(compare("eq", total, 0), constant(1, self.dtype), total)
        return apply("div", self._share(), whole)

    def lanes(self, *body: Statement, gathered: tuple[Accumulator, ...] = ()) -> Loop:
        """What is done for each key of a row."""
        zero, end = constant(0, "int64").value, self._keys.value
        return Loop("lane", self._key.value, zero, end, body, gathered)

    def kernel(
        self, name: str, buffers: tuple[Buffer, ...], *body: Loop,
        words: tuple[tuple[str, str], ...] = (),
    ) -> Kernel:  # fmt: skip
        """The kernel that does so once it knows the softmax of a row."""
        top = Update(self._top, self._score().value)
        total = Update(self._total, self._share().value)
        first = [self.lanes(x, gathered=(x.into,)) for x in (top, total)]
        grid = Loop("grid", self._row.value, FIRST, LAST, (*first, *body))
        whole = [(word, "int64") for word in ("keys", "queries", "before")]
        return Kernel(name, buffers, (*whole, *words), (grid,))
