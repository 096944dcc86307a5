"""Windows over the spatial axes: where they lie, what they see, what goes back.

Bodies of convolutions and poolings run over the kernel's offsets, each a shifted
strided view; their oracles see all windows at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import int32
from dovetail.engine.inplace import inplace
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.pad import constant_pad
from dovetail.ops.primitive import add, iota
from dovetail.ops.view import basic_index, contiguous, reshape
from dovetail.xp.windows import Windows

Sizes = Sequence[int]


def check_steps(name: str, n: int, **values: Sizes) -> None:
    """Raise unless each attribute has a number an axis, and one that makes sense."""
    for what, numbers in values.items():
        least = int(what != "padding")
        if len(numbers) != n or any(v < least for v in numbers):
            raise ArgumentError(
                name, what, was=numbers, needed=f"{n} numbers of {least} or more"
            )


def windows_shape(
    name: str, x: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, ceil_mode: bool = False,
) -> Sizes:  # fmt: skip
    """Batch, channels and places of windows; raises where they make no sense."""
    n = len(kernel_size)
    if n < 1 or len(x) != n + 2 or 0 in x[1:]:
        raise ShapeError(
            name, "input", was=f"{len(x)}-dimensional, {x}",
            needed=f"(batch, channels, *spatial) for a kernel of {n} axes, with no "
            "empty dim but the batch",
        )  # fmt: skip
    steps = {"stride": stride, "padding": padding, "dilation": dilation}
    check_steps(name, n, kernel_size=kernel_size, **steps)
    size = Windows(kernel_size, stride, padding, dilation, ceil_mode).places(x[2:])
    if any(s < 1 for s in size):
        raise ShapeError(
            name, "input", was=f"of shape {x}",
            needed=f"at least one window of {kernel_size} with dilation {dilation}",
            remedy=f"the result would have {size}",
        )  # fmt: skip
    return (*x[:2], *size)


def pooled_shape(
    name: str, x: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, ceil_mode: bool,
) -> Sizes:  # fmt: skip
    """The shape of a pooling's result, whose windows see some of the input."""
    steps = (kernel_size, stride, padding, dilation)
    shape = windows_shape(name, x, *steps, ceil_mode)
    for k, p, d in zip(kernel_size, padding, dilation, strict=True):
        if 2 * p > d * (k - 1) + 1:
            raise ArgumentError(
                name, "padding", was=p,
                needed=f"at most half of the kernel, which spans {d * (k - 1) + 1}",
            )  # fmt: skip
    return shape


def offsets(kernel: Sizes) -> Iterator[Sizes]:
    """Every place in a kernel, the last axis fastest."""
    return itertools.product(*map(range, kernel))


def _grown(x: Tensor, margins: Iterable[tuple[int, int]], value: Any = 0) -> Tensor:
    """`x` with margins on both sides of its spatial axes; negative ones cut off."""
    flat = tuple(n for pair in margins for n in pair)
    return constant_pad(x, (0, 0, 0, 0, *flat), value) if any(flat) else x


def windows(x: Tensor, w: Windows, value: Any = 0) -> Iterator[Tensor]:
    """For each kernel offset, the element that every window has there."""
    spatial = tuple(x._a.shape[2:])
    places = w.places(spatial)
    wide = _grown(x, w.margins(spatial, places), value)
    for at in offsets(w.kernel):
        yield basic_index(wide, w.region(at, places))


def gathered_back(parts: Iterator[Tensor], size: Sizes, w: Windows) -> Tensor:
    """The adjoint of `windows`: parts added to where each was taken from."""
    first = next(parts)
    batch, channels, *places = first._a.shape
    margins = w.margins(size, places)
    whole = zeros_of(first, (batch, channels, *w.wide(size, places)))
    every = itertools.chain([first], parts)
    for at, part in zip(offsets(w.kernel), every, strict=True):
        inplace("add_", add, basic_index(whole, w.region(at, places)), part)
    return contiguous(_grown(whole, ((-a, -b) for a, b in margins)))


def counted(x: Tensor, n: int, behind: int) -> Tensor:
    """0 … n-1 on the device of `x`, with `behind` dims of size 1 after it."""
    numbers: Tensor = iota(n, x._kind.with_dtype(int32))
    return reshape(numbers, (n, *(1 for _ in range(behind))))


def columns_of(x: Any, w: Windows, fill: Any = 0) -> Any:
    """NumPy: the elements of each window, [batch, channels, *places, offsets]."""
    places = w.places(x.shape[2:])
    margins = w.margins(x.shape[2:], places)
    wide = np.pad(x, [(0, 0), (0, 0), *margins], constant_values=fill)
    spans, axes = w.reach([1] * len(places)), tuple(range(2, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(wide, spans, axes)
    starts = w.region([0] * len(places), places)
    region: Any = (*starts, *(slice(None, None, d) for d in w.dilation))
    return view[region].reshape(*x.shape[:2], *places, math.prod(w.kernel))


def added_back(columns: Any, size: Sizes, w: Windows) -> Any:
    """NumPy: the adjoint of `columns_of`, by the numbers that windows would see."""
    batch, channels = columns.shape[:2]
    count = math.prod(size)
    numbers = columns_of(np.arange(count).reshape(1, 1, *size), w, -1).reshape(-1)
    rows = np.zeros((batch * channels, count + 1), columns.dtype)
    target: Any = (slice(None), numbers)
    np.add.at(rows, target, columns.reshape(len(rows), numbers.size))
    return rows[:, :-1].reshape(batch, channels, *size)


def first_of_largest(rows: Any) -> Any:
    """Where each row has its maximum: the first of equals, the last of NaNs."""
    odd = np.isnan(rows)[..., ::-1]
    last = rows.shape[-1] - 1 - odd.argmax(axis=-1)
    return np.where(odd.any(axis=-1), last, rows.argmax(axis=-1))


# input, kernel, stride, padding, dilation, ceil_mode
POOLS: Any = (
    ((2, 3, 6, 8), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((2, 2, 7, 5), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((1, 2, 8, 7), (3, 2), (2, 3), (1, 0), (1, 1), True),
    ((2, 2, 9), (3,), (1,), (1,), (2,), False),
    ((1, 2, 5, 5, 4), (2, 2, 2), (2, 1, 2), (0, 1, 0), (1, 1, 1), True),
    ((1, 1, 5, 5), (2, 2), (3, 3), (0, 0), (1, 1), False),
    ((0, 2, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False),
)
