"""`make_tensor`: random tensors to test with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import dovetail as dt
from dovetail.device import device as Device
from dovetail.dtypes import DType
from dovetail.errors import ArgumentError
from dovetail.limits import finfo, iinfo
from dovetail.memory_formats import memory_format as MemoryFormat

_BOUND: Final = 9  # of numbers, unless bounds are given


def make_tensor(
    *shape: int | Sequence[int], dtype: DType, device: str | Device,
    low: float | None = None, high: float | None = None, requires_grad: bool = False,
    noncontiguous: bool = False, exclude_zero: bool = False,
    memory_format: MemoryFormat | None = None,
) -> dt.Tensor:  # fmt: skip
    """Numbers drawn evenly from [low, high), from -9 to 9 unless that is given.

    Args:
        noncontiguous: the last dim has a stride of 2.
        exclude_zero: 1, or the least normal number, stands where 0 was drawn.
        memory_format: in which the dims lie; not with `noncontiguous`.

    Raises: ArgumentError for bounds that are out of order or not finite.
    """
    sizes = _sizes(shape)
    if noncontiguous and memory_format is not None:
        raise ArgumentError(
            "make_tensor", "memory_format", was=f"{memory_format}, and noncontiguous",
            needed="one of them",
        )  # fmt: skip
    spread = noncontiguous and math.prod(sizes) > 1
    drawn = (*sizes[:-1], 2 * sizes[-1]) if spread else sizes
    y = _drawn(drawn, dtype, device, *_bounds(dtype, low, high))
    if exclude_zero:
        y[y == 0] = 1 if not dtype.is_floating_point else finfo(dtype).tiny
    if spread:
        y = y[..., ::2]
    elif memory_format is not None:
        y = y.contiguous(memory_format=memory_format)
    return y.requires_grad_() if requires_grad and dtype.is_inexact else y


def _sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        shape = tuple(shape[0])
    return shape


def _bounds(dtype: DType, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds, by default of the dtype, and within what it holds."""
    least: float
    most: float
    usual: tuple[float, float]
    if dtype is dt.bool:
        usual, least, most = (0, 2), 0, 2
    elif dtype.is_inexact:
        most = finfo(dtype.real).max
        usual, least = (-_BOUND, _BOUND), -most
    else:
        info = iinfo(dtype)
        usual = (max(-_BOUND, info.min), _BOUND + 1)
        least, most = info.min, info.max
    low = usual[0] if low is None else low
    high = usual[1] if high is None else high
    if not low < high:
        raise ArgumentError(
            "make_tensor", "low and high", was=(low, high), needed="`low` below `high`"
        )
    low, high = max(low, least), min(high, most)
    if not dtype.is_inexact:
        low, high = math.ceil(low), math.ceil(high)
    if not low < high:
        raise ArgumentError(
            "make_tensor", "low and high", was=(low, high),
            needed=f"bounds with a number of {dtype.name} between",
        )  # fmt: skip
    return low, high


def _drawn(sizes: Any, dtype: DType, device: Any, low: Any, high: Any) -> dt.Tensor:
    if dtype.is_complex:
        parts = [_drawn(sizes, dtype.real, device, low, high) for _ in range(2)]
        real, imag = parts
        made: dt.Tensor = dt.complex(real, imag)
        return made
    if dtype.is_floating_point:
        wide = dt.float64 if dtype is dt.float64 else dt.float32
        share = dt.rand(sizes, dtype=wide, device=device)
        y: dt.Tensor = share * (high / 2 - low / 2) * 2 + low
        return y.to(dtype)
    drawn: dt.Tensor = dt.randint(low, high, sizes, dtype=dt.int64, device=device)
    return drawn.to(dtype)
