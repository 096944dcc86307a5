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

_FEWEST: Final = 32  # elements that are worth a lane


class Split(NamedTuple):
    """How a device shares out the elements of a result.

    Attributes:
        lanes: that keep it busy.
        whole: elements that one lane gathers alone.
    """

    lanes: int
    whole: int


class Stored(NamedTuple):
    """What is stored of what was gathered, with numbers that a launch brings.

    Attributes:
        numbers: their names, with their dtypes.
    """

    make: Callable[[Term], Term]
    numbers: tuple[tuple[str, str], ...] = ()


class Shape(NamedTuple):
    """What the code of a reduction depends on.

    Attributes:
        sources: dtypes of the arrays that elements are made of.
        result: dtype of the result.
        kept: how sources and result lie along the lanes.
        reduced: how many dims are walked.
        parts: whether a result has several lanes: "inner" where they lie side by side,
            "outer" where lanes of several results do.
    """

    combine: Combine
    sources: tuple[str, ...]
    result: str
    kept: Layout
    reduced: int
    parts: str


class Work(NamedTuple):
    """A launch: its code, its numbers behind the addresses, and how many lanes it has.

    Attributes:
        parts: how many lanes a result has, each of which writes a number.
        made: the shape of what they write, in rows.
        left: the dim of it that is to be reduced then.
    """

    shape: Shape
    numbers: list[int]
    lanes: int
    parts: int
    made: Ints
    left: int


def work(
    combine: Combine, sources: Sequence[str], wide: str, result: str, sizes: Ints,
    strides: Sequence[Ints], reduced: Sequence[int], split: Split,
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
    parts = _parts(results, math.prod(inner), walk[-1][0], split)
    steps = [tuple([s[d] for d in kept]) for s in strides]
    # Neighbours read what lies side by side.
    how = "outer" if kept and steps[0][-1] == 1 and shape[-1] > 1 else "inner"
    if parts == 1:
        how = ""
    elif how == "outer":
        shape, steps = (parts, *shape), [(0, *s) for s in steps]
    else:
        shape, steps = (*shape, parts), [(*s, 0) for s in steps]
    layout, numbers = placed(shape, [*steps, _row_major(shape)], results * parts)
    numbers += [x for size, along in walk for x in (size, *along)]
    made = wide if how else result
    key = Shape(combine, tuple(sources), made, layout, len(walk), how)
    if how:
        numbers += [parts, results]
    left = 0 if how == "outer" else len(shape) - 1
    return Work(key, numbers, results * parts, parts, shape, left)


def _parts(results: int, each: int, last: int, split: Split) -> int:
    """How many lanes a result has; each takes a share of the last dim."""
    if each <= split.whole:
        return 1
    return max(1, min(split.lanes // results, each // _FEWEST, last))


def _row_major(shape: Ints) -> Ints:
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    return tuple(steps)


def form(
    shape: Shape, gathered: str, element: Callable[..., Term], stored: Stored
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
        words += [("parts", "int64"), ("results", "int64")]

    def added(sums: Sums) -> list[Statement]:
        read = []
        for k, (buffer, begin) in enumerate(zip(buffers, begins, strict=True)):
            there = begin
            for v in levels:
                there = there + _along(shape, v, at) * parameter(f"along{v.dim}_{k}")
            read.append(widened(load(buffer, there), shape.sources[k]))
        return [Update(sums[0], element(*read).value)]

    loop, sums = blocked(levels, lambda: [accumulator(shape.combine, gathered)], added)
    store = Store(out, place.value, stored.make(Term(sums[0].value)).value)
    words += stored.numbers
    return lane_kernel([*buffers, out], words, at, [loop, store])


def _levels(shape: Shape, at: Term) -> list[Level]:
    zero = constant(0, "int64")
    levels = [Level(d, zero, parameter(f"inner{d}")) for d in range(shape.reduced)]
    if shape.parts:
        last = levels[-1]
        left = last.end - _part(shape, at) + (parameter("parts") - 1)
        end = apply("div", left, parameter("parts"))
        levels[-1] = Level(last.dim, zero, end, last.index)
    return levels


def _part(shape: Shape, at: Term) -> Term:
    """Which of the parts of a result a lane gathers."""
    if shape.parts == "outer":
        return apply("div", at, parameter("results"))
    parts = parameter("parts")
    return at - apply("div", at, parts) * parts


def _along(shape: Shape, level: Level, at: Term) -> Term:
    """The place along a reduced dim."""
    if shape.parts and level.dim == shape.reduced - 1:
        return level.index * parameter("parts") + _part(shape, at)
    return level.index


__all__ = ["Shape", "Split", "Stored", "Work", "form", "work"]
