"""Pooling by maxima, and where they were: a window a thread, its taps written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dovetail.codegen.pool_forms import greatest, send_back
from dovetail.codegen.window_forms import Axes
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import DType, int32
from dovetail.xp.windows import Windows
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import XpuArray
from dovetail_xpu.primitives import FLOATS, copier

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
            words = [dy.address, slots.address, made.address]
            words += _axes(x, windows).words(made.strides[2:])
            key = send_back, x.dtype.name, len(x.shape) - 2
            self._launch(key, words, made)
            return made

        return call

    def _found(self, x: XpuArray, windows: Windows, slots: bool) -> XpuArray:
        axes = _axes(x, windows)
        shape = (*x.shape[:2], *axes.places)
        made = self.launcher.fresh(shape, int32 if slots else x.dtype, x.device.index)
        words = [x.address, made.address, *x.strides[:2]]
        words += axes.words(x.strides[2:])
        key = greatest, x.dtype.name, tuple(windows.kernel), slots
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


def _axes(x: XpuArray, windows: Windows) -> Axes:
    return Axes(x.shape[2:], windows.places(x.shape[2:]), *windows[:4])
