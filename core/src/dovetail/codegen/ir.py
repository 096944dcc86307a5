"""The form of kernels: loops over buffers, and values that are computed in them.

Values are nodes of a graph without cycles, shared by identity. A kernel runs for the
items `first` to `last` of its grid, so that a caller can give parts of the grid to
several threads; nothing but stores to the items' own elements is an effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

FLOATS: Final = frozenset({"float32", "float64"})
SIZES: Final = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "int64": 8, "uint64": 8, "float32": 4, "float64": 8,
}  # fmt: skip
"""Bytes of an element in memory, by dtype; the dtypes that kernels know."""

Kind = Literal["grid", "lane", "seq"]


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Memory that a caller brings, by the address of its first element.

    Attributes:
        align: what the address is a multiple of; 0 for the size of an element.
    """

    name: str
    dtype: str
    written: bool = False
    align: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One number a lane: an operation, its dtype, its operands.

    Attributes:
        op: `"constant"`, `"parameter"`, `"index"`, `"load"`, `"accumulated"`,
            `"prefix"` (what an accumulator of the lane loop holds once it has the
            operand, lanes before having come first), `"rarely"` (of a condition,
            values for where it holds, and as many for where not, one), or the name of
            arithmetic that a renderer knows.
        detail: the constant, the parameter's name, the buffer, the accumulator, the
            numbers of a table, the place of a value of `"rarely"` and all of them.
    """

    op: str
    dtype: str
    operands: tuple[Value, ...] = ()
    detail: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Accumulator:
    """A value that a loop carries: `combine` of what it was and what comes.

    NaN is beyond all other numbers. Of equal ones (zeros have signs) the last stays.
    """

    combine: Literal["add", "mul", "maximum", "minimum"]
    dtype: str
    start: float

    @property
    def value(self) -> Value:
        """What was gathered, after the loop."""
        return Value("accumulated", self.dtype, (), self)


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Write a value to an element of a buffer."""

    buffer: Buffer
    offset: Value
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """Add to, or compare with, what an accumulator holds."""

    into: Accumulator
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Statements for `index` from `first` up to `end`.

    Attributes:
        kind: `"grid"`: in any order, by several threads; `"lane"`: in any order, side
            by side in a vector; `"seq"`: one after the other.
        carries: the accumulators that the loop starts and fills.
    """

    kind: Kind
    index: Value
    first: Value
    end: Value
    body: tuple[Statement, ...]
    carries: tuple[Accumulator, ...] = ()


Statement = Store | Update | Loop


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function `name(table, first, last)`.

    `table` holds 8 bytes for the address of each buffer, then for each parameter.

    Attributes:
        registers: vectors that a step of a lane loop fills, whose work overlaps.
        fused: whether products and sums that may be rounded once are, where the
            processor can; without, all processors give the same bits.
    """

    name: str
    buffers: tuple[Buffer, ...]
    parameters: tuple[tuple[str, str], ...]
    body: tuple[Statement, ...] = field(default=())
    registers: int = 2
    fused: bool = True

    def __str__(self) -> str:
        return "\n".join(_Printer(self).lines())


def values_of(body: tuple[Statement, ...]) -> Iterator[Value]:
    """The values that statements name, those of loops within them too."""
    for statement in body:
        if isinstance(statement, Loop):
            yield from (statement.first, statement.end)
            yield from values_of(statement.body)
        else:
            yield statement.value
            if isinstance(statement, Store):
                yield statement.offset


def computes_floats(kernel: Kernel) -> bool:
    """Whether a kernel has values in a format of floating point numbers."""
    waiting, seen = list(values_of(kernel.body)), set[Value]()
    while waiting:
        value = waiting.pop()
        if value.dtype in FLOATS:
            return True
        if value not in seen:
            seen.add(value)
            waiting += value.operands
    return False


def fixed_values(
    loop: Loop, known: set[Value], gathered: set[Accumulator]
) -> list[Value]:
    """What can be computed before a loop: arithmetic on what is known there.

    Not what is read from memory, which a loop may write. Of values within values, the
    outermost.

    Args:
        known: values that have been computed.
        gathered: accumulators that hold something.
    """
    gathered = gathered - set(_carried(loop))
    fixed: dict[Value, bool] = {}

    def is_fixed(value: Value) -> bool:
        found = fixed.get(value)
        if found is None:
            inner = [is_fixed(x) for x in value.operands]
            found = value.op in ("constant", "parameter") or value in known
            found = found or (value.op == "accumulated" and value.detail in gathered)
            moves = value.op in ("load", "prefix")
            found = found or (bool(inner) and all(inner) and not moves)
            fixed[value] = found
        return found

    outermost: dict[Value, None] = {}
    seen: set[Value] = set()
    waiting = list(values_of(loop.body))
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if not is_fixed(value):
            waiting += value.operands
        elif value.operands and value not in known:
            outermost[value] = None
    return list(outermost)


def _carried(loop: Loop) -> Iterator[Accumulator]:
    """What a loop carries, and loops within it."""
    yield from loop.carries
    for statement in loop.body:
        if isinstance(statement, Loop):
            yield from _carried(statement)


FIRST: Final = Value("parameter", "int64", (), "first")
LAST: Final = Value("parameter", "int64", (), "last")


class _Printer:
    """Writes a kernel down, values that are used twice under a name."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.names: dict[Value, str] = {}
        self.carried: dict[Accumulator, str] = {}
        self.uses: dict[Value, int] = {}
        self._count(kernel.body)

    def _count(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            if isinstance(statement, Loop):
                self._count(statement.body)
                continue
            given = [statement.value]
            if isinstance(statement, Store):
                given.append(statement.offset)
            while given:
                value = given.pop()
                self.uses[value] = self.uses.get(value, 0) + 1
                if self.uses[value] == 1:
                    given += value.operands

    def lines(self) -> Iterator[str]:
        """The kernel, one statement a line."""
        given = [f"{b.name}: {b.dtype}*" for b in self.kernel.buffers]
        given += [f"{name}: {dtype}" for name, dtype in self.kernel.parameters]
        yield f"{self.kernel.name}({', '.join(given)}):"
        yield from self._body(self.kernel.body, "  ")

    def _body(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        for statement in body:
            made: list[str] = []
            if isinstance(statement, Loop):
                yield from self._loop(statement, indent)
            elif isinstance(statement, Store):
                at = self._shown(statement.offset, made)
                value = self._shown(statement.value, made)
                yield from (f"{indent}{line}" for line in made)
                yield f"{indent}{statement.buffer.name}[{at}] = {value}"
            else:
                value = self._shown(statement.value, made)
                yield from (f"{indent}{line}" for line in made)
                into = statement.into
                yield f"{indent}{self._held(into)} {into.combine}= {value}"

    def _loop(self, loop: Loop, indent: str) -> Iterator[str]:
        made: list[str] = []
        first, end = self._shown(loop.first, made), self._shown(loop.end, made)
        index = self._name(loop.index)
        held = [f"{self._held(a)} = {a.start}" for a in loop.carries]
        yield from (f"{indent}{line}" for line in made)
        carried = f" with {', '.join(held)}" if held else ""
        yield f"{indent}{loop.kind} {index} in {first}..{end}{carried}:"
        yield from self._body(loop.body, indent + "  ")

    def _held(self, accumulator: Accumulator) -> str:
        return self.carried.setdefault(accumulator, f"a{len(self.carried)}")

    def _name(self, value: Value) -> str:
        return self.names.setdefault(value, f"v{len(self.names)}")

    def _shown(self, value: Value, made: list[str]) -> str:
        if value in self.names:
            return self.names[value]
        if value.op in ("constant", "parameter"):
            return str(value.detail)
        if value.op == "accumulated":
            return self._held(value.detail)
        given = [self._shown(x, made) for x in value.operands]
        text = f"{value.op}.{value.dtype}({', '.join(given)})"
        if value.op == "load":
            text = f"{value.detail.name}[{given[0]}]"
        if self.uses.get(value, 0) < 2:
            return text
        name = self._name(value)
        made.append(f"{name} = {text}")
        return name
