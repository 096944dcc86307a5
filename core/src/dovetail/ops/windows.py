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
from dovetail.xp.windows import places_of, reach_of

Sizes = Sequence[int]
_ALL = slice(None)


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
    size = places_of(x[2:], kernel_size, **steps, ceil_mode=ceil_mode)
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


def _window(at: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Any, ...]:
    """Where one place of the kernel falls in a padded input, for all results."""
    steps = zip(at, size, stride, dilation, strict=True)
    spans = (slice(k * d, k * d + (n - 1) * t + 1, t) for k, n, t, d in steps)
    return (_ALL, _ALL, *spans)


def _margins(size: Sizes, padding: Sizes, reach: Sizes) -> Iterator[tuple[int, int]]:
    """What an input needs on both sides of each axis to hold all windows."""
    for s, p, e in zip(size, padding, reach, strict=True):
        yield p, max(p, e - s - p)


def _grown(x: Tensor, margins: Iterable[tuple[int, int]], value: Any = 0) -> Tensor:
    """`x` with margins on both sides of its spatial axes; negative ones cut off."""
    flat = tuple(n for pair in margins for n in pair)
    grown: Tensor = constant_pad(x, (0, 0, 0, 0, *flat), value) if any(flat) else x
    return grown


def windows(
    x: Tensor, places: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, value: Any = 0,
) -> Iterator[Tensor]:  # fmt: skip
    """For each kernel offset, the element that every window has there."""
    reach = reach_of(places, kernel, stride, dilation)
    wide = _grown(x, _margins(x._a.shape[2:], padding, reach), value)
    for at in offsets(kernel):
        yield basic_index(wide, _window(at, places, stride, dilation))


def gathered_back(
    parts: Iterator[Tensor], size: Sizes, kernel: Sizes, stride: Sizes,
    padding: Sizes, dilation: Sizes,
) -> Tensor:  # fmt: skip
    """The adjoint of `windows`: parts added to where each was taken from."""
    first = next(parts)
    batch, channels, *places = first._a.shape
    margins = list(_margins(size, padding, reach_of(places, kernel, stride, dilation)))
    wide = [s + a + b for s, (a, b) in zip(size, margins, strict=True)]
    whole = zeros_of(first, (batch, channels, *wide))
    every = itertools.chain([first], parts)
    for at, part in zip(offsets(kernel), every, strict=True):
        region = _window(at, places, stride, dilation)
        inplace("add_", add, basic_index(whole, region), part)
    return contiguous(_grown(whole, ((-a, -b) for a, b in margins)))


def counted(x: Tensor, n: int, behind: int) -> Tensor:
    """0 … n-1 on the device of `x`, with `behind` dims of size 1 after it."""
    numbers: Tensor = iota(n, x._kind.with_dtype(int32))
    return reshape(numbers, (n, *(1 for _ in range(behind))))


# ---- for proofs


def columns_of(
    x: Any, places: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, *, fill: Any = 0,
) -> Any:  # fmt: skip
    """NumPy: the elements of each window, [batch, channels, *places, offsets]."""
    reach = reach_of(places, kernel, stride, dilation)
    margins = _margins(x.shape[2:], padding, reach)
    wide = np.pad(x, [(0, 0), (0, 0), *margins], constant_values=fill)
    spans = reach_of([1] * len(kernel), kernel, stride, dilation)
    axes = tuple(range(2, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(wide, spans, axes)
    starts = [slice(0, (n - 1) * t + 1, t) for n, t in zip(places, stride, strict=True)]
    region: Any = (..., *starts, *(slice(None, None, d) for d in dilation))
    return view[region].reshape(*x.shape[:2], *places, math.prod(kernel))


def added_back(columns: Any, size: Sizes, *steps: Any) -> Any:
    """NumPy: the adjoint of `columns_of`, by the numbers that windows would see."""
    batch, channels, *places, _ = columns.shape
    count = math.prod(size)
    seen = np.arange(count).reshape(1, 1, *size)
    numbers = columns_of(seen, places, *steps, fill=-1).reshape(-1)
    rows = np.zeros((batch * channels, count + 1), columns.dtype)
    target: Any = (_ALL, numbers)
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
    ((1, 2, 4, 5, 4), (2, 2, 2), (2, 1, 2), (0, 1, 0), (1, 1, 1), True),
    ((1, 1, 5, 5), (2, 2), (3, 3), (0, 0), (1, 1), False),
    ((0, 2, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False),
)
