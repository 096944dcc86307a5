"""Normalisation by the root mean square, which is a result beside the values."""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT
from dovetail.engine.attributes import AxisList, Scalar
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.norm import axes_of, fits, kept_shape, narrowed, statistics_dtype
from dovetail.ops.primitive import sqrt
from dovetail.ops.sums import sum, sum_to
from dovetail.ops.view import reshape

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]


def _rms_shape(x: Sizes, weight: Any, *, dims: Sizes, eps: float) -> Any:
    if weight is not None and not fits(tuple(weight), x):
        raise ShapeError(
            "rms_norm", "weight", was=f"of shape {tuple(weight)}",
            needed=f"one that broadcasts to the input's {x}",
        )  # fmt: skip
    return x, kept_shape(x, dims)


@op(
    cancels=True, shape=_rms_shape, accepts=FLOAT, outputs=("y", "rrms"),
    result=("same", statistics_dtype),
)  # fmt: skip
def rms_norm(
    x: Tensor, weight: Tensor | None, dims: AxisList, eps: Scalar
) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x²) + eps) over `dims`, times `weight` (Zhang & Sennrich 2019).

    Beside it the reciprocal root mean square, with `dims` of size 1.
    """
    shape = tuple(x._a.shape)
    share = 1 / max(math.prod(shape[d] for d in dims), 1)
    square = x * x
    if dims:
        square = reshape(sum(square, dims), kept_shape(shape, dims)) * share
    rrms = 1 / sqrt(square + eps)
    y = x * rrms
    return (y if weight is None else y * weight), rrms


def _through_root(ct: Any, x: Tensor, weight: Any, rrms: Tensor, dims: Sizes) -> Tensor:
    ct_y, inner = ct
    share = 1 / max(math.prod(x._a.shape[d] for d in dims), 1)
    gx = None
    if ct_y is not None:
        g = ct_y if weight is None else ct_y * weight
        gx = g * rrms
        along = sum_to(g * x, tuple(rrms._a.shape))
        inner = along if inner is None else inner + along
    # d rrms / dx = -rrms³ x / n
    more = -(inner * rrms * rrms * share) * (x * rrms)
    return narrowed(more if gx is None else gx + more, x)


rms_norm.grad(
    x=_through_root,
    weight=lambda ct, x, weight_shape, rrms: (
        None if ct[0] is None else sum_to(ct[0] * narrowed(x * rrms, x), weight_shape)
    ),
)


@rms_norm.oracle
def _(x: Array, weight: Any, dims: Any, eps: float) -> Any:
    square = np.mean(x * x, axis=axes_of(x, dims), keepdims=True)
    rrms = 1 / np.sqrt((square if x.size else np.zeros_like(square)) + eps)
    return x * rrms * (1 if weight is None else weight), rrms


@rms_norm.cases
def _(make: Any) -> Any:
    yield case(make(4, 5), None, (1,), 1e-3)
    yield case(make(2, 3, 4), make(3, 4), (1, 2), 1e-2)
