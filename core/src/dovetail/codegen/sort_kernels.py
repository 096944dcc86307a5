"""Kernels that sort rows by digits of keys, stably, and by ranks where rows are short.

A key is an unsigned number that has the order of the elements. While they are sorted,
an element is a record of 64 bits: 32 bits of its key, above its place in the row. A
pass counts the digits of the records in each part of a row, finds where each part's
records of each digit start, and moves them there.
"""

from __future__ import annotations

from typing import Final

from dovetail.codegen.ir import (
    FIRST,
    LAST,
    SIZES,
    Accumulator,
    Buffer,
    Kernel,
    Loop,
    Statement,
    Store,
    Update,
)
from dovetail.codegen.values import (
    Term,
    apply,
    bits,
    cast,
    choose,
    constant,
    equal,
    index,
    load,
    parameter,
)

PLACE_BITS: Final = 32
"""Bits of a record that say where its element was."""

# Bits of the infinities, behind which are the NaNs, by the dtypes of floats.
_INFINITY: Final = {
    "float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000,
    "float64": 0x7FF0000000000000,
}  # fmt: skip
_WIDTHS: Final = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
_SIZES: Final = SIZES | {"float16": 2, "bfloat16": 2}
DTYPES: Final = frozenset(_SIZES)
"""What can be sorted."""


def bits_dtype(dtype: str) -> str:
    """The unsigned integers that are as wide as a dtype."""
    return _WIDTHS[_SIZES[dtype]]


def key_of(x: Term, dtype: str) -> Term:
    """What the bits of an element are sorted by: -0 as 0, any NaN behind all else."""
    width = 8 * _SIZES[dtype]
    sign, most = 1 << (width - 1), (1 << width) - 1
    if dtype in _INFINITY:
        size = x & (sign - 1)
        number = choose(equal(size, 0), 0, x)
        # Negative numbers are ordered against their bits, positive ones after them.
        turned = choose(number >= sign, number ^ most, number ^ sign)
        return choose(size > _INFINITY[dtype], most, turned)
    return x if dtype[0] in "ub" else x ^ sign


def _source(dtype: str) -> Buffer:
    return Buffer("x", bits_dtype(dtype))


def _key(source: Buffer, at: Term, dtype: str) -> Term:
    """The key at a place, of 64 bits; turned round where the order is to descend."""
    key = cast(key_of(load(source, at), dtype), "uint64")
    return key ^ parameter("turn", "uint64")


def key_range(dtype: str) -> Kernel:
    """The least and the greatest key of each part of 2**shift elements."""
    x = _source(dtype)
    least, most = Buffer("least", "uint64", True), Buffer("most", "uint64", True)
    low, high = (
        Accumulator("minimum", "uint64", -1),
        Accumulator("maximum", "uint64", 0),
    )
    lane = index("lane")
    key = _key(x, lane, dtype).value
    loop = Loop(
        "lane", lane.value, FIRST, LAST, (Update(low, key), Update(high, key)),
        (low, high),
    )  # fmt: skip
    part = (Term(FIRST) >> parameter("shift")).value
    stores = (Store(least, part, low.value), Store(most, part, high.value))
    words = (("turn", "uint64"), ("shift", "int64"))
    return Kernel(f"key_range_{dtype}", (x, least, most), words, (loop, *stores))


def _record(key: Term, place: Term) -> Term:
    moved = apply("shift_right_logical", key - parameter("low", "uint64"), _shift())
    return (moved << PLACE_BITS) | place


def _shift() -> Term:
    return parameter("shift", "uint64")


def _place(record: Term) -> Term:
    return bits(record & ((1 << PLACE_BITS) - 1), "int64")


def records(dtype: str, again: bool) -> Kernel:
    """Records of the bits of keys from `shift` on, of each row.

    Args:
        again: they stay in the order of the records that are there, of other bits.
    """
    x, out = _source(dtype), Buffer("records", "uint64", True)
    row, lane = index("row"), index("lane")
    lanes = parameter("lanes")
    begin = row * lanes
    place = lane
    if again:
        place = _place(load(out, begin + lane))
    made = _record(_key(x, begin + place, dtype), bits(place, "uint64"))
    inner = Loop(
        "seq" if again else "lane", lane.value, constant(0, "int64").value,
        lanes.value,
        (Store(out, (begin + lane).value, made.value),),
    )  # fmt: skip
    body = Loop("grid", row.value, FIRST, LAST, (inner,))
    words = (
        ("turn", "uint64"), ("low", "uint64"), ("shift", "uint64"), ("lanes", "int64")
    )  # fmt: skip
    name = f"records_{dtype}" + ("_again" if again else "")
    return Kernel(name, (x, out), words, (body,))


def _digit(record: Term) -> Term:
    moved = apply("shift_right_logical", record, _shift())
    return bits(moved & parameter("mask", "uint64"), "int64")


_PARTS: Final = (
    ("shift", "uint64"), ("mask", "uint64"), ("digits", "int64"), ("parts", "int64"),
    ("part_size", "int64"), ("lanes", "int64"),
)  # fmt: skip


def _within_part(part: Term, lane: Term, body: tuple[Statement, ...]) -> Loop:
    """A loop over the records of a part: `parts` of `part_size` make a row of `lanes`.

    `parts` is a power of two, given as its logarithm.
    """
    lanes = parameter("lanes")
    row = part >> parameter("parts")
    number = part - (row << parameter("parts"))
    first = number * parameter("part_size")
    end = _lesser(first + parameter("part_size"), lanes)
    begin = row * lanes
    return Loop("seq", lane.value, (begin + first).value, (begin + end).value, body)


def _lesser(a: Term, b: Term) -> Term:
    return choose(a < b, a, b)


def counts() -> Kernel:
    """How many records of each part have each digit."""
    source, out = Buffer("records", "uint64"), Buffer("counts", "int64", True)
    part, lane = index("part"), index("lane")
    at = part * parameter("digits") + _digit(load(source, lane))
    step = Store(out, at.value, (load(out, at) + 1).value)
    body = Loop("grid", part.value, FIRST, LAST, (_within_part(part, lane, (step,)),))
    return Kernel("digit_counts", (source, out), _PARTS, (body,))


def starts() -> Kernel:
    """Where in its row each part's records of each digit go: counts are replaced."""
    table = Buffer("counts", "int64", True)
    row, entry = index("row"), index("entry")
    parts = parameter("parts")
    digit = entry >> parts
    part = (row << parts) + (entry - (digit << parts))
    at = part * parameter("digits") + digit
    before = Accumulator("add", "int64", 0)
    count = load(table, at)
    # What was counted is read before a place is written over it.
    place = Term(before.value) - count + row * parameter("lanes")
    steps = (Update(before, count.value), Store(table, at.value, place.value))
    entries = parameter("digits") << parts
    zero = constant(0, "int64").value
    inner = Loop("seq", entry.value, zero, entries.value, steps, (before,))
    body = Loop("grid", row.value, FIRST, LAST, (inner,))
    return Kernel("digit_starts", (table,), _PARTS, (body,))


def moves() -> Kernel:
    """Records go where those of their part and digit start, which moves on by one."""
    source, table = Buffer("records", "uint64"), Buffer("counts", "int64", True)
    out = Buffer("moved", "uint64", True)
    part, lane = index("part"), index("lane")
    record = load(source, lane)
    at = part * parameter("digits") + _digit(record)
    place = load(table, at)
    steps = (
        Store(out, place.value, record.value), Store(table, at.value, (place + 1).value)
    )  # fmt: skip
    body = Loop("grid", part.value, FIRST, LAST, (_within_part(part, lane, steps),))
    return Kernel("digit_moves", (source, table, out), _PARTS, (body,))


def results(dtype: str, values: bool) -> Kernel:
    """The places that sorted records name, and the elements there if `values`."""
    source, x = Buffer("records", "uint64"), _source(dtype)
    order = Buffer("order", "int64", True)
    y = Buffer("y", bits_dtype(dtype), True)
    row, lane = index("row"), index("lane")
    lanes = parameter("lanes")
    begin = row * lanes
    at = begin + lane
    place = _place(load(source, at))
    steps = [Store(order, at.value, place.value)]
    if values:
        steps.append(Store(y, at.value, load(x, begin + place).value))
    zero = constant(0, "int64").value
    inner = Loop("seq", lane.value, zero, lanes.value, tuple(steps))
    body = Loop("grid", row.value, FIRST, LAST, (inner,))
    buffers = (source, x, order, y) if values else (source, order)
    name = f"sorted_{dtype}" if values else "sorted_places"
    return Kernel(name, buffers, (("lanes", "int64"),), (body,))


def ranks() -> Kernel:
    """Short rows: each record goes behind all that are less, which are counted.

    Of records with the same key, the earlier ones are less.
    """
    source, out = Buffer("records", "uint64"), Buffer("moved", "uint64", True)
    ranked = Buffer("ranks", "int64", True)
    row, lane, other = index("row"), index("lane"), index("other")
    lanes, zero = parameter("lanes"), constant(0, "int64").value
    begin = row * lanes
    less = Accumulator("add", "int64", 0)

    def ordered(at: Term) -> Term:
        key = load(source, begin + at) & -(1 << PLACE_BITS)
        return key | bits(at, "uint64")

    is_less = ordered(other) < ordered(lane)
    count = Loop(
        "seq", other.value, zero, lanes.value,
        (Update(less, cast(is_less, "int64").value),), (less,),
    )  # fmt: skip
    store = Store(ranked, (begin + lane).value, less.value)
    compared = Loop("lane", lane.value, zero, lanes.value, (count, store))
    item = index("item")
    rank = load(ranked, begin + item)
    put = Store(out, (begin + rank).value, load(source, begin + item).value)
    placed = Loop("seq", item.value, zero, lanes.value, (put,))
    body = Loop("grid", row.value, FIRST, LAST, (compared, placed))
    return Kernel("ranks", (source, ranked, out), (("lanes", "int64"),), (body,))


__all__ = [
    "DTYPES",
    "bits_dtype",
    "counts",
    "key_of",
    "key_range",
    "moves",
    "ranks",
    "records",
    "results",
    "starts",
]
