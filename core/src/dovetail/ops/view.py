"""Views: the same memory under another geometry; a write is seen through each.

A geometry rule takes shape and element strides and gives shape, strides and offset.
Called with strides None, it serves as the shape rule.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np

from dovetail.dtypes import STORED, Array, Sizes
from dovetail.engine.attributes import (
    AxesOrEvery,
    Axis,
    AxisSet,
    Index,
    NewAxis,
    Shape,
)  # fmt: skip
from dovetail.engine.declare import op
from dovetail.engine.inplace import inplace
from dovetail.engine.integers import EVERY, MOST
from dovetail.engine.tensor import Tensor
from dovetail.engine.views import unshared
from dovetail.errors import DimError, ShapeError
from dovetail.ops.brackets import indexed
from dovetail.ops.create import zeros_of
from dovetail.ops.primitive import clone
from dovetail.ops.view_shapes import resolve_shape, view_strides

Geometry = tuple[Sizes, Sizes, int]
_VIEW: Any = {"accepts": STORED, "promote": None, "view": True, "unrounded": True}


def _back(ct: Tensor, input_shape: Sizes) -> Tensor:
    """The gradient of a view of all elements in their order."""
    return reshape(ct, input_shape)


def _of_dims(size: Sizes, strides: Sizes | None, order: Any) -> Geometry:
    """The geometry of some dims, in that order."""
    steps = strides or (0,) * len(size)
    return tuple([size[d] for d in order]), tuple([steps[d] for d in order]), 0


_LARGE: Final = 1 << 15  # sizes with which an overflow may begin


def _expanded(have: Sizes, strides: Sizes | None, *, size: Sizes) -> Geometry:
    missing = len(size) - len(have)
    if missing < 0:
        raise ShapeError(
            "expand", "size", was=size,
            needed=f"at least the {len(have)} dims of {have}",
        )  # fmt: skip
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
    if max(new_size, default=0) > _LARGE and math.prod(new_size) > MOST:
        raise ShapeError("expand", "size", was=size, needed=f"at most {MOST} elements")
    return tuple(new_size), tuple(new_strides), 0


@op(torch="torch.broadcast_to Tensor.broadcast_to* Tensor.expand*", **_VIEW,
    geometry=_expanded,
    oracle=lambda x, size: np.broadcast_to(x, _expanded(x.shape, None, size=size)[0]),
    cases=lambda _: [([3, 1], (2, 3, 4)), ([1, 3], (-1, 3)), ([1], (0,)), ([], (2,))],
)  # fmt: skip
def expand(input: Tensor, size: Shape) -> Tensor:
    """Dims of size 1 repeated to `size`, without a copy; -1 keeps one; new dims lead.

    Returns: a view, which has to be copied before it is written.

    Raises: ShapeError for a size that is neither 1 nor the one wanted.

    >>> import dovetail as dt
    >>> dt.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """


def _permuted(size: Sizes, strides: Sizes | None, *, dims: Sizes) -> Geometry:
    if sorted(dims) != list(range(len(size))):
        raise DimError(
            "permute", "dims", was=dims, needed=f"each of 0..{len(size) - 1} once"
        )
    return _of_dims(size, strides, dims)


def _permuted_back(ct: Tensor, dims: Sizes) -> Tensor:
    return permute(ct, tuple(sorted(range(len(dims)), key=dims.__getitem__)))


@op(torch="torch.permute Tensor.permute*", geometry=_permuted, grad=_permuted_back,
    oracle=lambda x, dims: np.transpose(x, dims), **_VIEW,
    cases=lambda _: [([2, 3, 4], (2, 0, 1)), ([2, 3], (-1, 0)), ([], ())])  # fmt: skip
def permute(input: Tensor, dims: AxisSet) -> Tensor:
    """The dims of `input` in another order.

    Raises: DimError unless each dim is named once.

    >>> torch.permute(torch.ones(2, 3, 4), (2, 0, 1)).shape
    dovetail.Size([4, 2, 3])
    """


def _swapped(size: Sizes, strides: Sizes | None, *, dim0: int, dim1: int) -> Geometry:
    order = list(range(len(size)))
    if order:
        order[dim0], order[dim1] = dim1, dim0
    return _of_dims(size, strides, order)


@op(torch="transpose swapdims Tensor.transpose_ Tensor.swapdims_", geometry=_swapped,
    oracle=lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1) if x.ndim else x,
    cases=lambda _: [([2, 3, 4], 0, -1), ([2, 3], 1, 1), ([], 0, -1)],
    **_VIEW)  # fmt: skip
def transpose(input: Tensor, dim0: Axis, dim1: Axis) -> Tensor:
    """`input` with two dims swapped.

    Raises: DimError for a dim that is not there.

    >>> torch.transpose(torch.ones(2, 3), 0, 1).shape
    dovetail.Size([3, 2])
    """


transpose.grad(input=lambda ct, dim0, dim1: transpose(ct, dim0, dim1))


def _turned(size: Sizes, strides: Sizes | None) -> Geometry:
    if len(size) > 2:
        raise ShapeError(
            "t", "input", was=f"of {len(size)} dims", needed="at most two",
            remedy="use mT or permute",
        )  # fmt: skip
    return _of_dims(size, strides, range(len(size))[::-1])


@op(torch="t Tensor.t_", geometry=_turned, oracle=np.transpose,
    cases=lambda _: [[2, 3], [3], []], **_VIEW)  # fmt: skip
def t(input: Tensor) -> Tensor:
    """A matrix transposed; fewer dims stay as they are."""


t.grad(input=lambda ct: t(ct))


def _viewed(size: Sizes, strides: Sizes | None, *, shape: Sizes) -> Geometry:
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


@op(layout_matters=True, geometry=_viewed, grad=_back, **_VIEW,
    oracle=lambda x, shape: x.reshape(shape),
    cases=lambda _: [([2, 6], (3, 4)), ([2, 3], (-1,)), ([0, 3], (3, 0)), ([], (1, 1))],
)  # fmt: skip
def view(input: Tensor, shape: Shape) -> Tensor:
    """The elements of `input` in the same order under another shape; never copies.

    One size may be -1. Raises ShapeError where strides would need a copy.
    """


def _squeezed(size: Sizes, strides: Sizes | None, *, dim: Sizes) -> Geometry:
    kept = [d for d, n in enumerate(size) if n != 1 or d not in dim]
    return _of_dims(size, strides, kept)


def _squeeze_oracle(x: Array, dim: Any = None) -> Array:
    dims = range(x.ndim) if dim is None else dim
    ones = {d % x.ndim for d in dims if x.ndim and x.shape[d] == 1}
    return np.squeeze(x, tuple(ones))


@op(torch="torch.squeeze Tensor.squeeze* Tensor.squeeze_*", geometry=_squeezed,
    grad=_back, **_VIEW,
    oracle=_squeeze_oracle, cases=lambda _: [
        ([1, 3, 1], (0, 1, -1)), ([1, 3, 1], (2,)), ([1, 3, 1], ()), [1, 3, 1],
        ([], (0,)),
    ])  # fmt: skip
def squeeze(input: Tensor, dim: AxesOrEvery = EVERY) -> Tensor:
    """`input` without dims of size 1: all of them, or those of `dim`.

    Returns: a view; dims of other sizes stay, also where they are named.

    Raises: DimError for a dim that is not there.

    >>> torch.squeeze(torch.ones(1, 3, 1)).shape
    dovetail.Size([3])
    """


def _unsqueezed(size: Sizes, strides: Sizes | None, *, dim: int) -> Geometry:
    steps = strides or (0,) * len(size)
    step = size[dim] * steps[dim] if dim < len(size) else 1
    return (*size[:dim], 1, *size[dim:]), (*steps[:dim], step, *steps[dim:]), 0


@op(torch="unsqueeze Tensor.unsqueeze_", geometry=_unsqueezed, grad=_back,
    oracle=lambda x, dim: np.expand_dims(x, dim), **_VIEW,
    cases=lambda _: [([2, 3], 1), ([2, 3], -1), ([], 0)])  # fmt: skip
def unsqueeze(input: Tensor, dim: NewAxis) -> Tensor:
    """`input` with a dim of size 1 inserted at `dim`.

    Returns: a view.

    Raises: DimError for a place below -dims - 1 or above dims.

    >>> torch.unsqueeze(torch.ones(3), 0).shape
    dovetail.Size([1, 3])
    """


@op(geometry=indexed, oracle=lambda x, index: np.asarray(x[index]), **_VIEW,
    cases=lambda _: [
        ([4, 5, 2], (slice(1, None, 2), -1)), ([4, 3], (slice(9, 2),)),
        ([5], (slice(-3, -1),)), ([5], (2,)), ([2, 3], ()),
        ([2, 3], (None, Ellipsis, 1, None)),
    ])  # fmt: skip
def basic_index(input: Tensor, index: Index) -> Tensor:
    """`input[index]` for an int, a slice with a positive step, or a tuple of these.

    One entry a dim, from the first; None inserts a dim of size 1, and `...` stands for
    the dims without an entry, which otherwise follow.
    """


def _place_oracle(x: Array, shape: Sizes, index: Any) -> Array:
    y = np.zeros(shape, x.dtype)
    y[index] = x
    return y


def _place_shape(x: Sizes, *, shape: Sizes, index: Any) -> Sizes:
    seen, _, _ = indexed(shape, None, index=index)
    if seen != tuple(x):
        raise ShapeError(
            "place", "input", was=f"of shape {tuple(x)}",
            needed=f"shape {seen}, that of what the index reads",
        )  # fmt: skip
    return shape


@op(shape=_place_shape, accepts=STORED, promote=None,
    unrounded=True, grad=lambda ct, index: basic_index(ct, index), oracle=_place_oracle,
    cases=lambda _: [
        ([3], (2, 3), (-1,)), ([2, 2], (4, 3), (slice(0, 4, 2), slice(1, 3))),
    ])  # fmt: skip
def place(input: Tensor, shape: Shape, index: Index) -> Tensor:
    """Zeros of `shape` with `input` written at a basic `index`."""
    whole = zeros_of(input, shape)
    inplace("place", lambda _: input, basic_index(whole, index))
    return whole


basic_index.grad(input=lambda ct, input_shape, index: place(ct, input_shape, index))


def widened(x: Tensor, shape: Sizes) -> Tensor:
    """`x` itself if it has that shape, else expanded to it."""
    return x if tuple(x._a.shape) == tuple(shape) else expand(x, tuple(shape))


def is_contiguous(x: Tensor) -> bool:
    """Whether the elements lie in row-major order without gaps."""
    found: bool = x._kind.backend.is_contiguous(x._a)
    return found


def contiguous(x: Tensor) -> Tensor:
    """`x` itself if it is contiguous, else a copy."""
    return x if is_contiguous(x) else clone(x)


def reshape(x: Tensor, shape: Shape) -> Tensor:
    """The elements in row-major order under another shape: a view where possible."""
    native = x._a
    strides = x._kind.backend.geometry(native, native)[0]
    wanted, fits = _reshaped(native.shape, strides, tuple(shape))
    return view(x, wanted) if fits else unshared(view(clone(x), wanted))


@lru_cache(maxsize=4096)
def _reshaped(size: Sizes, strides: Sizes, shape: Sizes) -> tuple[Sizes, bool]:
    """`shape` with its -1 resolved, and whether it is a view of such strides."""
    wanted = resolve_shape("reshape", size, shape)
    return wanted, view_strides(size, strides, wanted) is not None
