"""Windows over axes: as the rows of matrices, and added up where they came from.

A lane does an element. Kernels get the steps of images and channels, then the numbers
of each axis, then how many channels there are.
"""

from __future__ import annotations

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

_STEPS: Final = ("image_step", "channel_step", "layer_step", "row_step")
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


def axis_names(nd: int) -> list[tuple[str, str]]:
    """Those numbers as parameters of a kernel."""
    return [(f"{name}{d}", "int64") for d in range(nd) for name in _AXIS]


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
    inside: Term | None = None
    source = image * parameter("image_step") + channel * parameter("channel_step")
    row, column = channel, constant(0, "int64")
    for d, (tap, place) in enumerate(zip(rest[:nd], rest[nd:], strict=True)):
        q = place * parameter(f"stride{d}") - parameter(f"padding{d}")
        q = q + tap * parameter(f"dilation{d}")
        here = both(compare("ge", q, 0), q < parameter(f"size{d}"))
        inside = here if inside is None else both(inside, here)
        source = source + q * parameter(f"step{d}")
        row = row * parameter(f"tap{d}") + tap
        column = column * parameter(f"place{d}") + place
    if inside is not None:
        value = load(x, choose(inside, source, constant(0, "int64")))
        value = choose(inside, value, constant(0, memory))
    else:
        value = load(x, source)
    target = image * parameter("layer_step") + row * parameter("row_step") + column
    words = [(name, "int64") for name in _STEPS]
    words += [*axis_names(nd), ("channels", "int64")]
    store = Store(y, target.value, value.value)
    return lane_kernel([x, y], words, at, [store], f"windows_{dtype}")


def add_up(nd: int, dtype: str, result: str) -> Kernel:
    """An element of an input a lane: the sum over the windows that have it.

    Args:
        dtype: of windows, `result` that of the input.
    """
    at = lane()
    columns = Buffer("columns", in_memory(dtype))
    y = Buffer("y", in_memory(result), written=True)
    image, channel, *spatial = split(at, [parameter("channels"), *along(["size"], nd)])
    zero = constant(0, "int64")
    levels = [Level(d, zero, parameter(f"tap{d}")) for d in range(nd)]

    def added(sums: Sums) -> list[Statement]:
        row, column = image * parameter("channels") + channel, zero
        meets: Term | None = None
        for v, q in zip(levels, spatial, strict=True):
            here, p = meeting(v.index, v.dim, q)
            meets = here if meets is None else both(meets, here)
            row = row * parameter(f"tap{v.dim}") + v.index
            column = column * parameter(f"place{v.dim}") + p
        for v in levels:
            row = row * parameter(f"place{v.dim}")
        assert meets is not None
        place = choose(meets, row + column, zero)
        value = widened(load(columns, place), dtype)
        value = choose(meets, value, constant(0, value.dtype))
        return [Update(sums[0], value.value)]

    wide = computed_in(result)
    loop, sums = blocked(levels, lambda: [accumulator("add", wide)], added)
    target = image * parameter("image_step") + channel * parameter("channel_step")
    for d, q in enumerate(spatial):
        target = target + q * parameter(f"step{d}")
    store = Store(y, target.value, narrowed(Term(sums[0].value), result).value)
    words = [(name, "int64") for name in _STEPS[:2]]
    words += [*axis_names(nd), ("channels", "int64")]
    return lane_kernel([columns, y], words, at, [loop, store], f"add_up_{dtype}")


def meeting(tap: Term, d: int, q: Term) -> tuple[Term, Term]:
    """Whether a window has the element `q` of an axis at a tap, and which window."""
    m = q + parameter(f"padding{d}") - tap * parameter(f"dilation{d}")
    p = apply("div", m, parameter(f"stride{d}"))
    here = both(compare("ge", m, 0), p < parameter(f"place{d}"))
    return both(here, compare("eq", p * parameter(f"stride{d}"), m)), p


def both(a: Term, b: Term) -> Term:
    """Whether two conditions hold."""
    return apply("and", a, b)
