"""Generated kernels for large gathers and scatters along one dim.

They look at indices as they go. One that is out of range is left to NumPy's kernel,
which refuses it by name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.device_api import Kernel
from dovetail.xp.indexing import neutral

if TYPE_CHECKING:
    from dovetail.codegen.place_kernels import Does

Array = np.ndarray[Any, Any]

# NumPy takes so long for these that kernels pay from fewer elements on: from an eighth,
# or a 32nd where it writes to one place after the other. How often that is halved:
EARLY: Final = {
    "embedding": 3, "gather": 3, "index_add": 3, "index_sum": 3, "scatter": 5,
    "scatter_add": 5, "scatter_reduce": 3,
}  # fmt: skip
Serve = Callable[..., Any]


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    serve = PLACE_OPS[own.op]

    least = max(least >> EARLY.get(own.op, 0), 1)

    def bound(**attributes: Any) -> Any:
        small = partial(own.function, **attributes)
        large = partial(serve, **attributes)

        def kernel(a: Any, index: Any, *source: Any) -> Any:
            if index.size < least and a.size < least:
                return small(a, index, *source)
            y = large(a, index, *source)
            return small(a, index, *source) if y is None else y

        return kernel

    return bound


def _gather(a: Array, index: Array, dim: int) -> Array | None:
    if not _alike(a, index, dim):
        return None
    return _read(a, index, dim, index.shape, line=False)


def _index_select(a: Array, index: Array, dim: int) -> Array | None:
    if not a.ndim or index.ndim != 1:
        return None
    shape = (*a.shape[:dim], index.size, *a.shape[dim + 1 :])
    return _read(a, index, dim, shape, line=True)


def _embedding(a: Array, index: Array, padding_idx: int) -> Array | None:
    return _read(a, index, 0, (*index.shape, a.shape[1]), line=True)


def _read(
    a: Array, index: Array, dim: int, shape: tuple[int, ...], *, line: bool
) -> Array | None:
    """A new array of what is read; None where this cannot serve."""
    from dovetail.codegen import eager_places as places  # with LLVM's text

    y = np.empty(shape, a.dtype)
    count = index.size if line else index.shape[dim]
    around = places.Shape.around(a.shape, dim, count)
    if not (y.size and a.size and places.moves(a.dtype.itemsize)):
        return None
    if places.name_of(index.dtype) not in places.INDICES:
        return None
    given = map(np.ascontiguousarray, (a, index))
    return y if places.at_places("read", *given, y, around, line=line) else None


def _scatter(a: Array, index: Array, src: Array, dim: int) -> Array | None:
    return _each(a, index, src, dim, does="write")


def _scatter_add(a: Array, index: Array, src: Array, dim: int) -> Array | None:
    return _each(a, index, src, dim, does="add")


def _each(a: Array, index: Array, src: Array, dim: int, *, does: Does) -> Array | None:
    if not _alike(a, index, dim):
        return None
    covered = src[tuple(slice(0, n) for n in index.shape)]
    return _written(a, index, covered, dim, does=does, line=False)


def _index_copy(a: Array, index: Array, src: Array, dim: int) -> Array | None:
    return _written(a, index, src, dim, does="write", line=True)


def _index_add(a: Array, index: Array, src: Array, dim: int) -> Array | None:
    return _written(a, index, src, dim, does="add", line=True)


def _written(
    a: Array, index: Array, src: Array, dim: int, *, does: Does, line: bool
) -> Array | None:
    """A copy of `a` that is written to; None where this cannot serve."""
    from dovetail.codegen import eager_places as places  # with LLVM's text

    if not (a.ndim and a.size and index.size) or src.dtype != a.dtype:
        return None
    known = (
        places.name_of(a.dtype) in places.COMBINED
        if does != "write"
        else places.moves(a.dtype.itemsize)
    )
    if not known or places.name_of(index.dtype) not in places.INDICES:
        return None
    y = np.array(a, order="C")
    return y if _combined(y, index, src, dim, does, line=line) else None


def _combined(
    y: Array, index: Array, src: Array, dim: int, does: Does, *, line: bool
) -> bool:
    """Whether all indices were in range, by which `src` went into `y`."""
    from dovetail.codegen import eager_places as places  # with LLVM's text

    count = index.size if line else index.shape[dim]
    around = places.Shape.around(y.shape, dim, count)
    given = map(np.ascontiguousarray, (src, index))
    return places.at_places(does, *given, y, around, line=line)


def _index_sum(src: Array, index: Array, size: int, dim: int) -> Array | None:
    from dovetail.codegen import eager_places as places  # with LLVM's text

    known = places.name_of(src.dtype) in places.COMBINED
    if not (known and src.size and size and index.ndim == 1):
        return None
    if places.name_of(index.dtype) not in places.INDICES:
        return None
    y = np.zeros((*src.shape[:dim], size, *src.shape[dim + 1 :]), src.dtype)
    return y if _combined(y, index, src, dim, "add", line=True) else None


_REDUCTIONS: Final[dict[str, Does]] = {
    "sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"
}  # fmt: skip


def _scatter_reduce(
    a: Array, index: Array, src: Array, dim: int, reduce: str, include_self: bool
) -> Array | None:
    does = _REDUCTIONS.get(reduce)
    if does is None:
        return None
    start: Array | None = a
    if not include_self:
        nothing = np.full(index.shape, neutral(a.dtype, reduce), a.dtype)
        start = _each(a, index, nothing, dim, does="write")
    return None if start is None else _each(start, index, src, dim, does=does)


def _alike(a: Array, index: Array, dim: int) -> bool:
    """Whether an index has all of the other dims."""
    if not a.ndim or index.ndim != a.ndim:
        return False
    return all(
        d == dim or m == n
        for d, (m, n) in enumerate(zip(a.shape, index.shape, strict=True))
    )


PLACE_OPS: Final[dict[str, Serve]] = {
    "gather": _gather,
    "index_select": _index_select,
    "embedding": _embedding,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "index_copy": _index_copy,
    "index_add": _index_add,
    "index_sum": _index_sum,
    "scatter_reduce": _scatter_reduce,
}
"""What serves large arrays, by the op; None of it where NumPy's kernel has to serve."""
