"""Kernels for devices of blocks and threads: CUDA, HIP and OpenCL C.

Items of a grid go to blocks, lanes to the threads of a block. What lanes gather is
combined in a tree: by memory that the block shares while halves are longer than a warp,
then by shuffles. Threads are always paired alike, so that a sum has the same bits on
every device that has the same number of threads in a block.

A kernel's arguments are the addresses of its buffers, its parameters, `first` and
`last` (64-bit integers). Any number of blocks computes the same; `blocks_for` says how
many pay. Only where `is_in_chunks` says so, a block does a chunk of `grain` items, one
argument more, and there have to be as many blocks as chunks. All threads of a block run
through the same loops, but for lanes, and what is stored outside of lanes is stored by
the first thread.
"""

from __future__ import annotations

from typing import Final

from dovetail.codegen import c_blocks
from dovetail.codegen.c_dialects import TYPES, Dialect
from dovetail.codegen.c_text import KernelWriter
from dovetail.codegen.c_values import in_memory
from dovetail.codegen.ir import (
    Accumulator,
    Buffer,
    Kernel,
    Loop,
    Statement,
    Store,
    Update,
    Value,
)

THREADS: Final = 256
"""Threads of a block, where nothing else is asked for."""
_MOST_BLOCKS: Final = 1 << 16
_MANY: Final = 1 << 18  # lanes: enough for all processors, though a thread has some
_LANES_EACH: Final = 4


def render(
    *kernels: Kernel, dialect: Dialect, threads: int = THREADS, fused: bool = True,
    apart: bool = False,
) -> str:  # fmt: skip
    """A file of a dialect with kernels for a device.

    Args:
        kernels: what to write.
        dialect: see `dovetail.codegen.c_dialects`.
        threads: of a block: a power of 2, and no fewer than there are in a warp.
        fused: whether products and sums that may be rounded once are.
        apart: no buffer shares memory with another one; what is read need then not
            wait for what was written.
    """
    assert threads & (threads - 1) == 0, threads
    assert dialect.warp <= threads, threads
    writers = [DeviceWriter(kernel, fused, apart) for kernel in kernels]
    functions = [writer.text() for writer in writers]
    helpers = {helper: None for writer in writers for helper in writer.helpers}
    head = [f"#define THREADS {threads}", f"#define WARP {dialect.warp}", dialect.head]
    if any(writer.has_doubles() for writer in writers):
        head.append(dialect.doubles)
    return "\n".join([*head, *helpers, *functions])


def is_in_chunks(kernel: Kernel) -> bool:
    """Whether a block does a chunk of items as a whole, since they have something in
    common: an order, or what is gathered from all of them."""
    (*others, loop) = kernel.body
    alone = not others and isinstance(loop, Loop) and loop.kind != "seq"
    return not alone or bool(isinstance(loop, Loop) and loop.carries)


def blocks_for(
    kernel: Kernel, count: int, grain: int = 1, threads: int = THREADS
) -> int:
    """How many blocks to launch for the items 0 to `count`, in chunks of `grain`."""
    if is_in_chunks(kernel):
        return max(1, -(-count // grain))
    (loop,) = kernel.body
    if isinstance(loop, Loop) and loop.kind == "lane":
        each = _LANES_EACH if count >= _MANY else 1
        count = -(-count // (threads * each))
    return max(1, min(count, _MOST_BLOCKS))


class DeviceWriter(KernelWriter):
    """Writes one kernel for all threads of all blocks."""

    def __init__(self, kernel: Kernel, fused: bool, apart: bool = False) -> None:
        super().__init__(kernel, fused)
        self.apart = apart
        self.in_lanes = False
        self.in_block = False
        self.shares = False
        self.live = ""  # whether a thread has a lane, where some have none
        self.read_again = _loaded(kernel) & {b for b in kernel.buffers if b.written}

    def text(self) -> str:
        """The kernel."""
        chunks = is_in_chunks(self.kernel)
        if chunks:
            self._in_chunks()
        else:
            (loop,) = self.kernel.body
            assert isinstance(loop, Loop)
            self._shared_out(loop)
        given = [_pointer(b, self.apart) for b in self.kernel.buffers]
        given += [f"{in_memory(d)} {name}" for name, d in self.kernel.parameters]
        items = ["begin", "end", "grain"] if chunks else ["first", "last"]
        given += [f"i64 {name}" for name in items]
        head = f"KERNEL {self.kernel.name}({', '.join(given)}) {{"
        shared = ["  SHARED u64 shared[THREADS];"] if self.shares else []
        return "\n".join([head, *shared, *self.lines, "}", ""])

    def has_doubles(self) -> bool:
        """Whether anything is float64."""
        dtypes = [b.dtype for b in self.kernel.buffers]
        dtypes += [d for _, d in self.kernel.parameters]
        return "float64" in dtypes or any("f64" in line for line in self.lines)

    def _in_chunks(self) -> None:
        """Each block does the whole kernel for some of the items."""
        self.emit("const i64 first = begin + BLOCK * grain;")
        self.emit("const i64 last = first + grain < end ? first + grain : end;")
        self.in_block = True
        self.statements(self.kernel.body)

    def _shared_out(self, loop: Loop) -> None:
        """The items of the outermost loop, by all blocks in turns."""
        if loop.kind == "lane":
            self._flat(loop)
            return
        self.in_block = True
        self.counted(loop, f"{self.value(loop.first)} + BLOCK", "BLOCKS")

    def _flat(self, loop: Loop) -> None:
        """Lanes that all threads of all blocks share."""
        first = f"{self.value(loop.first)} + BLOCK * THREADS + THREAD"
        self.in_lanes = True
        if self.apart:
            self.emit("UNROLLED")
        self.counted(loop, first, "BLOCKS * THREADS")
        self.in_lanes = False

    def store(self, store: Store) -> None:
        """Write an element, once."""
        if self.live:
            value, offset = self.value(store.value), self.value(store.offset)
            self.emit(f"if ({self.live}) {store.buffer.name}[{offset}] = {value};")
            return
        if self.in_lanes:
            super().store(store)
            return
        value, offset = self.value(store.value), self.value(store.offset)
        self._settled({store.buffer})
        self.emit(f"if (THREAD == 0) {store.buffer.name}[{offset}] = {value};")
        self._settled({store.buffer})

    def loop(self, loop: Loop) -> None:
        """A loop of a block, or of one thread."""
        if loop.kind != "lane":
            super().loop(loop)
            return
        assert self.in_block, "lanes of no block"
        assert not self.in_lanes, "lanes within lanes"
        stored = _stored(loop.body)
        self._settled(stored)
        self.in_lanes = True
        scanned = _scanned(loop)
        if scanned:
            self._by_threads(loop)
        else:
            self.counted(loop, f"{self.value(loop.first)} + THREAD", "THREADS")
        self.in_lanes = False
        for carried in loop.carries:
            if carried not in scanned:
                self._across(carried)
        self._settled(stored)

    def _by_threads(self, loop: Loop) -> None:
        """Lanes in order, as many at a time as there are threads, which stay together.

        A thread without a lane of its own has the last one, and writes nothing.
        """
        first, end = self.value(loop.first), self.value(loop.end)
        self.started(loop)
        base, i, self.live = self.fresh(), self.fresh(), self.fresh()
        with self.scope(
            f"for (i64 {base} = {first}; {base} < {end}; {base} += THREADS)"
        ):
            self.emit(f"const bool {self.live} = {base} + THREAD < {end};")
            self.emit(f"const i64 {i} = {self.live} ? {base} + THREAD : {end} - 1;")
            self.scopes[-1][loop.index] = i
            self.statements(loop.body)
        self.live = ""

    def update(self, update: Update) -> None:
        """Gather a value, if the thread has a lane."""
        if not self.live:
            super().update(update)
            return
        held, value = self.held[update.into], self.value(update.value)
        made = self.combined(update.into, held, value)
        self.emit(f"if ({self.live}) {held} = {made};")

    def prefix(self, into: Accumulator, given: str) -> str:
        """What lanes up to this one gathered; then all of them are held."""
        self.shares = True
        kind, held = TYPES[into.dtype], self.held[into]
        helper = c_blocks.PREFIX.format(
            type=kind, combine=into.combine, combined=self.combined(into, "a", "b")
        )
        self.helpers[helper] = None
        sent, here, found = self.fresh(), self.fresh(), self.fresh()
        start = self.literal(into.start, into.dtype)
        memory = f"(LOCAL {kind} *)shared"
        called = f"{into.combine}_prefix_{kind}"
        self.emit(f"const {kind} {sent} = {self.live} ? {given} : {start};")
        self.emit(f"const {kind} {here} = {called}({sent}, {memory});")
        self.emit(f"const {kind} {found} = {self.combined(into, held, here)};")
        last = f"({memory})[THREADS - 1]"
        self.emit(f"{held} = {self.combined(into, held, last)};")
        self.emit("BARRIER;")
        return found

    def _across(self, carried: Accumulator) -> None:
        """What the lanes of all threads gathered."""
        self.shares = True
        kind, name = TYPES[carried.dtype], self.held[carried]
        combined = self.combined(carried, "a", "b")
        helper = c_blocks.ACROSS.format(
            type=kind, combine=carried.combine, combined=combined
        )
        self.helpers[helper] = None
        called = f"{carried.combine}_across_{kind}"
        self.emit(f"{name} = {called}({name}, (LOCAL {kind} *)shared);")

    def _settled(self, stored: set[Buffer]) -> None:
        """All threads have read what was there, or written what others will read."""
        if stored & self.read_again:
            self.emit("BARRIER;")


def _pointer(buffer: Buffer, apart: bool) -> str:
    constant = "" if buffer.written else "const "
    alone = "APART " if apart else ""
    return f"GLOBAL {constant}{in_memory(buffer.dtype)} *{alone}{buffer.name}"


def _stored(body: tuple[Statement, ...]) -> set[Buffer]:
    """The buffers that statements write."""
    found: set[Buffer] = set()
    for statement in body:
        if isinstance(statement, Store):
            found.add(statement.buffer)
        elif isinstance(statement, Loop):
            found |= _stored(statement.body)
    return found


def _scanned(loop: Loop) -> set[Accumulator]:
    """The accumulators of which each lane has what is gathered so far."""
    return {v.detail for v in _values(loop.body) if v.op == "prefix"}


def _loaded(kernel: Kernel) -> set[Buffer]:
    """The buffers that a kernel reads."""
    return {v.detail for v in _values(kernel.body) if v.op == "load"}


def _values(body: tuple[Statement, ...]) -> set[Value]:
    """All values that statements are made of."""
    found: set[Value] = set()
    given: list[Value] = []
    for statement in body:
        if isinstance(statement, Loop):
            given += [statement.first, statement.end]
            found |= _values(statement.body)
        else:
            given.append(statement.value)
            if isinstance(statement, Store):
                given.append(statement.offset)
    while given:
        value = given.pop()
        if value not in found:
            found.add(value)
            given += value.operands
    return found


__all__ = ["THREADS", "blocks_for", "is_in_chunks", "render"]
