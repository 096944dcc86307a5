"""Row-major copies of NumPy arrays that lie transposed."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from dovetail.codegen import runtime, transposition
from dovetail.codegen.arrays import Array, address, target
from dovetail.codegen.layout import Ints, walked

_SIZES: Final = frozenset({1, 2, 4, 8})  # bytes of elements that are moved
_GRAIN: Final = 1 << 14  # elements that a thread moves at a time
_REMEMBERED: Final = 256  # shapes


class _Matrices(NamedTuple):
    """Matrices in two dims more, as they lie in a source and in its row-major copy.

    Attributes:
        height, width: of a result.
        source_step, result_step: to the next column of the source, and the next row of
            the result, in elements; rows of the source lie side by side.
        outer, inner: how many groups there are, and matrices in each: extent, then the
            steps in the source and in the result.
    """

    height: int
    width: int
    source_step: int
    result_step: int
    outer: Ints
    inner: Ints


def transposed(a: Array) -> Array | None:
    """A row-major copy; None where `a` is no large enough transposition."""
    if a.itemsize not in _SIZES:
        return None
    found = _copying(a.shape, a.strides, a.itemsize)
    if found is None:
        return None
    kernel, words, pieces, grain = found
    y = np.empty(a.shape, a.dtype)
    table = (ctypes.c_int64 * (2 + len(words)))(address(a), address(y), *words)
    kernel.run(ctypes.addressof(table), pieces, grain)
    return y


@lru_cache(_REMEMBERED)
def _copying(
    shape: Ints, strides: Ints, itemsize: int
) -> tuple[runtime.Kernel, Ints, int, int] | None:
    """The kernel for arrays that lie so, its words, pieces, and how many at a time."""
    side = transposition.side(itemsize, target())
    found = _matrices(shape, tuple([s // itemsize for s in strides]), side)
    if found is None:
        return None
    stripes = -(-found.height // side)
    (groups, *outer), (each, *inner) = found.outer, found.inner
    words = (
        found.height, found.width, found.source_step, found.result_step, stripes,
        each, outer[0], inner[0], outer[1], inner[1],
    )  # fmt: skip
    grain = max(_GRAIN // (side * found.width), 1)
    return _kernel(itemsize), words, groups * each * stripes, grain


def _kernel(itemsize: int) -> runtime.Kernel:
    found = _kernels.get(itemsize)
    if found is None:
        name = f"transposed_{itemsize}_bytes"
        text = transposition.render(name, itemsize, target())
        found = _kernels[itemsize] = runtime.kernel(name, text)
    return found


_kernels: Final[dict[int, runtime.Kernel]] = {}


def _matrices(shape: Ints, steps: Ints, side: int) -> _Matrices | None:
    """How an array is made of matrices that lie transposed, if it is.

    Args:
        steps: strides in elements.
    """
    walks = walked(shape, [steps])
    dims, at = [], 1
    for size, (step,) in reversed(walks):
        dims.append((size, step, at))
        at *= size
    width, *others = dims
    height = next((d for d in others if d[1] == 1), None)
    if height is None or width[1] == 1 or min(height[0], width[0]) < side:
        return None
    others.remove(height)
    if len(others) > 2:
        return None
    inner, outer, *_ = [*others, (1, 0, 0), (1, 0, 0)]
    return _Matrices(height[0], width[0], width[1], height[2], outer, inner)
