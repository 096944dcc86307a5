"""Primitives one after the other, on parts of a batch, by the threads of kernels."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.eager import address
from dovetail.codegen.runtime.threads import get_num_threads
from dovetail.errors import KernelError
from dovetail_cpu.onednn.library import library
from dovetail_cpu.onednn.primitives import Argument, Format, Handle, Primitive, reorder

_MOST_KEPT: Final = 64 << 20  # bytes of working memory
_LINE: Final = 64  # bytes to which memory of primitives is aligned
_TAKEN: Final = 4  # words of %work in lanes.ll
_STATUS: Final = 6
_BASES: Final = 7
_LANES: Final = 8
_WORDS: Final = 9


class _ExecuteArgument(ctypes.Structure):
    """oneDNN's `dnnl_exec_arg_t`."""

    _fields_ = (("argument", ctypes.c_int), ("memory", ctypes.c_void_p))


class Place(NamedTuple):
    """An array that a program reads or writes.

    Attributes:
        format: how one part of it lies.
        operand: its number among the arrays of a call; None for working memory.
        pace: bytes from one part of the operand to the next.
    """

    format: Format
    operand: int | None = None
    pace: int = 0


Step = tuple[Primitive, dict[Argument, Place]]


class Program:
    """Steps that are done for each part.

    Args:
        parts: how many there are.
        operands: how many arrays a call has.
    """

    def __init__(self, parts: int, operands: int) -> None:
        self.parts = parts
        self.operands = operands
        self.steps: list[Step] = []
        self._free: list[_Context] = []

    def add(self, primitive: Primitive, arguments: dict[Argument, Place]) -> None:
        """Add a step."""
        if primitive.scratchpad.nbytes:
            arguments = arguments | {Argument.SCRATCHPAD: Place(primitive.scratchpad)}
        self.steps.append((primitive, arguments))

    def read(self, place: Place, wanted: Format) -> Place:
        """A place in the format that is wanted: another one, where it is another."""
        if place.format == wanted:
            return place
        inner = Place(wanted)
        self.add(
            reorder(place.format, wanted),
            {Argument.SOURCE: place, Argument.RESULT: inner},
        )
        return inner

    def inner(self, place: Place, wanted: Format) -> Place:
        """Where a result is first, which `write` brings to a place."""
        return place if place.format == wanted else Place(wanted)

    def write(self, inner: Place, place: Place) -> None:
        """Have a result brought into the format of an operand."""
        if inner is not place:
            self.add(
                reorder(inner.format, place.format),
                {Argument.SOURCE: inner, Argument.RESULT: place},
            )

    def run(self, *arrays: Any) -> None:
        """Do the steps for all parts.

        Raises:
            KernelError: oneDNN failed in one.
        """
        lanes = min(get_num_threads(), self.parts)
        try:
            context = self._free.pop()
        except IndexError:
            context = _Context(self)
        if lanes > len(context.lanes):
            context.grow(self, lanes)
        memory = working_memory(lanes * context.lane_bytes)
        try:
            context.run(lanes, *map(address, arrays), address(memory))
        finally:
            give_back(memory)
            self._free.append(context)


class Reordered:
    """An operand that all parts read in another format.

    Args:
        plain: how it comes.
        wanted: how it goes.
    """

    def __init__(self, plain: Format, wanted: Format) -> None:
        self.format = wanted
        self.program: Program | None = None
        if plain != wanted:
            self.program = Program(1, 2)
            self.program.write(Place(plain, 0), Place(wanted, 1))

    def __call__(self, array: Any) -> Any:
        """The operand as it is wanted; as bytes, where that is another format."""
        if self.program is None:
            return array
        made = aligned(self.format.nbytes)
        self.program.run(array, made)
        return made


def aligned(count: int) -> Any:
    """So many bytes of memory that begin where primitives like it."""
    block = np.empty(count + _LINE, np.uint8)
    skipped = -address(block) % _LINE
    return block[skipped : skipped + count]


class _Context:
    """What one call at a time uses: words for lanes, and where their operands are."""

    def __init__(self, program: Program) -> None:
        self.lanes: list[_Lane] = []
        self.table: Any = None
        self.offsets, self.lane_bytes = _arranged(program)
        self.bases = (ctypes.c_int64 * (program.operands + 1))()
        self.words = (ctypes.c_int64 * _WORDS)(
            *library().addresses(), 0, program.parts, 0, ctypes.addressof(self.bases), 0
        )

    def run(self, lanes: int, *addresses: int) -> None:
        """Do all parts, by so many threads at most."""
        self.bases[:] = addresses
        words = self.words
        words[_TAKEN] = words[_STATUS] = 0
        machine_code().run(ctypes.addressof(words), lanes, 1, whole=True)
        if words[_STATUS]:
            raise KernelError("oneDNN", was=f"a primitive gave status {words[_STATUS]}")

    def grow(self, program: Program, lanes: int) -> None:
        """Have so many lanes; the program is not kept, for it keeps the context."""
        for number in range(len(self.lanes), lanes):
            begin = number * self.lane_bytes
            self.lanes.append(_Lane(program, self.offsets, begin))
        self.table = (ctypes.c_int64 * lanes)(*[lane.address for lane in self.lanes])
        self.words[_LANES] = ctypes.addressof(self.table)


def _arranged(program: Program) -> tuple[dict[int, int], int]:
    """Where in its working memory a lane has each place, and how much it has.

    Scratchpads lie on top of each other, for steps are done one after the other.
    """
    offsets: dict[int, int] = {}
    end = 0
    scratchpads = [p.scratchpad.nbytes for p, _ in program.steps]
    for _, arguments in program.steps:
        for argument, place in arguments.items():
            if argument == Argument.SCRATCHPAD:
                offsets[id(place)] = 0
            elif place.operand is None and id(place) not in offsets:
                offsets[id(place)] = end + _up(max(scratchpads))
                end += _up(place.format.nbytes)
    return offsets, end + _up(max(scratchpads))


def _up(count: int) -> int:
    """Bytes up to the beginning of a line."""
    return -(-count // _LINE) * _LINE


class _Lane:
    """Memory objects and steps of one thread.

    Args:
        program: what it does.
        offsets: where each place is in its working memory.
        begin: where that begins in the memory of all lanes.
    """

    def __init__(self, program: Program, offsets: dict[int, int], begin: int) -> None:
        self.operands = program.operands
        self.offsets, self.begin = offsets, begin
        self.kept: list[Any] = []
        self.memories: dict[int, int] = {}
        self.places: list[int] = []
        steps = [word for step in program.steps for word in self._step(*step)]
        table = self._words(
            len(self.memories), self._words(*self.places),
            len(program.steps), self._words(*steps),
        )  # fmt: skip
        self.address = table

    def _words(self, *values: int) -> int:
        """The address of such words."""
        made = (ctypes.c_int64 * len(values))(*values)
        self.kept.append(made)
        return ctypes.addressof(made)

    def _step(
        self, primitive: Primitive, arguments: dict[Argument, Place]
    ) -> tuple[int, ...]:
        """The words of one step."""
        given = (_ExecuteArgument * len(arguments))(
            *[(int(a), self._memory(place)) for a, place in arguments.items()]
        )
        self.kept += [primitive, given]
        return primitive.value, _stream(), len(arguments), ctypes.addressof(given)

    def _memory(self, place: Place) -> int:
        """The memory object of a place."""
        found = self.memories.get(id(place))
        if found is not None:
            return found
        engine = library().engine
        made = library().created("memory_create", place.format.value, engine, None)
        self.kept += [place, Handle(made, "memory_destroy")]
        self.memories[id(place)] = made
        if place.operand is None:
            begin = self.begin + self.offsets[id(place)]
            self.places += [made, self.operands, 0, begin]
        else:
            self.places += [made, place.operand, place.pace, 0]
        return made


_blocks: Final[list[Any]] = []  # working memory of calls that are over


def working_memory(count: int) -> Any:
    """At least so many bytes, which belong to one call until `give_back`."""
    try:
        block = _blocks.pop()
    except IndexError:
        return aligned(count)
    return block if block.size >= count else aligned(count)


def give_back(block: Any) -> None:
    """Keep the memory of a call that is over for the next one."""
    if block.size <= _MOST_KEPT:
        _blocks.append(block)


@cache
def _stream() -> int:
    """A queue that does at once what is put into it, so that one serves all threads."""
    in_order = 1
    return library().created("stream_create", library().engine, in_order)


@cache
def machine_code() -> runtime.Kernel:
    """What does the parts."""
    text = Path(__file__).with_name("lanes.ll").read_text(encoding="utf-8")
    return runtime.kernel("onednn_lanes", text)
