"""Advanced indexing: several tensors of indices at once, as NumPy defines it.

The body reduces it to one dim: indexed dims go to the front and become one, and a
row-major number in it stands for each tuple of indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, FLOAT8, HALF, STORED, Array, Sizes, float32
from dovetail.engine import signature
from dovetail.engine.cases import ints, permutation
from dovetail.engine.declare import op
from dovetail.engine.op import Checked
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexShapeError, ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.index import added, index_check, written
from dovetail.ops.index_slices import along, taken
from dovetail.ops.primitive import (
    assign_,
    cast,
    clone,
    scatter_set_,
    where,
)
from dovetail.ops.sums import sum_to
from dovetail.ops.view import expand, permute, reshape

_ADVANCED: Any = {"accepts": STORED, "indices": ("indices",)}


def _layout(x: Sizes, indices: Sequence[Sizes | None]) -> tuple[Sizes, list[int], int]:
    """Shape of the indices together, the dims they stand for, where the result has it.

    The indices' dims take the place of the dims they replace where those are
    neighbours, else they come first.
    """
    dims = [d for d, shape in enumerate(indices) if shape is not None]
    if len(indices) > len(x) or not dims:
        raise ShapeError(
            "indexing", "indices", was=f"{len(indices)} of them, {len(dims)} tensors",
            needed=f"1 to {len(x)}, for x of shape {tuple(x)}",
        )  # fmt: skip
    given = [tuple(indices[d] or ()) for d in dims]
    names = [f"index {d}" for d in dims]
    together = dims[-1] - dims[0] == len(dims) - 1
    try:
        shape = signature.broadcast("indexing", given, names)
    except ShapeError as error:
        raise IndexShapeError(
            error.op, error.argument, was=error.was, needed=error.needed,
            remedy=error.remedy,
        ) from None  # fmt: skip
    return shape, dims, dims[0] if together else 0


def _key(indices: Sequence[Array | None]) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)


def _got(x: Sizes, indices: Sequence[Sizes | None]) -> Sizes:
    shape, dims, at = _layout(x, indices)
    rest = [n for d, n in enumerate(x) if d not in dims]
    return (*rest[:at], *shape, *rest[at:])


_I, _J = ints(2, 1, low=-3, high=3), ints(4, low=-4, high=4)


@op(shape=_got, unrounded=True, **_ADVANCED,
    oracle=lambda x, indices: np.array(x[_key(indices)]), cases=lambda _: [
        ([3, 2], [ints(5, low=-3, high=3)]), ([3, 4, 2], [_I, _J]),
        ([2, 3, 4], [None, _I, _J]), ([3, 2, 4], [_I, None, _J]),
        ([2, 3], [None, ints(2, 2, low=-3, high=3, dtype="int32")]),
        ([3, 2], [ints(0)]),
    ])  # fmt: skip
def index_get(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """`input` at tuples of indices, one tensor or None (the whole dim) for each dim.

    Negative indices count from the end. The dims of the indices, broadcast, stand
    where the indexed dims were if those are neighbours, else first.
    """
    shape, dims, at = _layout(tuple(input._a.shape), _shapes(indices))
    rows, rest = _rows(input, dims)
    found = taken(rows, _numbers(input, indices, shape, dims), 0)
    return _placed(reshape(found, (*shape, *rest)), len(shape), at)


def _shapes(indices: Sequence[Tensor | None]) -> list[Sizes | None]:
    return [None if i is None else tuple(i._a.shape) for i in indices]


def _front(ndim: int, dims: Sequence[int]) -> Sizes:
    return (*dims, *(d for d in range(ndim) if d not in dims))


def _rows(x: Tensor, dims: Sequence[int]) -> tuple[Tensor, Sizes]:
    """`x` with the indexed dims first and made one, and the sizes of the others."""
    size = tuple(x._a.shape)
    rest = tuple(n for d, n in enumerate(size) if d not in dims)
    leading = list(dims) == list(range(len(dims)))
    moved = x if leading else permute(x, _front(len(size), dims))
    count = int(np.prod([size[d] for d in dims]))
    return reshape(moved, (count, *rest)), rest


def _numbers(
    x: Tensor, indices: Sequence[Tensor | None], shape: Sizes, dims: Sequence[int]
) -> Tensor:
    """For each tuple of indices, its place among the rows, one-dimensional."""
    total: Tensor | None = None
    wanted = index_dtype(x._kind)
    for d in dims:
        size = int(x._a.shape[d])
        index = indices[d]
        assert index is not None
        index = cast(index, wanted) if index.dtype is not wanted else index
        index = where(index < 0, index + size, index)
        total = index if total is None else total * size + index
    assert total is not None
    return reshape(expand(total, shape), (-1,))


def _placed(y: Tensor, count: int, at: int) -> Tensor:
    """The first `count` dims moved so that they start at `at`."""
    if not at:
        return y
    order = (*range(count, count + at), *range(count), *range(count + at, y.ndim))
    return clone(permute(y, order))


def _put_shape(x: Sizes, values: Sizes, indices: Any, *, accumulate: bool) -> Sizes:
    wanted = _got(x, indices)
    missing = len(wanted) - len(values)
    if missing < 0 or any(
        n not in (1, m) for n, m in zip(values, wanted[missing:], strict=True)
    ):
        raise ShapeError(
            "indexing", "value", was=f"of shape {tuple(values)}",
            needed=f"one that broadcasts to {wanted}, the shape of what is indexed",
        )  # fmt: skip
    return tuple(x)


def _put_oracle(
    x: Array, values: Array, indices: Any, accumulate: bool = False
) -> Array:
    y = x.copy()
    places = np.arange(x.size).reshape(x.shape)[_key(indices)]
    parts = np.broadcast_to(values, places.shape)
    for place, part in zip(places.reshape(-1), parts.reshape(-1), strict=True):
        y.flat[place] = y.flat[place] + part if accumulate else part
    return y


# From either end, and apart however long the dim is.
_FROM_THE_END: Any = np.array([[1, -1], [2, 0]], np.int32)
_PUT: Any = {
    **_ADVANCED, "accepts": ANY, "promote": "equal", "oracle": _put_oracle,
    "cases": lambda _: [
        ([3, 2], [5, 2], [ints(5, low=-3, high=3)], True),
        ([3, 4, 2], [2, 4, 1], [_I, _J], True),
        ([3, 2, 4], [2], [_I, None, _J], True),
        ([3], [1], [ints(5, low=-3, high=3)], True),
        ([3, 2], [2, 2], [permutation(3, 2)]),
        ([2, 5], [3], [None, permutation(5, 3)]),
        ([2, 5, 3], [2, 2, 3], [None, lambda _: _FROM_THE_END, None]),
    ],
}  # fmt: skip


@op(shape=_put_shape, sums=True, largest=1 << 12, row_major=False, **_PUT)
def index_put(
    input: Tensor, values: Tensor, indices: Sequence[Tensor | None],
    accumulate: bool = False,
) -> Tensor:  # fmt: skip
    """`input` with `values`, broadcast, written or added at tuples of indices.

    Where a tuple repeats, any one of its values stays, unless they accumulate.
    """
    return _put(input, values, indices, accumulate)


def _put(
    x: Tensor, value: Tensor, indices: Sequence[Tensor | None], accumulate: bool
) -> Tensor:
    size = tuple(x._a.shape)
    shape, dims, at = _layout(size, _shapes(indices))
    rows, rest = _rows(x, dims)
    value = expand(value, (*rest[:at], *shape, *rest[at:]))
    if at:
        order = (
            *range(at, at + len(shape)),
            *range(at),
            *range(at + len(shape), value.ndim),
        )
        value = permute(value, order)
    numbers = _numbers(x, indices, shape, dims)
    parts = reshape(value, (numbers._a.shape[0], *rest))
    to = along(numbers, tuple(parts._a.shape), 0)
    if accumulate:
        rows = added(rows, to, parts, 0)
    else:
        rows = written(scatter_set_, rows, to, parts, 0)
    front = _front(len(size), dims)
    back = tuple(sorted(range(len(size)), key=front.__getitem__))
    y = reshape(rows, tuple(size[d] for d in front))
    return y if front == back == tuple(range(len(size))) else clone(permute(y, back))


def put(
    input: Tensor, values: Tensor, indices: Sequence[Tensor | None], accumulate: bool
) -> Tensor:
    """`index_put` of any dtype: floats of 8 bits as float32, rounded once.

    Raises: DTypeError for values of another dtype.
    """
    if input.dtype not in FLOAT8 or values.dtype is not input.dtype:
        return index_put(input, values, indices, accumulate)
    wide = cast(input, float32), cast(values, float32)
    return cast(index_put(*wide, indices, accumulate), input.dtype)


index_get.grad(
    input=lambda ct, indices, input_shape: put(
        zeros_of(ct, input_shape), ct, indices, True
    )
)
index_put.grad(
    input=lambda ct, indices, accumulate: (
        ct if accumulate else index_put(ct, zeros_of(ct, ()), indices, False)
    ),
    values=lambda ct, indices, values_shape: sum_to(
        index_get(ct, indices), values_shape
    ),
)


def _written(x: Sizes, values: Sizes, indices: Any, *, accumulate: bool) -> tuple[()]:
    _put_shape(x, values, indices, accumulate=accumulate)
    return ()


@op(sums=True, shape=_written, mutates=("input",), outputs=(), nondifferentiable=True,
    unrounded=True, **_PUT)  # fmt: skip
def index_put_(
    input: Tensor, values: Tensor, indices: Sequence[Tensor | None],
    accumulate: bool = False,
) -> None:  # fmt: skip
    """Write `values`, broadcast, into `input` at tuples of indices, or add them."""
    if input.dtype in HALF and accumulate:  # many terms, of few digits
        sums = _put(cast(input, float32), cast(values, float32), indices, True)
        assign_(input, cast(sums, input.dtype))
    else:
        assign_(input, _put(input, values, indices, accumulate))


@index_get.check
@index_put.check
@index_put_.check
def _(x: Tensor, *rest: Any, **_: Any) -> Checked:
    """Each index lies within its dim, counted from either end."""
    found: list[Any] = []
    for d, index in enumerate(rest[-1]):
        size = int(x._a.shape[d])
        if index is not None:
            found.append(index_check("indexing", index, size, d, low=-size))
    present = [c for c in found if c is not None]
    if not present:
        return None
    outside = present[0][0]
    for flag, _error in present[1:]:
        outside = outside | flag

    def error() -> Exception:
        bad: Exception = next(e for flag, e in present if flag.item())()
        return bad

    return outside, error
