"""What the mathematics needs to know of a format of floating point numbers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.codegen.values import Term, apply, bits, constant, unary


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format of IEEE 754, and ln 2 in two parts.

    Attributes:
        mantissa: bits behind the point.
        bias: of the exponent.
        round: adding it leaves no bits behind the point: 1.5 * 2**mantissa.
        ln2_high: ln 2 to so few bits that its product with an exponent is exact.
        ln2_low: the rest of ln 2.
        split: bits of a factor to clear so that its square is exact.
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
        """`x` without its last bits, so that the square of what is left is exact."""
        mask = constant(-(1 << self.split), self.integer)
        return bits(bits(x, self.integer) & mask, self.dtype)


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


# ---- what some processors have an instruction for, and others do in steps


def scale(x: Term, exponent: Term) -> Term:
    """x * 2**exponent, rounded once; exponents are whole numbers of moderate size."""
    return apply("scale", x, exponent)


def square_error(x: Term) -> Term:
    """x * x less what it is rounded to."""
    return unary("square_error", x)


def in_steps(op: str, operands: Sequence[Term]) -> Term:
    """`scale` or `square_error` as plain arithmetic."""
    f = FORMATS[operands[0].dtype]
    return _scale(f, *operands) if op == "scale" else _square_error(f, *operands)


def _scale(f: Format, x: Term, exponent: Term) -> Term:
    """In two steps: a power of a subnormal result is none in the format."""
    n = f.as_integer(exponent)
    half = n >> 1
    return (x * f.power(half)) * f.power(n - half)


def _square_error(f: Format, x: Term) -> Term:
    """By a part of few digits, whose square is exact (Dekker 1971)."""
    head = f.head(x)
    return (head * head - x * x) + (x - head) * (x + head)
