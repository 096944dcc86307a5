"""Copies and casts that NumPy does one element at a time: generated for large arrays.

Those of arrays that lie otherwise than in rows, and those to and from floats of 16
bits. The others NumPy moves as fast as one thread can: from `MUCH` on all threads do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.device_api import Kernel
from dovetail.dtypes import (
    BOOL,
    HALF,
    INTEGRAL,
    DType,
    bool_,
    by_name,
    float32,
    float64,
)
from dovetail.errors import DovetailError
from dovetail_cpu.generated_pointwise import by_threads
from dovetail_cpu.moves import moved

if TYPE_CHECKING:
    from dovetail.codegen.eager import Pointwise

Array = np.ndarray[Any, Any]

COPY_OPS: Final = frozenset({"cast", "clone"})
_FEW: Final = 1 << 11  # elements, of which NumPy casts 16-bit floats faster
# What float32 has exactly: numbers of 16-bit floats are rounded once.
_TO_HALF: Final = HALF | {float32, bool_, by_name("int8"), by_name("uint8")}
_FROM_HALF: Final = HALF | {float32, float64, bool_}
_NUMBERS: Final = BOOL | INTEGRAL | {float32, float64}
# In which elements are moved that have as many bytes, and how many of them are one.
_MOVED: Final = {1: ("int8", 1), 2: ("int16", 1), 4: ("int32", 1), 8: ("int64", 1),
                 16: ("int64", 2)}  # fmt: skip


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    if own.op == "clone":
        return lambda: _clone(own.function, least)
    return lambda dtype: _cast(own.function(dtype=dtype), dtype, least)


def _clone(small: Any, least: int) -> Any:
    made: dict[int, Pointwise] = {}

    def clone(a: Array) -> Any:
        if a.size < least:
            return small(a)
        if not a.flags.c_contiguous:
            y = _in_rows(a)
            return small(a) if y is None else y
        y = _copied(a, made) if by_threads(a.size) else None
        return small(a) if y is None else y

    return clone


def _copied(a: Array, made: dict[int, Pointwise]) -> Array | None:
    """A copy of a row-major array, by all threads."""
    if a.itemsize not in _MOVED:
        return None
    name, many = _MOVED[a.itemsize]
    if a.itemsize not in made:
        made[a.itemsize] = _conversion(name, name, "copy")
    flat = np.ndarray((a.size * many,), name, a)
    y = made[a.itemsize](flat)
    return None if y is None else np.ndarray(a.shape, a.dtype, y)


def _cast(small: Any, dtype: DType, least: int) -> Any:
    """A cast, of 16-bit floats by a kernel; what lies otherwise is copied first."""
    halves: dict[str, Pointwise | None] = {}
    others: dict[str, Pointwise | None] = {}
    few = min(least, _FEW)

    def cast(a: Array) -> Any:
        if a.size < few:
            return small(a)
        if a.size >= least and not a.flags.c_contiguous:
            y = _in_rows(a)
            a = a if y is None else y
        char = a.dtype.char
        if char not in halves:
            halves[char] = _of_halves(a.dtype.name, dtype)
        large = halves[char]
        if large is None and a.flags.c_contiguous and by_threads(a.size):
            if char not in others:
                others[char] = _of_numbers(a.dtype.name, dtype)
            large = others[char]
        return small(a) if large is None else large(np.asarray(a, order="C"))

    return cast


def _in_rows(a: Array) -> Array | None:
    """A row-major copy of what lies otherwise; None where NumPy has to make it."""
    # With LLVM's text: nothing that a small program needs.
    from dovetail.codegen.eager_copy import transposed

    y = transposed(a)
    if y is not None:
        return y
    y = np.empty(a.shape, a.dtype)
    return y if moved(y, a) else None


def _of_halves(source: str, target: DType) -> Pointwise | None:
    """The kernel of a cast to or from 16-bit floats, where numbers are rounded once."""
    known = _TO_HALF if target in HALF else _FROM_HALF
    pair = {by_name(source), target}
    if not pair & HALF or not pair <= known | HALF:
        return None
    return _conversion(source, target.name, f"cast_to_{target.name}")


def _of_numbers(source: str, target: DType) -> Pointwise | None:
    """The kernel of a cast of other numbers, where one can be made that rounds once."""
    if not {by_name(source), target} <= _NUMBERS:
        return None
    try:
        return _conversion(source, target.name, f"cast_to_{target.name}")
    except DovetailError:  # integers of floats beyond them are as NumPy has them
        return None


def _conversion(source: str, target: str, name: str) -> Pointwise:
    """The kernel that reads numbers of one dtype and stores them in another."""
    from dovetail.codegen.eager import Pointwise
    from dovetail.codegen.formats import computed_in
    from dovetail.codegen.program import Program, Step

    before, after = computed_in(source), computed_in(target)
    steps = () if before == after else (Step("cast", (0,), after),)
    program = Program((before,), steps, ((len(steps), after),))
    return Pointwise(name, program, 0, [source], target)
