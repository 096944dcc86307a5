"""Scans, run on NumPy arrays: one kernel for dims of any sizes."""

from __future__ import annotations

import ctypes
import math
from typing import Final, NamedTuple

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.arrays import Array, address, target
from dovetail.codegen.llvm_text import render
from dovetail.codegen.row_calls import GRAIN
from dovetail.codegen.row_places import LANES
from dovetail.codegen.runtime.launch import Launch, launching
from dovetail.codegen.scan_kernel import Scan, scan_kernel
from dovetail.dtypes import by_name

Dims = tuple[int, ...]
_REMEMBERED: Final = 1024  # shapes


class _Plan(NamedTuple):
    """What calls with one shape have in common."""

    words: Dims
    pieces: int
    grain: int
    launch: Launch | None


class Scans:
    """A scan of row-major arrays along any dim.

    Raises:
        NotSupported: kernels do not know a dtype of it.
    """

    def __init__(self, name: str, scan: Scan, across: bool) -> None:
        self.scan = scan
        self.across = across
        lies = "across" if across else "along"
        kernel = scan_kernel(f"{name}_{scan.dtype}_{lies}", scan, across)
        self.kernel = runtime.kernel(kernel.name, render(kernel, target()))
        self.plans: dict[tuple[Dims, int], _Plan] = {}

    def __call__(self, x: Array, dim: int) -> tuple[Array, ...]:
        """What it gives, in the shape of `x`."""
        outs = [np.empty(x.shape, by_name(self.scan.result).numpy)]
        if self.scan.places:
            outs.append(np.empty(x.shape, np.int64))
        plan = self.plans.get((x.shape, dim)) or self._planned(x.shape, dim)
        if plan.launch is None or not plan.launch(x, *outs):
            words = [address(x), *map(address, outs), *plan.words]
            held = (ctypes.c_int64 * len(words))(*words)
            self.kernel.run(ctypes.addressof(held), plan.pieces, plan.grain)
        return tuple(outs)

    def _planned(self, shape: Dims, dim: int) -> _Plan:
        if len(self.plans) >= _REMEMBERED:
            self.plans.clear()
        words: Dims = (shape[dim],)
        width = math.prod(shape[dim + 1 :])
        pieces = math.prod(shape[:dim])
        if self.across:
            tiles = -(-width // LANES)
            words += (width, tiles)
            pieces *= tiles
        grain = max(GRAIN * pieces // math.prod(shape), 1)
        arrays = 3 if self.scan.places else 2
        launch = launching(self.kernel, arrays, words, pieces, grain)
        plan = self.plans[shape, dim] = _Plan(words, pieces, grain, launch)
        return plan
