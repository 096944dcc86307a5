"""Margins of an array's own elements, and what is added back from them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from dovetail.dtypes import ANY, HALF, INEXACT, Sizes
from dovetail.xp.kernels import Kernels

kernels: Final = Kernels()
Slices = tuple[slice, ...]
# Where elements go, or cotangents come from, and whose copies they are.
Copy = tuple[Slices, Slices]
_WHOLE: Final = slice(None)


def _along(n: int, before: int, after: int, mode: str) -> list[tuple[slice, slice]]:
    """Margins of a dim: where they lie, and where their elements lie beside them."""
    end = before + n
    first, last = slice(0, before), slice(end, end + after)
    if mode == "circular":
        pairs = [(first, slice(n, end)), (last, slice(before, before + after))]
    elif mode == "replicate":
        pairs = [(first, slice(before, before + 1)), (last, slice(end - 1, end))]
    else:
        high, low = end - 2, end - 2 - after
        pairs = [
            (first, slice(2 * before, before, -1)),
            (last, slice(high, low if low >= 0 else None, -1)),
        ]
    return [p for p, count in zip(pairs, (before, after), strict=True) if count]


class _Plan:
    """What is copied for arrays of one shape, none of whose margins is negative.

    Attributes:
        shape: with margins.
        inner: where the array lies in it.
        copies: margins in the order in which they are filled: each dim's beside what
            dims behind have no margins of yet.
    """

    def __init__(self, shape: Sizes, padding: Sizes, mode: str) -> None:
        sides = list(zip(padding[::2], padding[1::2], strict=True))
        self.shape = tuple([n + a + b for n, (a, b) in zip(shape, sides, strict=True)])
        self.inner = tuple(
            [slice(a, a + n) for n, (a, _) in zip(shape, sides, strict=True)]
        )
        self.copies: list[Copy] = []
        for d, (n, (a, b)) in enumerate(zip(shape, sides, strict=True)):
            before, behind = (_WHOLE,) * d, self.inner[d + 1 :]
            for to, of in _along(n, a, b, mode):
                self.copies.append(((*before, to, *behind), (*before, of, *behind)))


@lru_cache(256)
def _planned(shape: Sizes, padding: Sizes, mode: str) -> _Plan:
    return _Plan(shape, padding, mode)


@lru_cache(256)
def _source(xp: Any, n: int, before: int, after: int, mode: str) -> Any:
    """For each place along a padded dim, the index it is copied from."""
    at = xp.arange(n + before + after) - before
    if mode == "circular":
        low, high = max(0, -before), n - max(0, -after)
        return (at - low) % max(high - low, 1) + low
    if mode == "replicate":
        return xp.clip(at, 0, n - 1)
    at = xp.abs(at)
    return xp.where(at > n - 1, 2 * (n - 1) - at, at)


@kernels("margin_pad", ANY, rows=True)
def _margin_pad(xp: Any, a: Any, padding: Sizes, mode: str) -> Any:
    padding = tuple(padding)
    if min(padding, default=0) < 0:
        for d, n in enumerate(a.shape):
            before, after = padding[2 * d : 2 * d + 2]
            if before or after:
                a = a.take(_source(xp, n, before, after, mode), d)
        return a
    plan = _planned(a.shape, padding, mode)
    y = xp.empty(plan.shape, a.dtype)
    y[plan.inner] = a
    for to, of in plan.copies:
        y[to] = y[of]
    return y


def _margin_pad_backward(xp: Any, ct: Any, padding: Sizes, mode: str) -> Any:
    padding = tuple(padding)
    sides = zip(ct.shape, padding[::2], padding[1::2], strict=True)
    shape = tuple([n - a - b for n, a, b in sides])
    if min(padding, default=0) < 0:
        return _added_by_places(xp, ct, shape, padding, mode)
    plan = _planned(shape, padding, mode)
    y = ct.copy()
    for of, to in reversed(plan.copies):
        share = y[of]
        if mode == "replicate":
            d = next(i for i, s in enumerate(of) if s != to[i])
            share = xp.add.reduce(share, d, keepdims=True)
        y[to] += share
    return xp.ascontiguousarray(y[plan.inner])


def _added_by_places(xp: Any, ct: Any, shape: Sizes, padding: Sizes, mode: str) -> Any:
    """The same, one element after the other."""
    for d, n in enumerate(shape):
        before, after = padding[2 * d : 2 * d + 2]
        if before or after:
            total = xp.zeros((*ct.shape[:d], n, *ct.shape[d + 1 :]), ct.dtype)
            index = (*(_WHOLE,) * d, _source(xp, n, before, after, mode))
            xp.add.at(total, index, ct)
            ct = total
    return ct


@kernels("margin_pad_backward", INEXACT - HALF)
def _added_back(xp: Any, ct: Any, padding: Sizes, mode: str) -> Any:
    return _margin_pad_backward(xp, ct, padding, mode)


@kernels("margin_pad_backward", HALF)
def _rounded_once(xp: Any, ct: Any, padding: Sizes, mode: str) -> Any:
    return _margin_pad_backward(xp, ct.astype("float32"), padding, mode).astype(
        ct.dtype
    )
