"""Kernels that copy under another shape, and count: joined, repeated, cut, padded."""

from __future__ import annotations

from typing import Any, Final

from dovetail.dtypes import ANY, COMPLEX, STORED, DType, Sizes, from_numpy
from dovetail.float8 import convert, is_packed
from dovetail.xp.kernels import Kernels, undispatched
from dovetail.xp.orders import by_channels, like

kernels: Final = Kernels()
install = kernels.install
kernels.each(STORED, {
    "stack": lambda xp, xs, dim: xp.stack(xs, dim),
    "repeat": lambda xp, a, repeats: xp.tile(a, repeats),
    "roll": lambda xp, a, shifts, dims: xp.roll(a, shifts, dims or None),
    "tril": lambda xp, a, diagonal: xp.tril(a, diagonal),
    "triu": lambda xp, a, diagonal: xp.triu(a, diagonal),
}, rows=True)  # fmt: skip


@kernels("cat", STORED, binds=True, checks=True)
def _cat(xp: Any, dim: int) -> Any:
    """Without an argument for the first dim, which takes 0.1 µs to read."""
    concatenate = undispatched(xp.concatenate)

    def first(xs: Any) -> Any:
        y = concatenate(xs)
        return y if y.flags.c_contiguous or _are_images(xs) else y.copy("C")

    def call(xs: Any) -> Any:
        y = concatenate(xs, dim)
        return y if y.flags.c_contiguous or _are_images(xs) else y.copy("C")

    return call if dim else first


def _are_images(xs: Any) -> bool:
    """Whether all lie with their channels inside: joined, they do as well."""
    return all(map(by_channels, xs))


@kernels("flip", STORED)
def _flip(xp: Any, a: Any, dims: Sizes) -> Any:
    whole, back = slice(None), slice(None, None, -1)
    y = like(xp, a)
    y[...] = a[tuple(back if d in dims else whole for d in range(a.ndim))]
    return y


@kernels("constant_pad", STORED)
def _constant_pad(xp: Any, a: Any, padding: Sizes, value: Any) -> Any:
    sides = list(zip(padding[::2], padding[1::2], strict=True))
    shape = tuple(n + b + e for n, (b, e) in zip(a.shape, sides, strict=True))
    y = xp.full(shape, _element(xp, value, a), a.dtype)
    inner, outer = [], []
    for n, (before, after) in zip(a.shape, sides, strict=True):
        start = max(0, -before)
        count = max(n - max(0, -after) - start, 0)
        inner.append(slice(start, start + count))
        outer.append(slice(max(0, before), max(0, before) + count))
    y[tuple(outer)] = a[tuple(inner)]
    return y


def _element(xp: Any, value: Any, like: Any) -> Any:
    """A number in the format of an array."""
    number = xp.asarray(value)
    if is_packed(like):
        return convert(xp, number, from_numpy(like.dtype))
    return number.astype(like.dtype)


@kernels("arange", ANY)
def _arange(
    xp: Any, count: int, dtype: DType, index: int, start: Any, step: Any
) -> Any:
    numbers = xp.arange(count)
    whole = isinstance(start, int) and isinstance(step, int)
    if whole and start == 0 and step == 1:
        return numbers.astype(dtype.numpy)
    return (numbers * step + start).astype(dtype.numpy)


@kernels("linspace", ANY - COMPLEX)
def _linspace(
    xp: Any, count: int, dtype: DType, index: int, start: Any, end: Any
) -> Any:
    """Each half counted from its own end, as torch does, in float64."""
    step = (end - start) / max(count - 1, 1)
    number = xp.arange(count, dtype="float64")
    first, last = start + number * step, end - (count - 1 - number) * step
    return xp.where(number < (count + 1) // 2, first, last).astype(dtype.numpy)
