"""One kernel of a program on dims, called on NumPy arrays of any sizes."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.arrays import Array, address, target
from dovetail.codegen.llvm_text import render
from dovetail.codegen.program import (
    ABSENT,
    KEPT,
    REDUCED,
    REDUCTIONS,
    SPLIT,
    Dims,
    Place,
    Program,
)
from dovetail.codegen.row_kernel import Halves, RowKernel
from dovetail.codegen.row_places import LANES
from dovetail.codegen.runtime.launch import Launch, launching
from dovetail.dtypes import by_name

if TYPE_CHECKING:
    from dovetail.codegen.eager_rows import Rows

GRAIN: Final = 1 << 14  # elements that a thread takes at a time
_LARGE_GRAIN: Final = 1 << 16  # where there are many: each chunk costs its fetching
_CHUNKS: Final = 8  # at least, so that threads that are held up keep few
_REMEMBERED: Final = 1024  # sizes
_NUMBERS: Final = 16  # of calls
_PART: Final = 1 << 13  # elements
_PARTS: Final = 256  # of a dim that is not the last: they are added one by one

Serve = Callable[[Sequence[Any], Sequence[Any]], list[Array]]


class RowCalls:
    """A kernel of a program, or of a part of one, with what its words are.

    Args:
        of: the program that it is a part of.
        places: of the numbers that vary, in the part.
        results: those that are floats of 16 bits.
    """

    def __init__(
        self, of: Rows, program: Program, pattern: str,
        places: Sequence[Place | None], results: Mapping[int, str] | None = None,
    ) -> None:  # fmt: skip
        results = results or {}
        halves = Halves(of.halves.inputs, results)
        made_of = (program, pattern, of.scalars, places, of.short, halves)
        form = RowKernel(of.name, *made_of)
        self.of = of
        self.kernel = self.compiled(form, made_of)
        self.pattern = pattern
        self.arrays = list(form.sources)
        self.calls: dict[Dims, Serve] = {}
        self.numbers = [
            (i, d) for i, d in enumerate(program.inputs[form.arrays :]) if d is not None
        ]
        self.places = [
            p for p, here in zip(of.varying, places, strict=True) if here is not None
        ]
        self.across = form.across
        self.split = SPLIT in pattern
        self.results = [
            (by_name(results.get(i, d)).numpy, *self._dims(program, x))
            for i, (x, d) in enumerate(program.results)
        ]

    def compiled(self, form: RowKernel, made_of: tuple[Any, ...]) -> Any:
        """Machine code of a form, which is known by what it is made of."""
        return runtime.kernel(
            form.name, lambda: render(form.kernel(), target()),
            runtime.key_of(*made_of, target()),
        )  # fmt: skip

    def _dims(self, program: Program, x: int) -> tuple[Dims, bool]:
        """The dims of a result, and whether it has one for each part of one of them."""
        extent, step = program.extent(x), program.step(x)
        if self.split and step is not None and step.op in REDUCTIONS:
            return tuple(sorted({*extent, self.pattern.index(SPLIT)})), True
        return extent, False

    def serving(self, sizes: Dims, varying: dict[Place, int]) -> Serve:
        """What serves dims of these sizes.

        Args:
            varying: numbers that depend on the sizes alone, as words.
        """
        found = self.calls.get(sizes)
        if found is None:
            if len(self.calls) >= _REMEMBERED:
                self.calls.clear()
            found = self.calls[sizes] = self._serving(sizes, varying)
        return found

    def _serving(self, sizes: Dims, varying: dict[Place, int]) -> Serve:
        words, pieces, grain, outs = self._work(sizes)
        sources, numbers, run = self.arrays, self.numbers, self.kernel.run
        last = [varying[p] for p in self.places]
        empty, arrays = np.empty, len(sources) + len(outs)
        plain = not numbers and len(outs) == 1 and sources == [0]
        launches: dict[tuple[int, ...], Launch | None] = {}

        def launch_with(own: tuple[int, ...]) -> Launch | None:
            if len(launches) >= _NUMBERS:
                launches.clear()
            behind = (*words, *own, *last)
            made = launching(self.kernel, arrays, behind, pieces, grain)
            launches[own] = made
            return made

        def serve(given: Sequence[Any], scalars: Sequence[Any]) -> list[Array]:
            made = [empty(shape, dtype) for shape, dtype in outs]
            held = [*[given[i] for i in sources], *made]
            own = tuple([word(d, scalars[i]) for i, d in numbers]) if numbers else ()
            launch = launches[own] if own in launches else launch_with(own)
            if launch is None or not launch(*held):
                table = [*map(address, held), *words, *own, *last]
                memory = (ctypes.c_int64 * len(table))(*table)
                run(ctypes.addressof(memory), pieces, grain)
            return made

        if not plain or (always := launch_with(())) is None:
            return serve
        ((shape, dtype),) = outs

        def serve_plain(given: Sequence[Any], scalars: Sequence[Any]) -> list[Array]:
            y = empty(shape, dtype)
            return [y] if always(given[0], y) else serve(given, scalars)

        return serve_plain

    def shapes(self, sizes: Dims) -> list[Dims]:
        """The shapes of the results."""
        return [shape for shape, _ in self._work(sizes)[-1]]

    def _work(
        self, sizes: Dims
    ) -> tuple[list[int], int, int, list[tuple[Dims, np.dtype[Any]]]]:
        """Words of sizes, pieces of work, how many a thread takes, and the results."""
        length = part_length(self.pattern, sizes)
        by_part, words = list(sizes), list(sizes)
        pieces = each = 1
        for d, kind in enumerate(self.pattern):
            each *= sizes[d] if kind != ABSENT else 1
            if kind == SPLIT:
                parts = -(-sizes[d] // length)
                words += [length, parts]
                pieces *= parts
                by_part[d] = parts
            elif kind == KEPT:
                pieces *= sizes[d]
        if self.across:
            last = self.pattern.rindex(KEPT)
            tiles = -(-sizes[last] // LANES)
            words.append(tiles)
            pieces = pieces // sizes[last] * tiles
        outs = [
            (tuple((by_part if is_part else sizes)[d] for d in dims), dtype)
            for dtype, dims, is_part in self.results
        ]
        grain = min(max(GRAIN, each // _CHUNKS), _LARGE_GRAIN)
        return words, pieces, max(grain * pieces // each, 1), outs


def part_length(pattern: str, sizes: Dims) -> int:
    """How many elements of a dim that is split make a part; 0 where none is."""
    split = pattern.find(SPLIT)
    if split < 0:
        return 0
    lanes = min(sizes[-1], LANES) if pattern[-1] == KEPT else 1
    others = math.prod(n for n, k in zip(sizes, pattern, strict=True) if k == REDUCED)
    length = max(_PART // (lanes * others), 1)
    if split == len(sizes) - 1:
        return max(length, LANES)
    return max(length, -(-sizes[split] // _PARTS))


def word(dtype: str, number: Any) -> int:
    """A number as a word of a table, in the dtype that it has in the kernel."""
    return _word(dtype, number, math.copysign(1, number))


@lru_cache(_REMEMBERED)
def _word(dtype: str, number: Any, sign: float) -> int:
    """The same; equal zeros of two signs are two numbers."""
    return int.from_bytes(np.dtype(dtype).type(number).tobytes(), "little")
