"""Pooling by maxima, and where they were: a window a lane, its taps written out."""

from __future__ import annotations

import math
from functools import reduce
from itertools import product

from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
from dovetail.codegen.ir import Buffer, Kernel, Store
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
from dovetail.codegen.window_forms import (
    along,
    both,
    over_windows,
    plane,
    read_at,
    split,
    words,
)


def greatest(dtype: str, taps: Ints, slots: bool) -> Kernel:
    """The greatest element of a window, or its tap: of equal ones the first, of NaNs
    the last; where all is less than the padding, the first behind that."""
    nd, at = len(taps), lane()
    x = Buffer("x", in_memory(dtype))
    out = Buffer("y", "int32" if slots else in_memory(dtype), written=True)
    image, channel, *place = split(at, [parameter("channels"), *along(["place"], nd)])
    wide = computed_in(dtype)
    parts: list[tuple[Term, Term]] = []
    for tap in product(*map(range, taps)):
        inside, source = read_at(plane(image, channel), place, tap)
        there = choose(inside, source, constant(0, "int64"))
        value = widened(load(x, there), dtype)
        parts.append((inside, choose(inside, value, constant(-math.inf, wide))))
    slot = constant(0, "int32")
    for i, tap in reversed(tuple(enumerate(product(*map(range, taps))))):
        slot = choose(_begins(place, tap), constant(i, "int32"), slot)
    best = parts[0][1]
    for i, (_, value) in enumerate(parts[1:], 1):
        wins = apply("or", best < value, compare("ne", value, value))
        slot = choose(wins, constant(i, "int32"), slot)
        best = apply("maximum", best, value)
    y = slot if slots else narrowed(best, dtype)
    store = Store(out, at.value, y.value)
    return lane_kernel([x, out], words(nd), at, [store], f"greatest_{dtype}")


def _begins(places: list[Term], taps: Ints) -> Term:
    """Whether a tap of a window is behind the padding in front of the input."""
    found = []
    for d, (place, tap) in enumerate(zip(places, taps, strict=True)):
        at = place * parameter(f"stride{d}") + parameter(f"dilation{d}") * tap
        found.append(compare("ge", at, parameter(f"padding{d}")))
    return reduce(both, found)


def send_back(dtype: str, nd: int) -> Kernel:
    """The sum, for an element of the input, over windows whose greatest it is."""
    at, memory = lane(), in_memory(dtype)
    dy, slots = Buffer("dy", memory), Buffer("slots", "int32")
    y = Buffer("y", memory, written=True)
    image, channel, *spatial = split(at, [parameter("channels"), *along(["size"], nd)])

    def sent(meets: Term, taps: list[Term], places: list[Term]) -> tuple[Term, Term]:
        there, slot = image * parameter("channels") + channel, constant(0, "int64")
        for d, (tap, place) in enumerate(zip(taps, places, strict=True)):
            there = there * parameter(f"place{d}") + place
            slot = slot * parameter(f"tap{d}") + tap
        there = choose(meets, there, constant(0, "int64"))
        is_it = compare("eq", cast(load(slots, there), "int64"), slot)
        return both(meets, is_it), widened(load(dy, there), dtype)

    loop, total = over_windows(spatial, computed_in(dtype), sent)
    store = Store(y, at.value, narrowed(total, dtype).value)
    names = words(nd, strided=False)
    return lane_kernel([dy, slots, y], names, at, [loop, store], f"sent_back_{dtype}")
