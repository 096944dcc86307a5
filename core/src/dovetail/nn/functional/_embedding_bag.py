"""Sums, means and maxima of rows looked up by number."""

from __future__ import annotations

import math

from dovetail.dtypes import INTEGRAL, bool_
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, NotSupported, ShapeError
from dovetail.nn.functional._embedding import (
    limited,
    looked_up,
    row_number,
    scaled_by_frequency,
)
from dovetail.ops.create import counted, full
from dovetail.ops.index_slices import index_sum
from dovetail.ops.primitive import cast, where
from dovetail.ops.scatter import scatter_reduce
from dovetail.ops.search import searchsorted
from dovetail.ops.view import expand, reshape, unsqueeze

MODES = ("sum", "mean", "max")


@public("F.embedding_bag")
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None,
    max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The sum, mean or maximum of the rows of `weight` that each bag numbers.

    Args:
        input: [bags, n] integers, or [n] with `offsets`.
        weight: [rows, width].
        offsets: [bags] places in `input` where bags start.
        max_norm: rows with a greater `norm_type` norm are scaled down to it, in place.
        scale_grad_by_freq: gradients of rows are divided by how often they come.
        sparse: the gradient of `weight` holds the rows that were looked up, alone; not
            in mode "max".
        mode: "sum", "mean" or "max"; of an empty bag they are zeros.
        per_sample_weights: factors in the shape of `input`, for mode "sum".
        include_last_offset: the last of `offsets` is the end of the last bag.
        padding_idx: the row that does not count.

    Returns: [bags, width].
    """
    if sparse and mode == "max":
        raise NotSupported(
            "embedding_bag", "sparse", was="True in mode 'max'",
            needed="mode 'sum' or 'mean'",
        )  # fmt: skip
    _check_bag(input, weight, offsets, mode, per_sample_weights)
    if max_norm is not None:
        limited("embedding_bag", weight, input, max_norm, norm_type)
    flat = reshape(input, (-1,))
    bag, count = _bags(input, offsets, include_last_offset)
    row = -1
    if padding_idx is not None:
        row = row_number("embedding_bag", padding_idx, weight.shape[0])
    rows = looked_up(weight, flat, row, sparse)
    if scale_grad_by_freq:
        rows = scaled_by_frequency(rows, flat, weight.shape[0])
    if per_sample_weights is not None:
        rows = rows * reshape(per_sample_weights, (-1, 1))
    counts = flat != row if row >= 0 else full(tuple(flat.shape), True, _bools(flat))
    if mode == "max":
        return _greatest(rows, bag, count, counts)
    if row >= 0:
        rows = where(unsqueeze(counts, 1), rows, 0.0)
    if offsets is None:  # bags lie side by side, and are of one size
        total: Tensor = reshape(rows, (*input.shape, weight.shape[1])).sum(1)
    else:
        total = index_sum(rows, bag, count, 0)
    if mode == "sum":
        return total
    ones = cast(counts, rows.dtype)
    number = index_sum(ones, bag, count, 0).clamp(min=1)
    return total / unsqueeze(number, 1)


def _bools(x: Tensor) -> object:
    return x._kind.with_dtype(bool_)


def _check_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None, mode: str,
    factors: Tensor | None,
) -> None:  # fmt: skip
    op = "embedding_bag"
    if mode not in MODES:
        raise ArgumentError(op, "mode", was=repr(mode), needed=f"one of {MODES}")
    if input.dtype not in INTEGRAL:
        raise DTypeError(op, "input", was=input.dtype.name, needed="integers")
    if weight.ndim != 2 or input.ndim not in (1, 2):
        raise ShapeError(
            op, "input" if weight.ndim == 2 else "weight",
            was=f"of shapes {tuple(input.shape)} and {tuple(weight.shape)}",
            needed="input of 1 or 2 dims, weight [rows, width]",
        )  # fmt: skip
    if (input.ndim == 2) == (offsets is not None):
        raise ArgumentError(
            op, "offsets", was="given" if offsets is not None else "None",
            needed="None for an input of 2 dims, [bags] for one of 1 dim",
        )  # fmt: skip
    if offsets is not None and offsets.ndim != 1:
        raise ShapeError(op, "offsets", was=f"{offsets.ndim}-d", needed="[bags]")
    if factors is None:
        return
    if mode != "sum":
        raise NotSupported(
            op, "per_sample_weights", was=f"given in mode {mode!r}", needed="mode 'sum'"
        )
    if tuple(factors.shape) != tuple(input.shape):
        raise ShapeError(
            op, "per_sample_weights", was=f"of shape {tuple(factors.shape)}",
            needed=f"{tuple(input.shape)}, the shape of input",
        )  # fmt: skip


def _bags(input: Tensor, offsets: Tensor | None, with_end: bool) -> tuple[Tensor, int]:
    """The bag of each element, and how many there are."""
    total = math.prod(input.shape)
    if offsets is None:
        count, each = input.shape
        numbers = counted(count, input)
        return reshape(expand(unsqueeze(numbers, 1), (count, each)), (total,)), count
    count = offsets.shape[0] - with_end
    places = counted(total, offsets)
    return searchsorted(offsets[:count], places, right=True) - 1, count


def _greatest(rows: Tensor, bag: Tensor, count: int, counts: Tensor) -> Tensor:
    """The greatest of each column of a bag; zeros where nothing counts."""
    width = rows.shape[1]
    low = full((count, width), -math.inf, rows._kind)
    at = expand(unsqueeze(bag, 1), tuple(rows.shape))
    seen = where(unsqueeze(counts, 1), rows, -math.inf)
    best = scatter_reduce(low, 0, at, seen, "amax", include_self=True)
    return where(best == -math.inf, 0.0, best)
