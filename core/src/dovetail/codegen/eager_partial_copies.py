"""Some elements of NumPy arrays, copied by generated kernels."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.codegen import partial_copies, runtime
from dovetail.codegen.eager import Array, target
from dovetail.codegen.eager_places import MOVED
from dovetail.codegen.eager_sort import run
from dovetail.codegen.llvm_text import render

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time


@cache
def _kernel(name: str, *given: Any) -> runtime.Kernel:
    form = getattr(partial_copies, name)(*given)
    return runtime.kernel(form.name, render(form, target()))


def selected(mask: Array, x: Array | None) -> Array:
    """The elements of `x` where a mask holds, or their numbers, in row-major order.

    Args:
        mask: bools, row-major.
        x: of as many elements, each of 1, 2, 4 or 8 bytes, row-major.
    """
    parts = -(-mask.size // _GRAIN)
    counts, ends = np.empty(parts, np.int64), np.empty(parts, np.int64)
    run(_kernel("mask_counts"), parts, 1, mask, counts, ends, _GRAIN, mask.size)
    total = np.cumsum(counts)
    starts = total - counts
    dtype = "int64" if x is None else MOVED[x.dtype.itemsize]
    given = (mask,) if x is None else (mask, x)
    y = np.empty(int(total[-1]), np.int64 if x is None else x.dtype)
    kernel = _kernel("selected", dtype, x is None)
    run(kernel, parts, 1, *given, starts, ends, y, _GRAIN, mask.size)
    return y


def triangle(x: Array, diagonal: int, *, upper: bool) -> Array:
    """Matrices with zeros on one side of a diagonal; `x` is row-major."""
    rows, lanes = x.shape[-2:]
    y = np.empty_like(x)
    kernel = _kernel("triangle", MOVED[x.dtype.itemsize], upper)
    grain = max(_GRAIN // lanes, 1)
    run(kernel, x.size // lanes, grain, x, y, rows, lanes, diagonal)
    return y
