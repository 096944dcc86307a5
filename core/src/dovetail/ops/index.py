"""Reading and writing along one dim, at places that a tensor of indices names.

Indices count from the front. One that is out of range raises IndexOutOfRange: kernels
see to it, or the check of the op, by comparisons and one read; bodies read nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import ANY, Array, Sizes, bool_, int32
from dovetail.engine.attributes import Axis, Ignored
from dovetail.engine.cases import ints, permutation
from dovetail.engine.checks import all_values
from dovetail.engine.declare import op
from dovetail.engine.inplace import write
from dovetail.engine.op import Checked
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexOutOfRange, ShapeError, outside_dim
from dovetail.ops.create import zeros_of
from dovetail.ops.primitive import (
    cast,
    clone,
    scatter_add_,
    scatter_set_,
    take_along,
)
from dovetail.ops.ranges import any_outside
from dovetail.ops.read_write import derive_read, derive_write
from dovetail.ops.view import basic_index

# Ops that read, and those that write values of the dtype of what they write to.
READS: Any = {"accepts": ANY, "indices": ("index",), "unrounded": True}
WRITES: Any = {
    "accepts": ANY, "indices": ("index",), "promote": "equal", "lines": "input",
}  # fmt: skip


def read(x: Tensor) -> Any:
    """The value of a tensor with one element; waits for it."""
    return x._kind.backend.copy_out(x._a).reshape(-1)[0].item()


def index_check(op: str, index: Tensor, size: int, dim: int, low: int = 0) -> Checked:
    """What the check of an op gives for indices from `low` to `size` - 1."""
    if 0 in index._a.shape:
        return None

    def error() -> IndexOutOfRange:
        found = all_values(index).reshape(-1)
        bad = int(found[(found < low) | (found >= size)][0])
        return outside_dim(op, bad, size, dim, low)

    return any_outside(index, low, size, ()), error


def checks_dim(made: Any) -> None:
    """Indices of this op lie within the dim of its first tensor that it names."""
    name = made.op.name

    @made.check  # type: ignore[untyped-decorator]
    def _(x: Tensor, index: Tensor, *rest: Any, dim: int, **_: Any) -> Checked:
        size = x._a.shape[dim] if x._a.shape else 1
        return index_check(name, index, size, dim)


def narrowed(x: Tensor, sizes: Sizes, dim: int) -> Tensor:
    """The first elements of each dim but `dim`, as many as `sizes` says."""
    have = x._a.shape
    cuts = [slice(None) if d == dim else slice(0, n) for d, n in enumerate(sizes)]
    if all(d == dim or have[d] == n for d, n in enumerate(sizes)):
        return x
    return basic_index(x, tuple(cuts))


def corner(x: Tensor, sizes: Sizes) -> Tensor:
    """The first elements of every dim, as many as `sizes` says."""
    return basic_index(x, tuple(slice(0, n) for n in sizes))


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


def covered(name: str) -> Any:
    """The rule of an op of that name, which writes where indices say."""

    def rule(x: Sizes, index: Sizes, src: Sizes, *, dim: int, **_: Any) -> Sizes:
        if 0 not in index:
            fits(name, "input", index, x, dim)
            fits(name, "src", index, src, None)
        return tuple(x)

    return rule


def _apart(x: Tensor) -> Tensor:
    """A copy to be written: within vmap with a value for each row, whatever `x` has."""
    if x._kind.backend.stands_for is None:
        return clone(x)
    shape = tuple(x._a.shape)
    y = zeros_of(x, shape)
    write("scatter", corner(y, shape), x)
    return y


def written(primitive: Any, x: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    """`x` with the part of `src` that `index` covers scattered into it."""
    y = _apart(x)
    shape = tuple(index._a.shape)
    if 0 not in shape:
        primitive(narrowed(y, shape, dim), index, corner(src, shape), dim)
    return y


def added(x: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    """`x` with `src` added to the places `index`, bools as counts."""
    if x.dtype is bool_:
        total = added(cast(x, int32), index, cast(src, int32), dim)
        return cast(total, bool_)
    return written(scatter_add_, x, index, src, dim)


def taken_along(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """`take_along`, also of a tensor without dims."""
    return take_along(x, index, dim) if x._a.shape else clone(x)


def ungathered(ct: Tensor, indices: Tensor, input_shape: Sizes, dim: int) -> Tensor:
    """Cotangents added at the places the values were taken from; zero elsewhere."""
    return scatter_add(zeros_of(ct, input_shape), dim, indices, ct)


def _unique_rows(make: Any) -> Array:
    rows: Array = make.permutation(4)[:3].reshape(3, 1) * np.ones((1, 2), np.int64)
    return rows


for _primitive in (scatter_set_, scatter_add_):
    _primitive.cases(lambda _: [
        ([4, 2], _unique_rows, [3, 2], 0), ([5], permutation(5), [5], 0),
    ])  # fmt: skip
take_along.cases(lambda _: [
    ([4, 3], ints(2, 3, high=4), 0),
    ([2, 3, 4], ints(2, 3, 5, high=4, dtype="int32"), 2),
])  # fmt: skip


def _gathered(x: Sizes, index: Sizes, *, dim: int) -> Sizes:
    if 0 not in index:
        fits("gather", "input", index, x, dim)
    return tuple(index)


@op(out="same",
    shape=_gathered, lines="index", torch="gather", **READS, cases=lambda _: [
    ([4, 3], 0, ints(2, 3, high=4)), ([2, 3, 4], -1, ints(2, 2, 5, high=4)),
    ([5], 0, ints(3, high=5, dtype="int32")), ([5, 2], 0, ints(0, 2)),
    ([4, 4], 1, ints(4, 4, high=4)), ([], 0, ints(high=1)), ([3], -1, ints(high=3)),
    ([], 0, ints(2, high=1)),
])  # fmt: skip
def gather(
    input: Tensor, dim: Axis, index: Tensor, *, sparse_grad: Ignored = False
) -> Tensor:
    """`input[..., index[..., i, ...], ...]` along `dim`, in the shape of `index`.

    Args:
        index: int64 with as many dims as `input`, no larger but along `dim`.

    Raises: IndexOutOfRange for an index below 0 or from the size of `dim` on.

    >>> x = torch.tensor([[1, 2], [3, 4]])
    >>> torch.gather(x, 1, torch.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    shape = tuple(index._a.shape)
    if 0 in shape:
        return zeros_of(input, shape)
    return take_along(narrowed(input, shape, dim), index, dim)


@op(shape=covered("scatter"), unrounded=True, **WRITES, cases=lambda _: [
    ([4, 3], 0, _unique_rows, [3, 2]), ([5], 0, permutation(5), [6]),
    ([5], 0, ints(0), [5]), ([], 0, ints(high=1), [1]),
], levels={"dim": ()})  # fmt: skip
def scatter(input: Tensor, dim: Axis, index: Tensor, src: Tensor) -> Tensor:
    """`input` with `src` written to the places `index` along `dim`.

    Where an index repeats, any one of its values stays.
    """
    return written(scatter_set_, input, index, src, dim)


@op(out="same", shape=covered("scatter_add"), sums=True, largest=1 << 12,
    torch="scatter_add Tensor.scatter_add_", **WRITES, cases=lambda _: [
        ([4, 3], 0, ints(6, 2, high=4), [6, 3]),
        ([2, 3, 4], 2, ints(2, 3, 5, high=4, dtype="int32"), [2, 3, 5]),
        ([5], 0, ints(0), [5]), ([], 0, ints(1, high=1), []),
        ([5], 0, ints(7, high=5), [7]),
    ])  # fmt: skip
def scatter_add(input: Tensor, dim: Axis, index: Tensor, src: Tensor) -> Tensor:
    """`input` with `src` added to the places `index` along `dim`."""
    return added(input, index, src, dim)


for _op in (gather, scatter, scatter_add):
    checks_dim(_op)


@gather.oracle
def _gathered_by_one(input: Array, dim: int, index: Array) -> Array:
    line, at = np.atleast_1d(input), np.atleast_1d(index)
    taken: list[Array] = [*np.indices(at.shape, sparse=True)]
    taken[dim] = at
    return np.array(line[tuple(taken)]).reshape(index.shape)


take_along.oracle(lambda input, index, dim: _gathered_by_one(input, dim, index))
derive_write(scatter, gather, "src")
derive_write(scatter_add, gather, "src", adds=True)
derive_write(scatter_set_, take_along, "src")
derive_write(scatter_add_, take_along, "src", adds=True)
derive_read(gather, scatter_add, "src")
derive_read(take_along, scatter_add, "src")
