"""Programs that write in place, as kernels: one pass over arrays of one size."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.codegen import pointwise
from dovetail.codegen.formats import in_memory, narrowed, widened
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store
from dovetail.codegen.program import Program
from dovetail.codegen.values import Term, index, load, parameter


class InPlaceForm:
    """A program on elements that writes some of its inputs, as a kernel.

    Args:
        name: what it is called in listings.
        program: what it computes; its last inputs are numbers of a call.
        written: the input that each result is written to, by position.
        numbers: how many inputs are numbers.
        stored: dtypes of the arrays where memory has others than the program.

    Raises:
        NotSupported: kernels do not know a step of the program.
    """

    def __init__(
        self, name: str, program: Program, written: Sequence[int], numbers: int,
        stored: Sequence[str | None] = (),
    ) -> None:  # fmt: skip
        arrays = len(program.inputs) - numbers
        self.stored = stored or program.inputs[:arrays]
        self.program = program
        self.given = [i for i, d in enumerate(program.inputs[:arrays]) if d is not None]
        self.numbers = [str(d) for d in program.inputs[arrays:]]
        self.written = tuple(written)
        self.form = self._kernel(f"{name}_{self.stored[self.given[0]]}")

    def _kernel(self, name: str) -> Kernel:
        """The kernel as a loop over the elements of all arrays."""
        lane = index("lane")
        buffers = {
            i: Buffer(
                f"x{i}", in_memory(str(self.stored[i])), written=i in self.written
            )
            for i in self.given
        }
        given: list[Term | None] = [None] * len(self.program.inputs)
        for i, buffer in buffers.items():
            given[i] = widened(load(buffer, lane), str(self.stored[i]))
        named = [(f"number{i}", d) for i, d in enumerate(self.numbers)]
        if named:
            given[-len(named) :] = [parameter(name, d) for name, d in named]
        made = pointwise.results(self.program, given)
        stores = tuple(
            Store(buffers[i], lane.value, narrowed(y, str(self.stored[i])).value)
            for i, y in zip(self.written, made, strict=True)
        )
        body = Loop("lane", lane.value, FIRST, LAST, stores)
        return Kernel(name, tuple(buffers.values()), tuple(named), (body,))
