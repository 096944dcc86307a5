"""Points counted in boxes, and hashes of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail.dtypes import DType, bool_, float64, int64, uint64
from dovetail.engine.dims import need_dims
from dovetail.engine.integers import axes_if_any
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, EmptyDimError, ShapeError
from dovetail.ops.arithmetic import bitwise_xor
from dovetail.ops.create import full, linspace, zeros_of
from dovetail.ops.formats import bitcast, cast, where
from dovetail.ops.search import searchsorted
from dovetail.ops.view import basic_index, permute, reshape


def _edges(points: Tensor, bins: Any, range: Sequence[float] | None) -> list[Tensor]:
    """The edges of the bins of each coordinate."""
    count = points.shape[-1]
    each = [bins] * count if isinstance(bins, int) else list(bins)
    if len(each) != count:
        raise ArgumentError(
            "histogramdd", "bins", was=f"{len(each)} for {count} coordinates",
            needed="one for each",
        )  # fmt: skip
    if range is not None and len(range) != 2 * count:
        raise ArgumentError(
            "histogramdd", "range", was=f"{len(range)} numbers",
            needed=f"{2 * count}: two for each coordinate",
        )  # fmt: skip
    found = []
    for i, one in enumerate(each):
        if isinstance(one, Tensor):
            need_dims("histogramdd", f"bins[{i}]", one, 1)
            found.append(one)
            continue
        if one < 1:
            raise ArgumentError("histogramdd", "bins", was=one, needed="at least 1")
        column = basic_index(points, (slice(None), i))
        found.append(_even(column, one, range and range[2 * i : 2 * i + 2]))
    return found


def _even(column: Tensor, bins: int, bounds: Sequence[float] | None) -> Tensor:
    if bounds is None and column.numel():
        bounds = column.min().item(), column.max().item()
    low, high = bounds or (0.0, 1.0)
    if low > high:
        raise ArgumentError(
            "histogramdd", "range", was=(low, high), needed="bounds in order"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, column._kind)


@public("torch.histogramdd")
def histogramdd(
    input: Tensor, bins: int | Sequence[int] | Sequence[Tensor],
    range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> Any:  # fmt: skip
    """How many points lie in each box, and the edges of the boxes.

    Args:
        input: [..., coordinates] floats.
        bins: how many boxes along each coordinate, or their edges.
        range: the bounds of each coordinate, one pair after the other.
        weight: [...], what each point counts instead of 1.
        density: divide by the total, and by the volume of each box.
    """
    if input.ndim < 2:
        raise ShapeError("histogramdd", "input", was=f"{input.ndim}-d", needed="2-d")
    if not input.dtype.is_floating_point:
        raise DTypeError(
            "histogramdd", "input", was=input.dtype.name, needed="real floats"
        )
    points = reshape(input.detach(), (-1, input.shape[-1]))
    edges = _edges(points, bins, range)
    counted = zeros_of(points, (points.shape[0],)) + 1
    if weight is not None:
        if weight.shape != input.shape[:-1]:
            raise ShapeError(
                "histogramdd", "weight", was=f"of shape {tuple(weight.shape)}",
                needed=f"{tuple(input.shape[:-1])}, one for each point",
            )  # fmt: skip
        counted = reshape(cast(weight.detach(), points.dtype), (-1,))
    found = _counted(points, edges, counted)
    if density:
        found = found / found.sum()
        for i, edge in enumerate(edges):
            wide = [1] * len(edges)
            wide[i] = -1
            found = found / edge.diff().reshape(wide)
    return fields("histogramdd", ("hist", "bin_edges"))((found, tuple(edges)))


def _counted(points: Tensor, edges: list[Tensor], counted: Tensor) -> Tensor:
    sizes = tuple(edge.shape[0] - 1 for edge in edges)
    place = zeros_of(cast(counted, int64), tuple(counted.shape))
    inside = place == 0
    for i, (edge, size) in enumerate(zip(edges, sizes, strict=True)):
        x = basic_index(points, (slice(None), i)).contiguous()
        at = cast(searchsorted(edge, x, True), int64) - 1
        at = where(x == edge[-1], size - 1, at)
        inside = inside & (x >= edge[0]) & (x <= edge[-1]) & (at >= 0) & (at < size)
        place = place * size + at
    flat = zeros_of(points, (math.prod(sizes),))
    place, counted = where(inside, place, 0), where(inside, counted, 0)
    return reshape(flat.scatter_add(0, place, counted), sizes)


def _words(x: Tensor) -> Tensor:
    """The elements in 64 bits, as integers."""
    if x.dtype.is_complex:
        raise DTypeError(
            "hash_tensor", "input", was=x.dtype.name, needed="real numbers"
        )
    if x.dtype.is_inexact:
        return bitcast(cast(x, float64), int64)
    wide: DType = int64 if x.dtype.is_signed or x.dtype is bool_ else uint64
    y = cast(x, wide)
    return y if wide is int64 else bitcast(y, int64)


@public("hash_tensor", out=True)
def hash_tensor(
    input: Tensor, dim: int | Sequence[int] = (), *, keepdim: bool = False,
    mode: int = 0,
) -> Tensor:  # fmt: skip
    """The exclusive or of the elements over `dim`, each widened to 64 bits.

    Returns: uint64.
    """
    if mode != 0:
        raise ArgumentError("hash_tensor", "mode", was=mode, needed="0: exclusive or")
    named = axes_if_any("hash_tensor", "dim", dim, input.ndim)
    dims = named if named else tuple(range(input.ndim))
    empty = [d for d in named if not input.shape[d]]
    if empty:
        raise EmptyDimError(
            "hash_tensor", "dim", was=f"{empty[0]}, of size 0", needed="elements there"
        )
    if not named and 0 in tuple(input.shape):
        raise EmptyDimError(
            "hash_tensor", "input", was="empty", needed="elements, or a dim to go along"
        )
    words, shape = _words(input.detach()), tuple(input.shape)
    rest = [d for d in range(input.ndim) if d not in dims]
    lead = tuple(shape[d] for d in rest)
    rows = permute(words, (*rest, *dims))
    found = _folded(reshape(rows, (*lead, math.prod(shape[d] for d in dims))))
    if keepdim:
        kept = tuple(1 if d in dims else n for d, n in enumerate(shape))
        found = reshape(found, kept)
    return bitcast(found, uint64)


def _folded(rows: Tensor) -> Tensor:
    """The exclusive or along the last dim, by halves."""
    size, found = rows.shape[-1], full(tuple(rows.shape[:-1]), 0, rows._kind)
    while size:
        if size % 2:
            found = bitwise_xor(found, rows[..., size - 1])
        size //= 2
        rows = bitwise_xor(rows[..., :size], rows[..., size : 2 * size])
    return found
