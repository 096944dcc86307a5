"""Kernels that copy some elements: by a mask, of a triangle.

Elements are moved as unsigned numbers of their size.
"""

from __future__ import annotations

from typing import Final

from dovetail.codegen.ir import (
    FIRST,
    LAST,
    Accumulator,
    Buffer,
    Kernel,
    Loop,
    Store,
    Update,
)
from dovetail.codegen.values import (
    Term,
    cast,
    choose,
    compare,
    constant,
    index,
    load,
    parameter,
)

_PART: Final = (("part_size", "int64"), ("size", "int64"))


def _part(part: Term) -> tuple[Term, Term]:
    """Where a part of the elements begins and ends."""
    first = part * parameter("part_size")
    end = first + parameter("part_size")
    return first, choose(end < parameter("size"), end, parameter("size"))


def mask_counts() -> Kernel:
    """For each part of a mask: how many it selects, and one behind the last of them."""
    mask = Buffer("mask", "bool")
    counts, ends = Buffer("counts", "int64", True), Buffer("ends", "int64", True)
    part, lane = index("part"), index("lane")
    count = Accumulator("add", "int64", 0)
    last = Accumulator("maximum", "int64", 0)
    chosen = load(mask, lane)
    first, end = _part(part)
    behind = choose(chosen, lane + 1, constant(0, "int64"))
    loop = Loop(
        "lane", lane.value, first.value, end.value,
        (Update(count, cast(chosen, "int64").value), Update(last, behind.value)),
        (count, last),
    )  # fmt: skip
    stores = Store(counts, part.value, count.value), Store(ends, part.value, last.value)
    body = Loop("grid", part.value, FIRST, LAST, (loop, *stores))
    return Kernel("mask_counts", (mask, counts, ends), _PART, (body,))


def selected(dtype: str, numbers: bool) -> Kernel:
    """What a mask selects goes side by side: elements, or their numbers.

    An element that is not selected is written, too, and written over by the next one
    that is. So a part ends with the last that is selected: behind it is another's.
    """
    mask, x = Buffer("mask", "bool"), Buffer("x", dtype)
    starts, ends = Buffer("starts", "int64"), Buffer("ends", "int64")
    out = Buffer("out", "int64" if numbers else dtype, True)
    part, lane = index("part"), index("lane")
    before = Accumulator("add", "int64", 0)
    place = load(starts, part) + Term(before.value)
    value = lane if numbers else load(x, lane)
    steps = (
        Store(out, place.value, value.value),
        Update(before, cast(load(mask, lane), "int64").value),
    )
    first, _ = _part(part)
    loop = Loop(
        "seq", lane.value, first.value, load(ends, part).value, steps, (before,)
    )  # fmt: skip
    body = Loop("grid", part.value, FIRST, LAST, (loop,))
    given = (mask,) if numbers else (mask, x)
    name = "selected_numbers" if numbers else f"selected_{dtype}"
    return Kernel(name, (*given, starts, ends, out), _PART, (body,))


def triangle(dtype: str, upper: bool) -> Kernel:
    """Matrices with zeros on one side of the diagonal so many columns to the right."""
    x, y = Buffer("x", dtype), Buffer("y", dtype, True)
    row, lane = index("row"), index("lane")
    rows, lanes = parameter("rows"), parameter("lanes")
    number = row - (row / rows) * rows
    beside = compare("ge" if upper else "le", lane, number + parameter("diagonal"))
    at = row * lanes + lane
    kept = choose(beside, load(x, at), constant(0, dtype))
    inner = Loop(
        "lane", lane.value, constant(0, "int64").value, lanes.value,
        (Store(y, at.value, kept.value),),
    )  # fmt: skip
    body = Loop("grid", row.value, FIRST, LAST, (inner,))
    words = (("rows", "int64"), ("lanes", "int64"), ("diagonal", "int64"))
    name = f"{'upper' if upper else 'lower'}_triangle_{dtype}"
    return Kernel(name, (x, y), words, (body,))


__all__ = ["mask_counts", "selected", "triangle"]
