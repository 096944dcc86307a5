"""Windows over axes: as the rows of matrices, and added up where they came from.

A lane does an element. Kernels get the steps of images and channels, then the numbers
of each axis, then how many channels there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, NamedTuple

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

_INTO: Final = ("layer_step", "row_step")
Words = list[tuple[str, str]]
_AXIS: Final = ("size", "place", "tap", "stride", "padding", "dilation", "step")


class Axes(NamedTuple):
    """The numbers of windows, one of each for a spatial axis.

    Attributes:
        sizes: of the input.
        places: how many windows there are.
    """

    sizes: Ints
    places: Ints
    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints

    def words(self, steps: Ints) -> list[int]:
        """What kernels get, as `_AXIS` names it; `steps` are those of the input."""
        axes = zip(*self, steps, strict=True)
        return [number for axis in axes for number in axis]


def words(nd: int, *, strided: bool = True, more: Sequence[str] = ()) -> Words:
    """The parameters of a kernel.

    Args:
        strided: it gets the steps of images and channels.
        more: names behind these.
    """
    steps = ("image_step", "channel_step") if strided else ()
    axes = [f"{name}{d}" for d in range(nd) for name in _AXIS]
    return [(name, "int64") for name in (*steps, *more, *axes, "channels")]


def split(at: Term, sizes: list[Term]) -> list[Term]:
    """A lane's place along dims of these sizes; the first one has what is left."""
    found: list[Term] = []
    rest = cast(at, "int32")
    for size in reversed(sizes):
        narrow = cast(size, "int32")
        before = apply("div", rest, narrow)
        found.append(cast(rest - before * narrow, "int64"))
        rest = before
    return [cast(rest, "int64"), *reversed(found)]


def along(names: list[str], nd: int) -> list[Term]:
    """Such numbers of all axes."""
    return [parameter(f"{name}{d}") for name in names for d in range(nd)]


def lay_out(nd: int, dtype: str) -> Kernel:
    """An element of a window a lane: 0 where the window reaches into the padding.

    Behind the steps of the input are those of the result, for layers and for rows.
    """
    at, memory = lane(), in_memory(dtype)
    x, y = Buffer("x", memory), Buffer("y", memory, written=True)
    image, channel, *rest = split(
        at, [parameter("channels"), *along(["tap", "place"], nd)]
    )
    taps, places = rest[:nd], rest[nd:]
    inside, source = read_at(plane(image, channel), places, taps)
    row, column = channel, constant(0, "int64")
    for d, (tap, place) in enumerate(zip(taps, places, strict=True)):
        row = row * parameter(f"tap{d}") + tap
        column = column * parameter(f"place{d}") + place
    value = load(x, choose(inside, source, constant(0, "int64")))
    value = choose(inside, value, constant(0, memory))
    target = image * parameter("layer_step") + row * parameter("row_step") + column
    store = Store(y, target.value, value.value)
    return lane_kernel([x, y], words(nd, more=_INTO), at, [store], f"windows_{dtype}")


def plane(image: Term, channel: Term) -> Term:
    """Where a channel of an image begins."""
    return image * parameter("image_step") + channel * parameter("channel_step")


def read_at(
    begin: Term, places: Sequence[Term], taps: Sequence[Term | int]
) -> tuple[Term, Term]:
    """Whether a tap of a window is within the input, and where it lies."""
    inside = constant(True, "bool")
    for d, (place, tap) in enumerate(zip(places, taps, strict=True)):
        q = place * parameter(f"stride{d}") - parameter(f"padding{d}")
        q = q + parameter(f"dilation{d}") * tap
        here = both(compare("ge", q, 0), q < parameter(f"size{d}"))
        inside = both(inside, here) if d else here
        begin = begin + q * parameter(f"step{d}")
    return inside, begin


def add_up(nd: int, dtype: str, result: str) -> Kernel:
    """An element of an input a lane: the sum over the windows that have it.

    Args:
        dtype: of windows, `result` that of the input.
    """
    at = lane()
    columns = Buffer("columns", in_memory(dtype))
    y = Buffer("y", in_memory(result), written=True)
    image, channel, *spatial = split(at, [parameter("channels"), *along(["size"], nd)])

    def sent(meets: Term, taps: list[Term], places: list[Term]) -> tuple[Term, Term]:
        row, column = image * parameter("channels") + channel, constant(0, "int64")
        for d, (tap, place) in enumerate(zip(taps, places, strict=True)):
            row = row * parameter(f"tap{d}") + tap
            column = column * parameter(f"place{d}") + place
        for d in range(nd):
            row = row * parameter(f"place{d}")
        there = choose(meets, row + column, constant(0, "int64"))
        return meets, widened(load(columns, there), dtype)

    loop, total = over_windows(spatial, computed_in(result), sent)
    target = plane(image, channel)
    for d, q in enumerate(spatial):
        target = target + q * parameter(f"step{d}")
    store = Store(y, target.value, narrowed(total, result).value)
    return lane_kernel([columns, y], words(nd), at, [loop, store], f"add_up_{dtype}")


def over_windows(
    spatial: Sequence[Term], wide: str,
    sent: Callable[[Term, list[Term], list[Term]], tuple[Term, Term]],
) -> tuple[Statement, Term]:  # fmt: skip
    """The loop over windows that may have an element, and the sum of what they send.

    Args:
        spatial: where the element is.
        sent: given whether a window has the element, at which taps, and which window it
            is, says whether it sends anything, and what.
    """
    zero = constant(0, "int64")
    levels = [Level(d, zero, parameter(f"tap{d}")) for d in range(len(spatial))]

    def added(sums: Sums) -> list[Statement]:
        met = [
            _meeting(v.index, v.dim, q) for v, q in zip(levels, spatial, strict=True)
        ]
        meets = reduce(both, [here for here, _ in met])
        sends, value = sent(meets, [v.index for v in levels], [p for _, p in met])
        value = choose(sends, value, constant(0, value.dtype))
        return [Update(sums[0], value.value)]

    loop, sums = blocked(levels, lambda: [accumulator("add", wide)], added)
    return loop, Term(sums[0].value)


def _meeting(tap: Term, d: int, q: Term) -> tuple[Term, Term]:
    """Whether a window has the element `q` of an axis at a tap, and which window."""
    m = q + parameter(f"padding{d}") - tap * parameter(f"dilation{d}")
    p = apply("div", m, parameter(f"stride{d}"))
    here = both(compare("ge", m, 0), p < parameter(f"place{d}"))
    return both(here, compare("eq", p * parameter(f"stride{d}"), m)), p


def both(a: Term, b: Term) -> Term:
    """Whether two conditions hold."""
    return apply("and", a, b)
