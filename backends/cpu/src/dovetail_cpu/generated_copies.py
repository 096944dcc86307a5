"""Copies and casts that NumPy does one element at a time: generated for large arrays.

Those of transposed arrays, and those to and from floats of 16 bits; NumPy moves the
others as fast as memory does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.device_api import Kernel
from dovetail.dtypes import HALF, DType, bool_, by_name, float32, float64

if TYPE_CHECKING:
    from dovetail.codegen.eager import Pointwise

Array = np.ndarray[Any, Any]

COPY_OPS: Final = frozenset({"cast", "clone"})
_FEW: Final = 1 << 11  # elements, of which NumPy casts 16-bit floats faster
# What float32 has exactly: numbers of 16-bit floats are rounded once.
_TO_HALF: Final = HALF | {float32, bool_, by_name("int8"), by_name("uint8")}
_FROM_HALF: Final = HALF | {float32, float64, bool_}


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    if own.op == "clone":
        return lambda: _clone(own.function, least)
    return lambda dtype: _cast(own.function(dtype=dtype), dtype, least)


def _clone(small: Any, least: int) -> Any:
    def clone(a: Array) -> Any:
        if a.size < least or a.flags.c_contiguous:
            return small(a)
        y = _transposed(a)
        return small(a) if y is None else y

    return clone


def _cast(small: Any, dtype: DType, least: int) -> Any:
    """A cast, of 16-bit floats by a kernel; what lies transposed is copied first."""
    made: dict[str, Pointwise | None] = {}
    few = min(least, _FEW)

    def cast(a: Array) -> Any:
        if a.size < few:
            return small(a)
        if a.size >= least and not a.flags.c_contiguous:
            y = _transposed(a)
            a = a if y is None else y
        char = a.dtype.char
        if char not in made:
            made[char] = _of_halves(a.dtype.name, dtype)
        large = made[char]
        return small(a) if large is None else large(np.asarray(a, order="C"))

    return cast


def _transposed(a: Array) -> Array | None:
    """A row-major copy of what lies transposed."""
    # With LLVM's text: nothing that a small program needs.
    from dovetail.codegen.eager_copy import transposed

    return transposed(a)


def _of_halves(source: str, target: DType) -> Pointwise | None:
    """The kernel of a cast to or from 16-bit floats, where numbers are rounded once."""
    known = _TO_HALF if target in HALF else _FROM_HALF
    pair = {by_name(source), target}
    if not pair & HALF or not pair <= known | HALF:
        return None
    from dovetail.codegen.eager import Pointwise
    from dovetail.codegen.formats import computed_in
    from dovetail.codegen.program import Program, Step

    before, after = computed_in(source), computed_in(target.name)
    steps = () if before == after else (Step("cast", (0,), after),)
    program = Program((before,), steps, ((len(steps), after),))
    return Pointwise(f"cast_to_{target.name}", program, 0, [source], target.name)
