"""Pointwise programs as kernels: one for each way in which operands lie."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.codegen import pointwise
from dovetail.codegen.formats import in_memory, narrowed, widened
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Statement, Store
from dovetail.codegen.layout import APART, ONE
from dovetail.codegen.program import Program
from dovetail.codegen.values import Term, constant, index, load, parameter
from dovetail.dtypes import by_name


class PointwiseForm:
    """A program of one result, with its kernels by the layout of operands.

    Args:
        name: what it is called in listings.
        program: what it computes.
        scalars: how many of its inputs, the last ones, are numbers of a call.
        stored: dtypes of the arrays where memory has others than the program.
        result: dtype of the result, likewise.

    Raises:
        NotSupported: kernels do not know a step of the program.
    """

    def __init__(
        self, name: str, program: Program, scalars: int = 0,
        stored: Sequence[str | None] = (), result: str = "",
    ) -> None:  # fmt: skip
        arrays = len(program.inputs) - scalars
        stored = stored or program.inputs[:arrays]
        self.name = name
        self.program = program
        self.given = [i for i, d in enumerate(program.inputs[:arrays]) if d is not None]
        self.dtypes = [str(stored[i]) for i in self.given]
        self.scalars = [str(d) for d in program.inputs[arrays:]]
        self.result = result or program.results[0][1]
        self.dtype = by_name(self.result).numpy

    def kernel_name(
        self, kinds: tuple[str, ...], rows: bool, blocks: bool = False
    ) -> str:
        """What listings call the kernel for operands that lie so."""
        lies = "_".join(["blocks" if blocks else "rows" if rows else "flat", *kinds])
        return f"{self.name}_{self.dtypes[0]}_{lies}"

    def form(self, kinds: tuple[str, ...], rows: bool, blocks: bool = False) -> Kernel:
        """The kernel as loops, for operands that lie so."""
        numbers = range(len(kinds))
        sources = [Buffer(f"x{i}", in_memory(self.dtypes[i])) for i in numbers]
        out = Buffer("y", in_memory(self.result), written=True)
        lane, row = index("lane"), index("row")
        begins: list[Term | None] = [None for _ in numbers]
        if blocks:
            block = row / parameter("inner")
            own = row - block * parameter("inner")
            begins = [
                block * parameter(f"block_step{i}") + own * parameter(f"row_step{i}")
                for i in numbers
            ]
        elif rows:
            begins = [row * parameter(f"row_step{i}") for i in numbers]
        given: list[Term | None] = [None] * len(self.program.inputs)
        for i, place in enumerate(self.given):
            read = load(sources[i], _offset(kinds[i], lane, i, begins[i]))
            given[place] = widened(read, self.dtypes[i])
        named = [(f"scalar{i}", d) for i, d in enumerate(self.scalars)]
        if named:
            given[-len(named) :] = [parameter(name, d) for name, d in named]
        (y,) = pointwise.results(self.program, given)
        y = narrowed(y, self.result)
        at = row * parameter("lanes") + lane if rows else lane
        body = _looped(lane, row, Store(out, at.value, y.value), rows)
        steps = [f"lane_step{i}" for i in numbers]
        if rows:
            steps += ["lanes", *(f"row_step{i}" for i in numbers)]
        if blocks:
            steps += ["inner", *(f"block_step{i}" for i in numbers)]
        words = [*((name, "int64") for name in steps), *named]
        name = self.kernel_name(kinds, rows, blocks)
        return Kernel(name, (*sources, out), tuple(words), (body,))


def _looped(lane: Term, row: Term, store: Store, rows: bool) -> Statement:
    if not rows:
        return Loop("lane", lane.value, FIRST, LAST, (store,))
    zero, lanes = constant(0, "int64").value, parameter("lanes").value
    inner = Loop("lane", lane.value, zero, lanes, (store,))
    return Loop("grid", row.value, FIRST, LAST, (inner,))


def _offset(kind: str, lane: Term, number: int, begin: Term | None) -> Term:
    """Where a lane's element of an operand lies."""
    if kind == ONE:
        return constant(0, "int64") if begin is None else begin
    along = lane * parameter(f"lane_step{number}") if kind == APART else lane
    return along if begin is None else begin + along


__all__ = ["PointwiseForm"]
