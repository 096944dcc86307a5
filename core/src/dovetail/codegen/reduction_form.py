"""Reductions over dims of arrays that lie in any way: a lane gathers for one result.

A lane gathers every so-manieth element, so that neighbours read what lies side by
side. Where there are few results, each has several lanes, whose parts another launch
gathers. How many depends on sizes alone: a sum always has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from dovetail.codegen.accumulation import Combine, Level, Sums, accumulator, blocked
from dovetail.codegen.formats import in_memory, widened
from dovetail.codegen.ir import Buffer, Kernel, Statement, Store, Update
from dovetail.codegen.lanes import (
    Ints,
    Layout,
    lane,
    lane_kernel,
    offsets,
    parameters,
    placed,
)
from dovetail.codegen.layout import walked
from dovetail.codegen.values import Term, apply, constant, load, parameter

_LANES: Final = 1 << 13  # that keep a device busy
_FEWEST: Final = 32  # elements that are worth a lane


class Shape(NamedTuple):
    """What the code of a reduction depends on.

    Attributes:
        sources: dtypes of the arrays that elements are made of.
        result: dtype of the result.
        kept: how sources and result lie along the lanes.
        reduced: how many dims are walked.
        parts: whether a result has several lanes.
    """

    combine: Combine
    sources: tuple[str, ...]
    result: str
    kept: Layout
    reduced: int
    parts: bool


class Work(NamedTuple):
    """A launch: its code, its numbers behind the addresses, and how many lanes it has.

    Attributes:
        parts: how many lanes a result has; they write as many numbers side by side.
    """

    shape: Shape
    numbers: list[int]
    lanes: int
    parts: int


def work(
    combine: Combine, sources: Sequence[str], wide: str, result: str, sizes: Ints,
    strides: Sequence[Ints], reduced: Sequence[int],
) -> Work:  # fmt: skip
    """The launch that reduces some dims of arrays, or a part of each result.

    Args:
        sources: dtypes.
        wide: dtype of parts.
        sizes: of all dims, of which none is 0.
        strides: of each source, in elements.
    """
    kept = [d for d in range(len(sizes)) if d not in reduced]
    shape = tuple([sizes[d] for d in kept])
    results = math.prod(shape)
    inner = tuple([sizes[d] for d in reduced])
    walk = walked(inner, [tuple([s[d] for d in reduced]) for s in strides])
    parts = min(max(_LANES // results, 1), max(walk[-1][0] // _FEWEST, 1))
    steps = [tuple([s[d] for d in kept]) for s in strides]
    if parts > 1:
        shape, steps = (*shape, parts), [(*s, 0) for s in steps]
    count = results * parts
    layout, numbers = placed(shape, [*steps, _row_major(shape)], count)
    numbers += [x for size, along in walk for x in (size, *along)]
    key = Shape(
        combine, tuple(sources), wide if parts > 1 else result, layout, len(walk),
        parts > 1,
    )  # fmt: skip
    return Work(key, [*numbers, parts] if parts > 1 else numbers, count, parts)


def _row_major(shape: Ints) -> Ints:
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    return tuple(steps)


def form(
    shape: Shape, gathered: str, element: Callable[..., Term],
    stored: Callable[[Term], Term],
) -> Kernel:  # fmt: skip
    """The kernel as loops.

    Args:
        gathered: dtype in which elements are.
        element: is made of one of each source, as computed with.
        stored: the result, as memory has it.
    """
    at, many = lane(), range(len(shape.sources))
    buffers = [Buffer(f"x{k}", in_memory(d)) for k, d in enumerate(shape.sources)]
    out = Buffer("y", in_memory(shape.result), written=True)
    *begins, place = offsets(shape.kept, at)
    words = parameters(shape.kept)
    for d in range(shape.reduced):
        words += [(f"inner{d}", "int64"), *((f"along{d}_{k}", "int64") for k in many)]
    levels = _levels(shape, at)
    if shape.parts:
        words.append(("parts", "int64"))

    def added(sums: Sums) -> list[Statement]:
        read = []
        for k, (buffer, begin) in enumerate(zip(buffers, begins, strict=True)):
            there = begin
            for v in levels:
                there = there + _along(shape, v, at) * parameter(f"along{v.dim}_{k}")
            read.append(widened(load(buffer, there), shape.sources[k]))
        return [Update(sums[0], element(*read).value)]

    loop, sums = blocked(levels, lambda: [accumulator(shape.combine, gathered)], added)
    store = Store(out, place.value, stored(Term(sums[0].value)).value)
    return lane_kernel([*buffers, out], words, at, [loop, store])


def _levels(shape: Shape, at: Term) -> list[Level]:
    zero = constant(0, "int64")
    levels = [Level(d, zero, parameter(f"inner{d}")) for d in range(shape.reduced)]
    if shape.parts:
        last = levels[-1]
        left = last.end - _part(at) + (parameter("parts") - 1)
        end = apply("div", left, parameter("parts"))
        levels[-1] = Level(last.dim, zero, end, last.index)
    return levels


def _part(at: Term) -> Term:
    """Which of the parts of a result a lane gathers."""
    parts = parameter("parts")
    return at - apply("div", at, parts) * parts


def _along(shape: Shape, level: Level, at: Term) -> Term:
    """The place along a reduced dim."""
    if shape.parts and level.dim == shape.reduced - 1:
        return level.index * parameter("parts") + _part(at)
    return level.index


__all__ = ["Shape", "Work", "form", "work"]
