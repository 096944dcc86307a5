"""Values as LLVM IR: scalars, and vectors of as many lanes as the loop has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail.codegen import llvm_philox, llvm_remainder, llvm_tables
from dovetail.codegen.formats import in_steps
from dovetail.codegen.ir import FLOATS, SIZES, Value
from dovetail.codegen.llvm_lanes import TYPES, LaneWriter, literal
from dovetail.codegen.values import Term, fma

_FLOAT_ARITHMETIC: Final = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGER_ARITHMETIC: Final = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "udiv", "and": "and", "or": "or",
    "xor": "xor", "shift_left": "shl", "shift_right": "ashr",
    "shift_right_logical": "lshr",
}  # fmt: skip
_COMPARISONS: Final = {"lt", "le", "gt", "ge", "eq", "ne"}
_SCALED: Final = {"float32": 16, "float64": 8}  # lanes of AVX-512's vscalef
_FUNCTIONS: Final = {"sqrt": "sqrt", "floor": "floor", "truncate": "trunc"}


class ValueWriter(LaneWriter):
    """Writes values; each is computed once in the scope that needs it."""

    def value(self, value: Value, vector: bool | None = None) -> str:
        """The name of a value; as a vector, a scalar, or as it is by itself."""
        own = self.varies(value)
        wanted = own if vector is None else vector
        if value.op == "constant":
            number = literal(value.detail, value.dtype)
            kind = TYPES[value.dtype]
            return f"splat ({kind} {number})" if wanted else number
        key = value, wanted
        for scope in self.scopes:
            if key in scope:
                return scope[key]
        if wanted and not own:
            name = self.splat(self.value(value, False), TYPES[value.dtype])
        else:
            name = self._computed(value, wanted)
        self.scopes[-1][key] = name
        return name

    def _computed(self, value: Value, vector: bool) -> str:
        op = value.op
        if op == "accumulated":
            return self.held[value.detail]
        if op == "parameter":
            return f"%{value.detail}"
        if op == "index":
            return self.numbered()
        if op == "load":
            return self.loaded(value, vector)
        if op == "philox":
            return llvm_philox.words(self, value, vector)
        if op == "rarely":
            return self._where_any(value, vector)
        given = [self.value(x, vector) for x in value.operands]
        write: Callable[..., str] = getattr(self, f"_{op}", self._plain)
        return write(value, vector, given)

    def _where_any(self, value: Value, vector: bool) -> str:
        """Choices whose first sides are computed where a lane takes them."""
        at, made = value.detail
        asked = self.value(value.operands[0], vector)
        sides = value.operands[1 : 1 + len(made)], value.operands[1 + len(made) :]
        usual = [self.value(x, vector) for x in sides[1]]
        some = self._any(asked) if vector else asked
        before, count = self.block, self.fresh()[2:]
        inside, after = f"rarely{count}", f"mostly{count}"
        self.emit(f"br i1 {some}, label %{inside}, label %{after}")
        self.label(inside)
        self.scopes.append({})
        chosen = [
            self._choose(y, vector, [asked, self.value(x, vector), other])
            for y, x, other in zip(made, sides[0], usual, strict=True)
        ]
        self.scopes.pop()
        end = self.block
        self.emit(f"br label %{after}")
        self.label(after)
        for y, a, b in zip(made, usual, chosen, strict=True):
            kind = self.type_of(y.dtype, vector)
            found = self.assign(f"phi {kind} [ {a}, %{before} ], [ {b}, %{end} ]")
            self.scopes[-1][y, vector] = found
        return self.scopes[-1][made[at], vector]

    def _any(self, flags: str) -> str:
        """Whether a flag of some lane is set."""
        kind = self.of_lanes("i1")
        assert self.lanes is not None
        name = f"llvm.vector.reduce.or.v{self.lanes.width}i1"
        called = self.intrinsic(name, "i1", kind)
        return self.assign(f"call i1 {called}({kind} {flags})")

    def loaded(self, value: Value, vector: bool) -> str:
        """An element of a buffer, or one a lane."""
        raise NotImplementedError

    def _plain(self, value: Value, vector: bool, given: list[str]) -> str:
        """Arithmetic, comparisons, and functions that LLVM has."""
        op, dtype = value.op, value.operands[0].dtype
        kind = self.type_of(dtype, vector)
        floating = dtype in FLOATS
        if op in _COMPARISONS:
            return self.assign(f"{_compared(op, dtype)} {kind} {given[0]}, {given[1]}")
        if op in _FUNCTIONS and floating:
            name = f"llvm.{_FUNCTIONS[op]}.{self.suffix(dtype, vector)}"
            called = self.intrinsic(name, kind, kind)
            return self.assign(f"call {kind} {called}({kind} {given[0]})")
        table = _FLOAT_ARITHMETIC if floating else _INTEGER_ARITHMETIC
        return self.assign(f"{table[op]} {kind} {', '.join(given)}")

    def _neg(self, value: Value, vector: bool, given: list[str]) -> str:
        kind = self.type_of(value.dtype, vector)
        if value.dtype in FLOATS:
            return self.assign(f"fneg {kind} {given[0]}")
        zero = "zeroinitializer" if vector else "0"
        return self.assign(f"sub {kind} {zero}, {given[0]}")

    def _fma(self, value: Value, vector: bool, given: list[str]) -> str:
        kind = self.type_of(value.dtype, vector)
        a, b, c = given
        if not self.fused:
            product = self.assign(f"fmul {kind} {a}, {b}")
            return self.assign(f"fadd {kind} {product}, {c}")
        name = f"llvm.fma.{self.suffix(value.dtype, vector)}"
        called = self.intrinsic(name, kind, kind, kind, kind)
        return self.assign(f"call {kind} {called}({kind} {a}, {kind} {b}, {kind} {c})")

    def _product_error(self, value: Value, vector: bool, given: list[str]) -> str:
        if not self.fused:
            return self._in_steps(value, vector)
        a, b = map(Term, value.operands)
        return self.value(fma(a, b, -(a * b)).value, vector)

    def _table(self, value: Value, vector: bool, given: list[str]) -> str:
        entries = [literal(x, value.dtype) for x in value.detail]
        return llvm_tables.entry(self, value, vector, given[0], entries)

    def _widen(self, value: Value, vector: bool, given: list[str]) -> str:
        if not self.halves:
            return self._in_steps(value, vector)
        kinds = [self.of_lanes(k) if vector else k for k in ("i16", "half", "float")]
        half = self.assign(f"bitcast {kinds[0]} {given[0]} to {kinds[1]}")
        return self.assign(f"fpext {kinds[1]} {half} to {kinds[2]}")

    def _narrow(self, value: Value, vector: bool, given: list[str]) -> str:
        if not self.halves:
            return self._in_steps(value, vector)
        kinds = [self.of_lanes(k) if vector else k for k in ("i16", "half", "float")]
        half = self.assign(f"fptrunc {kinds[2]} {given[0]} to {kinds[1]}")
        return self.assign(f"bitcast {kinds[1]} {half} to {kinds[0]}")

    def _scale(self, value: Value, vector: bool, given: list[str]) -> str:
        """Eight or sixteen lanes at a time, as the instruction has them."""
        whole = _SCALED[value.dtype]
        width = self.lanes.width if vector and self.lanes else 1
        if not self.scales or width % whole:
            return self._in_steps(value, vector)
        parts = [self._scaled(value, given, at) for at in range(0, width, whole)]
        while len(parts) > 1:
            both = zip(parts[::2], parts[1::2], strict=True)
            parts = [self._joined(TYPES[value.dtype], a, b, whole) for a, b in both]
            whole *= 2
        return parts[0]

    def _scaled(self, value: Value, given: list[str], at: int) -> str:
        """The lanes from `at` on, scaled."""
        element, lanes = TYPES[value.dtype], _SCALED[value.dtype]
        x, n = (self._part(element, name, at, lanes) for name in given)
        kind, name = f"<{lanes} x {element}>", "ps" if lanes == 16 else "pd"
        called = self.intrinsic(
            f"llvm.x86.avx512.mask.scalef.{name}.512", kind,
            kind, kind, kind, f"i{lanes}", "i32",
        )  # fmt: skip
        given = [f"{kind} {x}", f"{kind} {n}", f"{kind} poison", f"i{lanes} -1"]
        return self.assign(f"call {kind} {called}({', '.join(given)}, i32 4)")

    def _part(self, element: str, name: str, at: int, lanes: int) -> str:
        """Some lanes of a vector."""
        whole = self.of_lanes(element)
        picked = ", ".join(f"i32 {at + k}" for k in range(lanes))
        return self.assign(
            f"shufflevector {whole} {name}, {whole} poison, <{lanes} x i32> <{picked}>"
        )

    def _joined(self, element: str, a: str, b: str, lanes: int) -> str:
        """Two vectors of `lanes` lanes as one."""
        half = f"<{lanes} x {element}>"
        picked = ", ".join(f"i32 {k}" for k in range(2 * lanes))
        return self.assign(
            f"shufflevector {half} {a}, {half} {b}, <{2 * lanes} x i32> <{picked}>"
        )

    def _in_steps(self, value: Value, vector: bool) -> str:
        """What the processor has no instruction for."""
        made = in_steps(value.op, [Term(x) for x in value.operands])
        return self.value(made.value, vector)

    def _remainder(self, value: Value, vector: bool, given: list[str]) -> str:
        return llvm_remainder.remainder(self, value, vector, given)

    def _choose(self, value: Value, vector: bool, given: list[str]) -> str:
        kind = self.type_of(value.dtype, vector)
        chosen = self.type_of("bool", vector)
        condition, a, b = given
        return self.assign(f"select {chosen} {condition}, {kind} {a}, {kind} {b}")

    def _maximum(self, value: Value, vector: bool, given: list[str]) -> str:
        """The larger one; NaN wins, and +0 counts as larger than -0."""
        return self._extreme("maximum", "smax", "umax", value, vector, given)

    def _minimum(self, value: Value, vector: bool, given: list[str]) -> str:
        return self._extreme("minimum", "smin", "umin", value, vector, given)

    def _extreme(
        self, real: str, signed: str, unsigned: str, value: Value, vector: bool,
        given: list[str],
    ) -> str:  # fmt: skip
        kind = self.type_of(value.dtype, vector)
        whole = unsigned if value.dtype[0] in "ub" else signed
        word = real if value.dtype in FLOATS else whole
        name = f"llvm.{word}.{self.suffix(value.dtype, vector)}"
        called = self.intrinsic(name, kind, kind, kind)
        a, b = given
        return self.assign(f"call {kind} {called}({kind} {a}, {kind} {b})")

    def _bits(self, value: Value, vector: bool, given: list[str]) -> str:
        before = self.type_of(value.operands[0].dtype, vector)
        after = self.type_of(value.dtype, vector)
        if before == after:
            return given[0]
        return self.assign(f"bitcast {before} {given[0]} to {after}")

    def _cast(self, value: Value, vector: bool, given: list[str]) -> str:
        source, target = value.operands[0].dtype, value.dtype
        before, after = self.type_of(source, vector), self.type_of(target, vector)
        if target == "bool":
            zero = "zeroinitializer" if vector else literal(0, source)
            word = "fcmp une" if source in FLOATS else "icmp ne"
            return self.assign(f"{word} {before} {given[0]}, {zero}")
        if before == after:
            return given[0]
        return self.assign(
            f"{_conversion(source, target)} {before} {given[0]} to {after}"
        )


def _compared(op: str, dtype: str) -> str:
    if dtype in FLOATS:
        return f"fcmp {'une' if op == 'ne' else f'o{op}'}"
    if op in ("eq", "ne"):
        return f"icmp {op}"
    return f"icmp {'u' if dtype[0] in 'ub' else 's'}{op}"


def _conversion(source: str, target: str) -> str:
    """The instruction that takes one dtype to another; floats never to integers."""
    if source in FLOATS:
        assert target in FLOATS, (source, target)
        return "fptrunc" if SIZES[source] > SIZES[target] else "fpext"
    unsigned = source[0] in "ub"
    if target in FLOATS:
        return "uitofp" if unsigned else "sitofp"
    if source != "bool" and SIZES[source] > SIZES[target]:
        return "trunc"
    return "zext" if unsigned else "sext"
