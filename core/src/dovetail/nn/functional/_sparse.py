"""Looking rows up by number."""

# What the frontend offers is known by name at run time; these give it types.

from __future__ import annotations

from dovetail import frontend as ft
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexOutOfRange, NotSupported


@public("F.embedding")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` numbers.

    Args:
        input: integers of any shape.
        weight: `[rows, width]`.
        padding_idx: the row that gets no gradient.

    Returns: `input.shape + [width]`.
    """
    options = {
        "max_norm": max_norm is not None,
        "scale_grad_by_freq": scale_grad_by_freq,
        "sparse": sparse,
    }
    for name, asked in options.items():
        if asked:
            raise NotSupported("embedding", name, was="given", needed="its default")
    row = row_number("embedding", padding_idx, weight.shape[0])
    y: Tensor = ft.embedding(weight, input, row)
    return y


def row_number(op: str, index: int | None, rows: int) -> int | None:
    """The number of a padding row that may count from the end."""
    if index is None:
        return None
    if not -rows <= index < rows:
        raise IndexOutOfRange(
            op, "padding_idx", was=index, needed=f"-{rows} to {rows - 1}"
        )
    return index % rows
