"""Pooling by maxima, and where they were: a window a lane, its taps written out."""

from __future__ import annotations

import math
from itertools import product

from dovetail.codegen.accumulation import Level, Sums, accumulator, blocked
from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
from dovetail.codegen.ir import Buffer, Kernel, Statement, Store, Update
from dovetail.codegen.lanes import Ints, lane, lane_kernel
from dovetail.codegen.values import (
    Term,
    apply,
    cast,
    choose,
    compare,
    constant,
    load,
    parameter,
)
from dovetail.codegen.window_forms import along, axis_names, both, meeting, split


def greatest(dtype: str, taps: Ints, slots: bool) -> Kernel:
    """The greatest element of a window, or its tap: of equal ones the first, of NaNs
    the last; where all is less than the padding, the first within."""
    nd, at = len(taps), lane()
    x = Buffer("x", in_memory(dtype))
    out = Buffer("y", "int32" if slots else in_memory(dtype), written=True)
    image, channel, *place = split(at, [parameter("channels"), *along(["place"], nd)])
    begin = image * parameter("image_step") + channel * parameter("channel_step")
    wide = computed_in(dtype)
    parts: list[tuple[Term, Term]] = []
    for tap in product(*map(range, taps)):
        inside, source = _read(begin, place, tap)
        there = choose(inside, source, constant(0, "int64"))
        value = widened(load(x, there), dtype)
        parts.append((inside, choose(inside, value, constant(-math.inf, wide))))
    slot = constant(0, "int32")
    for i, (inside, _) in reversed(tuple(enumerate(parts))):
        slot = choose(inside, constant(i, "int32"), slot)
    best = parts[0][1]
    for i, (_, value) in enumerate(parts[1:], 1):
        wins = apply("or", best < value, compare("ne", value, value))
        slot = choose(wins, constant(i, "int32"), slot)
        best = apply("maximum", best, value)
    y = slot if slots else narrowed(best, dtype)
    words = [(name, "int64") for name in ("image_step", "channel_step")]
    words += [*axis_names(nd), ("channels", "int64")]
    store = Store(out, at.value, y.value)
    return lane_kernel([x, out], words, at, [store], f"greatest_{dtype}")


def _read(begin: Term, place: list[Term], tap: Ints) -> tuple[Term, Term]:
    """Whether a tap of a window is within the input, and where it lies."""
    inside: Term | None = None
    for d, (p, k) in enumerate(zip(place, tap, strict=True)):
        q = p * parameter(f"stride{d}") - parameter(f"padding{d}")
        q = q + parameter(f"dilation{d}") * k
        here = both(compare("ge", q, 0), q < parameter(f"size{d}"))
        inside = here if inside is None else both(inside, here)
        begin = begin + q * parameter(f"step{d}")
    assert inside is not None
    return inside, begin


def send_back(dtype: str, nd: int) -> Kernel:
    """The sum, for an element of the input, over windows whose greatest it is."""
    at, memory = lane(), in_memory(dtype)
    dy, slots = Buffer("dy", memory), Buffer("slots", "int32")
    y = Buffer("y", memory, written=True)
    image, channel, *spatial = split(at, [parameter("channels"), *along(["size"], nd)])
    zero = constant(0, "int64")
    levels = [Level(d, zero, parameter(f"tap{d}")) for d in range(nd)]

    def added(sums: Sums) -> list[Statement]:
        place, tap = image * parameter("channels") + channel, zero
        meets: Term | None = None
        for v, q in zip(levels, spatial, strict=True):
            here, p = meeting(v.index, v.dim, q)
            meets = here if meets is None else both(meets, here)
            place = place * parameter(f"place{v.dim}") + p
            tap = tap * parameter(f"tap{v.dim}") + v.index
        assert meets is not None
        there = choose(meets, place, zero)
        sent = both(meets, compare("eq", cast(load(slots, there), "int64"), tap))
        value = widened(load(dy, there), dtype)
        value = choose(sent, value, constant(0, value.dtype))
        return [Update(sums[0], value.value)]

    wide = computed_in(dtype)
    loop, sums = blocked(levels, lambda: [accumulator("add", wide)], added)
    total = narrowed(Term(sums[0].value), dtype)
    words = [*axis_names(nd), ("channels", "int64")]
    store = Store(y, at.value, total.value)
    return lane_kernel([dy, slots, y], words, at, [loop, store], f"sent_back_{dtype}")
