"""NumPy whose large copies are made by generated kernels, and by several threads."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime import available
from dovetail.xp.kernels import undispatched
from dovetail.xp.orders import by_channels
from dovetail_cpu.generated_pointwise import by_threads, least_elements

Array = np.ndarray[Any, Any]

_own_copyto: Final = undispatched(np.copyto)
_own_concatenate: Final = undispatched(np.concatenate)


def numpy_with_moves() -> Any:
    """NumPy, of which `copyto` and `concatenate` move large arrays by kernels.

    `copyto` is for arrays that share no memory, and `concatenate` gives what lies in
    row-major order. NumPy itself where kernels cannot be compiled.
    """
    if not available():
        return np
    made = ModuleType(np.__name__)
    vars(made).update(
        vars(np), copyto=_copyto, concatenate=_concatenate,
        plain_concatenate=_own_concatenate,
    )  # fmt: skip
    return made


def moved(y: Array, x: Array) -> bool:
    """Whether kernels wrote the elements of `x`, broadcast, to `y`; NumPy has to else.

    One thread of NumPy's copies one run of memory as fast as a kernel.
    """
    if x.dtype != y.dtype:
        return False
    whole = x.size == y.size and x.flags.c_contiguous and y.flags.c_contiguous
    if whole and not by_threads(y.size):
        return False
    # With LLVM's text: nothing that a small program needs.
    from dovetail.codegen.eager_moves import moved

    return moved(y, x)


_least: Final = least_elements()


def _copyto(y: Array, x: Array) -> None:
    if y.size < _least or not moved(y, x):
        _own_copyto(y, x)


def _concatenate(xs: Sequence[Array], axis: int = 0) -> Array:
    for x in xs:
        if x.size >= _least:
            y = _joined(xs, axis)
            break
    else:
        y = None
    return _own_concatenate(xs, axis) if y is None else y


def _joined(xs: Sequence[Array], axis: int) -> Array | None:
    """Arrays one behind the other; None where NumPy has to refuse, or to lay them."""
    shape, dtype = list(xs[0].shape), xs[0].dtype
    total = sum(x.shape[axis] for x in xs)
    for x in xs:
        shape[axis] = x.shape[axis]
        if list(x.shape) != shape or x.dtype != dtype:
            return None
    if all(map(by_channels, xs)):
        return None
    shape[axis] = total
    y, end, before = np.empty(shape, dtype), 0, (slice(None),) * (axis % len(shape))
    for x in xs:
        start, end = end, end + x.shape[axis]
        _copyto(y[(*before, slice(start, end))], x)
    return y
