"""Generated kernels for large gathers and scatters along one dim.

They look at indices as they go. One that is out of range is left to NumPy's kernel,
which refuses it by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dovetail.device_api import Kernel
from dovetail.xp.indexing import neutral
from dovetail_cpu.patience import Patience

if TYPE_CHECKING:
    from dovetail.codegen.eager_places import Shape
    from dovetail.codegen.place_kernels import Does

Array = np.ndarray[Any, Any]
NumpyDType = np.dtype[Any]
Ints = tuple[int, ...]

# NumPy takes so long for these that kernels pay from fewer elements on: from an eighth,
# or a 32nd where it writes to one place after the other. How often that is halved:
EARLY: Final = {
    "embedding": 3, "gather": 3, "index_add": 3, "index_sum": 3, "scatter": 5,
    "scatter_add": 5, "scatter_reduce": 3,
}  # fmt: skip
# Of few elements NumPy takes no longer for these than a kernel does to start.
_QUICK: Final = frozenset({"embedding"})
Serve = Callable[..., Any]


_REMEMBERED: Final = 1024  # shapes of operands


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one.

    Both give the same bits, but in NaN that are computed, so that after enough small
    calls it serves all, but where NumPy is as quick.
    """
    serve = PLACE_OPS[own.op]
    fewest = max(least >> EARLY.get(own.op, 0), 1)
    waits = own.op not in _QUICK

    def bound(**attributes: Any) -> Any:
        small = partial(own.function, **attributes)
        large = partial(serve, **attributes)
        least, patience = fewest, Patience()

        def kernel(a: Any, index: Any, *source: Any) -> Any:
            nonlocal least
            if index.size < least and a.size < least:
                if waits and patience.ends():
                    least = 1
                return small(a, index, *source)
            y = large(a, index, *source)
            return small(a, index, *source) if y is None else y

        return kernel

    return bound


@cache
def _places() -> Any:
    """What computes, with LLVM's text. An import takes longer than to ask this."""
    from dovetail.codegen import eager_places

    return eager_places


class _Way(NamedTuple):
    """How a call goes: the shape of what it makes, and that of the work."""

    made: tuple[int, ...]
    around: Shape


def _gather(a: Array, index: Array, dim: int) -> Array | None:
    return _read(a, index, dim, "each")


def _index_select(a: Array, index: Array, dim: int) -> Array | None:
    return _read(a, index, dim, "line")


def _embedding(a: Array, index: Array, padding_idx: int) -> Array | None:
    return _read(a, index, 0, "rows")


def _read(a: Array, index: Array, dim: int, kind: str) -> Array | None:
    """A new array of what is read; None where this cannot serve."""
    way = _reading(a.shape, a.dtype, index.shape, index.dtype, dim, kind)
    if way is None:
        return None
    y = np.empty(way.made, a.dtype)
    a, index = _in_rows(a), _in_rows(index)
    line = kind != "each"
    read = _places().at_places("read", a, index, y, way.around, line=line)
    return y if read else None


@lru_cache(_REMEMBERED)
def _reading(
    shape: Ints, dtype: NumpyDType, indices: Ints, index: NumpyDType, dim: int,
    kind: str,
) -> _Way | None:  # fmt: skip
    """The way of a read, if there is one.

    Args:
        kind: an index for "each" element, for each "line" along the dim, or for each
            of the "rows" of a table.
    """
    places = _places()
    if kind == "each" and not _alike(shape, indices, dim):
        return None
    if kind == "line" and (not shape or len(indices) != 1):
        return None
    made = indices if kind == "each" else (*shape[:dim], *indices, *shape[dim + 1 :])
    if 0 in shape or 0 in made or not places.moves(dtype.itemsize):
        return None
    if places.name_of(index) not in places.INDICES:
        return None
    count = indices[dim] if kind == "each" else math.prod(indices)
    return _Way(made, places.Shape.around(shape, dim, count))


def _in_rows(a: Array) -> Array:
    return a if a.flags.c_contiguous else np.ascontiguousarray(a)


def _scatter(a: Array, index: Array, src: Array, dim: int) -> Array | None:
    return _each(a, index, src, dim, does="write")


def _scatter_add(a: Array, index: Array, src: Array, dim: int) -> Array | None:
    return _each(a, index, src, dim, does="add")


def _each(a: Array, index: Array, src: Array, dim: int, *, does: Does) -> Array | None:
    if src.shape != index.shape:
        src = src[tuple(slice(0, n) for n in index.shape)]
    return _written(a, index, src, dim, does=does, line=False)


def _index_copy(a: Array, index: Array, src: Array, dim: int) -> Array | None:
    return _written(a, index, src, dim, does="write", line=True)


def _index_add(a: Array, index: Array, src: Array, dim: int) -> Array | None:
    return _written(a, index, src, dim, does="add", line=True)


def _written(
    a: Array, index: Array, src: Array, dim: int, *, does: Does, line: bool
) -> Array | None:
    """A copy of `a` that is written to; None where this cannot serve."""
    if src.dtype != a.dtype:
        return None
    around = _writing(a.shape, a.dtype, index.shape, index.dtype, dim, does, line)
    if around is None:
        return None
    y = a.copy()
    return y if _combined(y, index, src, around, does, line=line) else None


@lru_cache(_REMEMBERED)
def _writing(
    shape: Ints, dtype: NumpyDType, indices: Ints, index: NumpyDType, dim: int,
    does: Does, line: bool,
) -> Shape | None:  # fmt: skip
    """The work of a write into an array, if this can serve."""
    places = _places()
    if not shape or 0 in shape or 0 in indices:
        return None
    if not (line or _alike(shape, indices, dim)):
        return None
    known = (
        places.name_of(dtype) in places.COMBINED
        if does != "write"
        else places.moves(dtype.itemsize)
    )
    if not known or places.name_of(index) not in places.INDICES:
        return None
    count = math.prod(indices) if line else indices[dim]
    return places.Shape.around(shape, dim, count)


def _combined(
    y: Array, index: Array, src: Array, around: Shape, does: Does, *, line: bool
) -> bool:
    """Whether all indices were in range, by which `src` went into `y`."""
    src, index = _in_rows(src), _in_rows(index)
    done: bool = _places().at_places(does, src, index, y, around, line=line)
    return done


def _index_sum(src: Array, index: Array, size: int, dim: int) -> Array | None:
    if index.ndim != 1 or not src.size:
        return None
    made = (*src.shape[:dim], size, *src.shape[dim + 1 :])
    around = _writing(made, src.dtype, index.shape, index.dtype, dim, "add", True)
    if around is None:
        return None
    y = np.zeros(made, src.dtype)
    return y if _combined(y, index, src, around, "add", line=True) else None


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


def _alike(shape: Ints, indices: Ints, dim: int) -> bool:
    """Whether an index has all of the other dims."""
    if not shape or len(indices) != len(shape):
        return False
    return all(
        d == dim or m == n for d, (m, n) in enumerate(zip(shape, indices, strict=True))
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
