"""Looking rows up by number."""

from __future__ import annotations

from dovetail.dtypes import INTEGRAL
from dovetail.engine.checks import refuse, values_of
from dovetail.engine.promotion import index_dtype
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, IndexOutOfRange, NotSupported
from dovetail.ops.create import counted
from dovetail.ops.extremes import amax
from dovetail.ops.index import index_check
from dovetail.ops.index_slices import embedding as rows_of
from dovetail.ops.primitive import cast, eq
from dovetail.ops.view import unsqueeze


@public("F.embedding", plain=rows_of, takes=("indices", "weight"))
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None,
    max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` that `input` numbers.

    Args:
        input: integers of any shape.
        weight: `[rows, width]`.
        padding_idx: the row that gets no gradient.

    Returns: `input.shape + [width]`.

    >>> F.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if max_norm is not None or scale_grad_by_freq or sparse:
        _refuse_options(max_norm is not None, scale_grad_by_freq)
    row = -1
    if padding_idx is not None:
        row = row_number("embedding", padding_idx, weight.shape[0])
    return rows_of(weight, input, row)


def _refuse_options(has_norm: bool, scales: bool) -> None:
    name = "max_norm" if has_norm else "scale_grad_by_freq" if scales else "sparse"
    raise NotSupported("embedding", name, was="given", needed="its default")


def row_number(op: str, index: int, rows: int) -> int:
    """The number of a padding row, which may count from the end."""
    if not -rows <= index < rows:
        raise IndexOutOfRange(
            op, "padding_idx", was=index, needed=f"-{rows} to {rows - 1}"
        )
    return index % rows


@public("F.one_hot")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 in the place of each class, else 0, in a new last dim.

    Args:
        tensor: integers of any shape.
        num_classes: the length of that dim; one more than the greatest unless given,
            for which values are read.

    Returns: [*tensor, num_classes] int64.

    >>> F.one_hot(torch.tensor([1, 0]), 3)
    tensor([[0, 1, 0],
            [1, 0, 0]])
    """
    if tensor.dtype not in INTEGRAL:
        raise DTypeError("one_hot", "tensor", was=tensor.dtype.name, needed="integers")
    if num_classes == -1:
        if not tensor.numel():
            raise ArgumentError(
                "one_hot", "tensor", was="empty", needed="num_classes given"
            )
        num_classes = int(values_of(amax(tensor), "one_hot")) + 1
    if num_classes < 1 and tensor.numel():
        raise ArgumentError(
            "one_hot", "num_classes", was=num_classes, needed="at least 1"
        )
    if not tensor._kind.backend.rules_only:
        refuse(lambda: index_check("one_hot", tensor, num_classes, -1))
    classes = counted(num_classes, tensor)
    hot = eq(unsqueeze(tensor, tensor.ndim), classes)
    return cast(hot, index_dtype(tensor._kind))
