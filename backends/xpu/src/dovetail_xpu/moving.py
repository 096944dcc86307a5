"""Gathers and scatters: elements at places that other elements name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.codegen.formats import computed_in, in_memory, widened
from dovetail.codegen.ir import Buffer, Kernel, Store
from dovetail.codegen.lanes import (
    Layout,
    lane,
    lane_kernel,
    offsets,
    parameters,
    placed,
)
from dovetail.codegen.values import Term, apply, cast, constant, load, parameter
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import XpuArray
from dovetail_xpu.primitives import BITS, FLOATS, INTS
from dovetail_xpu.text import Added

_STEP: Final = "step"  # between places along the dim that indices count
_LAST: Final = "last_place"  # beyond which nobody reads or writes


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    put = Indexed(launcher, _put)

    def scatter_set(a: XpuArray, index: XpuArray, src: XpuArray, dim: int) -> None:
        form = BITS[a.dtype.itemsize]
        put(a.read_as(form), index, src.read_as(form), dim)

    table.add("take_along", taker(launcher), dtypes=claimed)
    table.add("scatter_set_", scatter_set, dtypes=claimed)
    table.add(
        "scatter_add_",
        adder(launcher),
        dtypes=claimed & (FLOATS | INTS),
        deterministic=False,
    )


def adder(launcher: Launcher) -> Indexed:
    """Adds elements to those at indices along a dim."""
    return Indexed(launcher, _added)


def taker(launcher: Launcher) -> Callable[[XpuArray, XpuArray, int], XpuArray]:
    """Gives the elements at indices along a dim."""
    take = Indexed(launcher, _taken)

    def take_along(a: XpuArray, index: XpuArray, dim: int) -> XpuArray:
        made = launcher.fresh(index.shape, a.dtype, a.device.index)
        form = BITS[a.dtype.itemsize]
        take(a.read_as(form), index, made.read_as(form), dim)
        return made

    return take_along


class Indexed:
    """Moves elements between one array's places along a dim and those of another.

    Args:
        move: what to store, given the buffers of both arrays, and the places in them.
    """

    def __init__(self, launcher: Launcher, move: Callable[..., Store]) -> None:
        self.launcher = launcher
        self.move = move
        self._kernels: dict[Any, Launchable] = {}

    def __call__(self, a: XpuArray, index: XpuArray, other: XpuArray, dim: int) -> None:
        """For every element of `index` and `other`, which have one shape."""
        count = index.size
        if not count:
            return
        rest = tuple([0 if d == dim else s for d, s in enumerate(a.strides)])
        step = a.strides[dim] if a.strides else 0
        most = a.shape[dim] - 1 if a.shape else 0
        strides = [rest, index.strides, other.strides]
        layout, words = placed(index.shape, strides, count)
        key = layout, a.dtype, index.dtype
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = Launchable(lambda: self.form(*key))
        found.launch(
            self.launcher.stream(a.device.index),
            [a.address, index.address, other.address, *words, step, most, 0, count],
            -(-count // THREADS),
        )

    def form(self, layout: Layout, dtype: DType, index: DType) -> Kernel:
        """The kernel as loops."""
        at = lane()
        memory = in_memory(dtype.name)
        a = Buffer("a", memory, written=True)
        indices = Buffer("indices", index.name)
        other = Buffer("other", memory, written=True)
        rest, place, here = offsets(layout, at)
        chosen = cast(load(indices, place), "int64")
        chosen = apply("minimum", chosen, parameter(_LAST))
        chosen = apply("maximum", chosen, constant(0, "int64"))
        there = rest + chosen * parameter(_STEP)
        store = self.move(a, there, other, here, dtype.name)
        words = [*parameters(layout), (_STEP, "int64"), (_LAST, "int64")]
        return lane_kernel([a, indices, other], words, at, [store])


def _taken(a: Buffer, there: Term, other: Buffer, here: Term, dtype: str) -> Store:
    return Store(other, here.value, load(a, there).value)


def _put(a: Buffer, there: Term, other: Buffer, here: Term, dtype: str) -> Store:
    return Store(a, there.value, load(other, here).value)


def _added(a: Buffer, there: Term, other: Buffer, here: Term, dtype: str) -> Store:
    value = widened(load(other, here), dtype)
    assert value.dtype == computed_in(dtype)
    return Added(a, there.value, value.value, dtype)
