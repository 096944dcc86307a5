"""Kernels that move values: casts, gathers, scatters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import ANY, NUMERIC, DType, int32


def install(table: KernelTable, xp: Any) -> None:
    """Add casts, gathers and scatters to a table."""
    table.add("cast", _cast(xp), dtypes=ANY, binds=True, broadcasts=True, checks=True)
    table.add("clone", lambda a: a.copy("C"), dtypes=ANY, checks=True, broadcasts=True)
    table.add("bitcast", _bitcast(xp), dtypes=ANY, binds=True, contiguous=True)
    table.add("take_along", _take_along(xp), dtypes=ANY)
    table.add("scatter_set_", _scatter_set(xp), dtypes=ANY)
    table.add("scatter_add_", _scatter_add(xp), dtypes=NUMERIC)
    table.add("iota", _iota(xp), dtypes=(int32,))


def _cast(xp: Any) -> Callable[..., Any]:
    def cast(dtype: DType) -> Callable[..., Any]:
        to = dtype.numpy

        def call(a: Any) -> Any:
            if a.dtype.kind == "c" and to.kind not in "cb":
                a = a.real
            return a.astype(to, "C")

        return call

    return cast


def _bitcast(xp: Any) -> Callable[..., Any]:
    def bitcast(dtype: DType) -> Callable[..., Any]:
        to = dtype.numpy
        return lambda a: a.view(to).copy()

    return bitcast


def _take_along(xp: Any) -> Callable[..., Any]:
    return lambda a, index, dim: xp.take_along_axis(a, index, dim)


def _scatter_set(xp: Any) -> Callable[..., Any]:
    return lambda a, index, src, dim: xp.put_along_axis(a, index, src, dim)


def _places(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """Full coordinates of the places that `index` points to along `dim`."""
    grid = list(xp.ogrid[tuple(slice(n) for n in index.shape)])
    grid[dim] = index
    return tuple(grid)


def _scatter_add(xp: Any) -> Callable[..., Any]:
    def scatter_add(a: Any, index: Any, src: Any, dim: int) -> None:
        xp.add.at(a, _places(xp, index, dim), src)

    return scatter_add


def _iota(xp: Any) -> Callable[..., Any]:
    return lambda n, dtype, index: xp.arange(n, dtype="int32")
