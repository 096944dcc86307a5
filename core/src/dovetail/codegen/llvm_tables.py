"""Constants by their number, as LLVM IR.

Where all lanes ask for the first one, as they mostly do, nothing is read from memory.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from dovetail.codegen.ir import SIZES

if TYPE_CHECKING:
    from dovetail.codegen.ir import Value
    from dovetail.codegen.llvm_values import ValueWriter

_KINDS: Final = {"float32": ("float", "f32"), "float64": ("double", "f64")}
_TEXT: Final = """\
define internal KIND @NAME(NUMBERS %numbers) #0 {
entry:
  %other = icmp ne NUMBERS %numbers, zeroinitializer
  %any = call i1 @llvm.vector.reduce.or.vWIDTHi1(BOOLS %other)
  br i1 %any, label %several, label %first
first:
  ret KIND splat (REAL FIRST)
several:
  %places = getelementptr REAL, ptr @TABLE, NUMBERS %numbers
  %found = call KIND @GATHER(PLACES %places, i32 SIZE, \
BOOLS splat (i1 true), KIND poison)
  ret KIND %found
}"""


def entry(
    writer: ValueWriter, value: Value, vector: bool, number: str, entries: list[str]
) -> str:
    """The name of a value of the operation `"table"`.

    Args:
        entries: the numbers of the table, as LLVM writes constants.
    """
    real, short = _KINDS[value.dtype]
    width = writer.lanes.width if vector and writer.lanes is not None else 1
    kind, numbers, bools = (f"<{width} x {k}>" for k in (real, "i64", "i1"))
    digest = hashlib.sha256(" ".join(entries).encode()).hexdigest()[:12]
    table, name = f"table.{digest}.{short}", f"entry.{digest}.v{width}{short}"
    gather = f"llvm.masked.gather.v{width}{short}.v{width}p0"
    places = f"<{width} x ptr>"
    writer.intrinsic(gather, kind, places, "i32", bools, kind)
    writer.intrinsic(f"llvm.vector.reduce.or.v{width}i1", "i1", bools)
    listed = ", ".join(f"{real} {x}" for x in entries)
    whole = f"[{len(entries)} x {real}]"
    writer.declared.add(f"@{table} = internal constant {whole} [{listed}]")
    text, words = _TEXT, {
        "KIND": kind, "NUMBERS": numbers, "BOOLS": bools, "PLACES": places,
        "WIDTH": str(width), "REAL": real, "FIRST": entries[0], "NAME": name,
        "TABLE": table, "GATHER": gather, "SIZE": str(SIZES[value.dtype]),
    }  # fmt: skip
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    writer.declared.add(text)
    if not vector:
        number = writer.assign(f"bitcast i64 {number} to {numbers}")
    found = writer.assign(f"call {kind} @{name}({numbers} {number})")
    return found if vector else writer.assign(f"bitcast {kind} {found} to {real}")
