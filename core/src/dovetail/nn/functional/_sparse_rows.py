"""Rows looked up by number, whose gradient is sparse: it names the rows it is of."""

from __future__ import annotations

from typing import Any

from dovetail.autograd.function import Function
from dovetail.dtypes import int64
from dovetail.engine.tensor import Tensor
from dovetail.ops.index_slices import embedding as rows_of
from dovetail.sparse.tensor import coo


class EmbeddingSparse(Function):
    """`embedding` with a gradient that holds the rows that were looked up, alone."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, index: Tensor, padding_idx: int) -> Any:
        """The rows; `padding_idx` has no gradient, unless it is negative."""
        ctx.save_for_backward(index)
        ctx.shape, ctx.padding_idx = tuple(weight.shape), padding_idx
        return rows_of(weight, index, padding_idx)

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        """A row of the cotangent for each number, in the order of these."""
        (index,) = ctx.saved_tensors
        at = index.to(int64).reshape(-1)
        rows = cts[0].reshape(at.shape[0], ctx.shape[1])
        if ctx.padding_idx >= 0:
            counts = at != ctx.padding_idx
            at, rows = at[counts], rows[counts]
        else:
            rows = rows.clone()  # whoever gave the cotangent may write it
        return coo(at.unsqueeze(0).clone(), rows, ctx.shape), None, None


def sparse_rows(weight: Tensor, index: Tensor, padding_idx: int) -> Tensor:
    """The rows of `weight` that `index` names, with a sparse gradient."""
    found: Tensor = EmbeddingSparse.apply(weight, index, padding_idx)
    return found
