"""Kernels that copy under another shape, and count: joined, repeated, cut, padded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from operator import gt
from typing import Any, Final

from dovetail.dtypes import ANY, COMPLEX, STORED, DType, Sizes, from_numpy
from dovetail.float8 import convert, is_packed
from dovetail.xp.kernels import Kernels, on_device, undispatched
from dovetail.xp.orders import by_channels, like

_MANY: Final = 1 << 12  # elements, all of which take longer than their margins
_SHORT: Final = 1024  # elements that NumPy joins before a kernel is looked for
kernels: Final = Kernels()
install = kernels.install


@lru_cache(64)
def _kept_triangle(xp: Any, shape: Sizes, diagonal: int) -> Any:
    return xp.tri(*shape, diagonal, "bool")


def triangle(xp: Any, shape: Sizes, diagonal: int) -> Any:
    """Which elements of matrices lie on a diagonal or below; not to be written to."""
    if shape[0] * shape[1] < _MANY:
        return _kept_triangle(xp, shape, diagonal)
    return xp.tri(*shape, diagonal, "bool")


def _tril(xp: Any, a: Any, diagonal: int) -> Any:
    if on_device(xp) or a.ndim < 2 or a.size >= _MANY:
        return xp.tril(a, diagonal)
    mask = triangle(xp, a.shape[-2:], diagonal)
    return xp.where(mask, a, xp.zeros((), a.dtype))


def _triu(xp: Any, a: Any, diagonal: int) -> Any:
    if on_device(xp) or a.ndim < 2 or a.size >= _MANY:
        return xp.triu(a, diagonal)
    mask = triangle(xp, a.shape[-2:], diagonal - 1)
    return xp.where(mask, xp.zeros((), a.dtype), a)


kernels.each(STORED, {"tril": _tril, "triu": _triu}, rows=True)


@kernels("cat", STORED, binds=True, checks=True)
def _cat(xp: Any, dim: int) -> Any:
    """Without an argument for the first dim, which takes 0.1 µs to read.

    Vectors lie in rows however they are joined, and short ones need no threads.
    """
    concatenate = undispatched(xp.concatenate)
    plain = undispatched(getattr(xp, "plain_concatenate", xp.concatenate))

    def first(xs: Any) -> Any:
        x = xs[0]
        if x.ndim == 1 and len(x) < _SHORT:
            return plain(xs)
        y = concatenate(xs)
        return y if y.flags.c_contiguous or _are_images(xs) else y.copy("C")

    def call(xs: Any) -> Any:
        y = concatenate(xs, dim)
        return y if y.flags.c_contiguous or _are_images(xs) else y.copy("C")

    return call if dim else first


def _are_images(xs: Any) -> bool:
    """Whether all lie with their channels inside: joined, they do as well."""
    return all(map(by_channels, xs))


@kernels("stack", STORED, binds=True, checks=True)
def _stack(xp: Any, dim: int) -> Any:
    concatenate = undispatched(xp.concatenate)
    thick = (*(slice(None),) * dim, None)

    def call(xs: Any) -> Any:
        y = concatenate([x[thick] for x in xs], dim)
        return y if y.flags.c_contiguous else y.copy("C")

    return call


@kernels("repeat", STORED)
def _repeat(xp: Any, a: Any, repeats: Sizes) -> Any:
    """Dims that are repeated are two: how often, and how long."""
    whole = (*(1,) * (len(repeats) - a.ndim), *a.shape)
    once: list[int] = []
    often: list[int] = []
    for r, n in zip(repeats, whole, strict=True):
        once += (1, n) if r != 1 else (n,)
        often += (r, n) if r != 1 else (n,)
    y = xp.empty([r * n for r, n in zip(repeats, whole, strict=True)], a.dtype)
    if y.size:
        xp.copyto(y.reshape(often), a.reshape(once))
    return y


@kernels("roll", STORED, binds=True, checks=True)
def _roll(xp: Any, shifts: Sizes, dims: Sizes) -> Any:
    """What moves past an end, and what does not, each to its place."""
    fits, by = len(shifts) == (len(dims) or 1), dict.fromkeys(dims or (0,), 0)
    for d, shift in zip(dims or (0,), shifts, strict=False):
        by[d] += shift

    def call(a: Any) -> Any:
        if not fits:
            raise ValueError("each dim has one shift")
        y = xp.empty(a.shape, a.dtype)
        to, of = (y, a) if dims else (y.reshape(-1), a.reshape(-1))
        parts: list[tuple[Any, Any]] = [((), ())]
        for d, n in enumerate(of.shape):
            ends = _ends(by[d] % n if n and d in by else 0)
            parts = [((*p, b), (*q, e)) for p, q in parts for b, e in ends]
        for there, here in parts:
            xp.copyto(to[there], of[here])
        return y

    return call


_WHOLE: Final = slice(None)


def _ends(cut: int) -> tuple[tuple[slice, slice], ...]:
    """Where parts of a dim go, and where they are."""
    if not cut:
        return ((_WHOLE, _WHOLE),)
    return (slice(cut, None), slice(None, -cut)), (slice(None, cut), slice(-cut, None))


@kernels("flip", STORED)
def _flip(xp: Any, a: Any, dims: Sizes) -> Any:
    whole, back = slice(None), slice(None, None, -1)
    y = like(xp, a)
    xp.copyto(y, a[tuple(back if d in dims else whole for d in range(a.ndim))])
    return y


@kernels("constant_pad", STORED, binds=True, checks=True)
def _constant_pad(xp: Any, padding: Sizes) -> Any:
    sides = list(zip(padding[::2], padding[1::2], strict=False))
    cuts = [max(0, -before) + max(0, -after) for before, after in sides]
    inner = tuple([_within(-before, -after) for before, after in sides])
    outer = tuple([_within(before, after) for before, after in sides])
    left, covered = (*inner, ...), (*outer, ...)  # views also of arrays without dims

    def call(a: Any, value: Any) -> Any:
        if len(padding) != 2 * a.ndim:
            raise ValueError("each dim has two sides")
        if any(map(gt, cuts, a.shape)):
            raise ValueError("more is cut off than there is")
        shape = [n + b + e for n, (b, e) in zip(a.shape, sides, strict=True)]
        y, element = xp.empty(shape, a.dtype), _element(xp, value, a)
        if y.size < _MANY:
            y[...] = element
        else:
            for margin in _margins(outer):
                y[margin] = element
        xp.copyto(y[covered], a[left])
        return y

    return call


def _within(before: int, after: int) -> slice:
    """What lies between two margins of a dim; those of less than none are none."""
    return slice(max(0, before), -max(0, after) or None)


def _margins(inside: tuple[slice, ...]) -> Iterator[tuple[slice, ...]]:
    """All that lies beside a part of an array, dim after dim."""
    for d, part in enumerate(inside):
        if part.start:
            yield *inside[:d], slice(None, part.start)
        if part.stop:
            yield *inside[:d], slice(part.stop, None)


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
