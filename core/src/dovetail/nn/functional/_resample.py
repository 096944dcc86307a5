"""Images made larger or smaller: `interpolate`, axis by axis.

An axis is resampled by a few taps, each a gather and a weight, or, where a filter is
as wide as the step, by a matrix. Places are computed as tensors, on the device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from dovetail.dtypes import DType, by_name, float32, int64
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, NotSupported, ShapeError
from dovetail.ops.create import counted
from dovetail.ops.index_slices import index_select
from dovetail.ops.matmul import matmul
from dovetail.ops.primitive import cast, where
from dovetail.ops.taps import tap_sum
from dovetail.ops.view import reshape, transpose

_LINEAR: Final = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_MODES: Final = ("nearest", "nearest-exact", "area", *_LINEAR)
_MOST_TAPS: Final = 1 << 15  # of an image, whose places are kept
_REMEMBERED: Final = 32  # sizes
_SHARP: Final = -0.75  # the cubic's slope at one, as torch has it
_SHARP_FILTER: Final = -0.5  # the same of the filter that is as wide as the step


@public("F.interpolate")
def interpolate(
    input: Tensor, size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Spatial axes resampled to a size, or by a factor.

    Args:
        input: [n, channels, *spatial], of one to three spatial axes.
        size: of the spatial axes in the result.
        scale_factor: what their lengths are multiplied by instead.
        mode: "nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic" or
            "trilinear".
        align_corners: corners of both lie on each other, not edges.
        recompute_scale_factor: steps are those of the sizes, not of the factor.
        antialias: the filter grows with the step, for "bilinear" and "bicubic".

    >>> F.interpolate(torch.tensor([[[1.0, 3.0]]]), scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    out, factors = _asked(input, size, scale_factor, recompute_scale_factor)
    _check_mode(input, mode, align_corners, antialias)
    _check_sizes(input, out)
    if mode == "area":
        pool = NAMESPACES["F"][f"adaptive_avg_pool{len(out)}d"]
        pooled: Tensor = pool(input, out)
        return pooled
    x = input
    if mode not in ("nearest", "nearest-exact") and not x.dtype.is_inexact:
        x = cast(x, float32)
    aligned = bool(align_corners)
    steps = tuple(
        _step(int(input.shape[2 + i]), out[i], factors[i], aligned)
        for i in range(len(out))
    )
    few = math.prod(out) << (2 * len(out) if mode == "bicubic" else len(out))
    if mode in _LINEAR and not antialias and few <= _MOST_TAPS and _is_real(x):
        x = _at_once(x, out, steps, mode == "bicubic", aligned)
    else:
        for i in reversed(range(len(out))):
            x = _resampled(x, 2 + i, out[i], steps[i], mode, aligned, antialias)
    if x.dtype is input.dtype:
        return x
    return cast(x.round().clamp(0, 255), input.dtype)


def _asked(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The spatial size of the result, and the factors that steps are to follow."""
    n = input.ndim - 2
    if n not in (1, 2, 3):
        raise ShapeError(
            "interpolate", "input", was=f"{input.ndim}-dimensional",
            needed="[n, channels, *spatial] with one to three spatial axes",
        )  # fmt: skip
    if (size is None) == (scale_factor is None):
        raise ArgumentError(
            "interpolate", "size", was="given with scale_factor" if size is not None
            else "None, as scale_factor is", needed="one of the two",
        )  # fmt: skip
    if size is not None:
        if recompute:
            raise ArgumentError(
                "interpolate", "recompute_scale_factor", was="True with a size",
                needed="scale_factor instead of size",
            )  # fmt: skip
        return tuple(map(int, _each("size", size, n))), (None,) * n
    factors = tuple(map(float, _each("scale_factor", scale_factor, n)))
    if not all(map(math.isfinite, factors)):
        raise ArgumentError(
            "interpolate", "scale_factor", was=scale_factor, needed="finite numbers"
        )
    out = tuple(
        math.floor(have * f) for have, f in zip(input.shape[2:], factors, strict=True)
    )
    return out, (None,) * n if recompute else factors


def _each(name: str, value: Any, n: int) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, Sequence) else (value,) * n
    if len(values) != n:
        raise ArgumentError(
            "interpolate", name, was=values,
            needed=f"one number or {n}, one for each spatial axis",
        )  # fmt: skip
    return values


def _check_mode(
    input: Tensor, mode: str, align_corners: bool | None, antialias: bool
) -> None:
    if mode not in _MODES:
        raise ArgumentError(
            "interpolate", "mode", was=repr(mode), needed=f"one of {_MODES}"
        )
    if mode not in _LINEAR and align_corners is not None:
        raise ArgumentError(
            "interpolate", "align_corners", was=f"given in mode {mode!r}",
            needed=f"one of the modes {tuple(_LINEAR)}",
        )  # fmt: skip
    if mode in _LINEAR and _LINEAR[mode] != input.ndim - 2:
        raise NotSupported(
            "interpolate", "input", was=f"{input.ndim}-dimensional in mode {mode!r}",
            needed=f"{_LINEAR[mode] + 2} dimensions",
        )  # fmt: skip
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(
            "interpolate", "antialias", was=f"True in mode {mode!r}",
            needed="mode 'bilinear' or 'bicubic'",
        )  # fmt: skip


def _check_sizes(input: Tensor, out: tuple[int, ...]) -> None:
    if min(out) < 1 or min(tuple(input.shape)[1:]) < 1:
        raise ArgumentError(
            "interpolate", "size", was=f"{out} of {tuple(input.shape[2:])}",
            needed="at least 1 on every axis: Input and output sizes should be "
            "greater than 0",
        )  # fmt: skip


def _step(have: int, out: int, factor: float | None, aligned: bool) -> float:
    """How far neighbours of the result are apart in the input."""
    if aligned:
        return (have - 1) / (out - 1) if out > 1 else 0.0
    return have / out if factor is None or factor <= 0 else 1 / factor


def _is_real(x: Tensor) -> bool:
    return x.dtype.is_floating_point


def _at_once(
    x: Tensor, out: tuple[int, ...], steps: tuple[float, ...], cubic: bool,
    aligned: bool,
) -> Tensor:  # fmt: skip
    """All axes together, by taps that are known for the sizes."""
    n, channels, *size = tuple(x.shape)
    wide = "float64" if x.dtype.itemsize == 8 else "float32"
    index, weight = _taps(tuple(size), out, steps, cubic, aligned, wide)
    lines = reshape(x, (1, n * channels, math.prod(size)))
    places = _constant(index, x, int64)
    found = tap_sum(lines, places, cast(_constant(weight, x, by_name(wide)), x.dtype))
    return reshape(found, (n, channels, *out))


def _constant(values: Any, like: Tensor, dtype: DType) -> Tensor:
    """An array on the device of a tensor."""
    kind = like._kind.with_dtype(dtype)
    return wrap(kind.backend.copy_in(values, kind.index), kind)


@lru_cache(_REMEMBERED)
def _taps(
    size: tuple[int, ...], out: tuple[int, ...], steps: tuple[float, ...], cubic: bool,
    aligned: bool, dtype: str,
) -> tuple[Any, Any]:  # fmt: skip
    """[1, taps, places]: which elements a result is made of, and their weights."""
    index: Any = np.zeros((1, 1), np.int64)
    weight: Any = np.ones((1, 1), dtype)
    for have, count, step in zip(size, out, steps, strict=True):
        at = np.arange(count).astype(dtype)
        at = at * step if aligned else (at + 0.5) * step - 0.5
        low = np.floor(at if cubic else np.maximum(at, 0))
        low = low if cubic else np.minimum(low, have - 1)
        part = at - low if cubic else np.maximum(at, 0) - low
        weights = cubic_weights(part) if cubic else [1 - part, part]
        first = -1 if cubic else 0
        places = [np.clip(low + i + first, 0, have - 1) for i in range(len(weights))]
        here = np.stack(places).astype(np.int64)
        index = index[:, None, :, None] * have + here[None, :, None, :]
        weight = weight[:, None, :, None] * np.stack(weights)[None, :, None, :]
        shape = -1, index.shape[2] * count
        index, weight = index.reshape(shape), weight.reshape(shape)
    return index[None], weight.astype(dtype)[None]


def _resampled(
    x: Tensor, dim: int, out: int, step: float, mode: str, aligned: bool,
    antialias: bool,
) -> Tensor:  # fmt: skip
    """One axis resampled."""
    have = x.shape[dim]
    if mode in ("nearest", "nearest-exact"):
        if have == out and step == 1:
            return x
        return _nearest(x, dim, out, step, 0.5 if mode == "nearest-exact" else 0.0)
    cubic = mode == "bicubic"
    if antialias:
        return _filtered(x, dim, out, step, cubic)
    at = _places(x, out)
    at = at * step if aligned else (at + 0.5) * step - 0.5
    return _cubic(x, dim, at) if cubic else _linear(x, dim, at)


def _places(x: Tensor, count: int) -> Tensor:
    """0, 1, … as floats that are precise enough for the places in `x`."""
    wide = x.dtype if x.dtype.is_floating_point and x.dtype.itemsize == 8 else float32
    return cast(counted(count, x), wide)


def _nearest(x: Tensor, dim: int, out: int, step: float, shift: float) -> Tensor:
    at = (cast(counted(out, x), float32) + shift) * step
    found = cast(at.floor(), int64).clamp(0, x.shape[dim] - 1)
    return index_select(x, dim, found)


def _tap(x: Tensor, dim: int, at: Tensor, weight: Tensor) -> Tensor:
    """The elements at integers, which are clamped, times their weights."""
    places = cast(at.clamp(0, x.shape[dim] - 1), int64)
    taken = index_select(x, dim, places)
    return taken * along(weight, x, dim)


def along(weight: Tensor, x: Tensor, dim: int) -> Tensor:
    """A vector in the dtype of `x`, shaped to broadcast along one of its dims."""
    shape = (-1, *(1,) * (x.ndim - dim - 1))
    return reshape(cast(weight, x.dtype), shape)


def _linear(x: Tensor, dim: int, at: Tensor) -> Tensor:
    at = at.clamp(min=0)
    low = at.floor().clamp(max=x.shape[dim] - 1)
    part = at - low
    return _tap(x, dim, low, 1 - part) + _tap(x, dim, low + 1, part)


def cubic_weights(part: Any) -> list[Any]:
    """The weights of four neighbours, `part` behind the second (Keys 1981)."""
    near, far = part, 1 - part
    return [
        _outer(near + 1), _inner(near), _inner(far), _outer(far + 1),
    ]  # fmt: skip


def _inner(x: Any, a: float = _SHARP) -> Any:
    """The cubic within a distance of one."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _outer(x: Any, a: float = _SHARP) -> Any:
    """The cubic at a distance of one to two."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _cubic(x: Tensor, dim: int, at: Tensor) -> Tensor:
    low = at.floor()
    weights = cubic_weights(at - low)
    taps = [_tap(x, dim, low + (i - 1), w) for i, w in enumerate(weights)]
    return taps[0] + taps[1] + taps[2] + taps[3]


def _filtered(x: Tensor, dim: int, out: int, step: float, cubic: bool) -> Tensor:
    """By a matrix of weights: the filter is as wide as the step, where that is over 1.

    Which elements count is said by integers, as Pillow and torch do.
    """
    have, wide = x.shape[dim], max(step, 1.0)
    reach = (2.0 if cubic else 1.0) * wide
    centre = ((_places(x, out) + 0.5) * step).reshape(out, 1)
    low = (centre - reach + 0.5).trunc().clamp(min=0)
    high = (centre + reach + 0.5).trunc().clamp(max=have)
    at = _places(x, have)
    far = ((at + 0.5 - centre) / wide).abs()
    if cubic:
        a = _SHARP_FILTER
        weight = where(far < 1, _inner(far, a), where(far < 2, _outer(far, a), 0.0))
    else:
        weight = (1 - far).clamp(min=0)
    weight = where((at >= low) & (at < high), weight, 0.0)
    weight = cast(weight / weight.sum(1, keepdim=True), x.dtype)
    if dim == x.ndim - 1:
        return matmul(x, transpose(weight, 0, 1))
    return matmul(weight, x)  # dim is the one before the last


@public("F.upsample")
def upsample(
    input: Tensor, size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """`interpolate` under its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@public("F.upsample_nearest")
def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:  # fmt: skip
    """`interpolate` in mode "nearest"."""
    return interpolate(input, size, scale_factor, "nearest")


@public("F.upsample_bilinear")
def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:  # fmt: skip
    """`interpolate` in mode "bilinear" with corners aligned."""
    return interpolate(input, size, scale_factor, "bilinear", True)
