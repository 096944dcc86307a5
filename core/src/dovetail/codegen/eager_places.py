"""Gathers and scatters along one dim of NumPy arrays, by generated kernels."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.eager import Array, target
from dovetail.codegen.eager_sort import run
from dovetail.codegen.llvm_text import render
from dovetail.codegen.place_kernels import COMBINES, Does, Places
from dovetail.codegen.runtime.launch import Launch, launching

DType = np.dtype[Any]

_GRAIN: Final = 1 << 14  # elements that a thread takes at a time
_BLOCK: Final = 256  # bytes of inner elements that are done together, at least
_ARRAYS: Final = 4  # of a kernel
_REMEMBERED: Final = 1024  # shapes
_FEW: Final = 16  # numbers, of which Python finds the greatest sooner than NumPy
_PIECES: Final = 4  # that inner elements are cut into, so that threads share them
MOVED: Final = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
"""What elements are moved as, by their size in bytes."""
COMBINED: Final = frozenset(
    {"float32", "float64"}
    | {f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)}
)
"""Dtypes that values are combined in."""
INDICES: Final = frozenset({"int64", "int32", "int16", "int8", "uint8"})
"""Dtypes of indices."""


class Shape(NamedTuple):
    """An array around a dim, and how many indices stand for it."""

    outer: int
    size: int
    indices: int
    inner: int

    @staticmethod
    def around(shape: tuple[int, ...], dim: int, count: int) -> Shape:
        """Of an array with this dim."""
        outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
        return Shape(outer, shape[dim], count, inner)


name_of: Final = cache(lambda dtype: str(dtype.name))
"""The name of NumPy's dtype, which NumPy puts together anew whenever it is asked."""


@cache
def _kernel(*places: Any) -> runtime.Kernel:
    form = Places(*places).kernel()
    return runtime.kernel(form.name, render(form, target()))


def moves(itemsize: int) -> bool:
    """Whether elements of so many bytes can be moved."""
    return itemsize in MOVED


def at_places(
    does: Does, x: Array, index: Array, y: Array,
    shape: Shape, *, line: bool, signed: bool = False,
) -> bool:  # fmt: skip
    """Read, write or combine where indices say; whether all of them were in range.

    Args:
        x: what is read: [outer, size, inner], else [outer, count, inner].
        index: [count] if `line`, else [outer, count, inner].
        y: what is written, the other one; all three are row-major.
        shape: of more than no elements.
        signed: whether indices may count from the end.
    """
    plan = _plan(does, x.dtype, index.dtype, shape, line, signed)
    greatest = np.zeros(plan.told, np.uint64)
    if plan.launch is None or not plan.launch(x, index, y, greatest):
        run(plan.kernel, plan.items, plan.grain, x, index, y, greatest, *plan.words)
    if plan.told == 1:
        return int(greatest.item()) < shape.size
    few = plan.told <= _FEW
    return int(max(greatest.tolist()) if few else greatest.max()) < shape.size


class _Plan(NamedTuple):
    """What calls with one shape have in common.

    Attributes:
        told: how many indices the kernel tells.
    """

    kernel: runtime.Kernel
    items: int
    grain: int
    words: tuple[int, ...]
    told: int
    launch: Launch | None


@lru_cache(_REMEMBERED)
def _plan(
    does: Does, elements: DType, indices: DType, shape: Shape, line: bool, signed: bool
) -> _Plan:
    """The work of a call, by threads and in parts."""
    outer, size, count, inner = shape
    itemsize = elements.itemsize
    dtype = name_of(elements) if does in COMBINES else MOVED[itemsize]
    kernel = _kernel(does, dtype, name_of(indices), line, inner > 1, signed)
    parts, part_size = 1, count
    if does == "read":  # no two write to one place
        part_size = max(_GRAIN // inner, 1)
        parts = -(-count // part_size)
    blocks, block_size = _blocks(shape, parts, itemsize)
    if blocks > 1:
        parts, part_size = 1, count
    items = outer * parts * blocks
    shift = max(_GRAIN // (part_size * block_size), 1).bit_length() - 1
    words = size, count, inner, parts, part_size, blocks, block_size, shift
    launch = launching(kernel, _ARRAYS, words, items, 1 << shift)
    return _Plan(kernel, items, 1 << shift, words, -(-items >> shift), launch)


def _blocks(shape: Shape, parts: int, itemsize: int) -> tuple[int, int]:
    """How many blocks inner elements are cut into, and how long each is."""
    outer, _, _, inner = shape
    least = _BLOCK // itemsize
    if outer * parts >= _PIECES or inner < 2 * least:
        return 1, inner
    pieces = min(inner // least, _PIECES)
    length = -(-inner // (pieces * least)) * least
    return -(-inner // length), length


__all__ = ["COMBINED", "INDICES", "Shape", "at_places", "moves", "name_of"]
