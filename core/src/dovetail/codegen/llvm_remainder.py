"""What truncated division of floats leaves, exactly, as LLVM IR.

A quotient below what the format counts to is right in its whole part, or one too large,
and what that leaves is exact where product and difference are one step. Where some
lane's quotient is larger, or no number, all lanes take the long division: the divisor
is doubled up to the dividend, and taken off where it is no larger on its way back. Each
of these steps is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dovetail.codegen.ir import Value
    from dovetail.codegen.llvm_values import ValueWriter

# The quotients up to which a division says the whole part, or one more.
_NEAR: Final = {"float32": float(1 << 22), "float64": float(1 << 51)}
_KINDS: Final = {"float32": ("float", "f32"), "float64": ("double", "f64")}

_TEXT: Final = """\
define internal KIND @NAME(KIND %x, KIND %y) #0 {
entry:
  %ax = call KIND @llvm.fabs.SUFFIX(KIND %x)
  %ay = call KIND @llvm.fabs.SUFFIX(KIND %y)
  %small = fcmp olt KIND %ax, %ay
  %quotient = fdiv KIND %ax, %ay
  %whole = call KIND @llvm.trunc.SUFFIX(KIND %quotient)
  %exact = fcmp olt KIND %whole, splat (REAL NEAR)
  %near = or BOOLS %small, %exact
  %all.near = call i1 @llvm.vector.reduce.and.vWIDTHi1(BOOLS %near)
  %short = and i1 %all.near, FUSED
  br i1 %short, label %at.once, label %long
at.once:
  %taken = fneg KIND %whole
  %left = call KIND @llvm.fma.SUFFIX(KIND %taken, KIND %ay, KIND %ax)
  %too.far = fcmp olt KIND %left, zeroinitializer
  %back = fadd KIND %left, %ay
  %corrected = select BOOLS %too.far, KIND %back, KIND %left
  %size = select BOOLS %small, KIND %ax, KIND %corrected
  %signed = call KIND @llvm.copysign.SUFFIX(KIND %size, KIND %x)
  ret KIND %signed
long:
  %finite = fcmp olt KIND %ax, splat (REAL 0x7FF0000000000000)
  %divides = fcmp ogt KIND %ay, zeroinitializer
  %valid = and BOOLS %finite, %divides
  %dividend = select BOOLS %valid, KIND %ax, KIND zeroinitializer
  %divisor = select BOOLS %valid, KIND %ay, KIND splat (REAL 1.0)
  %half = fmul KIND %dividend, splat (REAL 0.5)
  br label %up
up:
  %lower = phi KIND [ %divisor, %long ], [ %higher, %up ]
  %grows = fcmp ole KIND %lower, %half
  %double = fadd KIND %lower, %lower
  %higher = select BOOLS %grows, KIND %double, KIND %lower
  %any = call i1 @llvm.vector.reduce.or.vWIDTHi1(BOOLS %grows)
  br i1 %any, label %up, label %down
down:
  %part = phi KIND [ %lower, %up ], [ %next, %down ]
  %rest = phi KIND [ %dividend, %up ], [ %less, %down ]
  %fits = fcmp oge KIND %rest, %part
  %difference = fsub KIND %rest, %part
  %less = select BOOLS %fits, KIND %difference, KIND %rest
  %halved = fmul KIND %part, splat (REAL 0.5)
  %over = fcmp ole KIND %part, %divisor
  %next = select BOOLS %over, KIND %part, KIND %halved
  %all = call i1 @llvm.vector.reduce.and.vWIDTHi1(BOOLS %over)
  br i1 %all, label %end, label %down
end:
  %with.sign = call KIND @llvm.copysign.SUFFIX(KIND %less, KIND %x)
  %result = select BOOLS %valid, KIND %with.sign, KIND splat (REAL 0x7FF8000000000000)
  ret KIND %result
}"""
_FUNCTIONS: Final = {"fabs": 1, "trunc": 1, "copysign": 2, "fma": 3}


def remainder(
    writer: ValueWriter, value: Value, vector: bool, given: list[str]
) -> str:  # fmt: skip
    """The name of a value of the operation `"remainder"`: C's `fmod`."""
    real, short = _KINDS[value.dtype]
    width = writer.lanes.width if vector and writer.lanes is not None else 1
    kind, name = f"<{width} x {real}>", f"remainder_v{width}{short}"
    _declare(writer, kind, f"v{width}{short}", width)
    writer.declared.add(_written(writer.fused, value.dtype, width, name))
    if not vector:
        given = [writer.assign(f"bitcast {real} {x} to {kind}") for x in given]
    x, y = given
    result = writer.assign(f"call {kind} @{name}({kind} {x}, {kind} {y})")
    return result if vector else writer.assign(f"bitcast {kind} {result} to {real}")


def _written(fused: bool, dtype: str, width: int, name: str) -> str:
    """The function for vectors of so many lanes."""
    real, short = _KINDS[dtype]
    words = {
        "KIND": f"<{width} x {real}>", "BOOLS": f"<{width} x i1>",
        "SUFFIX": f"v{width}{short}", "WIDTH": str(width), "REAL": real, "NAME": name,
        "NEAR": str(_NEAR[dtype]), "FUSED": str(fused).lower(),
    }  # fmt: skip
    text = _TEXT
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


def _declare(writer: ValueWriter, kind: str, suffix: str, width: int) -> None:
    for name, operands in _FUNCTIONS.items():
        writer.intrinsic(f"llvm.{name}.{suffix}", kind, *[kind] * operands)
    for name in ("and", "or"):
        reduction = f"llvm.vector.reduce.{name}.v{width}i1"
        writer.intrinsic(reduction, "i1", f"<{width} x i1>")
