"""Making values: arithmetic on them, written as Python's operators where it has them.

Constants take the dtype of what they meet; values of different dtypes never meet
without a cast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from dovetail.codegen.ir import Buffer, Value

Number: TypeAlias = int | float | bool


class Term:
    """A value to calculate with."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def dtype(self) -> str:
        """The dtype of the value."""
        return self.value.dtype

    def __add__(self, other: Any) -> Term:
        return apply("add", self, other)

    def __radd__(self, other: Any) -> Term:
        return apply("add", other, self)

    def __sub__(self, other: Any) -> Term:
        return apply("sub", self, other)

    def __rsub__(self, other: Any) -> Term:
        return apply("sub", other, self)

    def __mul__(self, other: Any) -> Term:
        return apply("mul", self, other)

    def __rmul__(self, other: Any) -> Term:
        return apply("mul", other, self)

    def __truediv__(self, other: Any) -> Term:
        return apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return apply("div", other, self)

    def __and__(self, other: Any) -> Term:
        return apply("and", self, other)

    def __or__(self, other: Any) -> Term:
        return apply("or", self, other)

    def __xor__(self, other: Any) -> Term:
        return apply("xor", self, other)

    def __lshift__(self, other: Any) -> Term:
        return apply("shift_left", self, other)

    def __rshift__(self, other: Any) -> Term:
        """Bits move right, the sign coming in."""
        return apply("shift_right", self, other)

    def __neg__(self) -> Term:
        return Term(Value("neg", self.dtype, (self.value,)))

    def __lt__(self, other: Any) -> Term:
        return compare("lt", self, other)

    def __gt__(self, other: Any) -> Term:
        return compare("gt", self, other)

    def __le__(self, other: Any) -> Term:
        return compare("le", self, other)

    def __ge__(self, other: Any) -> Term:
        return compare("ge", self, other)


def constant(number: Number, dtype: str) -> Term:
    """A number of a dtype."""
    return Term(Value("constant", dtype, (), number))


def like(number: Number | Term, other: Term) -> Term:
    """A number in the dtype of another value; values stay what they are."""
    return number if isinstance(number, Term) else constant(number, other.dtype)


def both(a: Any, b: Any) -> tuple[Term, Term]:
    """Two operands of one dtype."""
    a = a if isinstance(a, Term) else like(a, b)
    b = like(b, a)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    return a, b


def apply(op: str, a: Any, b: Any) -> Term:
    """Arithmetic of two operands of one dtype."""
    a, b = both(a, b)
    return Term(Value(op, a.dtype, (a.value, b.value)))


def compare(op: str, a: Any, b: Any) -> Term:
    """A comparison: a bool a lane; false of NaN, but for `ne`."""
    a, b = both(a, b)
    return Term(Value(op, "bool", (a.value, b.value)))


def equal(a: Any, b: Any) -> Term:
    """Whether two values are equal."""
    return compare("eq", a, b)


def choose(condition: Term, a: Any, b: Any) -> Term:
    """`a` where `condition` is true, else `b`."""
    a, b = both(a, b)
    return Term(Value("choose", a.dtype, (condition.value, a.value, b.value)))


def rarely(
    condition: Term, rare: Sequence[Term], usual: Sequence[Term]
) -> tuple[Term, ...]:
    """`choose` between two sets of values, where `condition` is mostly false.

    The rare ones are computed where some lane asks for them, and with them what they
    need that was not computed before.
    """
    operands = tuple([x.value for x in (condition, *rare, *usual)])
    made: list[Value] = []
    for at, x in enumerate(rare):
        made.append(Value("rarely", x.dtype, operands, (at, made)))
    return tuple(map(Term, made))


def fma(a: Any, b: Any, c: Any) -> Term:
    """a * b + c, rounded once where the processor can, else twice."""
    lead = next(x for x in (a, b, c) if isinstance(x, Term))
    given = tuple([like(x, lead).value for x in (a, b, c)])
    return Term(Value("fma", lead.dtype, given))


def unary(op: str, x: Term) -> Term:
    """An operation of one operand that keeps the dtype."""
    return Term(Value(op, x.dtype, (x.value,)))


def cast(x: Term, dtype: str) -> Term:
    """The value in another dtype."""
    return x if x.dtype == dtype else Term(Value("cast", dtype, (x.value,)))


def bits(x: Term, dtype: str) -> Term:
    """The bits of a value, read as another dtype of the same size."""
    return x if x.dtype == dtype else Term(Value("bits", dtype, (x.value,)))


def entry(numbers: tuple[Number, ...], number: Term, dtype: str) -> Term:
    """One of some constants, by its number; the first one is the quickest."""
    return Term(Value("table", dtype, (number.value,), numbers))


def load(buffer: Buffer, offset: Term) -> Term:
    """An element of a buffer."""
    return Term(Value("load", buffer.dtype, (offset.value,), buffer))


def parameter(name: str, dtype: str = "int64") -> Term:
    """A number that comes with a call."""
    return Term(Value("parameter", dtype, (), name))


def index(name: str) -> Term:
    """The variable of a loop."""
    return Term(Value("index", "int64", (), name))


def above(a: Term, b: Any) -> Term:
    """The larger one; NaN of `a` stays, one of `b` is dropped."""
    return choose(like(b, a) > a, b, a)


def below(a: Term, b: Any) -> Term:
    """The smaller one; NaN of `a` stays, one of `b` is dropped."""
    return choose(like(b, a) < a, b, a)
