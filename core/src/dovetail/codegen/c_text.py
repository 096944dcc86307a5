"""Kernels as C: the same loops and values, an element at a time.

What is written computes bit for bit what the LLVM IR of the same kernel does, except
that lanes are added up in another order. A C compiler has to leave the arithmetic as it
is: no contraction of products and sums (`-ffp-contract=off`), no fast mathematics.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from dovetail.codegen.ir import (
    FIRST,
    FLOATS,
    LAST,
    SIZES,
    Accumulator,
    Kernel,
    Loop,
    Statement,
    Store,
    Update,
    Value,
)

TYPES: Final = {
    "bool": "bool", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t",
    "uint16": "uint16_t", "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t",
    "uint64": "uint64_t", "float32": "float", "float64": "double",
}  # fmt: skip

_HEAD: Final = """\
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
"""
# NaN wins, and +0 counts as larger than -0.
_EXTREMES: Final = """\
static inline {type} maximum_{type}({type} a, {type} b) {{
  if (a != a || b != b) return a + b;
  if (a == b) return signbit(a) ? b : a;
  return a > b ? a : b;
}}
static inline {type} minimum_{type}({type} a, {type} b) {{
  if (a != a || b != b) return a + b;
  if (a == b) return signbit(a) ? a : b;
  return a < b ? a : b;
}}
"""
_BITS: Final = """\
static inline {after} bits_{before}_{after}({before} x) {{
  {after} y;
  memcpy(&y, &x, sizeof y);
  return y;
}}
"""

_OPERATORS: Final = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^",
    "shift_left": "<<", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=",
}  # fmt: skip
_COMPARISONS: Final = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_LOGIC: Final = frozenset({"and", "or", "xor"})
_FUNCTIONS: Final = {"sqrt": "sqrt", "floor": "floor", "truncate": "trunc"}


def render(*kernels: Kernel, fused: bool) -> str:
    """A C file with kernels as functions.

    Args:
        kernels: what to write.
        fused: whether products and sums that may be rounded once are.
    """
    writers = [_Writer(kernel, fused) for kernel in kernels]
    functions = [writer.text() for writer in writers]
    helpers = {helper for writer in writers for helper in writer.helpers}
    return "\n".join([_HEAD, *sorted(helpers), *functions])


class _Writer:
    """Writes one kernel; each value is computed once in the scope that needs it."""

    def __init__(self, kernel: Kernel, fused: bool) -> None:
        self.kernel = kernel
        self.fused = fused
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.scopes: list[dict[Value, str]] = [{FIRST: "first", LAST: "last"}]
        self.held: dict[Accumulator, str] = {}
        self.count = 0

    def text(self) -> str:
        """The function."""
        for at, buffer in enumerate(self.kernel.buffers):
            kind = _in_memory(buffer.dtype)
            constant = "" if buffer.written else "const "
            self._emit(f"{constant}{kind} *{buffer.name} = ({kind} *)table[{at}];")
        for at, (name, dtype) in enumerate(self.kernel.parameters):
            self._emit(f"{TYPES[dtype]} {name};")
            place = f"table + {len(self.kernel.buffers) + at}"
            self._emit(f"memcpy(&{name}, {place}, sizeof {name});")
        self._statements(self.kernel.body)
        head = f"void {self.kernel.name}(void **table, int64_t first, int64_t last) {{"
        return "\n".join([head, *self.lines, "}", ""])

    def _emit(self, line: str) -> None:
        self.lines.append("  " * len(self.scopes) + line)

    def _fresh(self) -> str:
        self.count += 1
        return f"t_{self.count}"

    @contextmanager
    def _scope(self, head: str) -> Iterator[None]:
        self._emit(f"{head} {{")
        self.scopes.append({})
        yield
        self.scopes.pop()
        self._emit("}")

    # ---- statements

    def _statements(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            if isinstance(statement, Store):
                value = self._value(statement.value)
                place = f"{statement.buffer.name}[{self._value(statement.offset)}]"
                self._emit(f"{place} = {value};")
            elif isinstance(statement, Update):
                self._update(statement)
            else:
                self._loop(statement)

    def _update(self, update: Update) -> None:
        into = update.into
        given = [self.held[into], self._value(update.value)]
        made = self._computed(Value(into.combine, into.dtype), into.dtype, given)
        self._emit(f"{self.held[into]} = {made};")

    def _loop(self, loop: Loop) -> None:
        first, end = self._value(loop.first), self._value(loop.end)
        for carried in loop.carries:
            self.held[carried] = name = self._fresh()
            start = _literal(carried.start, carried.dtype)
            self._emit(f"{TYPES[carried.dtype]} {name} = {start};")
        i = self._fresh()
        with self._scope(f"for (int64_t {i} = {first}; {i} < {end}; ++{i})"):
            self.scopes[-1][loop.index] = i
            self._statements(loop.body)

    # ---- values

    def _value(self, value: Value) -> str:
        if value.op == "constant":
            return _literal(value.detail, value.dtype)
        for scope in self.scopes:
            if value in scope:
                return scope[value]
        if value.op == "parameter":
            return str(value.detail)
        made = self._made(value)
        name = self.scopes[-1][value] = self._fresh()
        self._emit(f"const {TYPES[value.dtype]} {name} = {made};")
        return name

    def _made(self, value: Value) -> str:
        if value.op == "accumulated":
            return self.held[value.detail]
        given = [self._value(x) for x in value.operands]
        if value.op == "load":
            return f"{value.detail.name}[{given[0]}]"
        return self._computed(value, value.operands[0].dtype, given)

    def _computed(self, value: Value, dtype: str, given: list[str]) -> str:
        """Arithmetic on operands; `dtype` is that of the first one."""
        write: Callable[[Value, str, list[str]], str]
        write = getattr(self, f"_{value.op}", self._plain)
        return write(value, dtype, given)

    def _plain(self, value: Value, dtype: str, given: list[str]) -> str:
        """Operators, and functions that C has."""
        op = value.op
        if op in _FUNCTIONS:
            return f"{_FUNCTIONS[op]}{_suffix(dtype)}({given[0]})"
        a, b = given
        if op in _COMPARISONS or dtype in FLOATS:
            return f"{a} {_OPERATORS[op]} {b}"
        if dtype == "bool":
            assert op in _LOGIC, f"{op} of bools"
            return f"{a} {_OPERATORS[op]} {b}"
        # Integers wrap, which C grants to unsigned ones of at least the size of an int.
        wide = "uint64_t" if SIZES[dtype] == 8 else "uint32_t"
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
        return f"fma{_suffix(dtype)}({a}, {b}, {c})"

    def _choose(self, value: Value, dtype: str, given: list[str]) -> str:
        return "{} ? {} : {}".format(*given)

    def _maximum(self, value: Value, dtype: str, given: list[str]) -> str:
        return self._extreme(value, ">", given)

    def _minimum(self, value: Value, dtype: str, given: list[str]) -> str:
        return self._extreme(value, "<", given)

    def _extreme(self, value: Value, sign: str, given: list[str]) -> str:
        a, b = given
        if value.dtype not in FLOATS:
            return f"{a} {sign} {b} ? {a} : {b}"
        kind = TYPES[value.dtype]
        self.helpers.add(_EXTREMES.format(type=kind))
        return f"{value.op}_{kind}({a}, {b})"

    def _bits(self, value: Value, dtype: str, given: list[str]) -> str:
        before, after = TYPES[dtype], TYPES[value.dtype]
        self.helpers.add(_BITS.format(before=before, after=after))
        return f"bits_{before}_{after}({given[0]})"

    def _cast(self, value: Value, dtype: str, given: list[str]) -> str:
        assert dtype not in FLOATS or value.dtype in FLOATS | {"bool"}
        return f"({TYPES[value.dtype]}){given[0]}"


def _in_memory(dtype: str) -> str:
    """What an element is in memory; of a bool any byte, and all but 0 are true."""
    return "uint8_t" if dtype == "bool" else TYPES[dtype]


def _suffix(dtype: str) -> str:
    return "f" if dtype == "float32" else ""


def _literal(number: Any, dtype: str) -> str:
    """A number of a dtype, as C writes constants, exactly."""
    kind = TYPES[dtype]
    if dtype == "bool":
        return "true" if number else "false"
    if dtype not in FLOATS:
        return f"({kind})UINT64_C({int(number) % 2**64})"
    number = ctypes.c_float(number).value if dtype == "float32" else float(number)
    if math.isnan(number):
        return f"({kind})NAN"
    if math.isinf(number):
        return f"({kind}){'-' if number < 0 else ''}INFINITY"
    return f"({kind}){number.hex()}"
