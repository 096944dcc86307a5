"""Products of matrices: of every rank, and with the weights of a layer."""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.dtypes import NUMERIC
from dovetail.engine import signature as sig
from dovetail.engine.attributes import Axis
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.primitive import bmm, conj
from dovetail.ops.shape import roll
from dovetail.ops.sums import sum_to
from dovetail.ops.view import expand, reshape, transpose, unsqueeze

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]
_MATRICES = sig.parse("(n,k),(k,m)->(n,m)")


def _product_shape(a: Sizes, b: Sizes) -> Sizes:
    """The shape of `a @ b`: vectors count as a row on the left, a column on the right.

    Raises:
        ShapeError: a 0-d operand, or sizes that do not fit.
    """
    for name, shape in (("a", a), ("b", b)):
        if not shape:
            raise ShapeError(
                "matmul", name, was="0-d: both arguments need to be at least 1D",
                needed="at least one dim", remedy="use * for products with numbers",
            )  # fmt: skip
    wide_a = (1, *a) if len(a) == 1 else a
    wide_b = (*b, 1) if len(b) == 1 else b
    (shape,) = sig.infer(_MATRICES, "matmul", (wide_a, wide_b), ("a", "b"), {})
    if len(b) == 1:
        shape = shape[:-1]
    if len(a) == 1:
        shape = (
            (*shape[: len(shape) - (len(b) > 1) - 1], *shape[-1:]) if len(b) > 1 else ()
        )
    return shape


@op(sums=True, shape=_product_shape, accepts=NUMERIC)
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Matrix product of the last two dims; leading dims broadcast; vectors are 1-D.

    Integers wrap; 16-bit floats accumulate in float32.
    """
    size_a, size_b = tuple(a._a.shape), tuple(b._a.shape)
    shape = _product_shape(size_a, size_b)
    a = a if len(size_a) > 1 else unsqueeze(a, 0)
    b = b if len(size_b) > 1 else unsqueeze(b, 1)
    k, m = b._a.shape[-2:]
    if b.ndim == 2:
        rows = math.prod(a._a.shape[:-1])
        return reshape(bmm(reshape(a, (1, rows, k)), unsqueeze(b, 0)), shape)
    n = a._a.shape[-2]
    lead = sig.broadcast(
        "matmul", (tuple(a._a.shape[:-2]), tuple(b._a.shape[:-2])), ("a", "b")
    )
    count = math.prod(lead)
    a = reshape(expand(a, (*lead, n, k)), (count, n, k))
    b = reshape(expand(b, (*lead, k, m)), (count, k, m))
    return reshape(bmm(a, b), shape)


@matmul.vjp(a="b", b="a")
def _(
    ct: Tensor, a: Any, b: Any, a_shape: Sizes, b_shape: Sizes, need: Any
) -> tuple[Any, Any]:
    if len(a_shape) == 2 and len(b_shape) == 2:
        ga = matmul(ct, transpose(conj(b), 0, 1)) if need[0] else None
        gb = matmul(transpose(conj(a), 0, 1), ct) if need[1] else None
        return ga, gb
    if len(b_shape) == 1:
        ct = unsqueeze(ct, -1)
    if len(a_shape) == 1:
        ct = unsqueeze(ct, -2)
    ga = _left(ct, conj(b), a_shape, b_shape) if need[0] else None
    gb = _right(ct, conj(a), a_shape, b_shape) if need[1] else None
    return ga, gb


def _left(ct: Tensor, b: Tensor, a_shape: Sizes, b_shape: Sizes) -> Tensor:
    """The cotangent of the left factor."""
    b = b if len(b_shape) > 1 else unsqueeze(b, 1)
    ga = matmul(ct, transpose(b, -2, -1))
    wide = a_shape if len(a_shape) > 1 else (1, *a_shape)
    return reshape(_summed(ga, wide), a_shape)


def _right(ct: Tensor, a: Tensor, a_shape: Sizes, b_shape: Sizes) -> Tensor:
    """The cotangent of the right factor; one product where `b` is a matrix."""
    a = a if len(a_shape) > 1 else unsqueeze(a, 0)
    wide = b_shape if len(b_shape) > 1 else (*b_shape, 1)
    if len(wide) == 2:
        rows = math.prod(a._a.shape[:-1])
        left = reshape(a, (rows, wide[0]))
        gb = matmul(transpose(left, 0, 1), reshape(ct, (rows, wide[1])))
    else:
        gb = _summed(matmul(transpose(a, -2, -1), ct), wide)
    return reshape(gb, b_shape)


def _summed(x: Tensor, shape: Sizes) -> Tensor:
    return x if tuple(x._a.shape) == shape else sum_to(x, shape)


@matmul.oracle
def _(a: Array, b: Array) -> Any:
    return np.matmul(a, b)


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
            "linear", "x" if not x else "w", was=f"of shape {w if x else x}",
            needed="x of [..., k] and w of [m, k]",
        )  # fmt: skip
    if x[-1] != w[-1]:
        raise ShapeError(
            "linear", "last dim of x", was=f"{x[-1]} (x: {x}, w: {w}): mat1 and mat2 "
            "shapes cannot be multiplied", needed=f"{w[-1]}, the features of w",
        )  # fmt: skip
    shape = (*x[:-1], *w[:-1])
    if b is not None and sig.broadcast("linear", (shape, b), ("x @ w", "b")) != shape:
        raise ShapeError("linear", "b", was=f"of shape {b}", needed=f"at most {shape}")
    return shape


@op(sums=True, shape=_linear_shape, accepts=NUMERIC)
def linear(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """`x @ w.T + b` over the last dim: x [..., k], w [m, k] or [k], b [m]."""
    y = matmul(x, transpose(w, 0, 1) if w.ndim == 2 else w)
    return y if b is None else y + b


@linear.vjp(x="w", w="x")
def _(
    ct: Tensor, x: Any, w: Any, x_shape: Sizes, w_shape: Sizes, b_shape: Any, need: Any
) -> tuple[Any, Any, Any]:
    gx = gw = gb = None
    if need[2]:
        gb = _summed(ct, b_shape)
    if len(w_shape) == 1:
        ct = unsqueeze(ct, -1)
    if need[0]:
        gx = matmul(ct, conj(w) if len(w_shape) == 2 else unsqueeze(conj(w), 0))
    if need[1]:
        x = conj(x)
        if len(x_shape) != 2:
            rows = math.prod(x_shape[:-1])
            x = reshape(x, (rows, x_shape[-1]))
            ct = reshape(ct, (rows, ct._a.shape[-1]))
        gw = matmul(transpose(ct, 0, 1), x)
        gw = gw if len(w_shape) == 2 else reshape(gw, w_shape)
    return gx, gw, gb


@linear.oracle
def _(x: Array, w: Array, b: Array | None = None) -> Any:
    y = np.einsum("...k,mk->...m" if w.ndim == 2 else "...k,k->...", x, w)
    return y if b is None else y + b


@linear.cases
def _(make: Any) -> Any:
    yield case(make(3, 4), make(2, 4), make(2))
    yield case(make(3, 4), make(2, 4))
    yield case(make(4), make(2, 4), make(2))
    yield case(make(2, 3, 4), make(5, 4), make(5))
    yield case(make(2, 3, 4), make(4))
    yield case(make(0, 4), make(2, 4), make(2))
    yield case(make(3, 0), make(2, 0), make(2))


def _cross_shape(a: Sizes, b: Sizes, *, dim: int) -> Sizes:
    shape = sig.broadcast("cross", (a, b), ("a", "b"))
    if len(a) != len(b) or not shape or a[dim] != 3 or b[dim] != 3:
        raise ShapeError(
            "cross", f"dim {dim}", was=f"of {a} and {b}",
            needed="as many dims in both, and size 3 there",
        )  # fmt: skip
    return shape


@op(shape=_cross_shape, accepts=NUMERIC)
def cross(a: Tensor, b: Tensor, dim: Axis) -> Tensor:
    """The vector product along `dim`, where both have size 3."""
    one, two = ([roll(x, (-n,), (dim,)) for x in (a, b)] for n in (1, 2))
    return one[0] * two[1] - two[0] * one[1]


@cross.oracle
def _(a: Array, b: Array, dim: int) -> Any:
    return np.cross(a, b, axis=dim)


@cross.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), make(2, 3), 1)
    yield case(make(3, 2), make(3, 1), -2)
