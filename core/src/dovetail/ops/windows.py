"""Windows over the spatial axes: where they lie, what they see, what goes back.

Bodies of poolings run over the kernel's offsets, each a shifted strided view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import int32
from dovetail.engine.inplace import inplace
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.conv import offsets, window
from dovetail.ops.create import full, zeros_of
from dovetail.ops.primitive import add, iota
from dovetail.ops.view import basic_index, contiguous, place, reshape
from dovetail.xp.windows import places_of, reach_of

Sizes = Sequence[int]
_ALL = slice(None)


def check_pool(
    name: str, shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes,
) -> None:  # fmt: skip
    """Raise where a window makes no sense for an input of that shape."""
    n = len(kernel)
    if n < 1 or len(shape) != n + 2:
        raise ShapeError(
            name, "input", was=f"{len(shape)}-dimensional, {shape}",
            needed=f"(batch, channels, *spatial) for a kernel of {n} axes",
        )  # fmt: skip
    if 0 in shape[1:]:
        raise ShapeError(
            name, "input", was=f"of shape {shape}", needed="no empty dim but the batch"
        )
    for what, values, least in (
        ("kernel_size", kernel, 1), ("stride", stride, 1), ("padding", padding, 0),
        ("dilation", dilation, 1),
    ):  # fmt: skip
        if len(values) != n or any(v < least for v in values):
            raise ArgumentError(
                name, what, was=values, needed=f"{n} numbers of {least} or more"
            )
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if 2 * p > d * (k - 1) + 1:
            raise ArgumentError(
                name, "padding", was=p,
                needed=f"at most half of the kernel, which spans {d * (k - 1) + 1}",
            )  # fmt: skip


def pooled_shape(
    name: str, x: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, ceil_mode: bool,
) -> Sizes:  # fmt: skip
    """The shape of a pooling's result; raises where a window makes no sense."""
    steps = (kernel_size, stride, padding, dilation)
    check_pool(name, x, *steps)
    size = places_of(x[2:], *steps, ceil_mode)
    if any(s < 1 for s in size):
        raise ShapeError(
            name, "input", was=f"of shape {x}",
            needed=f"at least one window of {kernel_size} with dilation {dilation}",
            remedy=f"the result would have {size}",
        )  # fmt: skip
    return (*x[:2], *size)


def _grown(
    size: Sizes, padding: Sizes, extent: Sizes
) -> tuple[Sizes, tuple[slice, ...]]:
    """Spatial sizes that hold all windows, and where the input lies in them."""
    wide = tuple(
        max(s + 2 * p, e) for s, p, e in zip(size, padding, extent, strict=True)
    )
    return wide, tuple(slice(p, p + s) for s, p in zip(size, padding, strict=True))


def _surrounded(x: Tensor, padding: Sizes, extent: Sizes, value: Any) -> Tensor:
    """`x` with `value` around it, as far as windows reach."""
    shape = tuple(x._a.shape)
    wide, inner = _grown(shape[2:], padding, extent)
    if wide == shape[2:]:
        return x
    if value == 0:
        return place(x, (*shape[:2], *wide), (_ALL, _ALL, *inner))
    whole: Tensor = full((*shape[:2], *wide), value, x._kind)
    inplace("write", lambda _: x, basic_index(whole, (_ALL, _ALL, *inner)))
    return whole


def windows(
    x: Tensor, places: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, value: Any,
) -> Iterator[Tensor]:  # fmt: skip
    """For each kernel offset, the element that every window has there."""
    extent = reach_of(places, kernel, stride, dilation)
    wide = _surrounded(x, padding, extent, value)
    for at in offsets(kernel):
        yield basic_index(wide, (_ALL, _ALL, *window(at, places, stride, dilation)))


def gathered_back(
    parts: Iterator[Tensor], like: Tensor, size: Sizes, kernel: Sizes, stride: Sizes,
    padding: Sizes, dilation: Sizes,
) -> Tensor:  # fmt: skip
    """The adjoint of `windows`: parts added to where each was taken from."""
    places = tuple(like._a.shape[2:])
    extent = reach_of(places, kernel, stride, dilation)
    wide, inner = _grown(size, padding, extent)
    whole = zeros_of(like, (*like._a.shape[:2], *wide))
    for at, part in zip(offsets(kernel), parts, strict=True):
        region = (_ALL, _ALL, *window(at, places, stride, dilation))
        inplace("add_", add, basic_index(whole, region), part)
    return contiguous(basic_index(whole, (_ALL, _ALL, *inner)))


def counted(x: Tensor, n: int, behind: int) -> Tensor:
    """0 … n-1 on the device of `x`, with `behind` dims of size 1 after it."""
    numbers: Tensor = iota(n, x._kind.with_dtype(int32))
    return reshape(numbers, (n, *(1 for _ in range(behind))))


# ---- for proofs


def window_views(
    x: Any, places: Sizes, steps: Sequence[Sizes], fill: Any
) -> Iterator[tuple[Any, Any]]:
    """NumPy: the index of each window, and a view of it in `x` grown by `fill`."""
    kernel, stride, padding, dilation = steps
    reach = reach_of(places, kernel, stride, dilation)
    grow = [
        (p, max(p, e - s - p))
        for s, p, e in zip(x.shape[2:], padding, reach, strict=True)
    ]
    wide = np.pad(x, [(0, 0), (0, 0), *grow], constant_values=fill)
    for at in np.ndindex(*places):
        region: Any = tuple(
            slice(i * t, i * t + d * (k - 1) + 1, d)
            for i, k, t, d in zip(at, kernel, stride, dilation, strict=True)
        )
        yield (..., *at), wide[(..., *region)]


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
