"""Looking rows up by number."""

from __future__ import annotations

from dovetail.dtypes import INTEGRAL, DType, bool_, int64
from dovetail.engine.checks import refuse, values_of
from dovetail.engine.dims import need_dims
from dovetail.engine.inplace import inplace as written
from dovetail.engine.modes import no_grad
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from dovetail.frontend.statistics import vector_norm
from dovetail.ops.create import full
from dovetail.ops.extremes import amax
from dovetail.ops.index import index_check
from dovetail.ops.index_slices import embedding as rows_of
from dovetail.ops.one_hot import hot_vectors
from dovetail.ops.primitive import cast, mul, where
from dovetail.ops.view import reshape, unsqueeze


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
        max_norm: rows with a greater `norm_type` norm are scaled down to it, in place.
        scale_grad_by_freq: gradients of rows are divided by how often they come.
        sparse: the gradient of `weight` holds the rows that were looked up, alone.

    Returns: `input.shape + [width]`.

    >>> F.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if max_norm is not None:
        limited("embedding", weight, input, max_norm, norm_type)
    row = -1
    if padding_idx is not None:
        need_dims("embedding", "weight", weight, 2)
        row = row_number("embedding", padding_idx, weight.shape[0])
    rows = looked_up(weight, input, row, sparse)
    if scale_grad_by_freq:
        rows = scaled_by_frequency(rows, input, weight.shape[0])
    return rows


def looked_up(weight: Tensor, index: Tensor, row: int, sparse: bool) -> Tensor:
    """The rows that `index` names; of a padding row that is not negative no gradient.

    Args:
        sparse: the gradient is a sparse tensor.
    """
    if not sparse:
        dense: Tensor = rows_of(weight, index, row)
        return dense
    from dovetail.nn.functional._sparse_rows import sparse_rows  # few programs ask

    return sparse_rows(weight, index, row)


def limited(
    op: str, weight: Tensor, index: Tensor, max_norm: float, norm_type: float
) -> None:
    """Scale the rows that `index` names down to a norm of `max_norm`, in place.

    Raises: ShapeError unless `weight` is a matrix.
    """
    if weight.ndim != 2:
        raise ShapeError(
            op, "weight", was=f"{weight.ndim}-d, with max_norm", needed="2 dims"
        )
    with no_grad():
        named = zeros(weight.shape[0], 1, weight, bool_)
        named = named.index_fill(0, reshape(cast(index, int64), (-1,)), True)
        norms = vector_norm(weight.detach(), norm_type, 1, True)
        scale = where(named & (norms > max_norm), max_norm / (norms + 1e-7), 1.0)
        written(op, mul, weight, cast(scale, weight.dtype))


def scaled_by_frequency(rows: Tensor, index: Tensor, count: int) -> Tensor:
    """`rows` whose gradients are divided by how often each of them comes."""
    flat = reshape(cast(index, int64), (-1,))
    times = zeros(count, 1, rows, int64).reshape(-1)
    times = times.index_add(0, flat, full(tuple(flat.shape), 1, times._kind))
    share = 1 / cast(times[cast(index, int64)], rows.dtype)
    less = rows * unsqueeze(share, index.ndim)
    return rows.detach() + (less - less.detach())  # the value of one, that of the other


def zeros(rows: int, columns: int, like: Tensor, dtype: DType) -> Tensor:
    """Zeros of a dtype where `like` is."""
    made: Tensor = full((rows, columns), 0, like._kind.with_dtype(dtype))
    return made


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
    return hot_vectors(tensor, num_classes)
