"""Pooling by maxima, and where they were: a window a thread, its taps written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, Final

from dovetail.codegen.accumulation import Level, Sums, accumulator, blocked
from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
from dovetail.codegen.ir import Buffer, Kernel, Statement, Store, Update
from dovetail.codegen.lanes import lane, lane_kernel
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
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import DType, int32
from dovetail.xp.windows import Windows
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import Ints, XpuArray
from dovetail_xpu.primitives import FLOATS, copier
from dovetail_xpu.windows import (
    Sizes,
    along,
    axis_names,
    axis_words,
    both,
    meeting,
    split,
)

_MOST_TAPS: Final = 64  # that are written out
_OPTIONS: Final = {"binds": True, "reads": ("kernel_size",)}


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    pools = Pools(launcher)
    floats = claimed & FLOATS
    for op, make in (
        ("max_pool", pools.greatest), ("max_pool_slots", pools.slots),
        ("max_pool_backward", pools.backward),
    ):  # fmt: skip
        table.add(op, make, dtypes=floats, when=_is_short, **_OPTIONS)


def _is_short(facts: Facts) -> bool:
    """Whether a window has few taps."""
    return math.prod(facts.kernel_size) <= _MOST_TAPS


class Pools:
    """The kernels of pooling, by dtype and by the taps of windows."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self.copy = copier(launcher)
        self._kernels: dict[Any, Launchable] = {}

    def greatest(self, **choices: Any) -> Callable[[XpuArray], XpuArray]:
        """The greatest element of each window."""
        return lambda x: self._found(x, _windows(choices), False)

    def slots(self, **choices: Any) -> Callable[[XpuArray], XpuArray]:
        """Which tap of each window that is."""
        return lambda x: self._found(x, _windows(choices), True)

    def backward(self, **choices: Any) -> Callable[[XpuArray, XpuArray], XpuArray]:
        """What windows send back, added up where their greatest elements are."""
        windows = _windows(choices)

        def call(dy: XpuArray, x: XpuArray) -> XpuArray:
            slots = self._found(x, windows, True)
            dy = dy if dy.dense else self.copy(dy)
            made = self.launcher.fresh(x.shape, x.dtype, x.device.index)
            sizes = _sizes(x, windows)
            words = [dy.address, slots.address, made.address]
            words += axis_words(sizes.spatial, made.strides[2:], sizes)
            key = _back, x.dtype, len(sizes.spatial)
            self._launch(key, words, made)
            return made

        return call

    def _found(self, x: XpuArray, windows: Windows, slots: bool) -> XpuArray:
        sizes = _sizes(x, windows)
        shape = (*x.shape[:2], *sizes.places)
        made = self.launcher.fresh(shape, int32 if slots else x.dtype, x.device.index)
        words = [x.address, made.address, *x.strides[:2]]
        words += axis_words(sizes.spatial, x.strides[2:], sizes)
        key = _greatest, x.dtype, tuple(windows.kernel), slots
        self._launch(key, words, made)
        return made

    def _launch(self, key: Any, words: list[int], made: XpuArray) -> None:
        count = made.size
        if not count:
            return
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = Launchable(partial(*key))
        words = [*words, made.shape[1], 0, count]
        found.launch(made.block.stream, words, -(-count // THREADS))


def _windows(choices: dict[str, Any]) -> Windows:
    names = "kernel_size", "stride", "padding", "dilation", "ceil_mode"
    return Windows(*[choices[name] for name in names])


def _sizes(x: XpuArray, windows: Windows) -> Sizes:
    return Sizes(x.shape[1], x.shape[2:], windows.places(x.shape[2:]), windows)


def _greatest(dtype: DType, taps: Ints, slots: bool) -> Kernel:
    """The greatest element of a window, or its tap: of equal ones the first, of NaNs
    the last; where all is less than the padding, the first within."""
    nd, at = len(taps), lane()
    x = Buffer("x", in_memory(dtype.name))
    out = Buffer("y", "int32" if slots else in_memory(dtype.name), written=True)
    image, channel, *place = split(at, [parameter("channels"), *along(["place"], nd)])
    begin = image * parameter("image_step") + channel * parameter("channel_step")
    wide = computed_in(dtype.name)
    parts: list[tuple[Term, Term]] = []
    for tap in product(*map(range, taps)):
        inside, source = _read(begin, place, tap)
        there = choose(inside, source, constant(0, "int64"))
        value = widened(load(x, there), dtype.name)
        parts.append((inside, choose(inside, value, constant(-math.inf, wide))))
    slot = constant(0, "int32")
    for i, (inside, _) in reversed(tuple(enumerate(parts))):
        slot = choose(inside, constant(i, "int32"), slot)
    best = parts[0][1]
    for i, (_, value) in enumerate(parts[1:], 1):
        wins = apply("or", best < value, compare("ne", value, value))
        slot = choose(wins, constant(i, "int32"), slot)
        best = apply("maximum", best, value)
    y = slot if slots else narrowed(best, dtype.name)
    words = [(name, "int64") for name in ("image_step", "channel_step")]
    words += [*axis_names(nd), ("channels", "int64")]
    return lane_kernel([x, out], words, at, [Store(out, at.value, y.value)])


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


def _back(dtype: DType, nd: int) -> Kernel:
    """The sum, for an element of the input, over windows whose greatest it is."""
    at, memory = lane(), in_memory(dtype.name)
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
        value = widened(load(dy, there), dtype.name)
        value = choose(sent, value, constant(0, value.dtype))
        return [Update(sums[0], value.value)]

    wide = computed_in(dtype.name)
    loop, sums = blocked(levels, lambda: [accumulator("add", wide)], added)
    total = narrowed(Term(sums[0].value), dtype.name)
    words = [*axis_names(nd), ("channels", "int64")]
    store = Store(y, at.value, total.value)
    return lane_kernel([dy, slots, y], words, at, [loop, store])
