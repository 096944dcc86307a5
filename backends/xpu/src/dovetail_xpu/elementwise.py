"""Kernels of one result an element, from operands that lie in any way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
from dovetail.codegen.ir import Buffer, Kernel, Store
from dovetail.codegen.lanes import (
    Layout,
    lane,
    lane_kernel,
    offsets,
    parameters,
    placed,
)
from dovetail.codegen.layout import RUN
from dovetail.codegen.values import Term, load, parameter
from dovetail.dtypes import DType
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import Ints, XpuArray, row_major
from dovetail_xpu.numbers import Number

Make = Callable[..., Term]
_REMEMBERED: Final = 1024  # layouts


class Plan(NamedTuple):
    """What serves operands that lie in one way, and the words that say how they do.

    Attributes:
        read, given: the operands that are read from memory, and those that are numbers.
    """

    shape: Ints
    kernel: Launchable
    words: list[int]
    count: int
    read: Ints
    given: Ints

    def words_of(
        self, arrays: Sequence[XpuArray], out: XpuArray, numbers: Sequence[int]
    ) -> list[int]:
        """What a launch on these arrays passes."""
        words = [*[arrays[i].address for i in self.read], out.address]
        words += [arrays[i].word for i in self.given]  # type: ignore[attr-defined]
        return [*words, *self.words, *numbers, 0, self.count]


class Elementwise:
    """A function of elements, with its kernels by the layout of operands.

    Args:
        make: the result's value from those of the operands, then of the numbers.
        dtypes: of the operands.
        result: of the result.
        numbers: dtypes of the numbers that come with a call.
        raw: whether elements are taken as they are in memory.
    """

    def __init__(
        self, launcher: Launcher, make: Make, dtypes: Sequence[DType], result: DType,
        numbers: Sequence[str] = (), raw: bool = False,
    ) -> None:  # fmt: skip
        self.launcher = launcher
        self.make = make
        self.dtypes = [d.name for d in dtypes]
        self.result = result
        self.numbers = numbers
        self.raw = raw
        self._kernels: dict[tuple[Layout, Ints], Launchable] = {}
        self._plans: dict[Any, Plan] = {}
        self._run = Layout(1, (RUN,) * (len(dtypes) + 1))
        self._flat = self.kernel(self._run)

    def __call__(self, *arrays: XpuArray, numbers: Sequence[int] = ()) -> XpuArray:
        """The result, row-major; `numbers` are words of the numbers of this call."""
        first = arrays[0]
        shape = first.shape
        for a in arrays:
            if not a.dense or a.shape != shape:
                return self._laid_out(arrays, numbers)
        made = self.launcher.fresh(shape, self.result, first.block.stream.device.index)
        count = math.prod(shape)
        if count:
            words = [*[a.address for a in arrays], made.address, *numbers, 0, count]
            self._flat.launch(made.block.stream, words, -(-count // THREADS))
        return made

    def _laid_out(self, arrays: Sequence[XpuArray], numbers: Sequence[int]) -> XpuArray:
        """The result of operands that are repeated, or have gaps."""
        key = tuple([x for a in arrays for x in (a.shape, a.strides, type(a))])
        plan = self._plans.get(key)
        if plan is None:
            shape = broadcast([a.shape for a in arrays])
            plan = self._plan(arrays, shape, row_major(shape))
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            self._plans[key] = plan
        made = self.launcher.fresh(plan.shape, self.result, arrays[0].device.index)
        if plan.count:
            words = plan.words_of(arrays, made, numbers)
            plan.kernel.launch(made.block.stream, words, -(-plan.count // THREADS))
        return made

    def _plan(self, arrays: Sequence[XpuArray], shape: Ints, strides: Ints) -> Plan:
        """What serves these operands, for a result that lies so."""
        count = math.prod(shape)
        given = tuple([i for i, a in enumerate(arrays) if type(a) is Number])
        read = tuple([i for i in range(len(arrays)) if i not in given])
        steps = [*[spread(arrays[i], shape) for i in read], strides]
        layout, words = placed(shape, steps, count) if count else (self._run, [])
        kernel = self.kernel(layout, given) if count else self._flat
        return Plan(shape, kernel, words, count, read, given)

    def into(
        self, out: XpuArray, *arrays: XpuArray, numbers: Sequence[int] = ()
    ) -> None:
        """Write the result to an array that lies in any way."""
        shape = out.shape
        if out.dense and all(a.dense and a.shape == shape for a in arrays):
            plan = Plan(shape, self._flat, [], out.size, tuple(range(len(arrays))), ())
        else:
            plan = self._plan(arrays, shape, out.strides)
        if plan.count:
            words = plan.words_of(arrays, out, numbers)
            stream = self.launcher.stream(out.device.index)
            plan.kernel.launch(stream, words, -(-plan.count // THREADS))

    def kernel(self, layout: Layout, given: Ints = ()) -> Launchable:
        """What serves operands that lie so, but for those that are numbers."""
        key = layout, given
        found = self._kernels.get(key)
        if found is None:
            found = Launchable(lambda: self.form(layout, given))
            self._kernels[key] = found
        return found

    def form(self, layout: Layout, numbered: Ints) -> Kernel:
        """The kernel as loops; `numbered` operands come with the launch."""
        at = lane()
        places = offsets(layout, at)
        forms = [(f"x{i}", in_memory(d)) for i, d in enumerate(self.dtypes)]
        sources = [Buffer(*x) for i, x in enumerate(forms) if i not in numbered]
        out = Buffer("y", in_memory(self.result.name), written=True)
        read = iter([load(b, p) for b, p in zip(sources, places, strict=False)])
        given = [
            parameter(*x) if i in numbered else next(read) for i, x in enumerate(forms)
        ]
        if not self.raw:
            given = [widened(x, d) for x, d in zip(given, self.dtypes, strict=True)]
        given += [parameter(f"number{i}", d) for i, d in enumerate(self.numbers)]
        y = self.make(*given)
        if not self.raw and y.dtype == computed_in(self.result.name):
            y = narrowed(y, self.result.name)
        words = [forms[i] for i in numbered] + parameters(layout)
        words += [(f"number{i}", d) for i, d in enumerate(self.numbers)]
        store = Store(out, places[-1].value, y.value)
        return lane_kernel([*sources, out], words, at, [store])


def broadcast(shapes: Sequence[Ints]) -> Ints:
    """The shape that all broadcast to; raises where there is none."""
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    result = [1] * max(map(len, shapes))
    for shape in shapes:
        for d, n in enumerate(shape, len(result) - len(shape)):
            if n != 1:
                if result[d] not in (1, n):
                    raise ValueError(f"shapes {shapes} do not broadcast")
                result[d] = n
    return tuple(result)


def spread(a: XpuArray, shape: Ints) -> Ints:
    """The strides of an array in a shape that it broadcasts to."""
    if a.shape == shape:
        return a.strides
    own = zip(a.shape, a.strides, strict=True)
    missing = len(shape) - len(a.shape)
    return (0,) * missing + tuple([0 if n == 1 else s for n, s in own])


class ByDtypes:
    """An op whose functions are made when arrays of their dtypes first come."""

    def __init__(self, made: Callable[[tuple[DType, ...]], Elementwise]) -> None:
        self.made = made
        self.known: dict[Any, Elementwise] = {}

    def __call__(self, *arrays: XpuArray) -> XpuArray:
        """The result."""
        return self.of(tuple([a.dtype for a in arrays]))(*arrays)

    def of(self, dtypes: tuple[DType, ...]) -> Elementwise:
        """The function of operands of these dtypes."""
        found = self.known.get(dtypes)
        if found is None:
            found = self.known[dtypes] = self.made(dtypes)
        return found
