"""Values as C expressions, in the words that every dialect has."""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Callable
from typing import Any, Final

from dovetail.codegen import philox
from dovetail.codegen.c_dialects import TYPES
from dovetail.codegen.formats import in_steps
from dovetail.codegen.ir import FIRST, FLOATS, LAST, SIZES, Accumulator, Value
from dovetail.codegen.values import Term, fma

# NaN wins, and +0 counts as larger than -0.
_EXTREMES: Final = """\
FUNCTION {type} maximum_{type}({type} a, {type} b) {{
  if (a != a || b != b) return a + b;
  if (a == b) return {real}({bits}(a) & {bits}(b));
  return a > b ? a : b;
}}
FUNCTION {type} minimum_{type}({type} a, {type} b) {{
  if (a != a || b != b) return a + b;
  if (a == b) return {real}({bits}(a) | {bits}(b));
  return a < b ? a : b;
}}
"""
_BITS: Final = """\
FUNCTION {after} bits_{before}_{after}({before} x) {{
  union {{
    {before} given;
    {after} read;
  }} both;
  both.given = x;
  return both.read;
}}
"""
# Of a truncated division: the divisor is doubled up to the dividend, and taken off
# where it is no larger on its way back; each step is exact.
_REMAINDER: Final = """\
FUNCTION {type} remainder_{type}({type} x, {type} y) {{
  const {type} divisor = y < 0 ? -y : y;
  {type} rest = x < 0 ? -x : x, part = divisor;
  if (!(rest - rest == 0) || !(divisor > 0)) return x * y / (x * y);
  if (rest < divisor) return x;
  while (part <= rest * ({type})0.5) part += part;
  for (;;) {{
    if (rest >= part) rest -= part;
    if (part <= divisor) break;
    part *= ({type})0.5;
  }}
  return x < 0 ? -rest : rest;
}}
"""
# Constants by their number; a switch is in every dialect, an array of them is not.
_TABLE: Final = """\
FUNCTION {type} {name}(i64 number) {{
  switch (number) {{
{cases}
    default: return {first};
  }}
}}
"""
_PHILOX: Final = f"""\
FUNCTION u64 philox(u64 block, u64 seed, u64 stream, bool upper) {{
  u32 c0 = (u32)block, c1 = (u32)(block >> 32);
  u32 c2 = (u32)stream, c3 = (u32)(stream >> 32);
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
  for (int round = 0; round < {philox.ROUNDS}; ++round) {{
    const u64 p = (u64)c0 * U64({philox.M0}), q = (u64)c2 * U64({philox.M1});
    c0 = (u32)(q >> 32) ^ c1 ^ k0;
    c2 = (u32)(p >> 32) ^ c3 ^ k1;
    c1 = (u32)q;
    c3 = (u32)p;
    k0 += (u32)U64({philox.W0});
    k1 += (u32)U64({philox.W1});
  }}
  return upper ? c2 | (u64)c3 << 32 : c0 | (u64)c1 << 32;
}}
"""

_OPERATORS: Final = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^",
    "shift_left": "<<", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=",
}  # fmt: skip
_COMPARISONS: Final = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_BEYOND: Final = {"maximum": ">=", "minimum": "<="}
_LOGIC: Final = frozenset({"and", "or", "xor"})
_FUNCTIONS: Final = frozenset({"sqrt", "floor", "truncate"})
_INTEGERS: Final = {"float32": "uint32", "float64": "uint64"}


class ValueWriter:
    """Writes values; each is computed once in the scope that needs it.

    Args:
        fused: whether products and sums that may be rounded once are.
    """

    def __init__(self, fused: bool) -> None:
        self.fused = fused
        self.lines: list[str] = []
        self.helpers: dict[str, None] = {}  # in the order in which they need each other
        self.scopes: list[dict[Value, str]] = [{FIRST: "first", LAST: "last"}]
        self.held: dict[Accumulator, str] = {}
        self.count = 0

    def emit(self, line: str) -> None:
        """Write a line at the depth of the scope."""
        self.lines.append("  " * len(self.scopes) + line)

    def fresh(self) -> str:
        """A name that nothing has."""
        self.count += 1
        return f"t_{self.count}"

    def value(self, value: Value) -> str:
        """The name of a value, or the constant that it is."""
        if value.op == "constant":
            return self.literal(value.detail, value.dtype)
        for scope in self.scopes:
            if value in scope:
                return scope[value]
        if value.op == "parameter":
            return str(value.detail)
        made = self._made(value)
        name = self.scopes[-1][value] = self.fresh()
        self.emit(f"const {TYPES[value.dtype]} {name} = {made};")
        return name

    def _made(self, value: Value) -> str:
        if value.op == "accumulated":
            return self.held[value.detail]
        given = [self.value(x) for x in value.operands]
        if value.op == "load":
            return f"{value.detail.name}[{given[0]}]"
        if value.op == "prefix":
            return self.prefix(value.detail, given[0])
        return self.computed(value, value.operands[0].dtype, given)

    def computed(self, value: Value, dtype: str, given: list[str]) -> str:
        """Arithmetic on operands; `dtype` is that of the first one."""
        write: Callable[[Value, str, list[str]], str]
        write = getattr(self, f"_{value.op}", self._plain)
        return write(value, dtype, given)

    def combined(self, into: Accumulator, a: str, b: str) -> str:
        """What an accumulator holds after `b` came to `a`."""
        if into.combine in _BEYOND and into.dtype in FLOATS:
            return f"{b} {_BEYOND[into.combine]} {a} || {b} != {b} ? {b} : {a}"
        return self.computed(Value(into.combine, into.dtype), into.dtype, [a, b])

    def prefix(self, into: Accumulator, given: str) -> str:
        """What an accumulator of the lanes holds after those up to this one."""
        held = self.held[into]
        self.emit(f"{held} = {self.combined(into, held, given)};")
        return held

    # ---- arithmetic

    def _plain(self, value: Value, dtype: str, given: list[str]) -> str:
        """Operators, and functions that C has."""
        op = value.op
        if op in _FUNCTIONS:
            return f"{op}_{TYPES[dtype]}({given[0]})"
        a, b = given
        if op in _COMPARISONS or dtype in FLOATS:
            return f"{a} {_OPERATORS[op]} {b}"
        if dtype == "bool":
            assert op in _LOGIC, f"{op} of bools"
            return f"{a} {_OPERATORS[op]} {b}"
        # Integers wrap, which C grants to unsigned ones of at least the size of an int.
        wide = "u64" if SIZES[dtype] == 8 else "u32"
        return f"({TYPES[dtype]})(({wide}){a} {_OPERATORS[op]} ({wide}){b})"

    def _neg(self, value: Value, dtype: str, given: list[str]) -> str:
        if dtype in FLOATS:
            return f"-{given[0]}"
        zero = Value("sub", value.dtype)
        return self._plain(zero, dtype, ["0", given[0]])

    def _shift_right(self, value: Value, dtype: str, given: list[str]) -> str:
        """The sign comes in, of unsigned numbers too: their highest bit."""
        return self._shifted(TYPES[dtype.removeprefix("u")], dtype, given)

    def _shift_right_logical(self, value: Value, dtype: str, given: list[str]) -> str:
        unsigned = dtype if dtype[0] == "u" else f"u{dtype}"
        return self._shifted(TYPES[unsigned], dtype, given)

    def _shifted(self, read_as: str, dtype: str, given: list[str]) -> str:
        return f"({TYPES[dtype]})(({read_as}){given[0]} >> {given[1]})"

    def _fma(self, value: Value, dtype: str, given: list[str]) -> str:
        a, b, c = given
        if not self.fused:
            return f"{a} * {b} + {c}"
        return f"fma_{TYPES[dtype]}({a}, {b}, {c})"

    def _product_error(self, value: Value, dtype: str, given: list[str]) -> str:
        if not self.fused:
            return self._scale(value, dtype, given)
        a, b = map(Term, value.operands)
        return self.value(fma(a, b, -(a * b)).value)

    def _table(self, value: Value, dtype: str, given: list[str]) -> str:
        entries = [self.literal(x, value.dtype) for x in value.detail]
        name = f"table_{hashlib.sha256(str(entries).encode()).hexdigest()[:12]}"
        cases = "\n".join(
            f"    case {i}: return {x};" for i, x in enumerate(entries[1:], 1)
        )
        kind = TYPES[value.dtype]
        text = _TABLE.format(type=kind, name=name, cases=cases, first=entries[0])
        self.helpers[text] = None
        return f"{name}({given[0]})"

    def _scale(self, value: Value, dtype: str, given: list[str]) -> str:
        """In steps: no vendor's function is asked."""
        made = in_steps(value.op, [Term(x) for x in value.operands])
        return self.value(made.value)

    _widen = _narrow = _scale

    def _remainder(self, value: Value, dtype: str, given: list[str]) -> str:
        kind = TYPES[dtype]
        self.helpers[_REMAINDER.format(type=kind)] = None
        return f"remainder_{kind}({given[0]}, {given[1]})"

    def _choose(self, value: Value, dtype: str, given: list[str]) -> str:
        return "{} ? {} : {}".format(*given)

    def _rarely(self, value: Value, dtype: str, given: list[str]) -> str:
        at, made = value.detail
        sides = given[1 + at], given[1 + len(made) + at]
        return self._choose(value, dtype, [given[0], *sides])

    def _maximum(self, value: Value, dtype: str, given: list[str]) -> str:
        return self._extreme(value, ">", given)

    def _minimum(self, value: Value, dtype: str, given: list[str]) -> str:
        return self._extreme(value, "<", given)

    def _extreme(self, value: Value, sign: str, given: list[str]) -> str:
        a, b = given
        if value.dtype not in FLOATS:
            return f"{a} {sign} {b} ? {a} : {b}"
        kind, whole = TYPES[value.dtype], _INTEGERS[value.dtype]
        bits, real = self._reader(value.dtype, whole), self._reader(whole, value.dtype)
        self.helpers[_EXTREMES.format(type=kind, bits=bits, real=real)] = None
        return f"{value.op}_{kind}({a}, {b})"

    def _bits(self, value: Value, dtype: str, given: list[str]) -> str:
        return f"{self._reader(dtype, value.dtype)}({given[0]})"

    def _reader(self, before: str, after: str) -> str:
        """The function that reads the bits of one dtype as another."""
        given, read = TYPES[before], TYPES[after]
        self.helpers[_BITS.format(before=given, after=read)] = None
        return f"bits_{given}_{read}"

    def _cast(self, value: Value, dtype: str, given: list[str]) -> str:
        assert dtype not in FLOATS or value.dtype in FLOATS | {"bool"}
        return f"({TYPES[value.dtype]}){given[0]}"

    def _philox(self, value: Value, dtype: str, given: list[str]) -> str:
        """A word of a block, or two; each thread computes the whole block."""
        self.helpers[_PHILOX] = None
        i, first, seed, stream = given
        shift = 2 if value.dtype == "uint32" else 1
        block = f"{first} + ((u64){i} >> {shift})"
        pair = f"philox({block}, {seed}, {stream}, ({i} & {shift}) != 0)"
        if value.dtype == "uint64":
            return pair
        return f"(u32)({pair} >> (({i} & 1) * 32))"

    # ---- constants

    def literal(self, number: Any, dtype: str) -> str:
        """A number of a dtype, exactly."""
        kind = TYPES[dtype]
        if dtype == "bool":
            return "true" if number else "false"
        if dtype not in FLOATS:
            return f"({kind})U64({int(number) % 2**64})"
        single = dtype == "float32"
        number = ctypes.c_float(number).value if single else float(number)
        if math.isfinite(number):
            return f"{number.hex()}{'f' if single else ''}"
        whole = _INTEGERS[dtype]
        bits = self.literal(_bits_of(number, single), whole)
        return f"{self._reader(whole, dtype)}({bits})"


def _bits_of(number: float, single: bool) -> int:
    """The bits of what is not finite; a NaN is the positive quiet one."""
    exponent = 0x7F800000 if single else 0x7FF0000000000000
    if math.isnan(number):
        return exponent | 1 << (22 if single else 51)
    sign = 1 << (31 if single else 63)
    return exponent | (sign if number < 0 else 0)


def in_memory(dtype: str) -> str:
    """What an element is in memory; of a bool any byte, and all but 0 are true."""
    return "u8" if dtype == "bool" else TYPES[dtype]
