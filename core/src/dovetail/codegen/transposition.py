"""Transposed copies: square tiles that are turned in registers.

Elements are moved as bits, so there is a kernel for each size of an element. It copies
stripes: as many rows of the result as a tile has, side by side in the source.
"""

from __future__ import annotations

from typing import Final

from dovetail.codegen.llvm_target import Target

WORDS: Final = (
    "source", "result", "height", "width", "source_step", "result_step", "stripes",
    "inner", "source_outer", "source_inner", "result_outer", "result_inner",
)  # fmt: skip
"""What a kernel gets: two addresses; how many rows and columns the result has; from
column to column of the source, and from row to row of the result, in elements; how many
stripes there are; then how many matrices there are in each group of matrices, and from
group to group and matrix to matrix of both."""

_MOST: Final = 16  # rows of a tile: what registers hold


def side(itemsize: int, target: Target) -> int:
    """Rows and columns of a tile."""
    return min(_MOST, target.vector // itemsize)


def render(name: str, itemsize: int, target: Target) -> str:
    """A module with the kernel `name(table, first, last)`: stripes of matrices."""
    return _Writer(name, itemsize, target).text()


class _Writer:
    """Writes one kernel."""

    def __init__(self, name: str, itemsize: int, target: Target) -> None:
        self.name = name
        self.target = target
        self.side = side(itemsize, target)
        self.element = f"i{8 * itemsize}"
        self.vector = f"<{self.side} x {self.element}>"
        self.itemsize = itemsize
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        """The module."""
        for at, word in enumerate(WORDS):
            kind = "ptr" if at < 2 else "i64"
            place = self.named(f"getelementptr i64, ptr %table, i64 {at}")
            self.emit(f"%{word} = load {kind}, ptr {place}, align 8")
        self.emit("br label %next")
        self._stripe()
        head = f"define void @{self.name}(ptr %table, i64 %first, i64 %last) #0 {{"
        attributes = self.target.attributes
        return "\n".join([head, "entry:", *self.lines, "}", attributes, ""])

    def emit(self, line: str) -> None:
        """Write an instruction."""
        self.lines.append(f"  {line}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def named(self, text: str) -> str:
        """Write an instruction that has a result; the name of it."""
        self.count += 1
        self.emit(f"%t{self.count} = {text}")
        return f"%t{self.count}"

    def _stripe(self) -> None:
        """All stripes. The last tile of a row, and of a column, may begin within the
        one before: what both write is the same.
        """
        self.label("next")
        self.emit("%item = phi i64 [ %first, %entry ], [ %item_after, %done ]")
        self.emit("%more = icmp slt i64 %item, %last")
        self.emit("br i1 %more, label %stripe, label %end")
        self.label("stripe")
        self._places()
        self._first_step()
        self.emit("br label %tiles")
        self.label("tiles")
        self.emit("%column = phi i64 [ 0, %stripe ], [ %column_after, %tile ]")
        self.emit("%in_row = icmp slt i64 %column, %width")
        self.emit("br i1 %in_row, label %tile, label %done")
        self.label("tile")
        self._tile(self._at_most("%column", "%width"))
        self.emit("%at_first = icmp eq i64 %column, 0")
        step = self.named(f"select i1 %at_first, i64 %first_step, i64 {self.side}")
        self.emit(f"%column_after = add i64 %column, {step}")
        self.emit("br label %tiles")
        self.label("done")
        self.emit("%item_after = add i64 %item, 1")
        self.emit("br label %next")
        self.label("end")
        self.emit("ret void")

    def _at_most(self, at: str, extent: str) -> str:
        """Where a tile begins so that it ends within an extent."""
        last = self.named(f"sub i64 {extent}, {self.side}")
        before = self.named(f"icmp slt i64 {at}, {last}")
        return self.named(f"select i1 {before}, i64 {at}, i64 {last}")

    def _first_step(self) -> None:
        """From the first tile to one whose rows begin where lines of the cache may do:
        lines that are written in two parts are fetched twice.
        """
        place = self.named("ptrtoint ptr %result_at to i64")
        missing = self.named(f"sub i64 0, {place}")
        within = self.named(f"and i64 {missing}, {self.side * self.itemsize - 1}")
        step = self.named(f"udiv i64 {within}, {self.itemsize}")
        there = self.named(f"icmp eq i64 {step}, 0")
        self.emit(f"%first_step = select i1 {there}, i64 {self.side}, i64 {step}")

    def _places(self) -> None:
        """Where a stripe begins in the source and in the result."""
        self.emit("%matrix = sdiv i64 %item, %stripes")
        stripe = self.named("srem i64 %item, %stripes")
        row = self._at_most(self.named(f"mul i64 {stripe}, {self.side}"), "%height")
        group = self.named("sdiv i64 %matrix, %inner")
        number = self.named("srem i64 %matrix, %inner")
        for what, row_step in (("source", "1"), ("result", "%result_step")):
            a = self.named(f"mul i64 {group}, %{what}_outer")
            b = self.named(f"mul i64 {number}, %{what}_inner")
            c = self.named(f"mul i64 {row}, {row_step}")
            at = self.named(f"add i64 {self.named(f'add i64 {a}, {b}')}, {c}")
            self.emit(
                f"%{what}_at = getelementptr {self.element}, ptr %{what}, i64 {at}"
            )

    def _tile(self, column: str) -> None:
        begin = self.named(f"mul i64 {column}, %source_step")
        place = self._beside("%source_at", begin)
        rows = []
        for i in range(self.side):
            if i:
                place = self._beside(place, "%source_step")
            rows.append(
                self.named(f"load {self.vector}, ptr {place}, align {self.itemsize}")
            )
        place = self._beside("%result_at", column)
        for i, row in enumerate(self._turned(rows)):
            if i:
                place = self._beside(place, "%result_step")
            self.emit(f"store {self.vector} {row}, ptr {place}, align {self.itemsize}")

    def _beside(self, place: str, step: str) -> str:
        return self.named(f"getelementptr {self.element}, ptr {place}, i64 {step}")

    def _turned(self, rows: list[str]) -> list[str]:
        """The columns of a tile: quarters change places, then quarters of these."""
        step = self.side // 2
        while step:
            turned = list(rows)
            for i in range(self.side):
                if not i & step:
                    turned[i] = self._mixed(rows[i], rows[i + step], step, 0)
                    turned[i + step] = self._mixed(rows[i], rows[i + step], step, step)
            rows = turned
            step //= 2
        return rows

    def _mixed(self, a: str, b: str, step: int, start: int) -> str:
        """Of each two groups of `step` lanes the first, or second, of `a` and `b`."""
        lanes = range(self.side)
        of_b = [self.side if lane & step else 0 for lane in lanes]
        picked = [(lane & ~step) + start + of_b[lane] for lane in lanes]
        mask = ", ".join(f"i32 {lane}" for lane in picked)
        kind = f"<{self.side} x i32>"
        return self.named(
            f"shufflevector {self.vector} {a}, {self.vector} {b}, {kind} <{mask}>"
        )
