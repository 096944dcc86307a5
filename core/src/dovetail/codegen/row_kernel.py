"""Programs on rows as kernels: a pass over the lanes for each reduction that needs one.

A reduction can be made once those that its operand is made of are there. So there are
stages: each is one loop over the lanes, which computes anew what it needs of what
came before, and gathers all reductions that can be made. The last one stores. A value
that costs much and is needed again waits where the result will be.
"""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.codegen import pointwise
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
    Value,
)
from dovetail.codegen.mathematics import FUNCTIONS
from dovetail.codegen.program import FULL, ONE, ROW, SHARED, Number, Program, Step
from dovetail.codegen.values import Term, apply, constant, index, load, parameter

REDUCTIONS: Final = {"sum": ("add", 0.0), "amax": ("maximum", -math.inf)}
_FEW: Final = 3  # steps
BLOCK: Final = 1024
"""Lanes whose sum is added up before it meets others: what is small is not lost in
what has become large."""


class RowKernel:
    """Writes the kernel of a program on rows.

    Args:
        program: its last inputs may be numbers of a call, of extent `ONE`.
        varying: places of numbers, (step, operand), that come with a call.
    """

    def __init__(
        self, name: str, program: Program, varying: tuple[tuple[int, int], ...]
    ) -> None:
        self.program = program
        self.varying = varying
        self.row = index("row")
        self.lanes, self.blocks = parameter("lanes"), parameter("blocks")
        self.outs = [
            Buffer(f"y{i}", dtype, written=True)
            for i, (_, dtype) in enumerate(program.results)
        ]
        self.inputs = [
            Buffer(f"x{i}", d)
            for i, (d, e) in enumerate(
                zip(program.inputs, program.extents, strict=True)
            )
            if d is not None and e != ONE
        ]
        self.sources = {b.name: b for b in self.inputs}
        self.rows: dict[int, Term] = {}  # values of a row, once they are there
        self.waiting: dict[int, Buffer] = {}  # values of all lanes, and where they wait
        self.name = name

    def kernel(self) -> Kernel:
        """The kernel, row by row."""
        body: list[Statement] = []
        for stage in self._stages():
            body.append(self._reduced(stage))
        body += self._stored()
        rows = Loop("grid", self.row.value, FIRST, LAST, tuple(body))
        words = [("lanes", "int64"), ("blocks", "int64")]
        words += [(f"scalar{i}", d) for i, d in self._scalars()]
        words += [
            (f"number{i}", self.program.steps[s].operands[o].dtype)
            for i, (s, o) in enumerate(self.varying)
        ]
        buffers = (*self.inputs, *self.outs)
        return Kernel(self.name, buffers, tuple(words), (rows,), self._registers())

    def _registers(self) -> int:
        """More of them where there is little to do beside waiting for sums."""
        return 2 if len(self.program.steps) > _FEW else 4

    def _scalars(self) -> list[tuple[int, str]]:
        return [
            (i, str(d))
            for i, (d, e) in enumerate(
                zip(self.program.inputs, self.program.extents, strict=True)
            )
            if e == ONE
        ]

    # ---- stages

    def _first(self) -> int:
        return len(self.program.inputs)

    def _is_reduction(self, at: int) -> bool:
        step = self._step(at)
        return step is not None and step.op in REDUCTIONS and step.extent == ROW

    def _step(self, at: int) -> Step | None:
        at -= self._first()
        return None if at < 0 else self.program.steps[at]

    def _stages(self) -> list[list[int]]:
        """The reductions, each in the first stage that can make it."""
        depth: dict[int, int] = {}
        stages: list[list[int]] = []
        for at, step in enumerate(self.program.steps, self._first()):
            given = [x for x in step.operands if isinstance(x, int)]
            depth[at] = max([depth.get(x, 0) for x in given], default=0)
            if self._is_reduction(at):
                depth[at] += 1
                while len(stages) < depth[at]:
                    stages.append([])
                stages[depth[at] - 1].append(at)
        return stages

    def _reduced(self, stage: list[int]) -> Statement:
        """One pass over the lanes, block by block."""
        block, lane = index("block"), index("lane")
        begin = block * BLOCK
        end = apply("minimum", begin + BLOCK, self.lanes)
        wholes, parts = [], []
        outer: list[Statement] = []
        inner: list[Statement] = []
        values = _Lanes(self, lane)
        for at in stage:
            step = self._step(at)
            assert step is not None
            combine, start = REDUCTIONS[step.op]
            whole = Accumulator(combine, step.dtype, start)  # type: ignore[arg-type]
            part = Accumulator(combine, step.dtype, start)  # type: ignore[arg-type]
            inner.append(Update(part, values.of(step.operands[0]).value))
            outer.append(Update(whole, part.value))
            wholes.append(whole)
            parts.append(part)
        inner += self._kept(values, lane)
        lanes = Loop(
            "lane", lane.value, begin.value, end.value, tuple(inner), tuple(parts)
        )
        for at, whole in zip(stage, wholes, strict=True):
            self.rows[at] = Term(whole.value)
        zero = constant(0, "int64").value
        blocks = self.blocks.value
        body = (lanes, *outer)
        return Loop("seq", block.value, zero, blocks, body, tuple(wholes))

    def _kept(self, values: _Lanes, lane: Term) -> list[Statement]:
        """The store of a function's values that the last pass needs again."""
        full = [
            (out, x)
            for out, (x, _) in zip(self.outs, self.program.results, strict=True)
            if self._extent(x) == FULL
        ]
        if len(full) != 1 or self.waiting:
            return []
        (out, result) = full[0]
        needed = self._needed(result)
        for at, term in values.known.items():
            step = self._step(at)
            costs = step is not None and step.op in FUNCTIONS
            if costs and at in needed and term.dtype == out.dtype:
                self.waiting[at] = out
                offset = self.row * self.lanes + lane
                return [Store(out, offset.value, term.value)]
        return []

    def _needed(self, at: int) -> set[int]:
        """The values of all lanes that one is made of, it being among them."""
        step = self._step(at)
        found = {at}
        for x in () if step is None else step.operands:
            if isinstance(x, int) and self._extent(x) == FULL:
                found |= self._needed(x)
        return found

    def _stored(self) -> list[Statement]:
        lane = index("lane")
        values = _Lanes(self, lane)
        full: list[Statement] = []
        single: list[Statement] = []
        for out, (x, _) in zip(self.outs, self.program.results, strict=True):
            if self._extent(x) == FULL:
                at = self.row * self.lanes + lane
                full.append(Store(out, at.value, values.of(x).value))
            else:
                single.append(Store(out, self.row.value, values.of(x).value))
        if not full:
            return single
        zero: Value = constant(0, "int64").value
        loop = Loop("lane", lane.value, zero, self.lanes.value, tuple(full))
        return [*single, loop]

    def _extent(self, at: Any) -> str:
        if isinstance(at, Number):
            return ONE
        step = self._step(at)
        return str(self.program.extents[at]) if step is None else step.extent


class _Lanes:
    """The values of one pass over the lanes."""

    def __init__(self, kernel: RowKernel, lane: Term) -> None:
        self.kernel = kernel
        self.lane = lane
        self.known: dict[int, Term] = {}

    def of(self, x: Any) -> Term:
        """A value, of the lanes of this pass or of the row."""
        if isinstance(x, Number):
            return constant(x.value, x.dtype)
        kernel = self.kernel
        of_row = kernel._extent(x) in (ROW, ONE)
        known = kernel.rows if of_row else self.known
        if x not in known and x in kernel.waiting:
            place = kernel.row * kernel.lanes + self.lane
            known[x] = load(kernel.waiting[x], place)
        if x not in known:
            step = kernel._step(x)
            known[x] = self._loaded(x) if step is None else self._computed(x, step)
        return known[x]

    def _computed(self, at: int, step: Step) -> Term:
        kernel = self.kernel
        place = at - kernel._first()
        given: list[Term | None] = []
        for i, x in enumerate(step.operands):
            if (place, i) in kernel.varying:
                number = kernel.varying.index((place, i))
                given.append(parameter(f"number{number}", x.dtype))
            else:
                given.append(None if x is None else self.of(x))
        return pointwise.done(step, given)

    def _loaded(self, at: int) -> Term:
        kernel = self.kernel
        extent, dtype = kernel.program.extents[at], kernel.program.inputs[at]
        if extent == ONE:
            return parameter(f"scalar{at}", str(dtype))
        source = kernel.sources[f"x{at}"]
        if extent == ROW:
            return load(source, kernel.row)
        if extent == SHARED:
            return load(source, self.lane)
        return load(source, kernel.row * kernel.lanes + self.lane)
