"""Masks: where they hold, fill, select, and count."""

from __future__ import annotations

import numpy as np

from dovetail.dtypes import ANY, STORED, Array, DType, Sizes, int32, int64
from dovetail.engine.attributes import Scalar
from dovetail.engine.cases import bools
from dovetail.engine.declare import op
from dovetail.engine.op import Checked
from dovetail.engine.promotion import index_dtype
from dovetail.engine.results import DATA
from dovetail.engine.signature import broadcast
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.create import counted, full, zeros_of
from dovetail.ops.index import read
from dovetail.ops.index_slices import index_select
from dovetail.ops.primitive import (
    cast,
    clone,
    idiv,
    scatter_set_,
    take_along,
    where,
)  # fmt: skip
from dovetail.ops.read_write import cornered
from dovetail.ops.sums import sum_to
from dovetail.ops.view import basic_index, expand, reshape


def running_count(mask: Tensor) -> Tensor:
    """How many elements of a one-dimensional mask hold up to each, that one included.

    Hillis and Steele, Data parallel algorithms (1986): log2(n) shifted sums.
    """
    y = cast(mask, int32)
    n, step = int(mask._a.shape[0]), 1
    while step < n:
        shifted = zeros_of(y, (n,))
        shifted[step:] = y[: n - step]
        y, step = y + shifted, 2 * step
    return y


def _nonzero_oracle(x: Array, dtype: DType) -> Array:
    return np.argwhere(x).astype(np.int64)


@op(shape=DATA, accepts=ANY, promote=None, nondifferentiable=True, unrounded=True,
    result=lambda _, attrs: attrs["dtype"], oracle=_nonzero_oracle, cases=lambda _: [
        ([9], int32), ([2, 3, 4], int64), ([0, 3], int64), ([], int64),
        (lambda make: np.zeros((3, 2), make.dtype.numpy), int64),
    ])  # fmt: skip
def nonzero(input: Tensor, dtype: DType) -> Tensor:
    """Indices of the elements that are not zero, [count, ndim], in row-major order."""
    size = tuple(input._a.shape)
    rest = cast(_nonzero_numbers(reshape(input, (-1,))), dtype)
    rows = zeros_of(rest, (int(rest._a.shape[0]), len(size)))
    for d in range(len(size) - 1, -1, -1):
        quotient = idiv(rest, max(size[d], 1))
        rows[:, d] = rest - quotient * size[d]
        rest = quotient
    return rows


def _nonzero_numbers(x: Tensor) -> Tensor:
    """The places of the elements of a one-dimensional tensor that are not zero."""
    n = int(x._a.shape[0])
    numbers = counted(n, x)
    if not n:
        return numbers
    mask = x != 0
    before = running_count(mask)
    count = read(basic_index(before, (n - 1,)))
    # A permutation: those that are not zero first, the others behind them.
    place = where(mask, before - 1, numbers - before + count)
    order = zeros_of(numbers, (n,))
    scatter_set_(order, place, numbers, 0)
    return basic_index(order, (slice(0, count),))


def mask_indices(mask: Tensor) -> list[Tensor]:
    """One tensor of indices for each dim of a mask, of the places where it holds."""
    rows = nonzero(mask, index_dtype(mask._kind))
    return [rows[:, d] for d in range(mask.ndim)]


@op(accepts=ANY, masks=("mask",), unrounded=True, row_major=True,
    oracle=lambda x, mask, value: np.where(mask, np.asarray(value).astype(x.dtype), x),
    cases=lambda _: [
        ([2, 3], bools(2, 3), 2.0), ([2, 3], bools(3), 1), ([3], bools(2, 1), 0),
        ([], bools(), True),
    ])  # fmt: skip
def masked_fill(input: Tensor, mask: Tensor, value: Scalar) -> Tensor:
    """`input` with `value` where the mask, broadcast, holds."""
    if input.dtype.is_floating_point:
        return where(mask, value, input)
    return where(mask, full((), value, input._kind), input)


masked_fill.grad(input=lambda ct, mask: masked_fill(ct, mask, 0))


@op(shape=DATA, accepts=STORED, masks=("mask",), unrounded=True,
    oracle=lambda x, mask: np.array(
        [v for v, m in zip(x.flat, mask.flat, strict=True) if m], x.dtype
    ),
    cases=lambda _: [
        ([2, 3], bools(2, 3)), ([4], np.zeros(4, bool)), ([], np.ones((), bool)),
    ])  # fmt: skip
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements of `input` where a mask of its shape holds, in row-major order."""
    if tuple(input._a.shape) != tuple(mask._a.shape):
        raise ShapeError(
            "masked_select", "mask", was=f"of shape {tuple(mask._a.shape)}",
            needed=f"{tuple(input._a.shape)}, that of input",
        )  # fmt: skip
    numbers = _nonzero_numbers(reshape(mask, (-1,)))
    return index_select(reshape(input, (-1,)), 0, numbers)


def _common(input: Sizes, mask: Sizes, *_: Sizes) -> Sizes:
    return broadcast("masked_scatter", [input, mask], ["input", "mask"])


@op(shape=_common, accepts=ANY, masks=("mask",), promote="equal", unrounded=True,
    torch="masked_scatter Tensor.masked_scatter_", out=False, cases=lambda _: [
        ([2, 3], bools(2, 3), [2, 4]), ([3], bools(2, 1), [7]),
        ([3], np.ones(3, bool), [3]), ([3], np.zeros(3, bool), [0]),
    ])  # fmt: skip
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`input` with the elements of `source`, in order, where the mask holds."""
    shape = _common(tuple(input._a.shape), tuple(mask._a.shape))
    wide = expand(mask, shape)
    if 0 in source._a.shape or 0 in shape:
        return clone(expand(input, shape))
    flat = reshape(wide, (-1,))
    place = where(flat, running_count(flat) - 1, 0)
    taken = take_along(reshape(source, (-1,)), place, 0)
    return where(wide, reshape(taken, shape), input)


@masked_scatter.check
def _(x: Tensor, mask: Tensor, source: Tensor) -> Checked:
    """The mask selects no more elements than there are to write."""
    wide = expand(mask, _common(tuple(x._a.shape), tuple(mask._a.shape)))
    upto = running_count(reshape(wide, (-1,)))
    if 0 in upto._a.shape:
        return None
    have = int(np.prod(source._a.shape))
    count = basic_index(upto, (upto._a.shape[0] - 1,))

    def error() -> Exception:
        return too_few(read(count), have)

    return count > have, error


def too_few(count: int, have: int) -> ShapeError:
    """The error for a mask that selects more than there is to write."""
    return ShapeError(
        "masked_scatter", "source", was=f"of {have} elements",
        needed=f"{count}, as many as the mask selects",
    )  # fmt: skip


masked_select.grad(
    input=lambda ct, mask, input_shape: masked_scatter(
        zeros_of(ct, input_shape), mask, ct
    )
)


def _source_gradient(ct: Tensor, mask: Tensor, source_shape: Sizes) -> Tensor:
    found = masked_select(ct, expand(mask, tuple(ct._a.shape)))
    return reshape(cornered(found, (int(np.prod(source_shape)),)), source_shape)


masked_scatter.grad(
    input=lambda ct, mask, input_shape: sum_to(masked_fill(ct, mask, 0), input_shape),
    source=_source_gradient,
)


@masked_scatter.oracle
def _(x: Array, mask: Array, source: Array) -> Array:
    y, mask = map(np.array, np.broadcast_arrays(x, mask))
    count = int(np.sum(mask))
    if count > source.size:
        raise too_few(count, source.size)
    y[mask] = source.reshape(-1)[:count]
    return y
