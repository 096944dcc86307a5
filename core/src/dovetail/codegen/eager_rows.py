"""Programs on rows, run on NumPy arrays: one kernel for rows of any length."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.eager import Array, address, target, words_of
from dovetail.codegen.llvm_text import render
from dovetail.codegen.program import FULL, ONE, Number, Program
from dovetail.codegen.row_kernel import BLOCK, RowKernel
from dovetail.errors import NotSupported

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time
_LENGTHS: Final = (1009, 2003)  # of rows on which programs are compared
_REMEMBERED: Final = 1024  # lengths of rows


class Rows:
    """A program on rows, whose numbers may depend on how long rows are.

    Args:
        name: what it is called in listings.
        program: gives it for rows of so many lanes.

    Raises:
        NotSupported: it is another one for each length, or kernels do not know a step.
    """

    def __init__(self, name: str, program: Callable[[int], Program]) -> None:
        self.program = program
        one, other = map(program, _LENGTHS)
        self.varying = _differing(one, other)
        self.shape = _without(one, self.varying)
        self.results = [
            (np.dtype(d), not isinstance(x, Number) and _extent(one, x) == FULL)
            for x, d in one.results
        ]
        self.scalars = [
            str(d)
            for d, e in zip(one.inputs, one.extents, strict=True)
            if d is not None and e == ONE
        ]
        self._numbers: dict[int, list[int] | None] = {}
        form = RowKernel(f"{name}_{one.inputs[0]}_rows", one, self.varying).kernel()
        self._run = runtime.kernel(form.name, render(form, target())).run

    def __call__(
        self, rows: int, lanes: int, given: Sequence[Array], scalars: Sequence[Any]
    ) -> list[Array] | None:
        """The results, [rows, lanes] or [rows]; None for rows it cannot serve.

        Args:
            given: row-major arrays, as many elements as the extents of inputs say.
        """
        numbers = self._numbers_of(lanes)
        if numbers is None:
            return None
        outs = [
            np.empty((rows, lanes) if full else (rows,), dtype)
            for dtype, full in self.results
        ]
        table = [*map(address, given), *map(address, outs), lanes, -(-lanes // BLOCK)]
        table += [*words_of(self.scalars, scalars), *numbers]
        words = (ctypes.c_int64 * len(table))(*table)
        self._run(ctypes.addressof(words), rows, max(_GRAIN // lanes, 1))
        return outs

    def _numbers_of(self, lanes: int) -> list[int] | None:
        """What numbers are that depend on the length of rows, as words."""
        if not self.varying:
            return []
        if lanes not in self._numbers:
            if len(self._numbers) >= _REMEMBERED:
                self._numbers.clear()
            found = self.program(lanes)
            same = _without(found, self.varying) == self.shape
            self._numbers[lanes] = self._words(found) if same else None
        return self._numbers[lanes]

    def _words(self, found: Program) -> list[int]:
        numbers = [found.steps[s].operands[o] for s, o in self.varying]
        return words_of([n.dtype for n in numbers], [n.value for n in numbers])


def _extent(program: Program, at: int) -> str:
    inputs = len(program.inputs)
    return (
        str(program.extents[at]) if at < inputs else program.steps[at - inputs].extent
    )


def _differing(one: Program, other: Program) -> tuple[tuple[int, int], ...]:
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
        raise NotSupported("kernel", was="other steps for other lengths of rows")
    return places


def _without(program: Program, places: tuple[tuple[int, int], ...]) -> Program:
    """A program but for the values of some numbers."""
    steps = list(program.steps)
    for s, o in places:
        given = list(steps[s].operands)
        if isinstance(given[o], Number):
            given[o] = given[o]._replace(value=None)
        steps[s] = steps[s]._replace(operands=tuple(given))
    return program._replace(steps=tuple(steps))
