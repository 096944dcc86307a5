"""Kernels as LLVM IR with explicit vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dovetail.codegen.ir import (
    FIRST,
    FLOATS,
    LAST,
    Accumulator,
    Kernel,
    Loop,
    Statement,
    Store,
    Update,
    Value,
    fixed_values,
)
from dovetail.codegen.llvm_lanes import TYPES, Lanes
from dovetail.codegen.llvm_memory import MemoryWriter
from dovetail.codegen.llvm_target import Target


def render(kernel: Kernel, target: Target) -> str:
    """A module of LLVM IR with the kernel as a function."""
    return _KernelWriter(kernel, target).text()


class _KernelWriter(MemoryWriter):
    """Writes the loops of one kernel."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        super().__init__(target.fused and kernel.fused, target.scales, target.halves)
        self.kernel = kernel
        self.target = target
        self.width = target.lanes(kernel)
        self.uniform: set[Accumulator] = set()  # the same in all lanes

    def text(self) -> str:
        """The whole module."""
        self._arguments()
        self.statements(self.kernel.body)
        self.emit("ret void")
        head = f"define void @{self.kernel.name}(ptr %table, i64 %first, i64 %last) #0"
        attributes = self.target.attributes
        body = [f"{head} {{", "entry:", *self.lines, "}"]
        return "\n".join([*body, *sorted(self.declared), attributes, ""])

    def _arguments(self) -> None:
        """The addresses and numbers of the table, by name."""
        named = [(b.name, "ptr") for b in self.kernel.buffers]
        named += [(name, TYPES[dtype]) for name, dtype in self.kernel.parameters]
        for at, (name, kind) in enumerate(named):
            place = self.assign(f"getelementptr i64, ptr %table, i64 {at}")
            self.emit(f"%{name} = load {kind}, ptr {place}, align 8")
        self.scopes[0][FIRST, False] = "%first"
        self.scopes[0][LAST, False] = "%last"

    # ---- statements

    def statements(self, body: tuple[Statement, ...]) -> None:
        """Write statements one after the other."""
        for statement in body:
            if isinstance(statement, Store):
                self.store(statement)
            elif isinstance(statement, Update):
                self._update(statement)
            elif statement.kind == "lane":
                self._lane_loop(statement)
            else:
                self._plain_loop(statement)

    def _update(self, update: Update) -> None:
        into = update.into
        vector = self.lanes is not None and into in self.lanes.carries
        held = self.held[into]
        made = self._combined(into, held, self.value(update.value, vector), vector)
        if vector and self.lanes is not None and self.lanes.mask is not None:
            kind, bools = self.type_of(into.dtype, True), self.of_lanes("i1")
            mask = self.lanes.mask
            made = self.assign(f"select {bools} {mask}, {kind} {made}, {kind} {held}")
        self.held[into] = made

    def _combined(self, into: Accumulator, a: str, b: str, vector: bool) -> str:
        dtype = into.dtype
        kind = self.type_of(dtype, vector)
        if into.combine in ("add", "mul"):
            word = f"f{into.combine}" if dtype in FLOATS else into.combine
            return self.assign(f"{word} {kind} {a}, {b}")
        if dtype not in FLOATS:
            value = Value(into.combine, dtype)
            write = self._maximum if into.combine == "maximum" else self._minimum
            return write(value, vector, [a, b])
        # NaN wins, whether it is there or comes.
        order = "oge" if into.combine == "maximum" else "ole"
        bools = self.type_of("bool", vector)
        further = self.assign(f"fcmp {order} {kind} {b}, {a}")
        none = self.assign(f"fcmp uno {kind} {b}, {b}")
        taken = self.assign(f"or {bools} {further}, {none}")
        return self.assign(f"select {bools} {taken}, {kind} {b}, {kind} {a}")

    def _prefix(self, value: Value, vector: bool, given: list[str]) -> str:
        """Scanned within the vector first; the accumulator is the same in all lanes."""
        into: Accumulator = value.detail
        assert self.lanes is not None
        assert into in self.lanes.carries, "prefixes are of the lane loop"
        width, kind = self.lanes.width, self.type_of(into.dtype, True)
        start = self.value(Value("constant", into.dtype, (), into.start), True)
        (name,) = given
        step = 1
        while step < width:
            picked = [width if i < step else i - step for i in range(width)]
            name = self._combined(into, self._shuffled(kind, name, start, picked),
                                  name, True)  # fmt: skip
            step *= 2
        held = self.held[into]
        total = self._shuffled(kind, name, start, [width - 1] * width)
        self.held[into] = self._combined(into, held, total, True)
        self.uniform.add(into)
        return self._combined(into, held, name, True)

    def _shuffled(self, kind: str, a: str, b: str, picked: list[int]) -> str:
        """The lanes of two vectors that are picked, those of the second behind."""
        mask = ", ".join(f"i32 {i}" for i in picked)
        whole = f"<{len(picked)} x i32>"
        return self.assign(f"shufflevector {kind} {a}, {kind} {b}, {whole} <{mask}>")

    # ---- loops

    def _plain_loop(self, loop: Loop) -> None:
        """One item after the other, each with all lanes of an outer loop."""
        first, end = self.value(loop.first, False), self.value(loop.end, False)
        vector = self.lanes is not None
        self._compute_before(loop)
        if self.lanes is not None:
            self.lanes.carries |= frozenset(loop.carries)
        for a in loop.carries:
            self.held[a] = self.value(Value("constant", a.dtype, (), a.start), vector)
        self._counted(
            first, lambda i: f"icmp slt i64 {i}, {end}", 1, loop.carries, vector,
            lambda i: self._item(loop, i),
        )  # fmt: skip

    def _compute_before(self, loop: Loop) -> None:
        """Write what a loop needs and does not change: LLVM is not asked to find it."""
        known = {value for scope in self.scopes for value, _ in scope}
        for value in fixed_values(loop, known, set(self.held)):
            self.value(value)

    def _item(self, loop: Loop, i: str) -> None:
        self.scopes[-1][loop.index, False] = i
        self.statements(loop.body)

    def _counted(
        self, first: str, goes_on: Callable[[str], str], step: int,
        carries: tuple[Accumulator, ...], vector: bool, body: Callable[[str], None],
    ) -> str:  # fmt: skip
        """A loop from `first` on; the index at which it ended."""
        self.count += 1
        head, inside, after = (f"{w}{self.count}" for w in ("head", "body", "after"))
        before, i, following = self.block, self.fresh(), self.fresh()
        started = {a: self.held[a] for a in carries}
        names = {a: self.fresh() for a in carries}
        self.emit(f"br label %{head}")
        self.label(head)
        at = len(self.lines)
        test = self.assign(goes_on(i))
        self.emit(f"br i1 {test}, label %{inside}, label %{after}")
        self.label(inside)
        self.held |= names
        with self._scope():
            body(i)
        self.emit(f"{following} = add i64 {i}, {step}")
        self.emit(f"br label %{head}")
        merged = [
            f"  {i} = phi i64 [ {first}, %{before} ], [ {following}, %{self.block} ]"
        ]
        for a in carries:
            kind = self.type_of(a.dtype, vector)
            merged.append(
                f"  {names[a]} = phi {kind} [ {started[a]}, %{before} ], "
                f"[ {self.held[a]}, %{self.block} ]"
            )
        self.lines[at:at] = merged
        self.held |= names
        self.label(after)
        return i

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """What is computed within is known within."""
        self.scopes.append({})
        yield
        self.scopes.pop()

    def _lane_loop(self, loop: Loop) -> None:
        """Whole vectors, then what is left over under a mask, then one value of all."""
        assert self.lanes is None, "lanes within lanes"
        first, end = self.value(loop.first, False), self.value(loop.end, False)
        self._compute_before(loop)
        carries = loop.carries
        self.lanes = lanes = Lanes(loop.index, self.width, frozenset(carries))
        for a in carries:
            self.held[a] = self.value(Value("constant", a.dtype, (), a.start), True)
        last = self.assign(f"sub i64 {end}, {self.width}")
        at = self._counted(
            first, lambda i: f"icmp sle i64 {i}, {last}", self.width, carries, True,
            lambda i: self._vector(loop, i),
        )  # fmt: skip
        self._counted(
            at, lambda i: f"icmp slt i64 {i}, {end}", self.width, carries, True,
            lambda i: self._rest(loop, i, end),
        )  # fmt: skip
        whole = {a: self.held[a] for a in carries}
        for a in carries:
            self.held[a] = self._across(a, whole[a], lanes)
        self.lanes = None

    def _vector(self, loop: Loop, i: str) -> None:
        assert self.lanes is not None
        self.lanes.base = i
        self.statements(loop.body)

    def _rest(self, loop: Loop, i: str, end: str) -> None:
        assert self.lanes is not None
        self.lanes.base = i
        wide = self.of_lanes("i64")
        ends = self.splat(end, "i64")
        self.lanes.mask = self.assign(f"icmp slt {wide} {self.numbered()}, {ends}")
        self.statements(loop.body)
        self.lanes.mask = None

    def _across(self, a: Accumulator, name: str, lanes: Lanes) -> str:
        """One value of all lanes, halves being combined until there is one."""
        kind, width = TYPES[a.dtype], lanes.width
        if a in self.uniform:
            return self.assign(f"extractelement <{width} x {kind}> {name}, i64 0")
        while width > 1:
            half = width // 2
            whole = f"<{width} x {kind}>"
            parts = []
            for start in (0, half):
                picked = ", ".join(f"i32 {start + k}" for k in range(half))
                parts.append(
                    self.assign(
                        f"shufflevector {whole} {name}, {whole} poison, "
                        f"<{half} x i32> <{picked}>"
                    )
                )
            self.lanes = Lanes(lanes.index, half, lanes.carries)
            name = self._combined(a, parts[0], parts[1], True)
            width = half
        self.lanes = lanes
        return self.assign(f"extractelement <1 x {kind}> {name}, i64 0")


__all__ = ["render"]
