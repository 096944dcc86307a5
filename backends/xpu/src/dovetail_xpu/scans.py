"""Scans: of each element, what came up to it along a dim, in one launch.

Where the dim is the last one, the threads of a block go through a row together; where
others are behind it, each thread goes through a column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from dovetail.codegen.accumulation import Combine
from dovetail.codegen.row_places import LANES
from dovetail.codegen.scan_kernel import Scan, scan_kernel
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import (
    HALF,
    ORDERED,
    DType,
    bool_,
    by_name,
    float32,
    float64,
    int32,
    int64,
    uint8,
)
from dovetail_xpu.launch import Launchable, Launcher
from dovetail_xpu.memory import XpuArray
from dovetail_xpu.order import last_dim
from dovetail_xpu.primitives import converter, copier, mover

_SUMS: Final[dict[str, Combine]] = {"cumsum": "add", "cumprod": "mul"}
_EXTREMES: Final[dict[str, Combine]] = {"cummax": "maximum", "cummin": "minimum"}
_MOST_BLOCKS: Final = 1 << 16
_LONG: Final = 1024  # elements of a column, of which there should be many then
_LONGEST: Final = 2**31 - 1


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    scans = Scans(launcher, float64 in claimed)
    for op, combine in _SUMS.items():
        table.add(
            op, partial(scans.sums, combine), dtypes=claimed, binds=True,
            when=_is_number, reads=("dtype",),
        )  # fmt: skip
    for op, combine in _EXTREMES.items():
        table.add(
            op, partial(scans.extremes, combine), dtypes=claimed & ORDERED, binds=True,
            when=_can_be_counted, reads=("shape",),
        )  # fmt: skip


def _is_number(facts: Facts) -> bool:
    """Whether numbers are asked for, which truths are not."""
    return facts.dtype is not bool_


def _can_be_counted(facts: Facts) -> bool:
    """Whether places have 31 bits."""
    return max(facts.shape[0], default=0) <= _LONGEST


class Scans:
    """The kernels of scans.

    Args:
        doubles: whether the device has float64, in which floats are gathered then:
            the errors of a long chain of float32 sums all go one way.
    """

    def __init__(self, launcher: Launcher, doubles: bool) -> None:
        self.launcher = launcher
        self.doubles = doubles
        self.copy = copier(launcher)
        self.move = mover(launcher)
        self._casts: dict[DType, Callable[[XpuArray], XpuArray]] = {}
        self._kernels: dict[Any, Launchable] = {}

    def sums(self, combine: Combine, **choices: Any) -> Callable[[XpuArray], XpuArray]:
        """Sums or products so far."""
        dim, wanted = choices["dim"], choices["dtype"]

        def call(x: XpuArray) -> XpuArray:
            result = wanted or (x.dtype if x.dtype.is_floating_point else int64)
            x = self._as(x, result)
            within = int64
            if result.is_floating_point:
                within = float64 if self.doubles or result is float64 else float32
            scan = Scan(combine, result.name, within.name, result.name)
            (y,) = self._along(scan, x, dim)
            return y

        return call

    def extremes(
        self, combine: Combine, **choices: Any
    ) -> Callable[[XpuArray], tuple[XpuArray, XpuArray]]:
        """The greatest or least so far, and the last place of it."""

        def call(x: XpuArray) -> tuple[XpuArray, XpuArray]:
            own = through = x.dtype
            if own in HALF:
                through = float32
            elif own in (bool_, uint8):
                through = int32
            name = through.name
            scan = Scan(combine, name, name, name, places=True)
            y, places = self._along(scan, self._as(x, through), choices["dim"])
            return self._as(y, own), places

        return call

    def _as(self, x: XpuArray, dtype: DType) -> XpuArray:
        """An array in another dtype."""
        if x.dtype is dtype:
            return x
        if dtype not in self._casts:
            self._casts[dtype] = converter(self.launcher, dtype)
        return self._casts[dtype](x)

    def _along(self, scan: Scan, x: XpuArray, dim: int) -> Sequence[XpuArray]:
        """What a scan gives along a dim, row-major."""
        if not x.shape:
            x = x.seen_as((1,), (1,))
            return [y.seen_as((), ()) for y in self._along(scan, x, 0)]
        width = math.prod(x.shape[dim + 1 :])
        if not 1 < width < LANES or x.shape[dim] < _LONG:
            return self._rows(scan, x, dim)
        found = self._rows(scan, last_dim(x, dim), len(x.shape) - 1)
        return [self._back(y, x, dim) for y in found]

    def _back(self, y: XpuArray, x: XpuArray, dim: int) -> XpuArray:
        """An array whose last dim goes back to where it was."""
        made = self.launcher.fresh(x.shape, y.dtype, x.device.index)
        self.move(last_dim(made, dim), y)
        return made

    def _rows(self, scan: Scan, x: XpuArray, dim: int) -> Sequence[XpuArray]:
        """What a scan gives, by blocks of threads for rows, or for columns."""
        x = x if x.dense else self.copy(x)
        index = x.device.index
        made = [self.launcher.fresh(x.shape, by_name(scan.result), index)]
        if scan.places:
            made.append(self.launcher.fresh(x.shape, int64, index))
        if not x.size:
            return made
        pieces, width = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1 :])
        across = width > 1
        words = [x.address, *[y.address for y in made], x.shape[dim]]
        if across:
            tiles = -(-width // LANES)
            words += [width, tiles]
            pieces *= tiles
        found = self._kernels.get((scan, across))
        if found is None:
            form = partial(scan_kernel, "k", scan, across)
            found = self._kernels[scan, across] = Launchable(form, LANES)
        stream = made[0].block.stream
        found.launch(stream, [*words, 0, pieces], min(pieces, _MOST_BLOCKS))
        return made
