"""What LLVM IR is written with: names, types, and lanes of a vector."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.codegen.ir import FLOATS, Accumulator, Value

TYPES: Final = {
    "bool": "i1", "int8": "i8", "uint8": "i8", "int16": "i16", "uint16": "i16",
    "int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64",
    "float32": "float", "float64": "double",
}  # fmt: skip
_SUFFIXES: Final = {"float": "f32", "double": "f64"}


@dataclass(slots=True)
class Lanes:
    """The loop whose index runs along a vector: its width, where it is, who counts."""

    index: Value
    width: int
    carries: frozenset[Accumulator]
    base: str = ""
    mask: str | None = None
    varying: dict[Value, bool] = field(default_factory=dict)


def literal(number: Any, dtype: str) -> str:
    """A number of a dtype, as LLVM writes constants."""
    if dtype == "bool":
        return "true" if number else "false"
    if dtype not in FLOATS:
        return str(int(number))
    number = float(number)
    if dtype == "float32":
        number = _single(number)
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _single(number: float) -> float:
    """The nearest number that float32 has."""
    try:
        found: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return found


class LaneWriter:
    """Writes instructions, and knows which values differ from lane to lane.

    Args:
        fused: whether the processor multiplies and adds in one step.
        scales: whether it multiplies by powers of two, as AVX-512 does.
        halves: whether it converts float16.
    """

    def __init__(self, fused: bool, scales: bool = False, halves: bool = False) -> None:
        self.fused = fused
        self.scales = scales
        self.halves = halves
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.scopes: list[dict[tuple[Value, bool], str]] = [{}]
        self.held: dict[Accumulator, str] = {}
        self.lanes: Lanes | None = None
        self.count = 0
        self.block = "entry"

    # ---- names and types

    def fresh(self) -> str:
        """A name that nothing has."""
        self.count += 1
        return f"%t{self.count}"

    def emit(self, line: str) -> None:
        """Write an instruction."""
        self.lines.append(f"  {line}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def assign(self, text: str) -> str:
        """Write an instruction that has a result; the name of it."""
        name = self.fresh()
        self.emit(f"{name} = {text}")
        return name

    def type_of(self, dtype: str, vector: bool) -> str:
        """The type of a value of a dtype, of all lanes where `vector`."""
        return self.of_lanes(TYPES[dtype]) if vector else TYPES[dtype]

    def of_lanes(self, element: str) -> str:
        """The type of a vector of elements."""
        assert self.lanes is not None
        return f"<{self.lanes.width} x {element}>"

    def intrinsic(self, name: str, result: str, *given: str) -> str:
        """The name of a function of LLVM, declared."""
        self.declared.add(f"declare {result} @{name}({', '.join(given)})")
        return f"@{name}"

    def suffix(self, dtype: str, vector: bool) -> str:
        """How names of LLVM's functions say a type."""
        element = TYPES[dtype]
        lanes = f"v{self.lanes.width}" if vector and self.lanes else ""
        return lanes + _SUFFIXES.get(element, element)

    # ---- lanes

    def varies(self, value: Value) -> bool:
        """Whether a value differs from lane to lane."""
        lanes = self.lanes
        if lanes is None:
            return False
        found = lanes.varying.get(value)
        if found is None:
            if value.op == "index":
                found = value is lanes.index
            elif value.op == "accumulated":
                found = value.detail in lanes.carries
            elif value.op == "prefix":
                found = True
            else:
                found = any(map(self.varies, value.operands))
            lanes.varying[value] = found
        return found

    def stride(self, offset: Value) -> int | None:
        """By how much an offset grows from lane to lane, where that is known."""
        assert self.lanes is not None
        if not self.varies(offset):
            return 0
        if offset is self.lanes.index:
            return 1
        if offset.op in ("add", "sub"):
            a, b = (self.stride(x) for x in offset.operands)
            if a is None or b is None:
                return None
            return a + b if offset.op == "add" else a - b
        return None

    def base(self, offset: Value) -> str:
        """An offset in the first lane."""
        assert self.lanes is not None
        if offset is self.lanes.index:
            return self.lanes.base
        if not self.varies(offset):
            return self.value(offset, False)
        a, b = (self.base(x) for x in offset.operands)
        return self.assign(f"{offset.op} i64 {a}, {b}")

    def splat(self, scalar: str, element: str) -> str:
        """A scalar in every lane."""
        vector = self.of_lanes(element)
        one = self.assign(f"insertelement {vector} poison, {element} {scalar}, i64 0")
        zeros = f"{self.of_lanes('i32')} zeroinitializer"
        return self.assign(f"shufflevector {vector} {one}, {vector} poison, {zeros}")

    def numbered(self) -> str:
        """The index of the loop in every lane."""
        assert self.lanes is not None
        steps = ", ".join(f"i64 {i}" for i in range(self.lanes.width))
        start = self.splat(self.lanes.base, "i64")
        return self.assign(f"add {self.of_lanes('i64')} {start}, <{steps}>")

    def value(self, value: Value, vector: bool | None = None) -> str:
        """The name of a value; as a vector, a scalar, or as it is by itself."""
        raise NotImplementedError
