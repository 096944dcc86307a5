"""Kernels that copy under another shape, and count: joined, repeated, cut, padded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import ANY, COMPLEX, DType

Sizes = tuple[int, ...]


def install(table: KernelTable, xp: Any) -> None:
    """Add copies under another shape, and counted numbers, to a table."""
    for name, kernel in {
        "stack": _stack, "repeat": _repeat, "flip": _flip, "roll": _roll,
        "tril": _tril, "triu": _triu, "constant_pad": _constant_pad,
    }.items():  # fmt: skip
        table.add(name, kernel(xp), dtypes=ANY)
    table.add("cat", _cat(xp), dtypes=ANY, binds=True, checks=True)
    table.add("arange", _arange(xp), dtypes=ANY)
    table.add("linspace", _linspace(xp), dtypes=ANY - COMPLEX)


def _cat(xp: Any) -> Callable[..., Any]:
    return lambda dim: partial(xp.concatenate, axis=dim)


def _stack(xp: Any) -> Callable[..., Any]:
    def stack(xs: Any, dim: int) -> Any:
        return xp.stack(xs, dim)

    return stack


def _repeat(xp: Any) -> Callable[..., Any]:
    def repeat(a: Any, repeats: Sizes) -> Any:
        return xp.tile(a, repeats)

    return repeat


def _flip(xp: Any) -> Callable[..., Any]:
    def flip(a: Any, dims: Sizes) -> Any:
        whole, back = slice(None), slice(None, None, -1)
        return a[tuple(back if d in dims else whole for d in range(a.ndim))].copy()

    return flip


def _roll(xp: Any) -> Callable[..., Any]:
    def roll(a: Any, shifts: Sizes, dims: Sizes) -> Any:
        return xp.roll(a, shifts, dims or None)

    return roll


def _tril(xp: Any) -> Callable[..., Any]:
    def tril(a: Any, diagonal: int) -> Any:
        return xp.tril(a, diagonal)

    return tril


def _triu(xp: Any) -> Callable[..., Any]:
    def triu(a: Any, diagonal: int) -> Any:
        return xp.triu(a, diagonal)

    return triu


def _constant_pad(xp: Any) -> Callable[..., Any]:
    def constant_pad(a: Any, padding: Sizes, value: Any) -> Any:
        sides = list(zip(padding[::2], padding[1::2], strict=True))
        shape = tuple(n + b + e for n, (b, e) in zip(a.shape, sides, strict=True))
        y = xp.full(shape, xp.asarray(value).astype(a.dtype), a.dtype)
        inner, outer = [], []
        for n, (before, after) in zip(a.shape, sides, strict=True):
            start = max(0, -before)
            count = max(n - max(0, -after) - start, 0)
            inner.append(slice(start, start + count))
            outer.append(slice(max(0, before), max(0, before) + count))
        y[tuple(outer)] = a[tuple(inner)]
        return y

    return constant_pad


def _arange(xp: Any) -> Callable[..., Any]:
    def arange(count: int, dtype: DType, index: int, start: Any, step: Any) -> Any:
        numbers = xp.arange(count)
        if (
            isinstance(start, int)
            and isinstance(step, int)
            and start == 0
            and step == 1
        ):
            return numbers.astype(dtype.numpy)
        return (numbers * step + start).astype(dtype.numpy)

    return arange


def _linspace(xp: Any) -> Callable[..., Any]:
    def linspace(count: int, dtype: DType, index: int, start: Any, end: Any) -> Any:
        """Each half counted from its own end, as torch does, in float64."""
        step = (end - start) / max(count - 1, 1)
        number = xp.arange(count, dtype="float64")
        first, last = start + number * step, end - (count - 1 - number) * step
        return xp.where(number < (count + 1) // 2, first, last).astype(dtype.numpy)

    return linspace
