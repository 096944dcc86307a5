"""Margins around a tensor: of one value, or of its own elements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, INEXACT, STORED, Array, Sizes
from dovetail.engine.adjoints import adjoint_of
from dovetail.engine.attributes import Ints, Scalar
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.float8 import values_in
from dovetail.ops.create import counted, full, zeros_of
from dovetail.ops.index_slices import index_add, index_select
from dovetail.ops.primitive import clone, where
from dovetail.ops.view import basic_index

MODES = ("reflect", "replicate", "circular")


def _padded(x: Sizes, *, padding: Sizes, **_: Any) -> Sizes:
    if len(padding) != 2 * len(x):
        raise ArgumentError(
            "pad", "padding", was=padding,
            needed=f"two sizes for each dim of {tuple(x)}",
        )  # fmt: skip
    sides = zip(padding[::2], padding[1::2], strict=True)
    shape = tuple(n + a + b for n, (a, b) in zip(x, sides, strict=True))
    if any(n < 0 for n in shape):
        raise ShapeError(
            "pad", "padding", was=f"{padding}, for {tuple(x)}",
            needed="sizes of at least 0",
        )  # fmt: skip
    return shape


def _filled(x: Sizes, *, padding: Sizes, **options: Any) -> Sizes:
    """What margins of a value make: both ends may cut off what there is, no more."""
    shape = _padded(x, padding=padding, **options)
    sides = zip(padding[::2], padding[1::2], strict=True)
    for n, (a, b) in zip(x, sides, strict=True):
        if n + min(a, 0) + min(b, 0) < 0:
            raise ShapeError(
                "pad", "padding", was=f"{padding}, for {tuple(x)}",
                needed="negative sizes that cut no more off a dim than it has",
            )  # fmt: skip
    return shape


def _pad_oracle(x: Array, padding: Sizes, value: Any = 0) -> Array:
    for d, (before, after) in enumerate(zip(padding[::2], padding[1::2], strict=True)):
        margins = [(0, 0)] * x.ndim
        margins[d] = (max(0, before), max(0, after))
        x = np.pad(x, margins, constant_values=values_in(value, x.dtype))
        x = x.take(range(max(0, -before), x.shape[d] - max(0, -after)), d)
    return x


@op(shape=_filled, accepts=STORED, unrounded=True, oracle=_pad_oracle, cases=lambda _: [
    ([2, 3], (0, 0, 1, 2)), ([2, 3], (1, 0, -1, 1), 2.0), ([4], (-1, -1), 1),
    ([0, 2], (1, 1, 0, 0), 3), ([], ()),
])  # fmt: skip
def constant_pad(input: Tensor, padding: Ints, value: Scalar = 0) -> Tensor:
    """`input` with margins of `value`: before and after each dim, from the first.

    Negative sizes cut elements off.
    """
    y = full(_filled(tuple(input._a.shape), padding=tuple(padding)), value, input._kind)
    inner, outer = _cuts(tuple(input._a.shape), tuple(padding))
    write("pad", basic_index(y, outer), basic_index(input, inner))
    return y


constant_pad.grad(
    input=lambda ct, padding: constant_pad(ct, tuple(-n for n in padding), 0)
)


def _kept(n: int, before: int, after: int) -> slice:
    """The part of a dim that negative margins leave."""
    return slice(max(0, -before), n - max(0, -after))


def _cuts(shape: Sizes, padding: Sizes) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Which part of x is kept, and where it goes."""
    inner, outer = [], []
    for n, before, after in zip(shape, padding[::2], padding[1::2], strict=True):
        kept = _kept(n, before, after)
        start = max(0, before)
        inner.append(kept)
        outer.append(slice(start, start + kept.stop - kept.start))
    return tuple(inner), tuple(outer)


def _margined(x: Sizes, *, padding: Sizes, mode: str) -> Sizes:
    if mode not in MODES:
        raise ArgumentError("pad", "mode", was=repr(mode), needed=f"one of {MODES}")
    for n, before, after in zip(x, padding[::2], padding[1::2], strict=True):
        kept = n + min(before, 0) + min(after, 0)
        limit = {"reflect": n - 1, "circular": kept}.get(mode)
        wide = max(before, after)
        if wide > 0 and (not n or (limit is not None and wide > limit)):
            raise ShapeError(
                "pad", "padding", was=f"{padding}, for {tuple(x)}",
                needed=f"{mode} margins that the elements of each dim fill",
            )  # fmt: skip
    return _padded(x, padding=padding)


@op(shape=_margined, accepts=ANY, unrounded=True)
def margin_pad(input: Tensor, padding: Ints, mode: str) -> Tensor:
    """`input` with margins of its own elements, before and after each dim.

    `reflect` mirrors at the outermost element, `replicate` repeats it, `circular`
    continues with the other end of what is kept. Negative sizes cut elements off.
    """
    _margined(tuple(input._a.shape), padding=tuple(padding), mode=mode)
    y = clone(input)
    for d, n in enumerate(input._a.shape):
        before, after = padding[2 * d], padding[2 * d + 1]
        if before or after:
            y = index_select(y, d, _source(input, int(n), before, after, mode))
    return y


def _source(like: Tensor, n: int, before: int, after: int, mode: str) -> Tensor:
    """For each place along a padded dim, the index it is copied from."""
    at = counted(n + before + after, like) - before
    below, above = at < 0, n - 1 < at
    if mode == "circular":
        kept = n + min(before, 0) + min(after, 0)
        low, high = at + kept, at - kept
        below, above = at < -min(before, 0), n - 1 + min(after, 0) < at
    elif mode == "reflect":
        low, high = -at, 2 * (n - 1) - at
    else:
        low, high = at * 0, at * 0 + (n - 1)
    return where(below, low, where(above, high, at))


@margin_pad.oracle
def _(x: Array, padding: Sizes, mode: str) -> Array:
    known = {"reflect": "reflect", "replicate": "edge"}.get(mode, "wrap")
    sides = list(zip(padding[::2], padding[1::2], strict=True))
    if mode == "circular":
        for d, (a, b) in enumerate(sides):
            x = x.take(range(max(0, -a), x.shape[d] - max(0, -b)), d)
        return np.pad(x, [(max(0, a), max(0, b)) for a, b in sides], mode="wrap")
    y = np.pad(x, [(max(0, a), max(0, b)) for a, b in sides], mode=known)  # type: ignore[call-overload]
    for d, (a, b) in enumerate(sides):
        y = np.take(y, range(max(0, -a), y.shape[d] - max(0, -b)), d)
    return np.asarray(y)


@margin_pad.cases
def _(make: Any) -> Iterator[Case]:
    for mode in MODES:
        yield case(make(2, 4), (0, 0, 2, 1), mode)
        yield case(make(1, 3, 4), (0, 0, 1, 2, -1, 3), mode)


@adjoint_of(margin_pad, "input", sums=True, accepts=INEXACT,
            shape=lambda ct, *, padding, mode: tuple(
                n - a - b
                for n, a, b in zip(ct, padding[::2], padding[1::2], strict=True)
            ))  # fmt: skip
def margin_pad_backward(ct: Tensor, padding: Ints, mode: str) -> Tensor:
    """`ct` added where its elements were copied from."""
    y = ct
    for d, whole in enumerate(ct._a.shape):
        before, after = padding[2 * d], padding[2 * d + 1]
        if before or after:
            n = whole - before - after
            shape = (*y._a.shape[:d], n, *y._a.shape[d + 1 :])
            source = _source(ct, n, before, after, mode)
            y = index_add(zeros_of(ct, shape), d, source, y)
    return y if y is not ct else clone(ct)


@margin_pad_backward.oracle
def _(ct: Array, padding: Sizes, mode: str) -> Array:
    sides = zip(ct.shape, padding[::2], padding[1::2], strict=True)
    shape = tuple(n - a - b for n, a, b in sides)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    assert margin_pad.op.oracle is not None
    total = np.zeros(math.prod(shape), ct.dtype)
    np.add.at(total, margin_pad.op.oracle(numbers, padding, mode).reshape(-1), ct.flat)
    return total.reshape(shape)
