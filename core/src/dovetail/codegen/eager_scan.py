"""Scans, run on NumPy arrays: one kernel for dims of any sizes."""

from __future__ import annotations

import ctypes
import math

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.arrays import Array, address, target
from dovetail.codegen.llvm_text import render
from dovetail.codegen.row_calls import GRAIN
from dovetail.codegen.row_places import LANES
from dovetail.codegen.scan_kernel import Scan, scan_kernel
from dovetail.dtypes import by_name


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
        self.run = runtime.kernel(kernel.name, render(kernel, target())).run

    def __call__(self, x: Array, dim: int) -> tuple[Array, ...]:
        """What it gives, in the shape of `x`."""
        outs = [np.empty(x.shape, by_name(self.scan.result).numpy)]
        if self.scan.places:
            outs.append(np.empty(x.shape, np.int64))
        count, width = x.shape[dim], math.prod(x.shape[dim + 1 :])
        pieces = math.prod(x.shape[:dim])
        words = [address(x), *map(address, outs), count]
        if self.across:
            tiles = -(-width // LANES)
            words += [width, tiles]
            pieces *= tiles
        held = (ctypes.c_int64 * len(words))(*words)
        self.run(ctypes.addressof(held), pieces, max(GRAIN * pieces // x.size, 1))
        return tuple(outs)
