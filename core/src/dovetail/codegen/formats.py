"""Formats of floating point numbers: what the mathematics needs to know of them, and
those that are only in memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.codegen.ir import Value
from dovetail.codegen.values import (
    Term,
    apply,
    bits,
    cast,
    choose,
    compare,
    constant,
)


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format of IEEE 754, and ln 2 in two parts.

    Attributes:
        mantissa: bits behind the point.
        bias: of the exponent.
        round: adding it leaves no bits behind the point: 1.5 * 2**mantissa.
        ln2_high: ln 2 to so few bits that its product with an exponent is exact.
        ln2_low: the rest of ln 2.
        split: bits of a factor to clear so that products of what is left are exact.
    """

    dtype: str
    integer: str
    mantissa: int
    bias: int
    round: float
    ln2_high: float
    ln2_low: float
    split: int

    def bits_of(self, number: float) -> int:
        """The bits of a number in this format."""
        real, whole = ("<f", "<i") if self.mantissa == 23 else ("<d", "<q")
        found: int = struct.unpack(whole, struct.pack(real, number))[0]
        return found

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return -(1 << (31 if self.mantissa == 23 else 63))

    def power(self, exponent: Term) -> Term:
        """2 to the power of an integer whose result is a normal number."""
        return bits((exponent + self.bias) << self.mantissa, self.dtype)

    def as_integer(self, whole: Term) -> Term:
        """A small whole number as an integer, without a conversion."""
        return bits(whole + self.round, self.integer) - self.bits_of(self.round)

    def as_float(self, integer: Term) -> Term:
        """A small integer as a float, without a conversion."""
        moved = bits(integer + self.bits_of(self.round), self.dtype)
        return moved - self.round

    def size(self, x: Term) -> Term:
        """|x|, of NaN too."""
        return bits(bits(x, self.integer) & ~self.sign, self.dtype)

    def with_sign(self, size: Term, sign: Term) -> Term:
        """The size of one value with the sign of another."""
        taken = bits(sign, self.integer) & self.sign
        return bits((bits(size, self.integer) & ~self.sign) | taken, self.dtype)

    def head(self, x: Term) -> Term:
        """`x` rounded to few bits: products of such are exact, and of what is left."""
        whole = bits(x, self.integer) + (1 << self.split - 1)
        mask = constant(-(1 << self.split), self.integer)
        return bits(whole & mask, self.dtype)


FORMATS: Final = {
    "float32": Format(
        "float32", "int32", 23, 127, 1.5 * 2**23, 0.693359375,
        -2.12194440054690581e-4, 12,
    ),
    "float64": Format(
        "float64", "int64", 52, 1023, 1.5 * 2**52, 6.93147180369123816490e-01,
        1.90821492927058770002e-10, 27,
    ),
}  # fmt: skip


# ---- floats of 16 bits, which memory has and arithmetic does not

HALVES: Final = frozenset({"float16", "bfloat16"})


def in_memory(dtype: str) -> str:
    """The dtype that a kernel reads and writes where arrays have another one."""
    return "uint16" if dtype in HALVES else dtype


def computed_in(dtype: str) -> str:
    """The dtype that a kernel computes in for arrays of a dtype."""
    return "float32" if dtype in HALVES else dtype


def widened(stored: Term, dtype: str) -> Term:
    """What was read from memory, as the value that it stands for."""
    if dtype == "bfloat16":
        return bits(cast(stored, "uint32") << 16, "float32")
    if dtype == "float16":
        return Term(Value("widen", "float32", (stored.value,)))
    return stored


def narrowed(x: Term, dtype: str) -> Term:
    """A value as memory has it: the nearest number, the even one of two."""
    if dtype == "bfloat16":
        return _bfloat16(x)
    if dtype == "float16":
        return Term(Value("narrow", "uint16", (x.value,)))
    return x


def _bfloat16(x: Term) -> Term:
    """The upper half of the bits, rounded by the lower one; NaN keeps its sign."""
    whole = bits(x, "uint32")
    upper = apply("shift_right_logical", whole, 16)
    carried = apply("shift_right_logical", whole + 0x7FFF + (upper & 1), 16)
    return cast(choose(compare("ne", x, x), upper | 0x40, carried), "uint16")


def _widen(stored: Term) -> Term:
    """float16 as float32: its exponent is moved by a product, which is exact."""
    whole = cast(stored, "uint32")
    size = (whole & 0x7FFF) << 13
    finite = bits(bits(size, "float32") * 2.0**112, "uint32")
    size = choose(compare("ge", size, 0x7C00 << 13), size | 0x7F800000, finite)
    return bits(size | ((whole & 0x8000) << 16), "float32")


def _narrow(x: Term) -> Term:
    """float16 of float32; a sum rounds what is subnormal in float16."""
    whole = bits(x, "uint32")
    sign = apply("shift_right_logical", whole, 16) & 0x8000
    size = whole & 0x7FFFFFFF
    odd = apply("shift_right_logical", size, 13) & 1
    normal = apply("shift_right_logical", size + 0xFFF + odd - (112 << 23), 13)
    small = bits(bits(size, "float32") + 0.5, "uint32") - 0x3F000000
    rounded = choose(compare("lt", size, 113 << 23), small, normal)
    rounded = choose(compare("ge", size, 143 << 23), 0x7C00, rounded)
    nan = apply("shift_right_logical", size, 13) & 0x1FF | 0x7E00
    found = choose(compare("gt", size, 0x7F800000), nan, rounded)
    return cast(found | sign, "uint16")


# ---- what some processors have an instruction for, and others do in steps


def scale(x: Term, exponent: Term) -> Term:
    """x * 2**exponent, rounded once; exponents are whole numbers of moderate size."""
    return apply("scale", x, exponent)


def product_error(a: Term, b: Term) -> Term:
    """a * b less what it is rounded to."""
    return apply("product_error", a, b)


def sum_and_error(a: Term, b: Term) -> tuple[Term, Term]:
    """a + b, and that less what it is rounded to (Knuth 1969)."""
    whole = a + b
    of_b = whole - a
    return whole, (a - (whole - of_b)) + (b - of_b)


def in_steps(op: str, operands: Sequence[Term]) -> Term:
    """`scale`, `product_error`, `widen` or `narrow` as plain arithmetic."""
    if op in ("widen", "narrow"):
        return _widen(*operands) if op == "widen" else _narrow(*operands)
    f = FORMATS[operands[0].dtype]
    return _scale(f, *operands) if op == "scale" else _product_error(f, *operands)


def _scale(f: Format, x: Term, exponent: Term) -> Term:
    """In two steps: a power of a subnormal result is none in the format."""
    n = f.as_integer(exponent)
    half = n >> 1
    return (x * f.power(half)) * f.power(n - half)


def _product_error(f: Format, a: Term, b: Term) -> Term:
    """By parts of few digits, whose products are exact (Dekker 1971)."""
    head, other = f.head(a), f.head(b)
    tail, rest = a - head, b - other
    return (((head * other - a * b) + head * rest) + tail * other) + tail * rest
