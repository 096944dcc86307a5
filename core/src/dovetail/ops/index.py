"""Reading and writing along one dim, at places that a tensor of indices names.

Indices count from the front. One that is out of range raises IndexOutOfRange: kernels
see to it, or the check of the op, by comparisons and one read; bodies read nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import ANY, bool_, int32
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.op import Checked
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexOutOfRange, ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.extremes import amax
from dovetail.ops.primitive import (
    bitwise_and,
    bitwise_xor,
    cast,
    clone,
    eq,
    lt,
    scatter_add_,
    scatter_set_,
    take_along,
    where,
)  # fmt: skip
from dovetail.ops.view import basic_index, expand, place, reshape

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]


def read(x: Tensor) -> Any:
    """The value of a tensor with one element; waits for it."""
    return x._kind.backend.copy_out(x._a).reshape(-1)[0].item()


def index_check(op: str, index: Tensor, size: int, dim: int, low: int = 0) -> Checked:
    """What the check of an op gives for indices from `low` to `size` - 1."""
    if 0 in index._a.shape:
        return None
    inside = bitwise_and(lt(index, size), bitwise_xor(lt(index, low), True))
    outside = amax(bitwise_xor(inside, True))

    def error() -> IndexOutOfRange:
        found = index._kind.backend.copy_out(index._a).reshape(-1)
        bad = int(found[(found < low) | (found >= size)][0])
        return out_of_range(op, bad, size, dim, low)

    return outside, error


def _checks_dim(made: Any) -> None:
    """Indices of this op lie within the dim of `x` that it names."""
    name = made.op.name

    @made.check  # type: ignore[untyped-decorator]
    def _(x: Tensor, index: Tensor, *rest: Any, dim: int, **_: Any) -> Checked:
        size = x._a.shape[dim] if x._a.shape else 1
        return index_check(name, index, size, dim)


def out_of_range(op: str, index: int, size: int, dim: int, low: int) -> IndexOutOfRange:
    """The error for an index out of bounds for a dim."""
    return IndexOutOfRange(
        op, "index", was=f"{index}, out of bounds for dim {dim} with size {size}",
        needed=f"{low} to {size - 1}" if size else "a dim that is not empty",
    )  # fmt: skip


def narrowed(x: Tensor, sizes: Sizes, dim: int) -> Tensor:
    """The first elements of each dim but `dim`, as many as `sizes` says."""
    have = x._a.shape
    cuts = [slice(None) if d == dim else slice(0, n) for d, n in enumerate(sizes)]
    if all(d == dim or have[d] == n for d, n in enumerate(sizes)):
        return x
    return basic_index(x, tuple(cuts))


def fits(
    name: str, argument: str, small: Sizes, large: Sizes, skip: int | None
) -> None:
    """Raise where `small` has other dims than `large`, or exceeds it."""
    same = len(small) == len(large)
    if same and all(
        d == skip or a <= b for d, (a, b) in enumerate(zip(small, large, strict=True))
    ):
        return
    besides = "" if skip is None else f", apart from dim {skip}"
    raise ShapeError(
        name, "index", was=f"of shape {tuple(small)}",
        needed=f"as many dims as {argument} {tuple(large)}, and no greater size"
        f"{besides}",
    )  # fmt: skip


def _gathered(x: Sizes, index: Sizes, *, dim: int) -> Sizes:
    if 0 not in index:
        fits("gather", "x", index, x, dim)
    return tuple(index)


@op(shape=_gathered, accepts=ANY, indices=("index",), exact=True)
def gather(input: Tensor, index: Tensor, dim: Axis) -> Tensor:
    """`input[..., index[..., i, ...], ...]` along `dim`, in the shape of `index`."""
    shape = tuple(index._a.shape)
    if 0 in shape:
        return zeros_of(input, shape)
    return take_along(narrowed(input, shape, dim), index, dim)


def taken_along(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """`take_along`, also of a tensor without dims."""
    return take_along(x, index, dim) if x._a.shape else clone(x)


def ungathered(ct: Tensor, indices: Tensor, input_shape: Sizes, dim: int) -> Tensor:
    """Cotangents added at the places the values were taken from; zero elsewhere."""
    if not input_shape:
        return ct
    return scatter_add(zeros_of(ct, input_shape), indices, ct, dim)


def places(index: Array, dim: int) -> Iterator[tuple[Sizes, Sizes]]:
    """For each element of `index`: where it stands, and the place it names."""
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[dim] = int(index[at])
        yield at, tuple(to)


def _gather_oracle(x: Array, index: Array, dim: int) -> Array:
    y = np.zeros(index.shape, x.dtype)
    for at, to in places(index, dim):
        y[at] = x[to]
    return y


gather.oracle(_gather_oracle)
take_along.oracle(_gather_oracle)


@gather.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(4, 3), make.ints(2, 3, high=4), 0)
    yield case(make(2, 3, 4), make.ints(2, 2, 5, high=4), -1)
    yield case(make(5), make.ints(3, high=5, dtype="int32"), 0)
    yield case(make(5, 2), make.ints(0, 2), 0)
    yield case(make(4, 4), make.ints(4, 4, high=4), 1)


@take_along.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(4, 3), make.ints(2, 3, high=4), 0)
    yield case(make(2, 3, 4), make.ints(2, 3, 5, high=4, dtype="int32"), 2)


def _written(name: str) -> Any:
    """The rule of an op of that name, which writes where indices say."""

    def rule(x: Sizes, index: Sizes, src: Sizes, *, dim: int) -> Sizes:
        if 0 not in index:
            fits(name, "x", index, x, dim)
            fits(name, "src", index, src, None)
        return tuple(x)

    return rule


@op(shape=_written("scatter"), accepts=ANY, indices=("index",), exact=True)
def scatter(input: Tensor, index: Tensor, src: Tensor, dim: Axis) -> Tensor:
    """`input` with `src` written to the places `index` along `dim`.

    Where an index repeats, any one of its values stays.
    """
    return written(scatter_set_, input, index, src, dim)


scatter.grad(
    input=lambda ct, index, dim: scatter(
        ct, index, zeros_of(ct, tuple(index._a.shape)), dim
    ),
    src=lambda ct, index, src_shape, dim: widened(gather(ct, index, dim), src_shape),
)


def written(primitive: Any, x: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    """`x` with the part of `src` that `index` covers scattered into it."""
    y: Tensor = clone(x)
    shape = tuple(index._a.shape)
    if 0 not in shape:
        part = basic_index(src, tuple(slice(0, n) for n in shape))
        primitive(narrowed(y, shape, dim), index, part, dim)
    return y


def added(x: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    """`x` with `src` added to the places `index`, bools as counts."""
    if x.dtype is bool_:
        total = added(cast(x, int32), index, cast(src, int32), dim)
        return cast(total, bool_)
    return written(scatter_add_, x, index, src, dim)


def widened(x: Tensor, shape: Sizes) -> Tensor:
    """`x` in the first corner of zeros of `shape`."""
    if tuple(x._a.shape) == tuple(shape):
        return x
    return place(x, shape, tuple(slice(0, n) for n in x._a.shape))


@op(
    sums=True, shape=_written("scatter_add"), accepts=ANY, indices=("index",),
    largest=1 << 12,
)  # fmt: skip
def scatter_add(input: Tensor, index: Tensor, src: Tensor, dim: Axis) -> Tensor:
    """`input` with `src` added to the places `index` along `dim`."""
    return added(input, index, src, dim)


def _collected(ct: Tensor, index: Tensor, input_shape: Sizes, dim: int) -> Tensor:
    return scatter_add(zeros_of(ct, input_shape), index, ct, dim)


gather.grad(input=_collected)
take_along.grad(x=lambda ct, index, x_shape, dim: _collected(ct, index, x_shape, dim))
scatter_add.grad(
    input=lambda ct: ct,
    src=lambda ct, index, src_shape, dim: widened(gather(ct, index, dim), src_shape),
)


@scatter.oracle
def _(x: Array, index: Array, src: Array, dim: int) -> Array:
    y = x.copy()
    for at, to in places(index, dim):
        y[to] = src[at]
    return y


@scatter_add.oracle
def _(x: Array, index: Array, src: Array, dim: int) -> Array:
    y = x.copy()
    for at, to in places(index, dim):
        y[to] = y[to] + src[at]
    return y


@scatter.cases
def _(make: Any) -> Iterator[Case]:
    unique = make.permutation(4)[:3].reshape(3, 1) * np.ones((1, 2), np.int64)
    yield case(make(4, 3), unique, make(3, 2), 0)
    yield case(make(5), make.permutation(5), make(6), -1)
    yield case(make(5), make.ints(0), make(5), 0)


@scatter_add.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(4, 3), make.ints(6, 2, high=4), make(6, 3), 0)
    yield case(
        make(2, 3, 4), make.ints(2, 3, 5, high=4, dtype="int32"), make(2, 3, 5), 2
    )
    yield case(make(5), make.ints(0), make(5), 0)


def _writes_cases(make: Any) -> Iterator[Case]:
    rows = make.permutation(4)[:3].reshape(3, 1) * np.ones((1, 2), np.int64)
    yield case(make(4, 2), rows, make(3, 2), 0)
    yield case(make(5), make.permutation(5).astype(np.int32), make(5), 0)


for _primitive, _functional in ((scatter_set_, scatter), (scatter_add_, scatter_add)):
    _primitive.oracle(_functional.op.oracle)  # type: ignore[type-var]
    _primitive.cases(_writes_cases)


# ---- one-dimensional indices


def _selected(x: Sizes, index: Sizes, *, dim: int) -> Sizes:
    _flat_index("index_select", index)
    return (*x[:dim], *index, *x[dim + 1 :]) if x else ()


def _flat_index(name: str, index: Sizes) -> None:
    if len(index) != 1:
        raise ShapeError(
            name, "index", was=f"of shape {tuple(index)}", needed="one dim"
        )


@op(shape=_selected, accepts=ANY, indices=("index",), exact=True)
def index_select(input: Tensor, index: Tensor, dim: Axis) -> Tensor:
    """The slices of `input` that a one-dimensional `index` names along `dim`."""
    return taken(input, index, dim)


def taken(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """The slices of `x` at indices that are known to be right."""
    shape = tuple(x._a.shape)
    return take_along(x, along(index, shape, dim), dim) if shape else clone(x)


def along(index: Tensor, shape: Sizes, dim: int) -> Tensor:
    """A one-dimensional index spread over the other dims of `shape`."""
    n = index._a.shape[0]
    line = reshape(index, tuple(n if d == dim else 1 for d in range(len(shape))))
    return expand(line, tuple(n if d == dim else s for d, s in enumerate(shape)))


@index_select.oracle
def _(x: Array, index: Array, dim: int) -> Array:
    if not x.ndim:
        return x
    return np.stack([x.take(int(i), dim) for i in index], dim)


@index_select.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(4, 3), make.ints(6, high=4), 0)
    yield case(make(2, 3, 4), make.ints(2, high=3, dtype="int32"), -2)
    yield case(make(), make.ints(1, high=1), 0)


def _written_slices(name: str) -> Any:
    """The rule of an op of that name, which writes whole slices."""

    def rule(x: Sizes, index: Sizes, src: Sizes, *, dim: int) -> Sizes:
        _flat_index(name, index)
        wanted = (*x[:dim], index[0], *x[dim + 1 :])
        if tuple(src) != wanted:
            raise ShapeError(
                name, "src", was=f"of shape {tuple(src)}",
                needed=f"{wanted}: that of x, with the length of index at dim {dim}",
            )  # fmt: skip
        return tuple(x)

    return rule


@op(
    sums=True, shape=_written_slices("index_add"), accepts=ANY, indices=("index",),
    largest=1 << 12,
)  # fmt: skip
def index_add(input: Tensor, index: Tensor, src: Tensor, dim: Axis) -> Tensor:
    """`input` with the slices of `src` added to those that `index` names."""
    return added(input, along(index, tuple(src._a.shape), dim), src, dim)


index_add.grad(
    input=lambda ct: ct, src=lambda ct, index, dim: index_select(ct, index, dim)
)


@op(
    autocast="widest",
    shape=_written_slices("index_copy"),
    accepts=ANY,
    indices=("index",),
    exact=True,
)
def index_copy(input: Tensor, index: Tensor, src: Tensor, dim: Axis) -> Tensor:
    """`input` with the slices that `index` names along `dim` taken from `src`."""
    where_to = along(index, tuple(src._a.shape), dim)
    return written(scatter_set_, input, where_to, src, dim)


def _unselected(ct: Tensor, index: Tensor, input_shape: Sizes, dim: int) -> Tensor:
    return index_add(zeros_of(ct, input_shape), index, ct, dim) if input_shape else ct


index_select.grad(input=_unselected)
index_copy.grad(
    input=lambda ct, index, src_shape, dim: index_copy(
        ct, index, zeros_of(ct, src_shape), dim
    ),
    src=lambda ct, index, dim: index_select(ct, index, dim),
)


@index_add.oracle
def _(x: Array, index: Array, src: Array, dim: int) -> Array:
    y = np.moveaxis(x.copy(), dim, 0)
    for i, part in zip(index, np.moveaxis(src, dim, 0), strict=True):
        y[int(i)] = y[int(i)] + part
    return np.moveaxis(y, 0, dim)


@index_copy.oracle
def _(x: Array, index: Array, src: Array, dim: int) -> Array:
    y = np.moveaxis(x.copy(), dim, 0)
    for i, part in zip(index, np.moveaxis(src, dim, 0), strict=True):
        y[int(i)] = part
    return np.moveaxis(y, 0, dim)


@index_add.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(4, 3), make.ints(6, high=4), make(6, 3), 0)
    yield case(make(2, 3), make.ints(5, high=3, dtype="int32"), make(2, 5), -1)
    yield case(make(7), make.ints(3, high=7), make(3), 0)


@index_copy.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(4, 3), make.permutation(4)[:2], make(2, 3), 0)
    yield case(make(2, 3), make.permutation(3), make(2, 3), -1)


def _embedded(weight: Sizes, index: Sizes, *, padding: int) -> Sizes:
    if len(weight) != 2:
        raise ShapeError(
            "embedding", "weight", was=f"of shape {tuple(weight)}", needed="two dims"
        )
    return (*index, weight[1])


@op(shape=_embedded, accepts=ANY, indices=("index",), exact=True)
def embedding(weight: Tensor, index: Tensor, padding: int = -1) -> Tensor:
    """The rows of `weight` that `index`, of any shape, names.

    The row `padding`, if it is not negative, gets no gradient.
    """
    rows = taken(weight, reshape(index, (-1,)), 0)
    return reshape(rows, (*index._a.shape, weight._a.shape[1]))


def _of_rows(ct: Tensor, index: Tensor, weight_shape: Sizes, padding: int) -> Tensor:
    flat = reshape(index, (-1,))
    rows = reshape(ct, (flat._a.shape[0], weight_shape[1]))
    if padding >= 0:
        rows = where(eq(reshape(flat, (-1, 1)), padding), 0, rows)
    return index_add(zeros_of(ct, weight_shape), flat, rows, 0)


embedding.grad(weight=_of_rows)


@embedding.oracle
def _(weight: Array, index: Array, padding: int = -1) -> Array:
    rows = [weight[int(i)] for i in index.reshape(-1)]
    return np.array(rows, weight.dtype).reshape(*index.shape, weight.shape[1])


@embedding.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(5, 3), make.ints(2, 4, high=5))
    yield case(make(5, 3), make.ints(high=5, dtype="int32"))
    yield case(make(5, 3), make.ints(0))


for _op in (gather, scatter, scatter_add, index_select, index_add, index_copy):
    _checks_dim(_op)


@embedding.check
def _(weight: Tensor, index: Tensor, **_: Any) -> Checked:
    return index_check("embedding", index, weight._a.shape[0], 0)
