"""Generated kernels for large arrays that are sorted or searched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.device_api import Kernel
from dovetail.dtypes import ORDERED
from dovetail.xp.orders import following

Array = np.ndarray[Any, Any]

# NumPy takes so long for these that kernels pay from an eighth of the elements on.
_EARLY: Final = frozenset({"argsort", "searchsorted", "sort", "unique"})

# What lies as its operand does.
_FOLLOWING: Final = frozenset({"argsort", "sort"})

DTYPES: Final = ORDERED
_MOST_LANES: Final = 1 << 32  # places that a record has bits for


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    large = ORDER_OPS[own.op]

    if own.op in _EARLY:
        least = max(least >> 3, 1)

    def bound(**attributes: Any) -> Any:
        small = own.function(**attributes)
        serve = large(**attributes)
        if own.op in _FOLLOWING:
            serve = following(np, serve)

        def kernel(a: Any) -> Any:
            if a.size < least or not a.ndim:
                return small(a)
            y = serve(a)
            return small(a) if y is None else y

        def kernel_of_two(row: Any, values: Any) -> Any:
            if values.size < least or not values.ndim:
                return small(row, values)
            y = serve(row, values)
            return small(row, values) if y is None else y

        return kernel_of_two if own.op == "searchsorted" else kernel

    return bound


def _sort(dim: int, descending: bool, stable: bool) -> Callable[[Array], Any]:
    return lambda a: _sorted(a, dim, descending, True)


def _argsort(dim: int, descending: bool, stable: bool) -> Callable[[Array], Any]:
    def serve(a: Array) -> Any:
        found = _sorted(a, dim, descending, False)
        return None if found is None else found[1]

    return serve


def _topk(k: int, dim: int, largest: bool, sorted: bool) -> Callable[[Array], Any]:
    def serve(a: Array) -> Any:
        from dovetail.codegen.eager_select import greatest, pays  # with LLVM's text

        lanes = a.shape[dim]
        if not 0 < k <= lanes < _MOST_LANES or not pays(lanes, k):
            return None
        lines = np.moveaxis(a, dim, -1)
        rows = np.ascontiguousarray(lines).reshape(-1, lanes)
        found = greatest(rows, a.dtype.name, k, largest)
        return tuple([_back(y, (*lines.shape[:-1], k), dim) for y in found])

    return serve


def _unique(consecutive: bool) -> Callable[[Array], Any]:
    def serve(a: Array) -> Any:
        from dovetail.codegen.eager_select import RUNS, distinct  # with LLVM's text

        if a.shape[1:] != (1,) or a.dtype.name not in RUNS:
            return None
        row = np.ascontiguousarray(a).reshape(-1)
        order = None
        if not consecutive:
            row, order = _sorted(row, 0, False, True) or (row, None)
            if order is None:
                return None
        values, numbers, counts = distinct(row, order)
        return values.reshape(-1, 1), numbers, counts

    return serve


def _searchsorted(right: bool) -> Callable[[Array, Array], Any]:
    def serve(row: Array, values: Array) -> Any:
        from dovetail.codegen.eager_search import places  # with LLVM's text

        lanes = values.size if row.ndim == 1 else values.shape[-1]
        if not row.size or not lanes or row.dtype != values.dtype:
            return None
        rows = np.ascontiguousarray(row).reshape(-1, row.shape[-1])
        wanted = np.ascontiguousarray(values).reshape(-1, lanes)
        found = places(rows, wanted, values.dtype.name, right)
        return found.reshape(values.shape)

    return serve


def _sorted(a: Array, dim: int, descending: bool, values: bool) -> Any:
    """The elements in order along a dim, if `values`, and their places."""
    from dovetail.codegen.eager_sort import sorted_rows  # with LLVM's text

    lanes = a.shape[dim]
    if lanes >= _MOST_LANES:
        return None
    lines = np.moveaxis(a, dim, -1)
    rows = np.ascontiguousarray(lines).reshape(-1, lanes)
    found = sorted_rows(rows, a.dtype.name, descending, values)
    return tuple([None if y is None else _back(y, lines.shape, dim) for y in found])


def _back(rows: Array, shape: tuple[int, ...], dim: int) -> Array:
    return np.ascontiguousarray(np.moveaxis(rows.reshape(shape), -1, dim))


ORDER_OPS: Final[dict[str, Callable[..., Callable[..., Any]]]] = {
    "sort": _sort,
    "argsort": _argsort,
    "topk": _topk,
    "unique": _unique,
    "searchsorted": _searchsorted,
}
"""What serves large arrays, by the op; each takes the op's attributes."""
