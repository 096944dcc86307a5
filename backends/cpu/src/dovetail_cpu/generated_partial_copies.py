"""Generated kernels for large arrays of which some elements are copied."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from dovetail.device_api import Kernel
from dovetail.dtypes import DType

Array = np.ndarray[Any, Any]

# NumPy takes so long for these that kernels pay from an eighth of the elements on.
_EARLY: Final = frozenset({"tril", "triu"})
Serve = Callable[..., Any]

_SHORTEST: Final = 16  # lanes; NumPy's kernels serve shorter rows


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    serve = PARTIAL_COPIES[own.op]

    if own.op in _EARLY:
        least = max(least >> 3, 1)

    def bound(**attributes: Any) -> Any:
        small = partial(own.function, **attributes)
        large = partial(serve, **attributes)

        def kernel(a: Any, *others: Any) -> Any:
            if a.size < least:
                return small(a, *others)
            y = large(a, *others)
            return small(a, *others) if y is None else y

        return kernel

    return bound


def _masked_select(a: Array, mask: Array) -> Array | None:
    from dovetail.codegen.eager_partial_copies import selected  # with LLVM's text

    if a.shape != mask.shape or not _moves(a):
        return None
    return selected(np.ascontiguousarray(mask), np.ascontiguousarray(a))


def _nonzero(a: Array, dtype: DType) -> Array | None:
    from dovetail.codegen.eager_partial_copies import selected  # with LLVM's text

    if not a.ndim:
        return None
    mask = np.ascontiguousarray(a if a.dtype.kind == "b" else a != 0)
    rest = selected(mask, None)
    if a.ndim == 1:
        return rest.reshape(-1, 1).astype(dtype.numpy, copy=False)
    rows = np.empty((rest.size, a.ndim), dtype.numpy)
    for d in range(a.ndim - 1, 0, -1):  # without arrays that nobody keeps
        quotient, remainder = rows[:, d - 1], rows[:, d]
        np.floor_divide(rest, a.shape[d], out=quotient, casting="same_kind")
        np.multiply(quotient, a.shape[d], out=remainder)
        np.subtract(rest, remainder, out=remainder, casting="same_kind")
        rest[...] = quotient
    return rows


def _triangle(upper: bool, a: Array, diagonal: int) -> Array | None:
    from dovetail.codegen.eager_partial_copies import triangle  # with LLVM's text

    if a.shape[-1] < _SHORTEST or not _moves(a):
        return None
    return triangle(np.ascontiguousarray(a), diagonal, upper=upper)


def _moves(a: Array) -> bool:
    """Whether kernels move elements of this size."""
    return a.dtype.itemsize in (1, 2, 4, 8)


PARTIAL_COPIES: Final[dict[str, Serve]] = {
    "masked_select": _masked_select,
    "nonzero": _nonzero,
    "tril": partial(_triangle, False),
    "triu": partial(_triangle, True),
}
"""What serves large arrays, by the op; None of it where NumPy's kernel has to serve."""
