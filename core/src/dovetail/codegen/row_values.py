"""The values of a program on dims, at the places that the loops of a kernel reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.codegen import pointwise
from dovetail.codegen.formats import widened
from dovetail.codegen.program import Number, Step
from dovetail.codegen.values import Term, cast, constant, load, parameter

if TYPE_CHECKING:
    from dovetail.codegen.row_kernel import RowKernel


class Values:
    """The values at one place, which the loops around it move on."""

    def __init__(self, kernel: RowKernel, at: dict[int, Term]) -> None:
        self.kernel = kernel
        self.at = at
        self.known: dict[int, Term] = {}

    def of(self, x: Any) -> Term:
        """A value at this place."""
        if isinstance(x, Number):
            return constant(x.value, x.dtype)
        kernel = self.kernel
        known = self.known if kernel.is_full(x) else kernel.rows
        if x not in known and x in kernel.waiting:
            place = kernel.places.offset(kernel.program.extent(x), self.at)
            known[x] = load(kernel.waiting[x], place)
        if x not in known:
            step = kernel.program.step(x)
            known[x] = self._loaded(x) if step is None else self._computed(x, step)
        return known[x]

    def _computed(self, at: int, step: Step) -> Term:
        kernel = self.kernel
        if step.op == "iota":
            return cast(self.at[step.extent[0]], step.dtype)
        if step.op == "take_along":
            return self._taken(step)
        place = at - len(kernel.program.inputs)
        given: list[Term | None] = []
        for i, x in enumerate(step.operands):
            if (place, i) in kernel.varying:
                number = kernel.varying.index((place, i))
                given.append(parameter(f"number{number}", x.dtype))
            else:
                given.append(None if x is None else self.of(x))
        return pointwise.done(step, given)

    def _taken(self, step: Step) -> Term:
        """A value at another place along a dim that is reduced."""
        x, place = step.operands
        (dim,) = set(self.kernel.program.extent(x)) - set(step.extent)
        there = cast(self.of(place), "int64")
        return Values(self.kernel, self.at | {dim: there}).of(x)

    def _loaded(self, at: int) -> Term:
        kernel = self.kernel
        if at >= kernel.arrays:
            return parameter(f"scalar{at}", str(kernel.program.inputs[at]))
        place = kernel.places.offset(kernel.program.extents[at], self.at)
        stored = load(kernel.sources[at], place)
        return widened(stored, kernel.halves.inputs.get(at, ""))
