"""Pointwise programs on NumPy arrays: a kernel for each way in which operands lie."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.arrays import Array, address, target
from dovetail.codegen.eager_copy import transposed
from dovetail.codegen.layout import (
    RUN,
    Ints,
    Layout,
    is_row_major,
    layout_of,
    order_of,
)
from dovetail.codegen.llvm_text import render
from dovetail.codegen.pointwise_form import PointwiseForm
from dovetail.codegen.program import Program
from dovetail.codegen.runtime.launch import EACH, Launch, launching

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time
_WORDS: Final = 1024  # that are remembered
_REMEMBERED: Final = 256  # ways in which operands lie, and numbers of calls


class Pointwise(PointwiseForm):
    """A program of one result on NumPy arrays; see `PointwiseForm`."""

    def __init__(
        self, name: str, program: Program, scalars: int = 0,
        stored: Sequence[str | None] = (), result: str = "",
    ) -> None:  # fmt: skip
        super().__init__(name, program, scalars, stored, result)
        self._kernels: dict[Any, runtime.Kernel] = {}
        # Whether kernels know the program is to be known at once.
        self._flat = self.kernel((RUN,) * len(self.given), rows=False)
        self._launches: dict[Ints, Launch | None] = {}
        self._calls: dict[Any, _Call | _Nothing | None] = {}
        self._words: dict[Any, tuple[Ints, Launch | None]] = {}
        self._plain = self._launch(())

    def __call__(self, *operands: Any, scalars: Sequence[Any] = ()) -> Array | None:
        """The result; None where it would lie in an order of its own.

        Args:
            operands: arrays of the dtypes of the inputs, or None for those left out.
            scalars: the numbers of this call.
        """
        given = [a for a in operands if a is not None]
        numbers: Ints = ()
        launch = self._plain
        if scalars:
            numbers, launch = self._with(tuple(scalars))
        shape = given[0].shape
        for a in given:
            if a.shape != shape:
                break
        else:
            if launch is not None:
                y = np.empty(shape, self.dtype)
                if launch(*given, y):
                    return y
        return self._laid_out(given, numbers)

    def _with(self, scalars: tuple[Any, ...]) -> tuple[Ints, Launch | None]:
        """The numbers of a call as words, and what runs the kernel with them."""
        found = None if 0 in scalars else self._words.get(scalars)  # zeros have signs
        if found is None:
            numbers = tuple(words_of(self.scalars, scalars))
            found = numbers, self._launch(numbers)
            if len(self._words) >= _REMEMBERED:
                self._words.clear()
            if 0 not in scalars:
                self._words[scalars] = found
        return found

    def _launch(self, numbers: Ints) -> Launch | None:
        """What runs the kernel of arrays that lie alike, with numbers as words."""
        if numbers not in self._launches:
            if len(self._launches) >= _REMEMBERED:
                self._launches.clear()
            count = len(self.given)
            words = (*(1,) * count, *numbers)
            made = launching(self._flat, count + 1, words, EACH, _GRAIN)
            self._launches[numbers] = made
        return self._launches[numbers]

    def _laid_out(self, given: list[Array], numbers: Ints) -> Array | None:
        """The result for operands that are repeated, or lie otherwise."""
        key = numbers, *[(a.shape, a.strides) for a in given]
        try:
            call = self._calls[key]
        except KeyError:
            if len(self._calls) >= _REMEMBERED:
                self._calls.clear()
            call = self._calls[key] = self._call(given, numbers)
        return None if call is None else call(given, self.dtype)

    def _call(self, given: list[Array], numbers: Ints) -> _Call | _Nothing | None:
        """What calls with such operands do; None where NumPy's order is another."""
        shape = np.broadcast_shapes(*[a.shape for a in given])
        if 0 in shape:
            return _Nothing(shape)
        spread = turned = [np.broadcast_to(a, shape) for a in given]
        order, back = None, None
        if not is_row_major(shape, [_steps(a) for a in spread]):
            order = order_of(shape, [_steps(a) for a in spread])
            if order is None:
                return None
            back = tuple(map(int, np.argsort(order)))
            turned = [a.transpose(order) for a in spread]
        lying = turned[0].shape
        layout = layout_of(lying, [_steps(a) for a in turned], blocks=True)
        copies = layout is None
        if layout is None:
            layout = layout_of(lying, [_steps(np.empty(lying, np.int8))] * len(given))
        assert layout is not None
        kernel = self.kernel(layout.kinds, layout.rows > 1, layout.inner > 0)
        work = kernel, (*layout.words, *numbers), *_pieces(layout)
        launch = launching(kernel, len(given) + 1, *work[1:])
        return _Call(shape, lying, order, back, copies, work, launch)

    def kernel(
        self, kinds: tuple[str, ...], rows: bool, blocks: bool = False
    ) -> runtime.Kernel:
        """Machine code for operands that lie so; compiled when it is new."""
        key = kinds, rows, blocks
        found = self._kernels.get(key)
        if found is None:
            facts = (self.program, self.dtypes, self.result, target())
            found = self._kernels[key] = runtime.kernel(
                self.kernel_name(kinds, rows, blocks),
                lambda: render(self.form(kinds, rows, blocks), target()),
                runtime.key_of(*facts),
            )
        return found


class _Nothing(NamedTuple):
    """A call of no elements, whose result has a shape all the same."""

    shape: Ints

    def __call__(self, given: list[Array], dtype: np.dtype[Any]) -> Array:
        """The result."""
        return np.empty(self.shape, dtype)


class _Call(NamedTuple):
    """What is the same in all calls of a program whose operands lie so.

    Attributes:
        shape: of the result.
        lying: the same in the order in which dims lie in memory.
        order, back: which dims these are, and where they go; None as they are.
        copies: whether the kernel gets row-major copies of operands.
        work: a kernel, its words behind the addresses, how many pieces there are, and
            how many a thread takes at a time.
        launch: what does it, where there is such a builtin.
    """

    shape: Ints
    lying: Ints
    order: Ints | None
    back: Ints | None
    copies: bool
    work: tuple[runtime.Kernel, Ints, int, int]
    launch: Launch | None

    def __call__(self, given: list[Array], dtype: np.dtype[Any]) -> Array:
        """The result of operands that lie so."""
        if self.copies:
            given = list(map(self._copied, given))
        y = np.empty(self.lying, dtype)
        if self.launch is None or not self.launch(*given, y):
            kernel, words, pieces, grain = self.work
            table = [*map(address, given), address(y), *words]
            memory = (ctypes.c_int64 * len(table))(*table)
            kernel.run(ctypes.addressof(memory), pieces, grain)
        return y if self.back is None else y.transpose(self.back)

    def _copied(self, a: Array) -> Array:
        """An operand as it lies in a row-major copy of all of its elements."""
        if a.shape == self.shape:
            return _row_major(a if self.order is None else a.transpose(self.order))
        made = np.empty(self.lying, a.dtype)
        seen = made if self.back is None else made.transpose(self.back)
        seen[...] = a  # which takes a tenth of the time that `broadcast_to` takes
        return made


def _row_major(a: Array) -> Array:
    """The array, copied if it lies otherwise."""
    if a.flags.c_contiguous:
        return a
    y = transposed(a)
    return np.ascontiguousarray(a) if y is None else y


def _steps(a: Array) -> tuple[int, ...]:
    """Strides in elements."""
    return tuple([s // a.itemsize for s in a.strides])


def _pieces(layout: Layout) -> tuple[int, int]:
    """How many pieces of work there are, and how many a thread takes at a time."""
    if layout.rows == 1:
        return layout.lanes, _GRAIN
    return layout.rows, max(_GRAIN // layout.lanes, 1)


_CODES: Final = {"float32": "<f", "float64": "<d"}


def words_of(dtypes: Sequence[str], numbers: Sequence[Any]) -> list[int]:
    """Numbers as words of a table, each in the dtype that it has in the kernel."""
    # Equal zeros of two signs are two numbers.
    return [
        _word(d, x, math.copysign(1, x)) for d, x in zip(dtypes, numbers, strict=True)
    ]


@lru_cache(_WORDS)
def _word(dtype: str, number: Any, sign: float) -> int:
    """A number as the dtype has it; beyond its range infinite, as elsewhere."""
    rounded = float(np.dtype(dtype).type(number))
    return int.from_bytes(struct.pack(_CODES[dtype], rounded), "little")


__all__ = ["Array", "Pointwise", "address", "target", "words_of"]
