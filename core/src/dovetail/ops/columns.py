"""Windows as columns (im2col), back again, and maxima of an adaptive size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import NUMERIC
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.inplace import inplace
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.view import basic_index, reshape
from dovetail.ops.windows import (
    gathered_back,
    window_views,
    windows,
)
from dovetail.xp.windows import places_of

Sizes = Sequence[int]
_ALL = slice(None)


def _check(
    name: str, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> None:
    for what, values, least in (
        ("kernel_size", kernel, 1), ("dilation", dilation, 1), ("padding", padding, 0),
        ("stride", stride, 1),
    ):  # fmt: skip
        if len(values) != len(kernel) or any(v < least for v in values):
            raise ArgumentError(
                name, what, was=values,
                needed=f"{len(kernel)} numbers of {least} or more",
            )  # fmt: skip


def _columns_shape(
    x: Sizes, *, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Sizes:
    name = "im2col"
    _check(name, kernel_size, dilation, padding, stride)
    if len(x) != len(kernel_size) + 2 or 0 in x[1:]:
        raise ShapeError(
            name, "input", was=f"of shape {x}",
            needed=f"(batch, channels, *spatial) with {len(kernel_size)} spatial axes, "
            "none empty",
        )  # fmt: skip
    places = places_of(x[2:], kernel_size, stride, padding, dilation)
    if any(p < 1 for p in places):
        raise ShapeError(
            name, "input", was=f"of shape {x}", needed=f"room for {kernel_size}"
        )
    return (x[0], x[1] * math.prod(kernel_size), math.prod(places))


@op(shape=_columns_shape, accepts=NUMERIC, exact=True)
def im2col(
    x: Tensor, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Tensor:
    """Each window of `x` as a column: [batch, channels · kernel, places]."""
    n, channels = x._a.shape[:2]
    places = places_of(tuple(x._a.shape[2:]), kernel_size, stride, padding, dilation)
    y = zeros_of(x, (n, channels, math.prod(kernel_size), *places))
    steps = (kernel_size, stride, padding, dilation)
    for i, part in enumerate(windows(x, places, *steps, 0)):
        inplace("write", lambda _, p=part: p, basic_index(y, (_ALL, _ALL, i)))
    return reshape(y, (n, channels * math.prod(kernel_size), math.prod(places)))


def _image_shape(
    dy: Sizes, *, size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes,
    stride: Sizes,
) -> Sizes:  # fmt: skip
    name = "col2im"
    _check(name, kernel_size, dilation, padding, stride)
    places = places_of(size, kernel_size, stride, padding, dilation)
    rows, count = math.prod(kernel_size), math.prod(places)
    empty = 0 in (*dy[1:], *size) or any(p < 1 for p in places)
    if len(dy) != 3 or dy[1] % rows or dy[2] != count or empty:
        raise ShapeError(
            name, "input", was=f"of shape {dy}",
            needed=f"(batch, a multiple of {rows}, {count}) for windows {kernel_size} "
            f"at {places} places of {size}",
        )  # fmt: skip
    return (dy[0], dy[1] // rows, *size)


@op(sums=True, shape=_image_shape, accepts=NUMERIC)
def col2im(
    dy: Tensor, size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints,
    stride: Ints,
) -> Tensor:  # fmt: skip
    """Columns added to where `im2col` takes them from; its adjoint."""
    places = places_of(size, kernel_size, stride, padding, dilation)
    rows = math.prod(kernel_size)
    shape = (dy._a.shape[0], dy._a.shape[1] // rows, rows, *places)
    columns = reshape(dy, shape)
    parts = [basic_index(columns, (_ALL, _ALL, i)) for i in range(rows)]
    steps = (kernel_size, stride, padding, dilation)
    return gathered_back(iter(parts), parts[0], tuple(size), *steps)


im2col.grad(
    x=lambda ct, x_shape, kernel_size, dilation, padding, stride: col2im(
        ct, tuple(x_shape[2:]), kernel_size, dilation, padding, stride
    )
)
col2im.grad(
    dy=lambda ct, kernel_size, dilation, padding, stride: im2col(
        ct, kernel_size, dilation, padding, stride
    )
)


# ---- proof


@im2col.oracle
def _(x: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    places = places_of(x.shape[2:], kernel, stride, padding, dilation)
    steps = (kernel, stride, padding, dilation)
    views = [patch for _, patch in window_views(x, places, steps, 0)]
    return np.stack([p.reshape(x.shape[0], -1) for p in views], axis=2)


@col2im.oracle
def _(dy: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    places = places_of(size, kernel, stride, padding, dilation)
    channels = dy.shape[1] // math.prod(kernel)
    numbers = np.arange(channels * math.prod(size)).reshape(1, channels, *size) + 1
    steps = (kernel, stride, padding, dilation)
    dx = np.zeros((dy.shape[0], numbers.size + 1), dy.dtype)
    for i, (_, patch) in enumerate(window_views(numbers, places, steps, 0)):
        target: Any = (slice(None), patch.reshape(-1))
        np.add.at(dx, target, dy[:, :, i])
    return dx[:, 1:].reshape(dy.shape[0], channels, *size)


# x, kernel, dilation, padding, stride
_CALLS: Any = (
    ((2, 3, 4, 5), (2, 3), (1, 1), (0, 0), (1, 1)),
    ((1, 2, 6, 5), (3, 2), (2, 1), (1, 2), (2, 3)),
    ((2, 2, 7), (3,), (1,), (1,), (2,)),
)


@im2col.cases
def _(make: Any) -> Iterator[Any]:
    for x, *how in _CALLS:
        yield case(make(*x), *how)


@col2im.cases
def _(make: Any) -> Iterator[Any]:
    for x, kernel, dilation, padding, stride in _CALLS:
        places = math.prod(places_of(x[2:], kernel, stride, padding, dilation))
        columns = make(x[0], x[1] * math.prod(kernel), places)
        yield case(columns, x[2:], kernel, dilation, padding, stride)
