"""Programs with reductions as kernels: a pass over the elements for each stage.

A reduction can be made once those that its operand is made of are there. So there are
stages: each is one pass, which computes anew what it needs of what came before, and
gathers all reductions that can be made. The last one stores. A value that costs much
and is needed again waits where the result will be.

The last dim lies along the lanes. Where it stays, lanes are results of their own, and
passes run from one to the next of what is reduced. Where it is reduced, each of some
lanes adds up what is `LANES` apart, and they meet at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dovetail.codegen import pointwise
from dovetail.codegen.accumulation import Level, accumulators, blocked, met, updates
from dovetail.codegen.formats import HALVES, in_memory, narrowed
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
from dovetail.codegen.mathematics import FUNCTIONS
from dovetail.codegen.program import (
    ABSENT,
    KEPT,
    REDUCTIONS,
    Place,
    Program,
)
from dovetail.codegen.row_places import LANES, SHIFT, Places, zero
from dovetail.codegen.row_values import Values
from dovetail.codegen.values import (
    Term,
    apply,
    constant,
    index,
)

_FEW: Final = 3  # steps


class Halves(NamedTuple):
    """Which arrays hold floats of 16 bits, by the numbers of inputs and results."""

    inputs: Mapping[int, str]
    results: Mapping[int, str]

    @classmethod
    def of(cls, *stored: Sequence[str | None]) -> Halves:
        """Those among the dtypes of inputs, and of results."""
        return cls(*[{i: d for i, d in enumerate(s) if d in HALVES} for s in stored])


NO_HALVES: Final = Halves({}, {})


class RowKernel:
    """Writes the kernel of a program on dims.

    Its words are the sizes of the dims, then, where one is split, how many elements a
    part of it has and how many parts there are; then the numbers of a call.

    Args:
        pattern: what becomes of each dim, a letter each.
        scalars: how many inputs, the last ones, are numbers of a call.
        varying: places of numbers that come with a call, behind the scalars.
        short: whether the last dim has fewer elements than `LANES`.
        halves: which arrays hold floats of 16 bits; the program has float32 for them.
    """

    def __init__(
        self, name: str, program: Program, pattern: str, scalars: int = 0,
        varying: Sequence[Place | None] = (), short: bool = False,
        halves: Halves = NO_HALVES,
    ) -> None:  # fmt: skip
        self.name = name
        self.program = program
        self.pattern = pattern
        self.varying = varying
        self.short = short
        self.arrays = len(program.inputs) - scalars
        self.piece = index("piece")
        self.places = places = Places(pattern, self.piece)
        self.last, self.across = places.last, places.across
        self.at = places.at
        there = [d for d, kind in enumerate(pattern) if kind != ABSENT]
        self.reduced = [d for d in there if pattern[d] != KEPT]
        self.halves = halves
        self.sources = {
            i: Buffer(f"x{i}", in_memory(halves.inputs.get(i, d)))
            for i, d in enumerate(program.inputs[: self.arrays])
            if d is not None
        }
        self.outs = [
            Buffer(f"y{i}", in_memory(halves.results.get(i, dtype)), written=True)
            for i, (_, dtype) in enumerate(program.results)
        ]
        self.rows: dict[int, Term] = {}  # values that no reduced dim has
        self.waiting: dict[int, Buffer] = {}  # values of all elements, and where
        self.stored: dict[int, Buffer] = {}  # those that this stage stores

    def kernel(self) -> Kernel:
        """The kernel, whose pieces are results, or `LANES` results side by side."""
        body = self._side_by_side() if self.across else self._passes()
        pieces = Loop("grid", self.piece.value, FIRST, LAST, tuple(body))
        words = [(name, "int64") for name in self.places.words()]
        for i, d in enumerate(self.program.inputs[self.arrays :], self.arrays):
            if d is not None:
                words.append((f"scalar{i}", d))
        for i, place in enumerate(self.varying):
            if place is not None:
                dtype = self.program.steps[place[0]].operands[place[1]].dtype
                words.append((f"number{i}", dtype))
        buffers = (*self.sources.values(), *self.outs)
        few = len(self.program.steps) <= _FEW
        registers = 1 if self.short else 4 if few else 2
        return Kernel(self.name, buffers, tuple(words), (pieces,), registers)

    # ---- passes

    def _side_by_side(self) -> list[Statement]:
        """The passes for lanes that are results of their own."""
        lane = index("lane")
        first = self.at[self.last] * LANES
        end = apply("minimum", first + LANES, self.places.sizes[self.last])
        self.at[self.last] = lane
        body = tuple(self._passes())
        return [Loop("lane", lane.value, first.value, end.value, body)]

    def _passes(self) -> list[Statement]:
        body: list[Statement] = []
        for stage in self.program.stages():
            body += self._reduced(stage)
            self.waiting |= self.stored
        return body + self._stored()

    def _reduced(self, stage: list[int]) -> list[Statement]:
        """One pass over the elements."""
        if not self.across:
            return self._reduced_lanes(stage)
        levels = self._levels(self.reduced)
        loop, sums = self._blocked(stage, levels, self.at)
        self.rows |= {x: Term(a.value) for x, a in zip(stage, sums, strict=True)}
        return [loop]

    def _levels(self, dims: Sequence[int]) -> list[Level]:
        return [Level(d, *self.places.span(d)) for d in dims]

    def _reduced_lanes(self, stage: list[int]) -> list[Statement]:
        """A pass over whole `LANES`, and one over what is left of the last dim."""
        first, end = self.places.span(self.last)
        outer = self._levels(self.reduced[:-1])
        loops: list[Statement] = []
        found: list[list[Accumulator]] = []
        if not self.short:
            lane, step = index("lane"), index("step")
            steps = apply("shift_right", end - first, SHIFT)
            at = self.at | {self.last: (step * LANES + first) + lane}
            levels = [*outer, Level(-1, zero(), steps, step)]
            whole = lane, zero(), constant(LANES, "int64")
            loops.append(self._lane_loop(stage, whole, levels, at, found))
            first = first + (steps << SHIFT)
        lane = index("lane")
        at = self.at | {self.last: lane}
        loops.append(self._lane_loop(stage, (lane, first, end), outer, at, found))
        self.rows |= {x: met(parts) for x, *parts in zip(stage, *found, strict=True)}
        return loops

    def _lane_loop(
        self, stage: list[int], lanes: tuple[Term, Term, Term], levels: list[Level],
        at: dict[int, Term], found: list[list[Accumulator]],
    ) -> Loop:  # fmt: skip
        """A loop over lanes, whose sums are added to what was `found`."""
        sums = accumulators(self.program, stage)
        found.append(sums)
        if levels:
            inner, parts = self._blocked(stage, levels, at)
            body = [inner, *updates(sums, parts)]
        else:
            body = self._added(stage, sums, at)
        lane, first, end = (x.value for x in lanes)
        return Loop("lane", lane, first, end, tuple(body), tuple(sums))

    def _blocked(
        self, stage: list[int], levels: list[Level], at: dict[int, Term]
    ) -> tuple[Loop, list[Accumulator]]:
        at = at | {v.dim: v.index for v in levels}
        return blocked(
            levels, lambda: accumulators(self.program, stage),
            lambda sums: self._added(stage, sums, at),
        )  # fmt: skip

    def _added(
        self, stage: list[int], sums: list[Accumulator], at: dict[int, Term]
    ) -> list[Statement]:
        """What goes into the sums at one place."""
        values = Values(self, at)
        found: list[Statement] = []
        for x, into in zip(stage, sums, strict=True):
            step = self.program.step(x)
            assert step is not None
            value = values.of(step.operands[0])
            same = pointwise.done(step._replace(op="cast"), [value])
            found.append(Update(into, same.value))
        return found + self._kept(values)

    def _kept(self, values: Values) -> list[Statement]:
        """The store of a function's values that the last pass needs again."""
        full = [
            (out, x)
            for out, (x, _) in zip(self.outs, self.program.results, strict=True)
            if self.is_full(x)
        ]
        if len(full) != 1:
            return []
        ((out, result),) = full
        needed = self._needed(result)
        for at, term in values.known.items():
            step = self.program.step(at)
            costs = step is not None and step.op in FUNCTIONS
            whole = self.program.extent(at) == self.program.extent(result)
            only = not self.waiting and set(self.stored) <= {at}
            if costs and whole and only and at in needed and term.dtype == out.dtype:
                self.stored[at] = out
                place = self.places.offset(self.program.extent(at), values.at)
                return [Store(out, place.value, term.value)]
        return []

    def is_full(self, x: Any) -> bool:
        """Whether a value is one of the elements that are reduced."""
        return any(self.pattern[d] != KEPT for d in self.program.extent(x))

    def _needed(self, at: int) -> set[int]:
        """The values of elements that one is made of, it being among them."""
        step = self.program.step(at)
        found = {at}
        for x in () if step is None else step.operands:
            if isinstance(x, int) and self.is_full(x):
                found |= self._needed(x)
        return found

    # ---- results

    def _stored(self) -> list[Statement]:
        full, single = [], []
        for i, (x, _) in enumerate(self.program.results):
            out = self.outs[i]
            if self.is_full(x):
                full.append((i, x))
                continue
            values = Values(self, self.at)
            extent = self.program.extent(x)
            step = self.program.step(x)
            if self.places.split >= 0 and step is not None and step.op in REDUCTIONS:
                place = self.places.offset_of_part(extent)
            else:
                place = self.places.offset(extent, self.at)
            single.append(Store(out, place.value, self._as_stored(i, x, values).value))
        return [*single, *self._stored_elements(full)] if full else list(single)

    def _stored_elements(self, full: list[tuple[int, Any]]) -> list[Statement]:
        """Loops over all elements, that store what there is of each."""
        dims = self.reduced if self.across else self.reduced[:-1]
        levels = self._levels(dims)
        lane = index("lane")
        at = self.at | {v.dim: v.index for v in levels}
        if not self.across:
            at[self.last] = lane
        values = Values(self, at)
        body: tuple[Statement, ...] = tuple(
            Store(
                self.outs[i],
                self.places.offset(self.program.extent(x), at).value,
                self._as_stored(i, x, values).value,
            )
            for i, x in full
        )
        if not self.across:
            first, end = self.places.span(self.last)
            body = (Loop("lane", lane.value, first.value, end.value, body),)
        for v in reversed(levels):
            body = (Loop("seq", v.index.value, v.first.value, v.end.value, body),)
        return list(body)

    def _as_stored(self, result: int, x: Any, values: Values) -> Term:
        """The value of a result as memory has it."""
        dtype = self.halves.results.get(result, "")
        return narrowed(values.of(x), dtype)
