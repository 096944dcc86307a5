"""Differences, parts of floats, and counts of values in bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.dtypes import (
    bool_,
    get_default_dtype,
    int64,
)
from dovetail.engine.attributes import Scalar
from dovetail.engine.integers import axes_if_any
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DimError,
    DTypeError,
    ShapeError,
)
from dovetail.ops.create import linspace, zeros_of
from dovetail.ops.float_parts import float_parts
from dovetail.ops.formats import cast, where
from dovetail.ops.search import searchsorted
from dovetail.ops.shape import cat


def _part(x: Tensor, dim: int, start: int | None, stop: int | None) -> Tensor:
    return x[(slice(None),) * dim + (slice(start, stop),)]


def _along(x: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    """Second-order differences inside, of `edge_order` at both ends.

    For uneven spacing: Fornberg 1988, Generation of finite difference formulas.
    """
    n = x.shape[dim]
    if not isinstance(spacing, Tensor):
        gaps: Any = spacing
        before = after = first = last = second = before_last = gaps
    else:
        shape = [1] * x.ndim
        shape[dim] = n - 1
        gaps = spacing.diff().reshape(shape)
        before, after = _part(gaps, dim, 0, -1), _part(gaps, dim, 1, None)
        first, last = _part(gaps, dim, 0, 1), _part(gaps, dim, -1, None)
        second, before_last = _part(gaps, dim, 1, 2), _part(gaps, dim, -2, -1)
    step = _part(x, dim, 1, None) - _part(x, dim, 0, -1)
    low, high = _part(step, dim, 0, -1), _part(step, dim, 1, None)
    inner = (low / before * after + high / after * before) / (before + after)
    start, end = _part(step, dim, 0, 1) / first, _part(step, dim, -1, None) / last
    if edge_order == 2:
        next_start = _part(step, dim, 1, 2) / second
        next_end = _part(step, dim, -2, -1) / before_last
        start = start + (start - next_start) * first / (first + second)
        end = end + (end - next_end) * last / (last + before_last)
    return cat([start, inner, end], dim)


def _spacings(spacing: Any, dims: tuple[int, ...]) -> list[Any]:
    """The spacing of each dim: a number, or the coordinates of its points."""
    spacing = 1 if spacing is None else spacing
    if isinstance(spacing, tuple | list):
        if len(spacing) != len(dims):
            raise ArgumentError(
                "gradient", "spacing", was=f"{len(spacing)} for {len(dims)} dims",
                needed="one for each dim",
            )  # fmt: skip
        return list(spacing)
    return [spacing] * len(dims)


@public("torch.gradient")
def gradient(
    input: Tensor, *, spacing: Scalar | Sequence[Any] | None = 1,
    dim: int | Sequence[int] | None = None, edge_order: int = 1,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Estimates of the derivative along each of `dim`, one tensor a dim.

    Args:
        spacing: between points: a number, one for each dim, or coordinates.
        edge_order: 1 or 2, of the differences at both ends.
    """
    if edge_order not in (1, 2):
        raise ArgumentError("gradient", "edge_order", was=edge_order, needed="1 or 2")
    if input.dtype is bool_:
        raise DTypeError("gradient", "input", was="bool", needed="numbers")
    if isinstance(spacing, str | bytes):
        raise ArgumentTypeError(
            "gradient", "spacing", was=repr(spacing), needed="numbers, or coordinates"
        )
    if dim is not None and not input.ndim:
        raise DimError("gradient", "dim", was=dim, needed="none: input has no dims")
    dims = axes_if_any("gradient", "dim", dim, input.ndim)
    x = input if input.dtype.is_inexact else cast(input, get_default_dtype())
    found = []
    for d, step in zip(dims, _spacings(spacing, dims), strict=True):
        if x.shape[d] < edge_order + 1:
            raise ShapeError(
                "gradient", f"dim {d} of input", was=f"{x.shape[d]} elements",
                needed=f"at least {edge_order + 1}, one more than edge_order",
            )  # fmt: skip
        if isinstance(step, Tensor) and step.ndim != 1:
            step = step.item()  # noqa: PLW2901
        if isinstance(step, Tensor) and step.shape[0] != x.shape[d]:
            raise ShapeError(
                "gradient", "spacing", was=f"{step.shape[0]} coordinates",
                needed=f"{x.shape[d]}, as dim {d} has",
            )  # fmt: skip
        found.append(_along(x, d, step, edge_order))
    return tuple(found)


@public("frexp", out=True)
def frexp(input: Tensor) -> Any:
    """A mantissa from 0.5 to 1 and a power of 2, whose product `input` is."""
    if not input.dtype.is_floating_point:
        raise DTypeError("frexp", "input", was=input.dtype.name, needed="real floats")
    return fields("frexp", ("mantissa", "exponent"))(float_parts(input))


def _bin_edges(x: Tensor, bins: int | Tensor, range: Sequence[float] | None) -> Tensor:
    """The edges that are given, or those between the bounds of a range."""
    if isinstance(bins, Tensor):
        if bins.dtype is not x.dtype or bins.ndim != 1 or not bins.numel():
            raise DTypeError(
                "histogram", "bins", was=f"{bins.dtype.name} of {tuple(bins.shape)}",
                needed=f"edges in one dim, in {x.dtype.name}",
            )  # fmt: skip
        return bins
    if bins < 1:
        raise ArgumentError("histogram", "bins", was=bins, needed="at least 1")
    if range is not None and len(range) != 2:
        raise ArgumentError(
            "histogram", "range", was=f"{len(range)} numbers", needed="two"
        )
    low, high = range or ((x.min().item(), x.max().item()) if x.numel() else (0, 0))
    if low > high:
        raise ArgumentError(
            "histogram", "range", was=(low, high), needed="bounds in order"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
        if range is None and not x.numel():
            low, high = 0.0, 1.0
    return linspace(low, high, bins + 1, x._kind)


@public("histogram", out=True)
def histogram(
    input: Tensor, bins: int | Tensor, *, range: Sequence[float] | None = None,
    weight: Tensor | None = None, density: bool = False,
) -> Any:  # fmt: skip
    """How many elements lie in each bin, and the edges of the bins.

    Args:
        bins: their number, between the bounds of `range` or of the data; or the edges.
        weight: what each element counts instead of 1.
        density: divide by the total, and by the width of each bin.
    """
    if not input.dtype.is_floating_point:
        raise DTypeError(
            "histogram", "input", was=input.dtype.name, needed="real floats"
        )
    x = input.detach().reshape(-1)
    edges = _bin_edges(x, bins, range)
    count = edges.shape[0] - 1
    counted = x * 0 + 1 if weight is None else weight.detach().reshape(-1)
    if counted.shape != x.shape:
        raise ShapeError(
            "histogram", "weight", was=f"{counted.numel()} elements",
            needed=f"{x.numel()}, as input has",
        )  # fmt: skip
    place = searchsorted(edges, x, True) - 1
    place = where(x == edges[-1], count - 1, place)
    inside = (place >= 0) & (place < count) & (x <= edges[-1])
    found = zeros_of(x, (count,)).scatter_add(
        0, where(inside, place, 0).to(int64), where(inside, counted, 0)
    )
    if density:
        found = found / found.sum() / edges.diff()
    return fields("histogram", ("hist", "bin_edges"))((found, edges))
