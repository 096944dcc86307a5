"""Random words as LLVM IR, a block a lane of 64 bits.

A product of two words is one operation there. Only the lower halves of counter words 0
and 2 count; what is above them falls away in the next product. Where a kernel asks for
words that lie side by side, each block is computed once, for all of its words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.codegen.ir import Value
from dovetail.codegen.philox import LOW32, M0, M1, ROUNDS, W0, W1

if TYPE_CHECKING:
    from dovetail.codegen.llvm_values import ValueWriter


def words(writer: ValueWriter, value: Value, vector: bool) -> str:
    """The name of a value of the operation `"philox"`."""
    lanes = writer.lanes
    if vector and lanes is not None and value.operands[0] is lanes.index:
        return _side_by_side(writer, value)
    width = lanes.width if vector and lanes is not None else 0
    return _one_by_one(writer, value, width)


class _Blocks:
    """Instructions on blocks, so many at a time (0: one, as a scalar)."""

    def __init__(self, writer: ValueWriter, width: int) -> None:
        self.writer = writer
        self.kind = f"<{width} x i64>" if width else "i64"
        self.width = width

    def number(self, value: int) -> str:
        """A constant."""
        return f"splat (i64 {value})" if self.width else str(value)

    def same(self, scalar: str) -> str:
        """One number for all."""
        if not self.width:
            return scalar
        first = f"insertelement {self.kind} poison, i64 {scalar}, i64 0"
        one, zeros = self.writer.assign(first), f"<{self.width} x i32> zeroinitializer"
        return self.writer.assign(
            f"shufflevector {self.kind} {one}, {self.kind} poison, {zeros}"
        )

    def op(self, word: str, a: str, b: str) -> str:
        """An instruction of two operands."""
        return self.writer.assign(f"{word} {self.kind} {a}, {b}")

    def pairs(self, block: str, seed: str, stream: str) -> tuple[str, str]:
        """Words 0 and 1, and words 2 and 3, of the blocks with these numbers."""
        scalar = _Blocks(self.writer, 0)
        low, half = self.number(LOW32), self.number(32)
        keys = [seed, scalar.op("lshr", seed, "32")]
        c0, c1 = block, self.op("lshr", block, half)
        c2, c3 = self.same(stream), self.same(scalar.op("lshr", stream, "32"))
        for at in range(ROUNDS):
            held = [scalar.op("and", k, str(LOW32)) for k in keys]
            k0, k1 = map(self.same, held)
            p = self.op("mul", self.op("and", c0, low), self.number(M0))
            q = self.op("mul", self.op("and", c2, low), self.number(M1))
            c0 = self.op("xor", self.op("xor", self.op("lshr", q, half), c1), k0)
            c2 = self.op("xor", self.op("xor", self.op("lshr", p, half), c3), k1)
            c1, c3 = q, p
            if at + 1 < ROUNDS:
                keys = [scalar.op("add", k, str(w))
                        for k, w in zip(keys, (W0, W1), strict=True)]  # fmt: skip
        return self._joined(c0, c1), self._joined(c2, c3)

    def _joined(self, lower: str, upper: str) -> str:
        upper = self.op("shl", upper, self.number(32))
        return self.op("or", self.op("and", lower, self.number(LOW32)), upper)


def _scalars(writer: ValueWriter, value: Value) -> list[str]:
    """The first block, the seed and the stream."""
    return [writer.value(x, False) for x in value.operands[1:]]


def _side_by_side(writer: ValueWriter, value: Value) -> str:
    """The words of all lanes, of which the first one begins a block."""
    lanes = writer.lanes
    assert lanes is not None
    shift = 2 if value.dtype == "uint32" else 1
    count = lanes.width >> shift
    assert count, "fewer lanes than a block has words"
    first, seed, stream = _scalars(writer, value)
    scalar, blocks = _Blocks(writer, 0), _Blocks(writer, count)
    start = scalar.op("add", scalar.op("lshr", lanes.base, str(shift)), first)
    steps = ", ".join(f"i64 {i}" for i in range(count))
    numbers = blocks.op("add", blocks.same(start), f"<{steps}>")
    lower, upper = blocks.pairs(numbers, seed, stream)
    order = ", ".join(f"i32 {i}, i32 {i + count}" for i in range(count))
    made = writer.assign(
        f"shufflevector {blocks.kind} {lower}, {blocks.kind} {upper}, "
        f"<{2 * count} x i32> <{order}>"
    )
    if value.dtype == "uint64":
        return made
    return writer.assign(f"bitcast <{2 * count} x i64> {made} to <{lanes.width} x i32>")


def _one_by_one(writer: ValueWriter, value: Value, width: int) -> str:
    """The words at any indices, each lane computing the block that has its own."""
    shift = 2 if value.dtype == "uint32" else 1
    first, seed, stream = _scalars(writer, value)
    each = _Blocks(writer, width)
    place = writer.value(value.operands[0], bool(width))
    number = each.op("lshr", place, each.number(shift))
    lower, upper = each.pairs(each.op("add", number, each.same(first)), seed, stream)
    bools = f"<{width} x i1>" if width else "i1"
    bit = each.op("and", place, each.number(shift))  # of the half of a block
    odd = writer.assign(f"icmp ne {each.kind} {bit}, {each.number(0)}")
    pair = writer.assign(
        f"select {bools} {odd}, {each.kind} {upper}, {each.kind} {lower}"
    )
    if value.dtype == "uint64":
        return pair
    steps = each.op("shl", each.op("and", place, each.number(1)), each.number(5))
    word = each.op("lshr", pair, steps)
    result = f"<{width} x i32>" if width else "i32"
    return writer.assign(f"trunc {each.kind} {word} to {result}")
