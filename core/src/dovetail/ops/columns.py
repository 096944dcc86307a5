"""Windows as columns (im2col), and back again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import NUMERIC
from dovetail.engine.adjoints import adjoint_of
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.shape import stack
from dovetail.ops.view import basic_index, reshape
from dovetail.ops.windows import (
    added_back,
    columns_of,
    gathered_back,
    windows,
    windows_shape,
)
from dovetail.xp.windows import Windows

Sizes = Sequence[int]
_ALL = slice(None)


def _shape(
    x: Sizes, *, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Sizes:
    steps = (kernel_size, stride, padding, dilation)
    batch, channels, *places = windows_shape("im2col", x, *steps)
    return (batch, channels * math.prod(kernel_size), math.prod(places))


@op(shape=_shape, accepts=NUMERIC, unrounded=True)
def im2col(
    input: Tensor, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Tensor:
    """Each window of `input` as a column: [batch, channels · kernel, places]."""
    n, channels, *size = input._a.shape
    w = Windows(kernel_size, stride, padding, dilation)
    rows, count = channels * math.prod(kernel_size), math.prod(w.places(size))
    return reshape(stack(list(windows(input, w)), 2), (n, rows, count))


@adjoint_of(
    im2col, "input", sums=True,
    shape=lambda dy, *, output_size, kernel_size, **_: (
        dy[0], dy[1] // max(math.prod(kernel_size), 1), *output_size
    ),
)  # fmt: skip
def col2im(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints,
    stride: Ints,
) -> Tensor:  # fmt: skip
    """Columns added to where `im2col` takes them from; its adjoint."""
    w = Windows(kernel_size, stride, padding, dilation)
    rows, (n, lines, _) = math.prod(kernel_size), input._a.shape
    columns = reshape(input, (n, lines // rows, rows, *w.places(output_size)))
    parts = (basic_index(columns, (_ALL, _ALL, i)) for i in range(rows))
    return gathered_back(parts, output_size, w)


@im2col.oracle
def _(x: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    found = np.moveaxis(
        columns_of(x, Windows(kernel, stride, padding, dilation)), -1, 2
    )
    rows, places = x.shape[1] * math.prod(kernel), found.shape[3:]
    return found.reshape(x.shape[0], rows, math.prod(places))


@col2im.oracle
def _(dy: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    w = Windows(kernel, stride, padding, dilation)
    rows, (n, lines, _) = math.prod(kernel), dy.shape
    columns = dy.reshape(n, lines // rows, rows, *w.places(size))
    return added_back(np.moveaxis(columns, 2, -1), size, w)


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
