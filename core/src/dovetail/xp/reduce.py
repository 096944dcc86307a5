"""Reductions over dims that are given sorted and counted from the front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import (
    ANY,
    BITS,
    FLOAT,
    HALF,
    INEXACT,
    ORDERED,
    DType,
    float32,
    int64,
    uint8,
)  # fmt: skip
from dovetail.xp.kernels import Kernels, Large, on_device
from dovetail.xp.orders import rows
from dovetail.xp.short_rows import WIDTH

Dims = tuple[int, ...]
Kernel = Callable[..., Any]
# From this size on, float sums are ordered so that their error grows as sqrt(n).
CAREFUL: Final = 1024
_RUN: Final = 128
_WIDE: Final = INEXACT - HALF


kernels: Final = Kernels()
install = kernels.install
_BOUND: Final[dict[str, Any]] = {"binds": True, "checks": True}


def axis_of(dims: int | Dims) -> Any:
    """One dim as an int, which libraries are faster with."""
    if isinstance(dims, int):
        return dims
    return dims[0] if len(dims) == 1 else dims


def in_float32(make: Callable[..., Kernel]) -> Callable[..., Kernel]:
    """The factory of a kernel for 16-bit floats: computed in float32, rounded once."""

    def factory(*args: Any, **attrs: Any) -> Kernel:
        dtype = attrs.get("dtype")
        if dtype is not None:
            attrs["dtype"] = dtype if dtype not in HALF else float32
        run = make(*args, **attrs)

        def call(a: Any, *more: Any) -> Any:
            y = run(a.astype("float32"), *more)
            return y.astype(a.dtype if dtype is None else dtype.numpy)

        return call

    return factory


def _lowered(run: Kernel, dtype: DType) -> Kernel:
    """Values cast to `dtype` before they are reduced, which a library may refuse."""
    to = dtype.numpy

    def call(a: Any) -> Any:
        if a.dtype.kind == "c" and to.kind != "c":
            a = a.real
        return run(a.astype(to))

    return call


@kernels("sum", BITS, "add", **_BOUND)
@kernels("prod", ANY - HALF, "multiply", **_BOUND)
@kernels("prod", HALF, "multiply", through=in_float32, **_BOUND)
def _typed(
    xp: Any, ufunc: str, dim: int | Dims, keepdim: bool, dtype: DType | None
) -> Kernel:
    """A reduction in the dtype asked for; bools and integers in int64."""
    reduce = getattr(xp, ufunc).reduce
    axis, to = axis_of(dim), None if dtype is None else dtype.numpy
    whole = int64.numpy

    def call(a: Any) -> Any:
        own = a.dtype
        return rows(reduce(a, axis, whole if own.kind in "biu" else own, None, keepdim))

    if dtype is None:
        return call
    return _lowered(lambda a: rows(reduce(a, axis, to, None, keepdim)), dtype)


@kernels("sum", _WIDE, **_BOUND)
@kernels("sum", HALF, through=in_float32, **_BOUND)
def _sum(
    xp: Any, dim: Dims, keepdim: bool, dtype: DType | None, large: Large | None = None
) -> Kernel:
    reduce: Kernel = xp.add.reduce
    axis = axis_of(dim)
    most = CAREFUL if large is None else min(CAREFUL, large.least - 1)

    def several(a: Any) -> Any:
        if a.size > most:
            y = None if large is None else large.serve(a)
            if y is not None:
                return y
            if a.size > CAREFUL:
                return rows(careful_sum(reduce, a, dim, keepdim))
        y = reduce(a, axis, None, None, keepdim)
        return y if y.flags.c_contiguous else y.copy("C")

    run = several
    if dim == (0,) and not keepdim and hasattr(xp.add, "reduceat") and most >= WIDTH:
        run = _single(xp, several)
    if dtype is None:
        return run
    if dtype in BITS:
        return _lowered(lambda a: rows(reduce(a, axis, a.dtype, None, keepdim)), dtype)
    return _lowered(run, dtype)


def _single(xp: Any, several: Kernel) -> Kernel:
    """A sum of all elements of a line, as an array; `reduce` would give a scalar.

    Few are a product with a column of ones, of which they are the row: the BLAS takes
    half the time of `reduceat`, but adds one by one, which loses digits of many.
    """
    reduceat: Any = xp.add.reduceat
    start = xp.zeros(1, "intp")
    ones: dict[tuple[int, ...], Any] = {}  # by shape, at most `WIDTH` of them

    def one(a: Any) -> Any:
        column = ones.get(a.shape)
        if column is None:
            if a.ndim != 1 or not 0 < a.size <= CAREFUL:
                return several(a)
            if a.size > WIDTH or a.dtype.kind != "f":
                return reduceat(a, start).squeeze()
            column = ones[a.shape] = xp.ones((a.size, 1), a.dtype)
        return a.dot(column).squeeze()

    return one


def careful_sum(reduce: Kernel, a: Any, dims: Dims, keepdim: bool) -> Any:
    """A sum whose error grows as the root of the number of terms.

    NumPy adds pairwise along the fastest axis alone, and one by one along others;
    long runs there are cut in two levels. Where it adds large parts to one another,
    that comes first: no pass is faster, and the others have less to do.
    """
    whole, inner = a.flags.c_contiguous, a.size // max(len(a), 1)
    if whole and dims[0] == 0 and len(dims) > 1 and len(a) <= _RUN and inner >= CAREFUL:
        a = reduce(a, 0, None, None, True)
    last = a.ndim
    while last - 1 in dims and whole:
        last -= 1
    tail = tuple(range(last, a.ndim))
    y = reduce(a, tail, None, None, True) if tail else a
    for d in reversed([d for d in dims if d < last]):
        y = _along(reduce, y, d)
    if keepdim:
        return y
    return y.reshape(tuple(n for d, n in enumerate(a.shape) if d not in dims))


def _along(reduce: Kernel, y: Any, d: int) -> Any:
    """The sum along one axis, which stays with size 1."""
    n = y.shape[d]
    if n <= _RUN or abs(y.strides[d]) == y.itemsize:
        return reduce(y, d, None, None, True)
    run = max(_RUN, int(n**0.5))
    whole = n // run
    before, after = (slice(None),) * d, y.shape[d + 1 :]
    blocks = y[(*before, slice(0, whole * run))]
    blocks = blocks.reshape((*y.shape[:d], whole, run, *after))
    total = _along(reduce, reduce(blocks, d + 1), d)
    if whole * run < n:
        total += reduce(y[(*before, slice(whole * run, n))], d, None, None, True)
    return total


@kernels("mean", _WIDE, **_BOUND)
@kernels("mean", HALF, through=in_float32, **_BOUND)
def _mean(xp: Any, dim: Dims, keepdim: bool, dtype: DType | None) -> Kernel:
    total = _sum(xp, dim, keepdim, dtype)

    def call(a: Any) -> Any:
        y = total(a)
        return y / (a.size // y.size) if y.size else y

    return call


@kernels("amax", ORDERED, "maximum", **_BOUND)
@kernels("amin", ORDERED, "minimum", **_BOUND)
def _extreme(xp: Any, ufunc: str, dim: Dims, keepdim: bool) -> Kernel:
    reduce, axis, turns = getattr(xp, ufunc).reduce, axis_of(dim), not on_device(xp)

    def call(a: Any) -> Any:
        if turns and a.ndim > 1 and axis == a.ndim - 1 and _is_narrow(a):
            lines = a.reshape(-1, a.shape[-1])
            y = reduce(lines.T.copy(), 0)
            return y.reshape((*a.shape[:-1], 1) if keepdim else a.shape[:-1])
        return rows(reduce(a, axis, None, None, keepdim))

    return call


_NARROW: Final = 32  # columns; a library like NumPy has a loop for each row of them
_FEW, _MANY = 1 << 8, 1 << 16  # elements, for which a copy that is turned pays


def _is_narrow(a: Any) -> bool:
    """Whether rows are so short that they are better reduced side by side."""
    narrow: bool = 1 < a.shape[-1] <= _NARROW and _FEW <= a.size <= _MANY
    return narrow


@kernels("all", ANY - {uint8}, "logical_and", **_BOUND)
@kernels("any", ANY - {uint8}, "logical_or", **_BOUND)
def _truth(xp: Any, ufunc: str, dim: Dims, keepdim: bool) -> Kernel:
    reduce, axis = getattr(xp, ufunc).reduce, axis_of(dim)
    return lambda a: rows(reduce(a, axis, bool, None, keepdim))


@kernels("argmax", ORDERED, "argmax", **_BOUND)
@kernels("argmin", ORDERED, "argmin", **_BOUND)
def _place(xp: Any, function: str, dim: int | Dims, keepdim: bool) -> Kernel:
    find, axis = getattr(xp, function), None if isinstance(dim, tuple) else dim
    return lambda a: find(a, axis=axis, keepdims=keepdim) if a.ndim else find(a)


@kernels("count_nonzero", ANY, **_BOUND)
def _count_nonzero(xp: Any, dim: Dims) -> Kernel:
    add, axis, whole = xp.add.reduce, axis_of(dim), int64.numpy
    return lambda a: rows(add(a != 0, axis, whole))


@kernels("logsumexp", FLOAT - HALF, **_BOUND)
def _logsumexp(xp: Any, dim: Dims, keepdim: bool) -> Kernel:
    axis, total = axis_of(dim), _sum(xp, dim, True, None)

    def call(a: Any) -> Any:
        top = xp.maximum.reduce(a, axis, None, None, True, -xp.inf)
        top = xp.where(xp.isfinite(top), top, a.dtype.type(0))
        e = xp.subtract(a, top)
        y = xp.log(total(xp.exp(e, out=e) if e.ndim else xp.exp(e))) + top
        return y if keepdim else y.reshape(_without(a.shape, dim))

    return call


_NOISE: Final = {4: 2.0**-21, 8: 2.0**-50}  # four roundings, by the size of a number


@kernels("var", _WIDE, **_BOUND)
def _var(xp: Any, dim: Dims, correction: Any, keepdim: bool) -> Kernel:
    total, mean = _sum(xp, dim, keepdim, None), _mean(xp, dim, True, None)
    always = on_device(xp)

    def squares(away: Any) -> Any:
        size = xp.abs(away) if away.dtype.kind == "c" else away
        return xp.asarray(total(xp.asarray(size * size)))

    def call(a: Any) -> Any:
        middle = xp.asarray(mean(a))
        away = xp.asarray(a - middle)
        y = squares(away)
        n = a.size // y.size if y.size else 0
        # No more than the mean's own rounding: equal numbers, whose variance is 0.
        noise = xp.abs(middle) * _NOISE[y.dtype.itemsize]
        if n and (always or (y.reshape(middle.shape) <= n * noise * noise).any()):
            y = squares(xp.asarray(a - (middle + mean(away))))
        return y / y.dtype.type(max(0, n - correction))

    return call


@kernels("std", _WIDE, **_BOUND)
def _std(xp: Any, dim: Dims, correction: Any, keepdim: bool) -> Kernel:
    var = _var(xp, dim, correction, keepdim)
    return lambda a: xp.sqrt(var(a))


@kernels("vector_norm", FLOAT - HALF, **_BOUND)
def _norm(xp: Any, p: Any, dim: Dims, keepdim: bool) -> Kernel:
    axis, total = axis_of(dim), _sum(xp, dim, keepdim, None)
    if p == 2:
        return lambda a: xp.sqrt(total(xp.asarray(a * a)))
    if p == 1:
        return lambda a: total(xp.asarray(xp.abs(a)))
    if p in (xp.inf, -xp.inf):
        reduce = xp.maximum.reduce if p > 0 else xp.minimum.reduce
        return lambda a: rows(reduce(xp.asarray(xp.abs(a)), axis, None, None, keepdim))
    if p == 0:
        return lambda a: total(xp.asarray(a != 0).astype(a.dtype))
    return lambda a: (
        total(xp.asarray(xp.abs(a) ** a.dtype.type(p))) ** a.dtype.type(1 / p)
    )


def _without(shape: Dims, dims: Dims) -> Dims:
    return tuple(n for d, n in enumerate(shape) if d not in dims)


__all__ = ["axis_of", "careful_sum", "in_float32", "install"]
