"""Products of a matrix with few columns, which lie side by side.

BLAS brings the left matrix into an order of its own in every call, which takes a third
of the time where the other one has few columns. Here it is read as it lies: eight rows
and two vectors of columns at a time, whose sums stay in registers.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from dovetail.codegen import runtime
from dovetail.codegen.arrays import target

ROWS: Final = 8
"""Rows at a time."""
_VECTORS: Final = 2  # of columns at a time
_REAL: Final = {"f": ("float", 4), "d": ("double", 8)}
_WORDS: Final = ("a", "b", "c", "a.line", "b.line", "c.line", "inner", "tiles")
_ADDRESSES: Final = 3  # of these are addresses

_TEXT: Final = """
define void @NAME(ptr %table, i64 %low, i64 %high) #0 {
entry:
HEAD
  %any = icmp slt i64 %low, %high
  br i1 %any, label %rows, label %end
rows:
  %group = phi i64 [ %low, %entry ], [ %group.next, %rows.end ]
  %row = mul i64 %group, ROWS
ROW_PLACES
  br label %columns
columns:
  %tile = phi i64 [ 0, %rows ], [ %tile.next, %columns.end ]
  %column = mul i64 %tile, COLUMNS
  %b.tile = getelementptr REAL, ptr %b, i64 %column
STARTS
  br label %sum
sum:
  %k = phi i64 [ 0, %columns ], [ %k.next, %sum ]
SUMS
STEP
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %inner
  br i1 %more, label %sum, label %columns.end
columns.end:
STORES
  %tile.next = add i64 %tile, 1
  %tiles.more = icmp slt i64 %tile.next, %tiles
  br i1 %tiles.more, label %columns, label %rows.end
rows.end:
  %group.next = add i64 %group, 1
  %rows.more = icmp slt i64 %group.next, %high
  br i1 %rows.more, label %rows, label %end
end:
  ret void
}
declare VECTOR @llvm.fma.TYPE(VECTOR, VECTOR, VECTOR)
ATTRIBUTES
"""


def fits(code: str, rows: int, inner: int, columns: int) -> bool:
    """Whether there is a kernel for a product of these sizes, of a dtype's code."""
    if code not in _REAL or not target().fused:
        return False
    return inner > 0 and rows % ROWS == 0 and columns % columns_of(code) == 0


def columns_of(code: str) -> int:
    """How many columns are computed at a time."""
    return _VECTORS * target().vector // _REAL[code][1]


@cache
def kernel_of(code: str, adds: bool) -> runtime.Kernel:
    """The kernel of a dtype, by groups of `ROWS` rows.

    Its table has `_WORDS`: addresses, how far it is from line to line in elements, what
    is summed, and how many tiles of `columns_of` there are; a table's row a call.

    Args:
        adds: whether products are added to what is there.
    """
    name = f"narrow_product_{_REAL[code][0]}" + ("_added" if adds else "")
    return runtime.kernel(name, _text(name, code, adds))


def _text(name: str, code: str, adds: bool) -> str:
    real, size = _REAL[code]
    lanes = target().vector // size
    vector = f"<{lanes} x {real}>"
    sums = [(r, v) for r in range(ROWS) for v in range(_VECTORS)]
    head, row_places, step = [], [], []
    for at, word in enumerate(_WORDS):
        kind = "ptr" if at < _ADDRESSES else "i64"
        head += [
            f"%{word}.at = getelementptr i64, ptr %table, i64 {at}",
            f"%{word} = load {kind}, ptr %{word}.at, align 8",
        ]
    for r in range(ROWS):
        row_places += [f"%row{r} = add i64 %row, {r}"]
        for of in "ac":
            row_places += [
                f"%{of}{r}.from = mul i64 %row{r}, %{of}.line",
                f"%{of}{r} = getelementptr {real}, ptr %{of}, i64 %{of}{r}.from",
            ]
    starts, stores = [], []
    for r, v in sums:
        starts += [
            f"%c{r}.{v}.from = add i64 %column, {v * lanes}",
            f"%c{r}.{v} = getelementptr {real}, ptr %c{r}, i64 %c{r}.{v}.from",
        ]
        if adds:
            starts += [f"%s{r}.{v} = load {vector}, ptr %c{r}.{v}, align {size}"]
        stores += [f"store {vector} %n{r}.{v}, ptr %c{r}.{v}, align {size}"]
    first = [f"%s{r}.{v}" if adds else "zeroinitializer" for r, v in sums]
    phis = [
        f"%t{r}.{v} = phi {vector} [ {start}, %columns ], [ %n{r}.{v}, %sum ]"
        for (r, v), start in zip(sums, first, strict=True)
    ]
    step += [
        "%b.from = mul i64 %k, %b.line",
        f"%b.k = getelementptr {real}, ptr %b.tile, i64 %b.from",
    ]
    for v in range(_VECTORS):
        step += [
            f"%b.at{v} = getelementptr {real}, ptr %b.k, i64 {v * lanes}",
            f"%b{v} = load {vector}, ptr %b.at{v}, align {size}",
        ]
    for r in range(ROWS):
        step += [
            f"%x{r}.at = getelementptr {real}, ptr %a{r}, i64 %k",
            f"%x{r} = load {real}, ptr %x{r}.at, align {size}",
            f"%x{r}.one = insertelement {vector} poison, {real} %x{r}, i32 0",
            f"%x{r}.all = shufflevector {vector} %x{r}.one, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer",
        ]
        step += [
            f"%n{r}.{v} = call {vector} @llvm.fma.v{lanes}f{size * 8}({vector} "
            f"%x{r}.all, {vector} %b{v}, {vector} %t{r}.{v})"
            for v in range(_VECTORS)
        ]
    parts = {
        "ROW_PLACES": row_places, "HEAD": head, "STARTS": starts, "SUMS": phis,
        "STEP": step, "STORES": stores,
    }  # fmt: skip
    text = _TEXT
    for part, lines in parts.items():
        text = text.replace(f"{part}\n", "".join(f"  {line}\n" for line in lines))
    named = {
        "NAME": name, "ROWS": str(ROWS), "COLUMNS": str(_VECTORS * lanes),
        "REAL": real, "VECTOR": vector, "TYPE": f"v{lanes}f{size * 8}",
        "ATTRIBUTES": target().attributes,
    }  # fmt: skip
    for word, meant in named.items():
        text = text.replace(word, meant)
    return text
