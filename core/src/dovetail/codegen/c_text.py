"""Kernels as C: the same loops and values, an element at a time.

What is written computes bit for bit what the LLVM IR of the same kernel does, except
that lanes are added up in another order. A C compiler has to leave the arithmetic as it
is: no contraction of products and sums (`-ffp-contract=off`), no fast mathematics.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dovetail.codegen.c_dialects import C99, TYPES
from dovetail.codegen.c_values import ValueWriter, in_memory
from dovetail.codegen.ir import Kernel, Loop, Statement, Store, Update


def render(*kernels: Kernel, fused: bool) -> str:
    """A C file with kernels as functions.

    Args:
        kernels: what to write.
        fused: whether products and sums that may be rounded once are.
    """
    writers = [FunctionWriter(kernel, fused) for kernel in kernels]
    functions = [writer.text() for writer in writers]
    helpers = {helper: None for writer in writers for helper in writer.helpers}
    return "\n".join([C99.head, *helpers, *functions])


class KernelWriter(ValueWriter):
    """Writes the statements of one kernel, one after the other."""

    def __init__(self, kernel: Kernel, fused: bool) -> None:
        super().__init__(fused and kernel.fused)
        self.kernel = kernel

    @contextmanager
    def scope(self, head: str) -> Iterator[None]:
        """What is computed within is known within."""
        self.emit(f"{head} {{")
        self.scopes.append({})
        yield
        self.scopes.pop()
        self.emit("}")

    def statements(self, body: tuple[Statement, ...]) -> None:
        """Write statements in order."""
        for statement in body:
            if isinstance(statement, Store):
                self.store(statement)
            elif isinstance(statement, Update):
                self.update(statement)
            else:
                self.loop(statement)

    def store(self, store: Store) -> None:
        """Write an element."""
        value = self.value(store.value)
        place = f"{store.buffer.name}[{self.value(store.offset)}]"
        self.emit(f"{place} = {value};")

    def update(self, update: Update) -> None:
        """Gather a value."""
        held = self.held[update.into]
        made = self.combined(update.into, held, self.value(update.value))
        self.emit(f"{held} = {made};")

    def loop(self, loop: Loop) -> None:
        """A loop, item by item."""
        self.counted(loop, self.value(loop.first), "1")

    def counted(self, loop: Loop, first: str, step: str) -> None:
        """A loop from `first` by `step`, its accumulators before it."""
        end = self.value(loop.end)
        self.started(loop)
        i = self.fresh()
        with self.scope(f"for (i64 {i} = {first}; {i} < {end}; {i} += {step})"):
            self.scopes[-1][loop.index] = i
            self.statements(loop.body)

    def started(self, loop: Loop) -> None:
        """The accumulators of a loop, with what they hold at first."""
        for carried in loop.carries:
            self.held[carried] = name = self.fresh()
            start = self.literal(carried.start, carried.dtype)
            self.emit(f"{TYPES[carried.dtype]} {name} = {start};")


class FunctionWriter(KernelWriter):
    """Writes a kernel as a function `name(table, first, last)`."""

    def text(self) -> str:
        """The function."""
        for at, buffer in enumerate(self.kernel.buffers):
            kind = in_memory(buffer.dtype)
            constant = "" if buffer.written else "const "
            self.emit(f"{constant}{kind} *{buffer.name} = ({kind} *)table[{at}];")
        for at, (name, dtype) in enumerate(self.kernel.parameters):
            self.emit(f"{TYPES[dtype]} {name};")
            place = f"table + {len(self.kernel.buffers) + at}"
            self.emit(f"memcpy(&{name}, {place}, sizeof {name});")
        self.statements(self.kernel.body)
        head = f"void {self.kernel.name}(void **table, i64 first, i64 last) {{"
        return "\n".join([head, *self.lines, "}", ""])
