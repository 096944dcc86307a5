"""Products and arrangements that torch.linalg has under names of its own."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.dtypes import HALF, bool_
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, ShapeError
from dovetail.frontend.matmul import chain_matmul
from dovetail.ops import diagonal as diagonals
from dovetail.ops import matmul as products
from dovetail.ops.create import filled
from dovetail.ops.formats import conj
from dovetail.ops.scan import cumprod
from dovetail.ops.shape import cat, flip
from dovetail.ops.sums import sum
from dovetail.ops.view import expand, squeeze, unsqueeze


@public("linalg.matmul", out="same")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """`torch.matmul` under another name."""
    return products.matmul(input, other)


@public("linalg.cross", out=True)
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along `dim`, where both have size 3."""
    if input.ndim != other.ndim:
        raise ShapeError(
            "linalg.cross", "other", was=f"{other.ndim}-d for {input.ndim}-d input",
            needed="as many dims in both",
        )  # fmt: skip
    return products.cross(input, other, dim)


@public("linalg.diagonal")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
    return diagonals.diagonal(A, offset, dim1, dim2)


@public("linalg.vecdot", out=True, autocast="lower")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sum of products along `dim`, with the conjugate of `x`."""
    if x.dtype is not y.dtype:
        raise ArgumentError(
            "linalg.vecdot", "y", was=y.dtype.name, needed=x.dtype.name,
            remedy="cast one of them with .to(dtype)",
        )  # fmt: skip
    return sum(conj(x) * y, dim, dtype=x.dtype)


@public("linalg.multi_dot", out=True)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices in the order that costs least.

    The first and the last may be vectors.
    """
    name, each = "linalg.multi_dot", list(tensors)
    if len(each) < 2:
        raise ArgumentError(name, "tensors", was=len(each), needed="at least 2")
    ends = [i for i in (0, -1) if each[i].ndim == 1]
    if 0 in ends:
        each[0] = unsqueeze(each[0], 0)
    if -1 in ends:
        each[-1] = unsqueeze(each[-1], 1)
    for i, x in enumerate(each):
        if x.ndim != 2:
            raise ShapeError(
                name, f"tensors[{i}]", was=f"{x.ndim}-d", needed="a matrix"
            )
    y = chain_matmul(*each)
    y = squeeze(y, (1,)) if -1 in ends else y
    return squeeze(y, (0,)) if 0 in ends else y


def _powers(x: Tensor, count: int) -> Tensor:
    ones = expand(unsqueeze(filled(x, 1), -1), (*x.shape, min(count, 1)))
    if count < 2:
        return ones
    rest = expand(unsqueeze(x, -1), (*x.shape, count - 1))
    return cat([ones, cumprod(rest, -1)], -1)


@public("linalg.vander")
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers 0 … N-1 of each element along a new last dim."""
    if x.dtype is bool_ or x.dtype in HALF:
        raise DTypeError(
            "linalg.vander", "x", was=x.dtype.name,
            needed="integers, or floating point or complex numbers of 32 bits or more",
        )  # fmt: skip
    count = N if N is not None else x.shape[-1] if x.ndim else 1
    if count < 2:
        raise ArgumentError("linalg.vander", "N", was=count, needed="more than 1")
    x = x if x.ndim else unsqueeze(x, 0)
    return _powers(x, count)


@public("torch.vander")
def plain_vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns, from the highest unless asked."""
    if x.ndim != 1:
        raise ShapeError("vander", "x", was=f"{x.ndim}-d", needed="one dim")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise ArgumentError("vander", "N", was=N, needed="at least 0")
    y = _powers(x, count)
    return y if increasing else flip(y, (-1,))
