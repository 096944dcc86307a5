"""Programs with reductions, run on NumPy arrays: one kernel for dims of any sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from dovetail.codegen.arrays import Array
from dovetail.codegen.program import (
    KEPT,
    REDUCED,
    SPLIT,
    Dims,
    Number,
    Place,
    Program,
    Step,
    part_of,
)
from dovetail.codegen.row_calls import RowCalls, Serve, word
from dovetail.codegen.row_kernel import NO_HALVES, Halves
from dovetail.dtypes import by_name
from dovetail.errors import NotSupported

_REMEMBERED: Final = 1024  # sizes
# Sizes of dims that stay, and two choices of others: no two are alike.
_STAYING: Final = (1_000_003, 1_000_033, 1_000_037, 1_000_039, 1_000_081)
_CHOICES: Final = ((1009, 503, 251, 127, 61), (2003, 997, 499, 241, 113))


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
        self._by_parts: dict[Dims, Serve] = {}
        self.whole: RowCalls | None = None
        if SPLIT in pattern:
            self.stages = self._in_stages()
        else:
            self.whole = self.calls(
                self.shape, pattern, self.varying, results=halves.results
            )

    def calls(self, *args: Any, **options: Any) -> RowCalls:
        """The kernel of a program, or of a part of one; see `RowCalls`."""
        return RowCalls(self, *args, **options)

    def _sizes(self, known: Dims) -> Dims:
        """Sizes of all dims, of those that are reduced and some that are made up."""
        return tuple(
            (_STAYING if kind == KEPT else known)[d]
            for d, kind in enumerate(self.pattern)
        )

    def _in_stages(self) -> list[tuple[list[int], RowCalls]]:
        """A kernel for each stage of reductions, of a program that goes by parts."""
        found, known = [], list[int]()
        for stage in self.shape.stages():
            part, places = part_of(self.shape, stage, known, self.scalars, self.varying)
            found.append((stage, self.calls(part, self.pattern, places)))
            known += stage
        self.known = known
        self.last = self._last(known)
        return found

    def _last(self, known: list[int]) -> list[tuple[list[int], RowCalls]]:
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
                made = self.calls(part, pattern, places, halves)
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
        serve = self.serving(sizes)
        return None if serve is None else serve(given, numbers)

    def serving(self, sizes: Dims) -> Serve | None:
        """What serves dims of these sizes, given arrays and numbers; None for nothing.

        It knows all that calls have in common, so that a call takes little time.
        """
        varying = self._numbers_of(sizes)
        if varying is None:
            return None
        if self.whole is not None:
            return self.whole.serving(sizes, varying)
        found = self._by_parts.get(sizes)
        if found is None:
            if len(self._by_parts) >= _REMEMBERED:
                self._by_parts.clear()
            found = self._by_parts[sizes] = self._serving(sizes, varying)
        return found

    def _serving(self, sizes: Dims, varying: dict[Place, int]) -> Serve:
        """Each stage's reductions of the parts first, then of what they gave."""
        stages = []
        for stage, part in self.stages:
            by_parts = zip(stage, part.shapes(sizes), strict=True)
            combining = [self._combining(x, shape) for x, shape in by_parts]
            stages.append((stage, part.serving(sizes, varying), combining))
        last = [(wanted, part.serving(sizes, varying)) for wanted, part in self.last]
        results = [
            (x, by_name(self.halves.results.get(i, d)).numpy)
            for i, (x, d) in enumerate(self.shape.results)
        ]

        def serve(given: Sequence[Array | None], numbers: Sequence[Any]) -> list[Array]:
            made: dict[int, Array] = {}
            for stage, parts_of, combining in stages:
                parts = parts_of([*given, *made.values()], numbers)
                for x, combine, part in zip(stage, combining, parts, strict=True):
                    (made[x],) = combine((part,), ())
            known = [*given, *made.values()]
            for wanted, serve_last in last:
                made |= zip(wanted, serve_last(known, numbers), strict=True)
            return [made[x].astype(dtype, copy=False) for x, dtype in results]

        return serve

    def _combining(self, x: int, shape: Dims) -> Serve:
        """What makes one of a reduction's parts, which have this shape."""
        step = self.shape.step(x)
        assert step is not None
        split = self.pattern.index(SPLIT)
        there = sorted({*step.extent, split})
        pattern = "".join(REDUCED if d == split else KEPT for d in there)
        serve = _combined(step.op, step.dtype, pattern).serving(shape)
        assert serve is not None
        return serve

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


@cache
def _combined(op: str, dtype: str, pattern: str) -> Rows:
    """What reduces parts, which lie along one dim, to one; the same for all ops."""
    dims = tuple(range(len(pattern)))
    kept = tuple(d for d in dims if pattern[d] == KEPT)
    step = Step(op, (0,), dtype, kept)
    program = Program((dtype,), (step,), ((1, dtype),), (dims,))
    return Rows(f"parts_{op}", pattern, lambda _: program)


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


__all__ = ["Rows", "Serve"]
