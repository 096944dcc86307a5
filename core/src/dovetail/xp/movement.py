"""Kernels that move values: casts, gathers, scatters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import ANY, FLOAT8, NUMERIC, STORED, DType, Sizes, int32
from dovetail.float8 import convert
from dovetail.xp.kernels import Kernels
from dovetail.xp.order import along

kernels: Final = Kernels()
install = kernels.install
kernels.each(STORED, {
    "scatter_set_": lambda xp, a, index, src, dim: xp.put_along_axis(
        a, index, src, dim
    ),
})  # fmt: skip
kernels.each(STORED, {"clone": lambda xp, a: a.copy("C")}, checks=True, broadcasts=True)
kernels.each({int32}, {"iota": lambda xp, n, dtype, index: xp.arange(n, dtype="int32")})


@kernels("take_along", STORED, rows=True)
def _take_along(xp: Any, a: Any, index: Any, dim: int) -> Any:
    """By one flat gather along the last dim, where no row is left out."""
    if a.ndim and dim == a.ndim - 1 and index.shape[:-1] == a.shape[:-1]:
        return along(xp, a, index, dim)
    return xp.take_along_axis(a, index, dim)


@kernels("cast", ANY, binds=True, broadcasts=True, checks=True)
def _cast(xp: Any, dtype: DType) -> Callable[..., Any]:
    if dtype in FLOAT8:
        return lambda a: convert(xp, a, dtype)
    to = dtype.numpy

    def call(a: Any) -> Any:
        if a.dtype.kind == "c" and to.kind not in "cb":
            a = a.real
        return a.astype(to, "C")

    return call


@kernels("cast", FLOAT8, binds=True, broadcasts=True, checks=True)
def _cast_packed(xp: Any, dtype: DType) -> Callable[..., Any]:
    return lambda a: convert(xp, a, dtype)


@kernels("bitcast", STORED, binds=True, contiguous=True)
def _bitcast(xp: Any, dtype: DType) -> Callable[..., Any]:
    to = dtype.numpy
    return lambda a: a.view(to).copy()


@kernels("place", STORED, binds=True)
def _place(xp: Any, shape: Sizes, index: Any) -> Callable[..., Any]:
    named = index if type(index) is tuple else (index,)
    whole = named if Ellipsis in named else (*named, Ellipsis)  # a view, not a number

    def place(a: Any) -> Any:
        y = xp.zeros(shape, a.dtype)
        part = y[whole]
        if part.shape != a.shape:
            raise ValueError  # the op's body words it
        part[...] = a
        return y

    return place


@kernels("scatter_add_", NUMERIC)
def _scatter_add(xp: Any, a: Any, index: Any, src: Any, dim: int) -> None:
    grid = list(xp.ogrid[tuple(slice(n) for n in index.shape)])
    grid[dim] = index
    xp.add.at(a, tuple(grid), src)
