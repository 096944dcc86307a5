"""Programs that write in place, for lists of arrays: one kernel, and one call of it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.eager import Array, address, target
from dovetail.codegen.in_place_form import InPlaceForm
from dovetail.codegen.llvm_text import render
from dovetail.codegen.program import Program

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time
_MOST: Final = 512  # pieces of one array; larger ones have larger pieces

# The kernel for each row of a list: (address of the arguments, first, last).
_EACH: Final = """
define void @NAME_each(ptr %rows, i64 %low, i64 %high) {
entry:
  %any = icmp slt i64 %low, %high
  br i1 %any, label %row, label %end
row:
  %i = phi i64 [ %low, %entry ], [ %next, %row ]
  %place = mul i64 %i, 3
  %arguments.at = getelementptr i64, ptr %rows, i64 %place
  %first.at = getelementptr i64, ptr %arguments.at, i64 1
  %last.at = getelementptr i64, ptr %arguments.at, i64 2
  %arguments = load ptr, ptr %arguments.at
  %first = load i64, ptr %first.at
  %last = load i64, ptr %last.at
  call void @NAME(ptr %arguments, i64 %first, i64 %last)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %high
  br i1 %more, label %row, label %end
end:
  ret void
}
"""


class InPlace(InPlaceForm):
    """A program on elements that writes some of its inputs; see `InPlaceForm`."""

    def __init__(
        self, name: str, program: Program, written: Sequence[int], numbers: int
    ) -> None:
        super().__init__(name, program, written, numbers)
        self._dtype = np.dtype(program.inputs[self.given[0]])
        self._spare: list[_Sheet] = []  # of calls that are over: a list's pop is whole
        text = render(self.form, target()) + _EACH.replace("NAME", self.form.name)
        self._run = runtime.kernel(f"{self.form.name}_each", text).run

    def __call__(
        self, lists: Sequence[Sequence[Array]], numbers: Sequence[float]
    ) -> bool:
        """Write what the program computes of the first arrays, the second ones, ...

        Args:
            lists: row-major arrays for each input that is there; those of one place
                have the same size.
            numbers: of this call.

        Returns: whether it did; not where some memory is in two of the arrays.
        """
        sizes = [a.size for a in lists[0]]
        places = [list(map(address, arrays)) for arrays in lists]
        sheet = self._spare.pop() if self._spare else None
        if sheet is None or sheet.sizes != sizes:
            sheet = _Sheet(sizes, len(lists) + len(numbers))
        if sheet.places != places:
            if self._overlap(places, sizes):
                return False
            sheet.places = places
            sheet.table[: len(lists)] = places
        if numbers:
            sheet.table[len(lists) :] = self._words(numbers)
        if sheet.count:
            self._run(sheet.rows, sheet.count, 1, whole=True)
        self._spare.append(sheet)
        return True

    def _words(self, numbers: Sequence[float]) -> Array:
        """Numbers as the kernel reads them, a row each, in the dtype of the arrays."""
        words = np.zeros((len(numbers), 1), np.uint64)
        words.view(self._dtype)[:, 0] = numbers
        return words

    def _overlap(self, places: list[list[int]], sizes: list[int]) -> bool:
        """Whether some memory is in two of the arrays."""
        width = self._dtype.itemsize
        spans = sorted([
            (low, low + size * width)
            for lows in places for low, size in zip(lows, sizes, strict=True) if size
        ])  # fmt: skip
        return any(low < end for (_, end), (low, _) in pairwise(spans))


class _Sheet:
    """The arguments for arrays of some sizes, and their pieces; for one call at a time.

    Args:
        sizes: elements of each array.
        words: how many arguments each array's kernel gets.
    """

    def __init__(self, sizes: list[int], words: int) -> None:
        self.sizes = sizes
        self.places: list[list[int]] = []
        # An array's arguments lie side by side; they are written a row for all.
        memory = np.zeros((len(sizes), words), np.uint64)
        self.table = memory.T
        rows: list[int] = []
        for i, size in enumerate(sizes):
            rows += _pieces(address(memory) + i * memory.strides[0], size)
        self._held = (ctypes.c_int64 * len(rows))(*rows)
        self.rows, self.count = ctypes.addressof(self._held), len(rows) // 3


def _pieces(arguments: int, size: int) -> Iterator[int]:
    """The pieces of an array, three words each."""
    grain = max(_GRAIN, -(-size // _MOST))
    for first in range(0, size, grain):
        yield from (arguments, first, min(first + grain, size))
