"""torch's names for reading and writing at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from dovetail.dtypes import INTEGRAL, bool_
from dovetail.engine.checks import check_fits
from dovetail.engine.elements import stored
from dovetail.engine.integers import axis
from dovetail.engine.promotion import index_dtype
from dovetail.engine.public import public
from dovetail.engine.signature import broadcast
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
)
from dovetail.frontend.split import part
from dovetail.ops import advanced, index_slices, masked, primitive
from dovetail.ops import index as ops
from dovetail.ops import view as v
from dovetail.ops.create import full
from dovetail.ops.diagonal import basic_put
from dovetail.ops.scatter import scatter_reduce
from dovetail.ops.shape import along
from dovetail.tensor_api.index_writes import masks_as_indices, write_places, written_at


def _as_like(op: str, x: Tensor, value: Any, shape: Sequence[int] = ()) -> Tensor:
    """A number or 0-d tensor in the dtype of `x`, expanded to `shape`."""
    if isinstance(value, Tensor) and value.ndim:
        raise ShapeError(
            op, "value", was=f"{value.ndim}-d", needed="a number or 0-d tensor"
        )
    if isinstance(value, Tensor):
        check_fits(op, x.dtype, value)
        value = value if value.dtype is x.dtype else primitive.cast(value, x.dtype)
    else:
        value = full((), stored(op, x.dtype, value), x._kind)
    return v.expand(value, tuple(shape))


@public("scatter Tensor.scatter_", out="same")
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: Literal["add", "multiply"] | None = None,
) -> Tensor:  # fmt: skip
    """`input` with a tensor or a number written to the indices along `dim`.

    Args:
        index: int64 with as many dims as `input`; where places come twice, which value
            stays is not said.
        src: a number, or a tensor at least as large as `index`.

    Raises: IndexOutOfRange for an index below 0 or from the size of `dim` on.

    >>> index = torch.tensor([2, 0])
    >>> torch.zeros(3).scatter_(0, index, torch.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    src = value if src is None else src
    if src is None:
        raise ArgumentTypeError(
            "scatter", "src", was="missing", needed="a tensor or number"
        )
    if not isinstance(src, Tensor):
        src = _as_like("scatter", input, src, tuple(index._a.shape))
    if reduce is None:
        return ops.scatter(input, dim, index, src)
    if reduce not in ("add", "multiply"):
        raise ArgumentError("scatter", "reduce", was=reduce, needed="add or multiply")
    if reduce == "add" and input.dtype is not bool_:
        return ops.scatter_add(input, dim, index, src)
    kind = "sum" if reduce == "add" else "prod"
    return scatter_reduce(input, dim, index, src, kind)


@public("index_add Tensor.index_add_", out="same")
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """`input` with `alpha` times the slices of `source` added at the indices."""
    alpha = stored("index_add", source.dtype, alpha, "alpha")
    if alpha != 1:
        source = primitive.mul(source, alpha)
    return index_slices.index_add(input, dim, index, source)


@public("index_fill Tensor.index_fill_", out="same")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """`input` with one value in the slices at the indices, which may be negative."""
    dim = axis("index_fill", "dim", dim, input.ndim)
    if isinstance(value, complex) and not input.dtype.is_complex:
        raise DTypeError(
            "index_fill", "value", was=value, needed=f"a number of {input.dtype.name}"
        )
    if index.ndim > 1 or index.dtype is not index_dtype(index._kind):
        raise ShapeError("index_fill", "index", was=repr(index), needed="1-d, of int64")
    size = input._a.shape[dim] if input.ndim else 1
    mask = full((size,), False, input._kind.with_dtype(bool_))
    mask = advanced.index_put(mask, full((), True, mask._kind), [index], False)
    mask = v.reshape(mask, (size, *(1,) * (input.ndim - 1 - dim))[: input.ndim])
    return primitive.where(mask, _as_like("index_fill", input, value), input)


@public("index_put")
def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor,
    accumulate: bool = False,
) -> Tensor:  # fmt: skip
    """`input` with `values` written, or added, at tuples of indices."""
    return written_at(input, values, masks_as_indices(input, indices), accumulate)


@public("index_put_")
def index_put_(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor,
    accumulate: bool = False,
) -> Tensor:  # fmt: skip
    """Write `values` into `input`, or add them, at tuples of indices."""
    return write_places(input, values, masks_as_indices(input, indices), accumulate)


@public("masked_fill Tensor.masked_fill_")
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`input` with one value where the mask, broadcast, holds.

    Args:
        mask: bools whose shape broadcasts to that of `input`.
        value: a number or a 0-d tensor.

    Raises: NumberOutOfRange if the value does not fit the dtype.

    >>> x = torch.tensor([1.0, -1.0])
    >>> x.masked_fill(x < 0, 0.0)
    tensor([1., 0.])
    """
    if not isinstance(value, Tensor):
        element = stored("masked_fill", input.dtype, value)
        return masked.masked_fill(input, mask, element)
    if value.dtype.is_complex and not input.dtype.is_complex:
        raise DTypeError(
            "masked_fill", "value", was=value, needed=f"a {input.dtype.name} number"
        )
    filled = primitive.where(mask, _as_like("masked_fill", input, value), input)
    return v.contiguous(filled)


@public("masked_select", out="same")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, both broadcast, in row-major order."""
    shapes = [tuple(input._a.shape), tuple(mask._a.shape)]
    shape = broadcast("masked_select", shapes, ["input", "mask"])
    return masked.masked_select(v.widened(input, shape), v.widened(mask, shape))


@public("take", out="same")
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements by their row-major number, which may be negative.

    Raises: IndexOutOfRange where there is no such element.
    """
    if not input.numel() and index.numel():
        raise IndexOutOfRange(
            "take", "index", was=f"{index.numel()} numbers",
            needed="none, for an empty tensor has no element",
        )  # fmt: skip
    return advanced.index_get(v.reshape(input, (-1,)), [index])


@public("put Tensor.put_")
def put(
    input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False
) -> Tensor:
    """`input` with elements written, or added, by their row-major number."""
    if index.numel() != source.numel():
        raise ShapeError(
            "put", "source", was=f"{source.numel()} elements", needed=f"{index.numel()}"
        )
    flat, at = v.reshape(input, (-1,)), v.reshape(index, (-1,))
    y = advanced.index_put(flat, v.reshape(source, (-1,)), [at], accumulate)
    return v.reshape(y, tuple(input._a.shape))


@public("take_along_dim", out="same")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`input` at indices along `dim`, negative ones too; the other dims broadcast.

    Without `dim`, at indices from 0 on of the elements in row-major order.
    """
    if indices.dtype not in INTEGRAL:
        raise DTypeError(
            "take_along_dim", "indices", was=indices.dtype.name, needed="integers"
        )
    if dim is None:
        return ops.gather(v.reshape(input, (-1,)), 0, v.reshape(indices, (-1,)))
    if input.ndim != indices.ndim:
        raise ShapeError(
            "take_along_dim", "indices", was=f"{indices.ndim}-d",
            needed=f"{input.ndim}-d",
        )  # fmt: skip
    dim = axis("take_along_dim", "dim", dim, input.ndim)
    sizes = [list(x._a.shape) for x in (input, indices)]
    lengths = [size[dim : dim + 1] for size in sizes]
    for size in sizes:
        size[dim : dim + 1] = [1] * (input.ndim > 0)
    others = broadcast("take_along_dim", list(map(tuple, sizes)), ["input", "indices"])
    whole, wide = ((*others[:dim], *n, *others[dim + 1 :]) for n in lengths)
    length = whole[dim] if whole else 1
    indices = primitive.where(primitive.lt(indices, 0), indices + length, indices)
    return ops.gather(v.widened(input, whole), dim, v.widened(indices, wide))


@public("nonzero")
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not zero: rows, or one tensor a dim.

    Returns: [count, dims] int64 in row-major order; with `as_tuple` a [count] for each
        dim. Waits for the values.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 4]))
    tensor([[1],
            [3]])
    """
    dtype = index_dtype(input._kind)
    if as_tuple and out is not None:
        raise ArgumentError(
            "nonzero", "out", was="given beside as_tuple", needed="one of the two"
        )
    if not as_tuple:
        rows = masked.nonzero(input, dtype)
        if out is None:
            return rows
        if out.dtype is not dtype:
            raise DTypeError("nonzero", "out", was=out.dtype.name, needed=dtype.name)
        return out.resize_(rows.shape).copy_(rows)
    rows = masked.nonzero(input if input.ndim else v.reshape(input, (1,)), dtype)
    return tuple(rows[:, d] for d in range(max(input.ndim, 1)))


@public("argwhere")
def argwhere(input: Tensor) -> Tensor:
    """Indices of the elements that are not zero, as rows."""
    return masked.nonzero(input, index_dtype(input._kind))


@public("select_scatter")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """`input` with `src` as the slice at `index` along `dim`."""
    dim = axis("select_scatter", "dim", dim, input.ndim)
    return _embedded("select_scatter", input, src, dim, int(index))


@public("slice_scatter")
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None,
    end: int | None = None, step: int = 1,
) -> Tensor:  # fmt: skip
    """`input` with `src` as the slices from `start` to `end` along `dim`."""
    dim = axis("slice_scatter", "dim", dim, input.ndim)
    return _embedded("slice_scatter", input, src, dim, slice(start, end, step))


def _embedded(name: str, x: Tensor, src: Tensor, dim: int, entry: Any) -> Tensor:
    shape = tuple(part(x, dim, entry)._a.shape)
    if tuple(src._a.shape) != shape:
        raise ShapeError(
            name, "src", was=f"of shape {tuple(src._a.shape)}", needed=shape
        )
    return basic_put(x, src, along(dim, entry))
