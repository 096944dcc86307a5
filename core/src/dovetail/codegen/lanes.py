"""Where operands of a kernel lie along its lanes, in any layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Statement
from dovetail.codegen.layout import APART, ONE, RUN, walked
from dovetail.codegen.values import Term, apply, cast, constant, index, parameter

Ints = tuple[int, ...]
_NARROW: Final = 2**31 - 1


class Layout(NamedTuple):
    """How operands lie along lanes: what the code of a kernel depends on.

    There are few of them, since each is a kernel to build: a run, in which operands
    are dense or repeated; else places are counted in 1, 2, 4 or 8 dims, or more.

    Attributes:
        dims: that places are counted in.
        kinds: how each operand goes on along the last dim.
        wide: whether lanes need 64 bits to be counted.
    """

    dims: int
    kinds: tuple[str, ...]
    wide: bool = False


def placed(
    shape: Ints, strides: Sequence[Ints], count: int
) -> tuple[Layout, list[int]]:
    """The layout of operands, and the numbers that their kernel needs."""
    merged = walked(shape, strides)
    last = merged[-1][1]
    if len(merged) == 1 and max(last) <= 1:
        kinds = tuple([ONE if s == 0 else RUN for s in last])
        return Layout(1, kinds, count > _NARROW), []
    dims = 1 << (len(merged) - 1).bit_length()
    merged = [(1, (0,) * len(last))] * (dims - len(merged)) + merged
    layout = Layout(dims, (APART,) * len(last), count > _NARROW)
    words = [size for size, _ in merged[1:]]
    words += [steps[k] for k in range(len(last)) for _, steps in merged]
    return layout, words


def parameters(layout: Layout) -> list[tuple[str, str]]:
    """The names of those numbers, with their dtypes."""
    whole = "int64" if layout.wide else "int32"
    found = [(f"size{d}", whole) for d in range(1, layout.dims)]
    for k, kind in enumerate(layout.kinds):
        if kind == APART:
            found += [(f"step{k}_{d}", "int64") for d in range(layout.dims)]
    return found


def offsets(layout: Layout, lane: Term) -> list[Term]:
    """Where each operand's element of a lane lies, counted from its first one."""
    at = _coordinates(layout, lane)
    found = []
    for k, kind in enumerate(layout.kinds):
        if kind != APART:
            found.append(lane if kind == RUN else constant(0, "int64"))
            continue
        place = at[0] * parameter(f"step{k}_0")
        for d in range(1, layout.dims):
            place = place + at[d] * parameter(f"step{k}_{d}")
        found.append(place)
    return found


def _coordinates(layout: Layout, lane: Term) -> list[Term]:
    """The place of a lane along each dim."""
    if layout.dims == 1:
        return [lane]
    whole = "int64" if layout.wide else "int32"
    rest = cast(lane, whole)
    at: list[Term] = []
    for d in reversed(range(1, layout.dims)):
        size = parameter(f"size{d}", whole)
        before = apply("div", rest, size)
        at.append(cast(rest - before * size, "int64"))
        rest = before
    at.append(cast(rest, "int64"))
    return at[::-1]


def lane_kernel(
    buffers: Sequence[Buffer], words: Sequence[tuple[str, str]], lane: Term,
    body: Sequence[Statement], name: str = "k",
) -> Kernel:  # fmt: skip
    """A kernel that does the same for every lane."""
    loop = Loop("lane", lane.value, FIRST, LAST, tuple(body))
    return Kernel(name, tuple(buffers), tuple(words), (loop,))


def lane() -> Term:
    """The lane that a thread has."""
    return index("lane")
