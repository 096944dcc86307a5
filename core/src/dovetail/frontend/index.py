"""torch's names for reading and writing at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.dtypes import INTEGRAL, bool_, uint8
from dovetail.engine.elements import scalar, stored
from dovetail.engine.promotion import index_dtype, result_type
from dovetail.engine.public import public
from dovetail.engine.signature import broadcast
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    NotSupported,
    ShapeError,
)
from dovetail.frontend.split import part
from dovetail.frontend.views import one_axis
from dovetail.ops import advanced, diagonal, masked, primitive
from dovetail.ops import index as ops
from dovetail.ops import view as v
from dovetail.ops.create import full
from dovetail.ops.scatter import scatter_reduce as reduced
from dovetail.ops.shape import along
from dovetail.tensor_api.indexing import masks_as_indices, write_places


def _line(x: Tensor) -> Tensor:
    """A 0-d tensor as one of one element."""
    return x if x.ndim else v.reshape(x, (1,))


def _same_dtype(name: str, argument: str, x: Tensor, other: Tensor) -> None:
    if other.dtype is not x.dtype:
        raise DTypeError(
            name, argument, was=other.dtype.name,
            needed=f"{x.dtype.name}, as the tensor written has",
        )  # fmt: skip


def _as_like(op: str, x: Tensor, value: Any, shape: Sequence[int] = ()) -> Tensor:
    """A number or 0-d tensor in the dtype of `x`, expanded to `shape`."""
    if isinstance(value, Tensor):
        value = value if value.dtype is x.dtype else primitive.cast(value, x.dtype)
    else:
        value = full((), stored(op, x.dtype, value), x._kind)
    return v.expand(value, tuple(shape))


def _like(y: Tensor, x: Tensor) -> Tensor:
    """The result `y` for a 0-d `x` that was made a line."""
    return y if x.ndim else v.reshape(y, ())


@public("gather", out=True)
def gather(
    input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False
) -> Tensor:
    """`input` at the indices along `dim`, in the shape of `index`."""
    if input.ndim and index.ndim:
        return ops.gather(input, index, dim)
    dim = one_axis("gather", dim, input.ndim)
    y = ops.gather(_line(input), _line(index), dim)
    return y if index.ndim else v.reshape(y, ())


@public("scatter Tensor.scatter_", out=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """`input` with a tensor or a number written to the indices along `dim`."""
    src = value if src is None else src
    if src is None:
        raise ArgumentTypeError(
            "scatter", "src", was="missing", needed="a tensor or number"
        )
    dim = one_axis("scatter", dim, input.ndim)
    places = _line(index)
    if not isinstance(src, Tensor):
        src = _as_like("scatter", input, src, tuple(places._a.shape))
    _same_dtype("scatter", "src", input, src)
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise ArgumentError(
                "scatter", "reduce", was=reduce, needed="add or multiply"
            )
        if reduce == "add" and input.dtype is not bool_:
            return _like(ops.scatter_add(_line(input), places, _line(src), dim), input)
        kind = "sum" if reduce == "add" else "prod"
        return _like(reduced(_line(input), places, _line(src), dim, kind, True), input)
    return _like(ops.scatter(_line(input), places, _line(src), dim), input)


@public("scatter_add Tensor.scatter_add_", out=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`input` with `src` added to the indices along `dim`."""
    _same_dtype("scatter_add", "src", input, src)
    dim = one_axis("scatter_add", dim, input.ndim)
    return _like(ops.scatter_add(_line(input), _line(index), _line(src), dim), input)


@public("scatter_reduce Tensor.scatter_reduce_", out=True)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    """`input` with `src` combined into it: sum, prod, mean, amax or amin."""
    _same_dtype("scatter_reduce", "src", input, src)
    dim = one_axis("scatter_reduce", dim, input.ndim)
    places, values = _line(index), _line(src)
    return _like(
        reduced(_line(input), places, values, dim, reduce, include_self), input
    )


@public("index_select", out=True)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along `dim` that a one-dimensional index names."""
    return ops.index_select(input, index if index.ndim else _line(index), dim)


def _slices(x: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[Any, ...]:
    """Operands of an op on slices, with 0-d tensors as lines."""
    dim = one_axis("index", dim, x.ndim)
    index = _line(index)
    if x.ndim and not source.ndim:
        source = _line(source)
    return _line(x), index, _line(source), dim


@public("index_add Tensor.index_add_", out=True)
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """`input` with `alpha` times the slices of `source` added at the indices."""
    _same_dtype("index_add", "source", input, source)
    if alpha != 1:
        source = primitive.mul(source, alpha)
    return _like(ops.index_add(*_slices(input, dim, index, source)), input)


@public("index_copy Tensor.index_copy_", out=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """`input` with the slices of `source` written at the indices."""
    _same_dtype("index_copy", "source", input, source)
    return _like(ops.index_copy(*_slices(input, dim, index, source)), input)


@public("index_fill Tensor.index_fill_", out=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """`input` with one value in the slices at the indices, which may be negative."""
    dim = one_axis("index_fill", dim, input.ndim)
    if isinstance(value, Tensor) and value.ndim:
        raise ShapeError("index_fill", "value", was=f"{value.ndim}-d", needed="0-d")
    if isinstance(value, complex) and not input.dtype.is_complex:
        raise DTypeError(
            "index_fill", "value", was=value, needed=f"a number of {input.dtype.name}"
        )
    x, index = _line(input), _line(index)
    if index.ndim != 1 or index.dtype not in INTEGRAL:
        raise ShapeError("index_fill", "index", was=repr(index), needed="1-d integers")
    size = int(x._a.shape[dim])
    mask = full((size,), False, x._kind.with_dtype(bool_))
    mask = advanced.index_put(mask, full((), True, mask._kind), [index], False)
    mask = v.reshape(mask, (size,) + (1,) * (x.ndim - 1 - dim))
    return _like(primitive.where(mask, _as_like("index_fill", x, value), x), input)


@public("index_put")
def index_put(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Tensor:
    """`input` with `values` written, or added, at tuples of indices."""
    _same_dtype("index_put", "values", input, values)
    at = masks_as_indices(input, indices)
    return advanced.index_put(input, values, at, accumulate)


@public("index_put_")
def index_put_(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Tensor:
    """Write `values` into `input`, or add them, at tuples of indices."""
    _same_dtype("index_put_", "values", input, values)
    return write_places(input, values, masks_as_indices(input, indices), accumulate)


@public("masked_fill Tensor.masked_fill_")
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`input` with one value where the mask, broadcast, holds."""
    given = isinstance(value, Tensor) and value.dtype.is_complex
    if given and not input.dtype.is_complex:
        raise DTypeError(
            "masked_fill", "value", was=value, needed=f"a {input.dtype.name} number"
        )
    if not isinstance(value, Tensor):
        element = stored("masked_fill", input.dtype, value)
        return masked.masked_fill(input, mask, element)
    if value.ndim:
        raise ShapeError(
            "masked_fill",
            "value",
            was=f"{value.ndim}-d",
            needed="a number or 0-d tensor",
        )
    y = primitive.where(mask, _as_like("masked_fill", input, value), input)
    return y


@public("masked_select", out=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, both broadcast, in row-major order."""
    shape = broadcast(
        "masked_select",
        [tuple(input._a.shape), tuple(mask._a.shape)],
        ["input", "mask"],
    )
    return masked.masked_select(_wide(input, shape), _wide(mask, shape))


def _wide(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x if tuple(x._a.shape) == tuple(shape) else v.expand(x, tuple(shape))


@public("masked_scatter Tensor.masked_scatter_")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`input` with the elements of `source`, in order, where the mask holds."""
    _same_dtype("masked_scatter", "source", input, source)
    shapes = [tuple(input._a.shape), tuple(mask._a.shape)]
    shape = broadcast("masked_scatter", shapes, ["input", "mask"])
    return masked.masked_scatter(_wide(input, shape), _wide(mask, shape), source)


@public("take", out=True)
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements by their row-major number, which may be negative."""
    return advanced.index_get(v.reshape(input, (-1,)), [index])


@public("put Tensor.put_")
def put(
    input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False
) -> Tensor:
    """`input` with elements written, or added, by their row-major number."""
    _same_dtype("put", "source", input, source)
    if index.numel() != source.numel():
        raise ShapeError(
            "put", "source", was=f"{source.numel()} elements", needed=f"{index.numel()}"
        )
    flat, at = v.reshape(input, (-1,)), v.reshape(index, (-1,))
    y = advanced.index_put(flat, v.reshape(source, (-1,)), [at], accumulate)
    return v.reshape(y, tuple(input._a.shape))


@public("take_along_dim", out=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`input` at indices along `dim`, negative ones too; the other dims broadcast."""
    if indices.dtype not in INTEGRAL:
        raise DTypeError(
            "take_along_dim", "indices", was=indices.dtype.name, needed="integers"
        )
    if dim is None:
        return advanced.index_get(v.reshape(input, (-1,)), [v.reshape(indices, (-1,))])
    if input.ndim != indices.ndim:
        raise ShapeError(
            "take_along_dim",
            "indices",
            was=f"{indices.ndim}-d",
            needed=f"{input.ndim}-d",
        )
    dim = one_axis("take_along_dim", dim, input.ndim)
    one = [
        tuple(1 if d == dim else n for d, n in enumerate(x._a.shape))
        for x in (input, indices)
    ]
    common = broadcast("take_along_dim", one, ["input", "indices"])
    size = int(input._a.shape[dim])
    shape = tuple(size if d == dim else n for d, n in enumerate(common))
    wide = tuple(indices._a.shape[dim] if d == dim else n for d, n in enumerate(common))
    indices = primitive.where(primitive.lt(indices, 0), indices + size, indices)
    y = ops.gather(_wide(input, shape), _wide(indices, wide), dim)
    return y


@public("nonzero")
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not zero: rows, or one tensor a dim."""
    dtype = index_dtype(input._kind)
    if not as_tuple:
        rows = masked.nonzero(input, dtype)
        return rows if out is None else out.resize_(rows.shape).copy_(rows)
    rows = masked.nonzero(input if input.ndim else _line(input), dtype)
    return tuple(rows[:, d] for d in range(max(input.ndim, 1)))


@public("argwhere")
def argwhere(input: Tensor) -> Tensor:
    """Indices of the elements that are not zero, as rows."""
    y: Tensor = nonzero(input)
    return y


@public("torch.where", out=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, else `other`; alone, where it does.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.tensor([-1.0, 2.0])
        >>> torch.where(x > 0, x, 0.0)
        tensor([0., 2.])
        >>> torch.where(x > 0)
        (tensor([1]),)
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if getattr(condition, "dtype", None) not in (bool_, uint8):
        is_tensor = isinstance(condition, Tensor)
        raise DTypeError(
            "where", "condition",
            was=condition.dtype.name if is_tensor else repr(condition),
            needed="a bool tensor", remedy="compare first, e.g. mask != 0",
        )  # fmt: skip
    if condition.dtype is uint8:
        condition = primitive.cast(condition, bool_)
    for name, value in (("input", input), ("other", other)):
        if isinstance(value, int | float | complex):
            scalar("where", result_type((input, other)), value, name)
    return primitive.where(condition, input, other)


@public("Tensor.where")
def where_of(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition holds, else `other`."""
    y: Tensor = where(condition, self, other)
    return y


@public("select_scatter")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """`input` with `src` as the slice at `index` along `dim`."""
    dim = one_axis("select_scatter", dim, input.ndim)
    return _embedded("select_scatter", input, src, dim, int(index))


@public("slice_scatter")
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None,
    end: int | None = None, step: int = 1,
) -> Tensor:  # fmt: skip
    """`input` with `src` as the slices from `start` to `end` along `dim`."""
    dim = one_axis("slice_scatter", dim, input.ndim)
    return _embedded("slice_scatter", input, src, dim, slice(start, end, step))


def _embedded(name: str, x: Tensor, src: Tensor, dim: int, entry: Any) -> Tensor:
    shape = tuple(part(x, dim, entry)._a.shape)
    if tuple(src._a.shape) != shape:
        raise ShapeError(
            name, "src", was=f"of shape {tuple(src._a.shape)}", needed=shape
        )
    src = src if src.dtype is x.dtype else primitive.cast(src, x.dtype)
    return diagonal.basic_put(x, src, along(dim, entry))


@public("diagonal_scatter")
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """`input` with `src` as a diagonal."""
    shape = tuple(diagonal.diagonal(input, offset, dim1, dim2)._a.shape)
    if tuple(src._a.shape) != shape:
        raise ShapeError(
            "diagonal_scatter",
            "src",
            was=f"of shape {tuple(src._a.shape)}",
            needed=shape,
        )
    src = src if src.dtype is input.dtype else primitive.cast(src, input.dtype)
    return diagonal.diagonal_put(input, src, offset, dim1, dim2)


@public("torch.embedding")
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` that `indices` names; the padding row gets no gradient.

    Args:
        weight: [rows, width].
        indices: integers of any shape.
        scale_grad_by_freq, sparse: not there yet; only the defaults.

    Returns: [*indices, width].
    """
    for name, asked in (("scale_grad_by_freq", scale_grad_by_freq), ("sparse", sparse)):
        if asked:
            raise NotSupported("embedding", name, was="given", needed="its default")
    return ops.embedding(weight, indices, padding_idx)
