"""Products of matrices: of every rank, and with the weights of a layer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.dtypes import NUMERIC, Array, Sizes
from dovetail.engine import signature as sig
from dovetail.engine.arrival import summed_to
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.primitive import bmm, conj
from dovetail.ops.shape import roll
from dovetail.ops.view import expand, reshape, transpose, unsqueeze

_MATRICES = sig.parse("(n,k),(k,m)->(n,m)")


def _product_shape(a: Sizes, b: Sizes) -> Sizes:
    """The shape of `a @ b`: vectors count as a row on the left, a column on the right.

    Raises:
        ShapeError: a 0-d operand, or sizes that do not fit.
    """
    for name, shape in (("input", a), ("other", b)):
        if not shape:
            raise ShapeError(
                "matmul", name, was="0-d: both arguments need to be at least 1D",
                needed="at least one dim", remedy="use * for products with numbers",
            )  # fmt: skip
    wide_a = (1, *a) if len(a) == 1 else a
    wide_b = (*b, 1) if len(b) == 1 else b
    (shape,) = sig.infer(_MATRICES, "matmul", (wide_a, wide_b), ("input", "other"), {})
    if len(b) == 1:
        shape = shape[:-1]
    if len(a) == 1:
        shape = (
            (*shape[: len(shape) - (len(b) > 1) - 1], *shape[-1:]) if len(b) > 1 else ()
        )
    return shape


def _summed_products(input: Array, other: Array) -> Any:
    """The truth, without the library that kernels call."""
    a = input if input.ndim > 1 else input[None]
    b = other if other.ndim > 1 else other[:, None]
    y = np.einsum("...nk,...km->...nm", a, b)
    y = y if input.ndim > 1 else y[..., 0, :]
    return y if other.ndim > 1 else y[..., 0]


def _left(ct: Tensor, input_shape: Sizes, other: Tensor) -> Tensor:
    """The cotangent of the left factor."""
    other_shape = tuple(other._a.shape)
    b = conj(other)
    if len(input_shape) == len(other_shape) == 2:
        return matmul(ct, transpose(b, 0, 1))
    ct = _as_matrices(ct, input_shape, other_shape)
    b = b if len(other_shape) > 1 else unsqueeze(b, 1)
    wide = input_shape if len(input_shape) > 1 else (1, *input_shape)
    return reshape(_summed(matmul(ct, transpose(b, -2, -1)), wide), input_shape)


def _right(ct: Tensor, input: Tensor, other_shape: Sizes) -> Tensor:
    """The cotangent of the right factor; one product where that is a matrix."""
    input_shape = tuple(input._a.shape)
    a = conj(input)
    if len(input_shape) == len(other_shape) == 2:
        return matmul(transpose(a, 0, 1), ct)
    ct = _as_matrices(ct, input_shape, other_shape)
    a = a if len(input_shape) > 1 else unsqueeze(a, 0)
    wide = other_shape if len(other_shape) > 1 else (*other_shape, 1)
    if len(wide) == 2:
        rows = math.prod(a._a.shape[:-1])
        left = reshape(a, (rows, wide[0]))
        g = matmul(transpose(left, 0, 1), reshape(ct, (rows, wide[1])))
    else:
        g = _summed(matmul(transpose(a, -2, -1), ct), wide)
    return reshape(g, other_shape)


@op(out="same",
    autocast="lower", sums=True, shape=_product_shape, accepts=NUMERIC, promote="equal",
    torch="matmul", oracle=_summed_products,
    grad={"input": _left, "other": _right})  # fmt: skip
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product of the last two dims; leading dims broadcast; vectors are 1-D.

    Integers wrap; 16-bit floats accumulate in float32.

    Args:
        input: [..., n, k] or [k].
        other: [..., k, m] or [k], of the same dtype.

    Raises:
        ShapeError: a 0-d operand, or sizes that do not fit.
        DTypeError: operands of two dtypes.

    Examples:
        >>> import dovetail
        >>> a = dovetail.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> dovetail.matmul(a, dovetail.tensor([1.0, 1.0]))
        tensor([3., 7.])
    """
    left, right = tuple(input._a.shape), tuple(other._a.shape)
    shape = _product_shape(left, right)
    a = input if len(left) > 1 else unsqueeze(input, 0)
    b = other if len(right) > 1 else unsqueeze(other, 1)
    k, m = b._a.shape[-2:]
    if b.ndim == 2:
        rows = math.prod(a._a.shape[:-1])
        return reshape(bmm(reshape(a, (1, rows, k)), unsqueeze(b, 0)), shape)
    n = a._a.shape[-2]
    lead = sig.broadcast(
        "matmul", (tuple(a._a.shape[:-2]), tuple(b._a.shape[:-2])), ("input", "other")
    )
    count = math.prod(lead)
    a = reshape(expand(a, (*lead, n, k)), (count, n, k))
    b = reshape(expand(b, (*lead, k, m)), (count, k, m))
    return reshape(bmm(a, b), shape)


def _as_matrices(ct: Tensor, input_shape: Sizes, other_shape: Sizes) -> Tensor:
    """The cotangent of a product with the dims that vectors had taken away."""
    if len(other_shape) == 1:
        ct = unsqueeze(ct, -1)
    return unsqueeze(ct, -2) if len(input_shape) == 1 else ct


def _summed(x: Tensor, shape: Sizes) -> Tensor:
    return x if tuple(x._a.shape) == shape else summed_to(x, shape)


@matmul.cases
def _(make: Any) -> Any:
    for left, right in (
        ((3, 4), (4, 2)), ((4,), (4,)), ((4,), (4, 3)), ((2, 4), (4,)),
        ((2, 3, 4), (4, 2)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)),
        ((2, 1, 3, 4), (3, 4, 2)), ((3, 4), (2, 4, 2)), ((3, 0), (0, 2)),
        ((0, 3, 4), (4, 2)),
    ):  # fmt: skip
        yield case(make(*left), make(*right))


def _linear_shape(x: Sizes, w: Sizes, b: Sizes | None) -> Sizes:
    if not x or len(w) not in (1, 2):
        raise ShapeError(
            "linear", "weight" if x else "input", was=f"of shape {w if x else x}",
            needed="an input of [..., k] and a weight of [m, k] or [k]",
        )  # fmt: skip
    if x[-1] != w[-1]:
        raise ShapeError(
            "linear", "last dim of input",
            was=f"{x[-1]} (input: {x}, weight: {w}): mat1 and mat2 "
            "shapes cannot be multiplied", needed=f"{w[-1]}, the features of weight",
        )  # fmt: skip
    shape = (*x[:-1], *w[:-1])
    names = ("the product", "bias")
    if b is not None and sig.broadcast("linear", (shape, b), names) != shape:
        raise ShapeError(
            "linear", "bias", was=f"of shape {b}", needed=f"at most {shape}"
        )
    return shape


def _linear_input(ct: Tensor, weight: Tensor) -> Tensor:
    if weight.ndim == 1:
        return matmul(unsqueeze(ct, -1), unsqueeze(conj(weight), 0))
    return matmul(ct, conj(weight))


def _linear_weight(ct: Tensor, input: Tensor, weight_shape: Sizes) -> Tensor:
    x = conj(input)
    ct = ct if len(weight_shape) == 2 else unsqueeze(ct, -1)
    if x.ndim != 2:
        rows = math.prod(x._a.shape[:-1])
        x = reshape(x, (rows, x._a.shape[-1]))
        ct = reshape(ct, (rows, ct._a.shape[-1]))
    g = matmul(transpose(ct, 0, 1), x)
    return g if len(weight_shape) == 2 else reshape(g, weight_shape)


@op(autocast="lower", sums=True, shape=_linear_shape, accepts=NUMERIC, promote="equal",
    torch="F.linear", out=False,
    cases=lambda _: [
        ([3, 4], [2, 4], [2]), ([3, 4], [2, 4]), ([4], [2, 4], [2]),
        ([2, 3, 4], [5, 4], [5]), ([2, 3, 4], [4]), ([0, 4], [2, 4], [2]),
        ([3, 0], [2, 0], [2]),
    ],
    grad={
        "input": _linear_input,
        "weight": _linear_weight,
        "bias": lambda ct, bias_shape: _summed(ct, bias_shape),
    })  # fmt: skip
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last dim.

    Args:
        input: [..., k].
        weight: [m, k], or [k] for a result without that dim.
        bias: [m].

    Returns: [..., m].

    Raises:
        ShapeError: sizes that do not fit.
        DTypeError: tensors of two dtypes.

    Examples:
        >>> import dovetail
        >>> F = dovetail.nn.functional
        >>> F.linear(dovetail.ones(2, 3), dovetail.ones(1, 3))
        tensor([[3.],
                [3.]])
    """
    y = matmul(input, transpose(weight, 0, 1) if weight.ndim == 2 else weight)
    return y if bias is None else y + bias


@linear.oracle
def _(x: Array, w: Array, b: Array | None = None) -> Any:
    y = np.einsum("...k,mk->...m" if w.ndim == 2 else "...k,k->...", x, w)
    return y if b is None else y + b


def _cross_dim(a: Sizes, dim: int | None) -> int:
    """The dim of `cross`: as given, or the first of size 3."""
    if dim is not None:
        return dim
    if 3 not in a:
        raise ShapeError(
            "cross", "input", was=f"of shape {a}",
            needed="a dimension of size 3: no dimension of size 3 in input",
        )  # fmt: skip
    return a.index(3)


def _cross_shape(a: Sizes, b: Sizes, *, dim: int | None) -> Sizes:
    shape = sig.broadcast("cross", (a, b), ("input", "other"))
    along = _cross_dim(a, dim)
    if len(a) != len(b) or not shape or a[along] != 3 or b[along] != 3:
        raise ShapeError(
            "cross", f"dim {along}", was=f"of {a} and {b}",
            needed="as many dims in both, and size 3 there",
        )  # fmt: skip
    return shape


@op(out="same", shape=_cross_shape, accepts=NUMERIC, torch="cross",
    oracle=lambda input, other, dim: np.cross(
        input, other, axis=input.shape.index(3) if dim is None else dim),
    cases=lambda _: [([2, 3], [2, 3], 1), ([3, 2], [3, 1], -2)])  # fmt: skip
def cross(input: Tensor, other: Tensor, dim: Axis | None = None) -> Tensor:
    """The vector product along `dim`, where both have size 3.

    Args:
        input, other: as many dims in both; the other ones broadcast.
        dim: the first of size 3 unless given.
    """
    along = _cross_dim(tuple(input._a.shape), dim)
    one, two = ([roll(x, (-n,), (along,)) for x in (input, other)] for n in (1, 2))
    return one[0] * two[1] - two[0] * one[1]


def _cross_back(a: Tensor, b: Tensor, along: int, sizes: Sizes) -> Tensor:
    """The vector product of two of the same dims, summed to the shape of an operand."""
    g = cross(a, b, along)
    return g if tuple(g._a.shape) == sizes else summed_to(g, sizes)


cross.grad(
    input=lambda ct, other, input_shape, dim: _cross_back(
        conj(other), ct, _cross_dim(input_shape, dim), input_shape),
    other=lambda ct, input, input_shape, other_shape, dim: _cross_back(
        ct, conj(input), _cross_dim(input_shape, dim), other_shape),
)  # fmt: skip
