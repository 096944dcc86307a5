"""Programs with reductions, run on NumPy arrays: one kernel for dims of any sizes."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.arrays import Array, address, target
from dovetail.codegen.llvm_text import render
from dovetail.codegen.program import (
    ABSENT,
    KEPT,
    REDUCED,
    SPLIT,
    Dims,
    Number,
    Place,
    Program,
    part_of,
)
from dovetail.codegen.row_kernel import NO_HALVES, Halves, RowKernel
from dovetail.codegen.row_places import LANES
from dovetail.dtypes import by_name
from dovetail.errors import NotSupported

GRAIN: Final = 1 << 14  # elements that a thread takes at a time
_REMEMBERED: Final = 1024  # sizes
# Sizes of dims that stay, and two choices of others: no two are alike.
_STAYING: Final = (1_000_003, 1_000_033, 1_000_037, 1_000_039, 1_000_081)
_CHOICES: Final = ((1009, 503, 251, 127, 61), (2003, 997, 499, 241, 113))
_COMBINES: Final[dict[str, np.ufunc]] = {
    "sum": np.add, "amax": np.maximum, "prod": np.multiply,
}  # fmt: skip

Words = list[int]


class Rows:
    """A program on dims, whose numbers may depend on the sizes of those reduced.

    Args:
        name: what it is called in listings.
        pattern: what becomes of each dim, a letter each.
        program: gives it for dims of some sizes; those of dims that stay are made up.
        scalars: how many inputs, the last ones, are numbers of a call.
        short: whether the last dim is shorter than the lanes of a kernel.
        halves: which arrays hold floats of 16 bits; the program has float32 for them.

    Raises:
        NotSupported: it is another one for each size, or kernels do not know a step.
    """

    def __init__(
        self, name: str, pattern: str, program: Callable[[Dims], Program],
        scalars: int = 0, short: bool = False, halves: Halves = NO_HALVES,
    ) -> None:  # fmt: skip
        self.pattern = pattern
        self.program = program
        self.scalars = scalars
        self.halves = halves
        one, other = (program(self._sizes(sizes)) for sizes in _CHOICES)
        self.varying = _differing(one, other)
        self.shape = _without(one, self.varying)
        dtype = halves.inputs.get(0, one.inputs[0])
        self.name = f"{name}_{dtype}_{pattern}"
        self.short = short
        self._numbers: dict[Dims, dict[Place, int] | None] = {}
        self.whole: _Part | None = None
        if SPLIT in pattern:
            self.stages = self._in_stages()
        else:
            self.whole = _Part(
                self, self.shape, pattern, self.varying, results=halves.results
            )

    def _sizes(self, known: Dims) -> Dims:
        """Sizes of all dims, of those that are reduced and some that are made up."""
        return tuple(
            (_STAYING if kind == KEPT else known)[d]
            for d, kind in enumerate(self.pattern)
        )

    def _in_stages(self) -> list[tuple[list[int], _Part]]:
        """A kernel for each stage of reductions, of a program that goes by parts."""
        found, known = [], list[int]()
        for stage in self.shape.stages():
            part, places = part_of(self.shape, stage, known, self.scalars, self.varying)
            found.append((stage, _Part(self, part, self.pattern, places, len(known))))
            known += stage
        self.known = known
        self.last = self._last(known)
        return found

    def _last(self, known: list[int]) -> list[tuple[list[int], _Part]]:
        """Kernels for results that are no reductions: of all elements, and others."""
        reduced = {d for d, kind in enumerate(self.pattern) if kind != KEPT}
        wanted = [x for x, _ in self.shape.results if x not in known]
        full = [x for x in wanted if reduced & set(self.shape.extent(x))]
        single = [x for x in wanted if x not in full]
        without = "".join(k if k == KEPT else "-" for k in self.pattern)
        found = []
        for results, pattern in ((full, self.pattern), (single, without)):
            if results:
                part, places = part_of(
                    self.shape, results, known, self.scalars, self.varying
                )
                of_all = [x for x, _ in self.shape.results]
                halves = {
                    i: self.halves.results[of_all.index(x)]
                    for i, x in enumerate(results)
                    if of_all.index(x) in self.halves.results
                }
                made = _Part(self, part, pattern, places, len(known), halves)
                found.append((results, made))
        return found

    def __call__(
        self, sizes: Dims, given: Sequence[Array | None], numbers: Sequence[Any]
    ) -> list[Array] | None:
        """The results, each with the dims that it has; None for sizes it cannot serve.

        Args:
            given: row-major arrays with the dims that inputs have.
            numbers: the scalars of this call.
        """
        varying = self._numbers_of(sizes)
        if varying is None:
            return None
        if self.whole is not None:
            return self.whole(sizes, given, (), numbers, varying)
        return self._by_parts(sizes, given, numbers, varying)

    def _by_parts(
        self, sizes: Dims, given: Sequence[Array | None], numbers: Sequence[Any],
        varying: dict[Place, int],
    ) -> list[Array]:  # fmt: skip
        """Each stage's reductions of the parts first, then of what they gave."""
        known: dict[int, Array] = {}
        axis = [k for k in self.pattern if k in (KEPT, SPLIT)].index(SPLIT)
        for stage, part in self.stages:
            found = part(sizes, given, list(known.values()), numbers, varying)
            for x, parts in zip(stage, found, strict=True):
                step = self.shape.step(x)
                assert step is not None
                combine = _COMBINES[step.op].reduce
                known[x] = np.asarray(combine(parts, axis, dtype=parts.dtype))
        made = dict(known)
        for wanted, part in self.last:
            found = part(sizes, given, list(known.values()), numbers, varying)
            made |= dict(zip(wanted, found, strict=True))
        dtypes = [by_name(self.halves.results.get(i, d)).numpy
                  for i, (_, d) in enumerate(self.shape.results)]  # fmt: skip
        return [
            made[x].astype(dtype, copy=False)
            for (x, _), dtype in zip(self.shape.results, dtypes, strict=True)
        ]

    def _numbers_of(self, sizes: Dims) -> dict[Place, int] | None:
        """What numbers are that depend on the sizes, as words."""
        if not self.varying:
            return {}
        known = self._sizes(sizes)
        if known not in self._numbers:
            if len(self._numbers) >= _REMEMBERED:
                self._numbers.clear()
            found = self.program(known)
            same = _without(found, self.varying) == self.shape
            self._numbers[known] = self._words(found) if same else None
        return self._numbers[known]

    def _words(self, found: Program) -> dict[Place, int]:
        numbers = {p: found.steps[p[0]].operands[p[1]] for p in self.varying}
        return {p: word(n.dtype, n.value) for p, n in numbers.items()}


class _Call(NamedTuple):
    """What calls with dims of the same sizes have in common.

    Attributes:
        words: that the kernel gets of sizes.
        pieces: of work, and of which a thread takes `grain` at a time.
        outs: shape and dtype of the results.
    """

    words: list[int]
    pieces: int
    grain: int
    outs: list[tuple[Dims, np.dtype[Any]]]


class _Part:
    """A kernel of a program, or of a part of one, with what its words are.

    Args:
        of: the program that it is a part of.
        places: of the numbers that vary, in the part.
        more: how many values of the program are inputs behind the arrays.
        results: those that are floats of 16 bits.
    """

    def __init__(
        self, of: Rows, program: Program, pattern: str,
        places: Sequence[Place | None], more: int = 0,
        results: Mapping[int, str] | None = None,
    ) -> None:  # fmt: skip
        results = results or {}
        halves = Halves(of.halves.inputs, results)
        made_of = (program, pattern, of.scalars, places, of.short, halves)
        form = RowKernel(of.name, *made_of)
        self.run = runtime.kernel(
            form.name, lambda: render(form.kernel(), target()),
            runtime.key_of(*made_of, target()),
        ).run  # fmt: skip
        self.pattern = pattern
        self.arrays = list(form.sources)
        self.calls: dict[Dims, _Call] = {}
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

    def _dims(self, program: Program, x: int) -> tuple[Dims, bool]:
        """The dims of a result, and whether it has one for each part of one of them."""
        extent, step = program.extent(x), program.step(x)
        if self.split and step is not None and step.op in _COMBINES:
            return tuple(sorted({*extent, self.pattern.index(SPLIT)})), True
        return extent, False

    def __call__(
        self, sizes: Dims, given: Sequence[Array | None], more: Sequence[Array],
        numbers: Sequence[Any], varying: dict[Place, int],
    ) -> list[Array]:  # fmt: skip
        call = self.calls.get(sizes)
        if call is None:
            if len(self.calls) >= _REMEMBERED:
                self.calls.clear()
            call = self.calls[sizes] = self._call_of(sizes)
        outs = [np.empty(shape, dtype) for shape, dtype in call.outs]
        arrays: Any = [*given, *more]
        table = [address(arrays[i]) for i in self.arrays]
        table += [address(y) for y in outs]
        table += call.words
        if self.numbers:
            table += [word(str(d), numbers[i]) for i, d in self.numbers]
        if self.places:
            table += [varying[p] for p in self.places]
        held = (ctypes.c_int64 * len(table))(*table)
        self.run(ctypes.addressof(held), call.pieces, call.grain)
        return outs

    def _call_of(self, sizes: Dims) -> _Call:
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
        return _Call(words, pieces, max(GRAIN * pieces // each, 1), outs)


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


_PART: Final = 1 << 13  # elements
_PARTS: Final = 256  # of a dim that is not the last: they are added one by one


def word(dtype: str, number: Any) -> int:
    """A number as a word of a table, in the dtype that it has in the kernel."""
    return int.from_bytes(np.dtype(dtype).type(number).tobytes(), "little")


def _differing(one: Program, other: Program) -> tuple[Place, ...]:
    """The places of numbers in which two programs differ.

    Raises:
        NotSupported: they differ in other things.
    """
    found = [
        (s, o)
        for s, (a, b) in enumerate(zip(one.steps, other.steps, strict=False))
        for o, (x, y) in enumerate(zip(a.operands, b.operands, strict=False))
        if isinstance(x, Number) and isinstance(y, Number) and x != y
    ]
    places = tuple(found)
    if _without(one, places) != _without(other, places):
        raise NotSupported("kernel", was="other steps for other sizes of dims")
    return places


def _without(program: Program, places: tuple[Place, ...]) -> Program:
    """A program but for the values of some numbers."""
    steps = list(program.steps)
    for s, o in places:
        given = list(steps[s].operands)
        if isinstance(given[o], Number):
            given[o] = given[o]._replace(value=None)
        steps[s] = steps[s]._replace(operands=tuple(given))
    return program._replace(steps=tuple(steps))
