"""Views: the same memory under another geometry; a write is seen through each.

A geometry rule takes shape and element strides and gives shape, strides and offset.
Called with strides None, it serves as the shape rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import ANY
from dovetail.engine.attributes import Axis, AxisList, AxisSet, Index, NewAxis, Shape
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.inplace import inplace
from dovetail.engine.tensor import Tensor
from dovetail.errors import DimError, IndexOutOfRange, ShapeError
from dovetail.ops.create import zeros_of
from dovetail.ops.primitive import clone

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]
Geometry = tuple[Sizes, Sizes, int]
_VIEW: Any = {"accepts": ANY, "promote": None, "view": True, "exact": True}


def _expanded(x: Array, size: Sizes) -> Array:
    missing = len(size) - x.ndim
    sizes = [x.shape[d - missing] if n == -1 else n for d, n in enumerate(size)]
    return np.broadcast_to(x, sizes)


@op(torch="broadcast_to Tensor.expand*", oracle=_expanded, **_VIEW)
def expand(input: Tensor, size: Shape) -> Tensor:
    """Dims of size 1 repeated to `size`, without a copy; -1 keeps one; new dims lead.

    >>> import dovetail as dt
    >>> dt.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """


@expand.geometry
def _(have: Sizes, strides: Sizes | None, *, size: Sizes) -> Geometry:
    missing = len(size) - len(have)
    if missing < 0:
        raise ShapeError(
            "expand",
            "size",
            was=size,
            needed=f"at least the {len(have)} dims of {have}",
        )
    steps = (0,) * len(have) if strides is None else strides
    new_size, new_strides = list(size), [0] * len(size)
    for d, (n, step) in enumerate(zip(have, steps, strict=True), missing):
        want = size[d]
        if want in (-1, n):
            new_size[d], new_strides[d] = n, step
        elif n != 1:
            raise ShapeError(
                "expand", f"dim {d}", was=f"{n} in {have}",
                needed=f"1, to be expanded to {want} in {size}",
            )  # fmt: skip
    if any(n < 0 for n in new_size):
        raise ShapeError("expand", "size", was=size, needed="-1 only for existing dims")
    return tuple(new_size), tuple(new_strides), 0


@op(
    **_VIEW,
    torch="torch.permute Tensor.permute*",
    oracle=lambda x, dims: np.transpose(x, dims),
)
def permute(input: Tensor, dims: AxisList) -> Tensor:
    """The dims of `input` in another order."""


@permute.geometry
def _(size: Sizes, strides: Sizes | None, *, dims: Sizes) -> Geometry:
    if sorted(dims) != list(range(len(size))):
        raise DimError(
            "permute", "dims", was=dims, needed=f"each of 0..{len(size) - 1} once"
        )
    steps = strides or (0,) * len(size)
    return tuple(size[d] for d in dims), tuple(steps[d] for d in dims), 0


def _permute_gradient(ct: Tensor, dims: Sizes) -> Tensor:
    back = sorted(range(len(dims)), key=dims.__getitem__)
    return permute(ct, tuple(back))


permute.grad(input=_permute_gradient)


@op(
    **_VIEW,
    torch="transpose swapdims Tensor.transpose_ Tensor.swapdims_",
    oracle=lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1) if x.ndim else x,
)
def transpose(input: Tensor, dim0: Axis, dim1: Axis) -> Tensor:
    """`input` with two dims swapped."""


@transpose.geometry
def _(size: Sizes, strides: Sizes | None, *, dim0: int, dim1: int) -> Geometry:
    if not size:
        return (), (), 0
    order = list(range(len(size)))
    order[dim0], order[dim1] = dim1, dim0
    steps = strides or (0,) * len(size)
    return tuple(size[d] for d in order), tuple(steps[d] for d in order), 0


transpose.grad(input=lambda ct, dim0, dim1: transpose(ct, dim0, dim1))


@op(torch="t Tensor.t_", oracle=np.transpose, **_VIEW)
def t(input: Tensor) -> Tensor:
    """A matrix transposed; fewer dims stay as they are."""


@t.geometry
def _(size: Sizes, strides: Sizes | None) -> Geometry:
    if len(size) > 2:
        raise ShapeError(
            "t", "input", was=f"of {len(size)} dims", needed="at most two",
            remedy="use mT or permute",
        )  # fmt: skip
    return size[::-1], (strides or size)[::-1], 0


t.grad(input=lambda ct: t(ct))


@op(layout_matters=True, **_VIEW, oracle=lambda x, shape: x.reshape(shape))
def view(input: Tensor, shape: Shape) -> Tensor:
    """The elements of `input` in the same order under another shape; never copies.

    One size may be -1. Raises ShapeError where strides would need a copy.
    """


@view.geometry
def _(size: Sizes, strides: Sizes | None, *, shape: Sizes) -> Geometry:
    shape = resolve_shape("view", size, shape)
    if strides is None:
        return shape, (), 0
    found = view_strides(size, strides, shape)
    if found is None:
        raise ShapeError(
            "view", "strides", was=f"{strides} for shape {size}",
            needed=f"strides that allow {shape} without a copy",
            remedy="use reshape(), or contiguous() first",
        )  # fmt: skip
    return shape, found, 0


view.grad(input=lambda ct, input_shape: reshape(ct, input_shape))


def resolve_shape(name: str, size: Sizes, shape: Sizes) -> Sizes:
    """`shape` with -1 replaced by the size that fits.

    Raises:
        ShapeError: the number of elements differs.
    """
    total = _count(size)
    known = _count(s for s in shape if s != -1)
    open_dims = [i for i, s in enumerate(shape) if s == -1]
    fits = known == total if not open_dims else bool(known) and total % known == 0
    if len(open_dims) > 1 or any(s < -1 for s in shape) or not fits:
        raise ShapeError(
            name, "shape",
            was=f"{tuple(shape)}, invalid for {total} elements of {size}",
            needed="the same number of elements, with at most one -1",
        )  # fmt: skip
    return tuple(total // known if s == -1 else s for s in shape)


def _count(sizes: Any) -> int:
    total = 1
    for s in sizes:
        total *= s
    return total


def view_strides(size: Sizes, strides: Sizes, shape: Sizes) -> Sizes | None:
    """Strides of `shape` over the same elements, None where a copy is needed.

    Runs of dims that are contiguous among themselves may be split and merged.
    """
    if 0 in size:
        return contiguous_strides(shape)
    old = [(n, s) for n, s in zip(size, strides, strict=True) if n != 1]
    found: list[int] = []
    at, left, step = len(old), 1, 1
    for n in reversed(shape):
        if n == 1:
            found.append(step)
            continue
        if left == 1:
            at -= 1
            left, step = old[at]
            while at and old[at - 1][1] == old[at][0] * old[at][1]:
                at -= 1
                left *= old[at][0]
        if left % n:
            return None
        found.append(step)
        left //= n
        step *= n
    return tuple(reversed(found))


@op(torch="squeeze Tensor.squeeze_", **_VIEW)
def squeeze(input: Tensor, dim: AxisSet | None = None) -> Tensor:
    """`input` without dims of size 1: all of them, or those of `dim`."""


@squeeze.geometry
def _(size: Sizes, strides: Sizes | None, *, dim: Sizes | None) -> Geometry:
    keep = [
        d for d, n in enumerate(size) if n != 1 or (dim is not None and d not in dim)
    ]
    steps = strides or (0,) * len(size)
    return tuple(size[d] for d in keep), tuple(steps[d] for d in keep), 0


squeeze.grad(input=lambda ct, input_shape: reshape(ct, input_shape))


@op(
    **_VIEW,
    torch="unsqueeze Tensor.unsqueeze_",
    oracle=lambda x, dim: np.expand_dims(x, dim),
)
def unsqueeze(input: Tensor, dim: NewAxis) -> Tensor:
    """`input` with a dim of size 1 inserted at `dim`."""


@unsqueeze.geometry
def _(size: Sizes, strides: Sizes | None, *, dim: int) -> Geometry:
    steps = strides or (0,) * len(size)
    step = size[dim] * steps[dim] if dim < len(size) else 1
    return (*size[:dim], 1, *size[dim:]), (*steps[:dim], step, *steps[dim:]), 0


unsqueeze.grad(input=lambda ct, input_shape: reshape(ct, input_shape))


@op(**_VIEW, oracle=lambda x, index: np.asarray(x[index]))
def basic_index(input: Tensor, index: Index) -> Tensor:
    """`input[index]` for an int, a slice with a positive step, or a tuple of these.

    One entry a dim, from the first; None inserts a dim of size 1, and `...` stands for
    the dims without an entry, which otherwise follow.
    """


@basic_index.geometry
def _(size: Sizes, strides: Sizes | None, *, index: Any) -> Geometry:
    entries = _entries(index if type(index) is tuple else (index,), size)
    steps = strides or (0,) * len(size)
    new_size, new_strides, offset, d = [], [], 0, 0
    for entry in entries:
        if entry is None:
            new_size.append(1)
            new_strides.append(0)
            continue
        if isinstance(entry, slice):
            start, stop, step = entry.indices(size[d])
            new_size.append(len(range(start, stop, step)))
            new_strides.append(steps[d] * step)
            offset += start * steps[d]
        else:
            offset += checked_index(entry, size[d], d) * steps[d]
        d += 1
    return tuple(new_size), tuple(new_strides), offset


def _entries(index: tuple[Any, ...], size: Sizes) -> list[Any]:
    """An entry for every dim, with `...` replaced; new dims between them."""
    used = sum(entry is not None and entry is not Ellipsis for entry in index)
    if used > len(size):
        raise IndexOutOfRange(
            "indexing", "number of indices", was=used,
            needed=f"at most {len(size)}, the dims of {size}",
        )  # fmt: skip
    whole = [slice(None)] * (len(size) - used)
    at = next((i for i, e in enumerate(index) if e is Ellipsis), len(index))
    return [*index[:at], *whole, *index[at + 1 :]]


def checked_index(entry: int, size: int, dim: int) -> int:
    """An index counted from the front.

    Raises:
        IndexOutOfRange: it points outside the dim.
    """
    if not -size <= entry < size:
        raise IndexOutOfRange(
            "indexing", f"index for dim {dim}", was=entry,
            needed=f"between {-size} and {size - 1}" if size
            else "a dim that is not empty",
        )  # fmt: skip
    return entry % size


@op(shape=lambda ct, *, shape, index: shape, accepts=ANY, promote=None, exact=True)
def place(input: Tensor, shape: Shape, index: Index) -> Tensor:
    """Zeros of `shape` with `input` written at a basic `index`."""
    whole = zeros_of(input, shape)
    inplace("place", lambda _: input, basic_index(whole, index))
    return whole


basic_index.grad(input=lambda ct, input_shape, index: place(ct, input_shape, index))
place.grad(input=lambda ct, index: basic_index(ct, index))


def widened(x: Tensor, shape: Sizes) -> Tensor:
    """`x` itself if it has that shape, else expanded to it."""
    return x if tuple(x._a.shape) == tuple(shape) else expand(x, tuple(shape))


# ---- reshape and its kin: a view where one exists, else a copy


def is_contiguous(x: Tensor) -> bool:
    """Whether the elements lie in row-major order without gaps."""
    shape = tuple(x._a.shape)
    strides, _ = x._kind.backend.geometry(x._a, x._a)
    if 0 in shape:
        return True
    want = contiguous_strides(shape)
    return all(n == 1 or s == w for n, s, w in zip(shape, strides, want, strict=True))


def contiguous(x: Tensor) -> Tensor:
    """`x` itself if it is contiguous, else a copy."""
    return x if is_contiguous(x) else clone(x)


def reshape(x: Tensor, shape: Shape) -> Tensor:
    """The elements in row-major order under another shape: a view where possible."""
    native = x._a
    strides = x._kind.backend.geometry(native, native)[0]
    wanted, fits = _reshaped(native.shape, strides, tuple(shape))
    return view(x if fits else clone(x), wanted)


@lru_cache(maxsize=4096)
def _reshaped(size: Sizes, strides: Sizes, shape: Sizes) -> tuple[Sizes, bool]:
    """`shape` with its -1 resolved, and whether it is a view of such strides."""
    wanted = resolve_shape("reshape", size, shape)
    return wanted, view_strides(size, strides, wanted) is not None


# ---- what they must equal


@squeeze.oracle
def _(x: Array, dim: Any = None) -> Array:
    dims = range(x.ndim) if dim is None else dim
    chosen = [d % x.ndim for d in dims] if x.ndim else []
    return x.reshape([n for d, n in enumerate(x.shape) if n != 1 or d not in chosen])


@place.oracle
def _(x: Array, shape: Sizes, index: Any) -> Array:
    y = np.zeros(shape, x.dtype)
    y[index] = x
    return y


@expand.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(3, 1), (2, 3, 4))
    yield case(make(1, 3), (-1, 3))
    yield case(make(1), (0,))
    yield case(make(), (2,))


@permute.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(2, 3, 4), (2, 0, 1))
    yield case(make(2, 3), (-1, 0))
    yield case(make(), ())


@transpose.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(2, 3, 4), 0, -1)
    yield case(make(2, 3), 1, 1)
    yield case(make(), 0, -1)


@t.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(2, 3))
    yield case(make(4))
    yield case(make())


@view.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(2, 6), (3, 4))
    yield case(make(2, 3), (-1,))
    yield case(make(0, 3), (3, 0))
    yield case(make(), (1, 1))


@squeeze.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(1, 3, 1), (0, 1, -1))
    yield case(make(1, 3, 1), (2,))
    yield case(make(1, 3, 1), ())
    yield case(make(1, 3, 1))
    yield case(make(), (0,))


@unsqueeze.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(2, 3), 1)
    yield case(make(2, 3), -1)
    yield case(make(), 0)


@basic_index.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(4, 5, 2), (slice(1, None, 2), -1))
    yield case(make(4, 3), (slice(9, 2),))
    yield case(make(5), (slice(-3, -1),))
    yield case(make(5), (2,))
    yield case(make(2, 3), ())
    yield case(make(2, 3), (None, Ellipsis, 1, None))


@place.cases
def _(make: Any) -> Iterator[Case]:
    yield case(make(3), (2, 3), (-1,))
    yield case(make(2, 2), (4, 3), (slice(0, 4, 2), slice(1, 3)))
