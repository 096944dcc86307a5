"""Kernels that find places in sorted rows, for as many values at a time as lanes."""

from __future__ import annotations

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
from dovetail.codegen.sort_kernels import bits_dtype, key_of
from dovetail.codegen.values import (
    Term,
    apply,
    choose,
    constant,
    index,
    load,
    parameter,
)

_WORDS = (
    ("size", "int64"), ("step", "int64"), ("lanes", "int64"), ("parts", "int64"),
    ("part_size", "int64"), ("halvings", "int64"),
)  # fmt: skip


def places(dtype: str, right: bool) -> Kernel:
    """Where values go in sorted rows of `size`: before equal ones, or after (`right`).

    Each row of `lanes` values is cut into `parts`; its sorted row begins `step` behind
    the one before. A place is put together bit by bit, from the highest of `halvings`.
    """
    sorted_rows = Buffer("sorted_rows", bits_dtype(dtype))
    values = Buffer("values", bits_dtype(dtype))
    found = Buffer("found", "int64", True)
    item, lane, bit = index("item"), index("lane"), index("bit")
    size, lanes = parameter("size"), parameter("lanes")
    row = item / parameter("parts")
    first = (item - row * parameter("parts")) * parameter("part_size")
    end = first + parameter("part_size")
    wanted = key_of(load(values, row * lanes + lane), dtype)
    place = Accumulator("add", "int64", 0)
    power = apply("shift_left", constant(1, "int64"), parameter("halvings") - 1 - bit)
    tried = Term(place.value) + power
    exists = tried <= size
    at = row * parameter("step") + choose(exists, tried - 1, constant(0, "int64"))
    entry = key_of(load(sorted_rows, at), dtype)
    before = entry <= wanted if right else entry < wanted
    more = choose(exists & before, power, constant(0, "int64"))
    search = Loop(
        "seq", bit.value, constant(0, "int64").value, parameter("halvings").value,
        (Update(place, more.value),), (place,),
    )  # fmt: skip
    store = Store(found, (row * lanes + lane).value, place.value)
    loop = Loop(
        "lane", lane.value, first.value, choose(end < lanes, end, lanes).value,
        (search, store),
    )  # fmt: skip
    body = Loop("grid", item.value, FIRST, LAST, (loop,))
    name = f"places_{'right' if right else 'left'}_{dtype}"
    return Kernel(name, (sorted_rows, values, found), _WORDS, (body,))


__all__ = ["places"]
