"""Normalisation by the root mean square, which is a result beside the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, Array, Sizes
from dovetail.engine.attributes import AxisList, Scalar
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.norm import (
    check_weights,
    kept_shape,
    mean_over,
    narrowed,
    share_of,
    statistics_dtype,
)
from dovetail.ops.primitive import sqrt
from dovetail.ops.sums import sum_to


def _rms_shape(x: Sizes, weight: Any, *, dims: Sizes, eps: float) -> Any:
    check_weights("rms_norm", x, weight=weight)
    return x, kept_shape(x, dims)


@op(cancels=True, shape=_rms_shape, accepts=FLOAT, outputs=("y", "rrms"),
    result=("same", statistics_dtype),
    cases=lambda _: [
        ([4, 5], None, (1,), 0.001), ([2, 3, 4], [3, 4], (1, 2), 0.01),
        ([300, 3], None, (1,), 0.5),
    ])  # fmt: skip
def rms_norm(
    x: Tensor, weight: Tensor | None, dims: AxisList, eps: Scalar
) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x²) + eps) over `dims`, times `weight` (Zhang & Sennrich 2019).

    Beside it the reciprocal root mean square, with `dims` of size 1.
    """
    rrms = 1 / sqrt(mean_over(x * x, tuple(dims)) + eps)
    y = x * rrms
    return (y if weight is None else y * weight), rrms


def _through_root(ct: Any, x: Tensor, weight: Any, rrms: Tensor, dims: Sizes) -> Tensor:
    ct_y, inner = ct
    gx = None
    if ct_y is not None:
        g = ct_y if weight is None else ct_y * weight
        gx = g * rrms
        along = sum_to(g * x, tuple(rrms._a.shape))
        inner = along if inner is None else inner + along
    # d rrms / dx = -rrms³ x / n
    more = -(inner * rrms * rrms * share_of(x._a, dims)) * (x * rrms)
    return narrowed(more if gx is None else gx + more, x)


rms_norm.grad(
    x=_through_root,
    weight=lambda ct, x, weight_shape, rrms: (
        None if ct[0] is None else sum_to(ct[0] * narrowed(x * rrms, x), weight_shape)
    ),
)


@rms_norm.oracle
def _(x: Array, weight: Any, dims: Any, eps: float) -> Any:
    axes = dims if isinstance(dims, tuple) else (dims,)
    square = np.sum(x * x, axis=axes, keepdims=True) * share_of(x, axes)
    rrms = 1 / np.sqrt(square + eps)
    return x * rrms * (1 if weight is None else weight), rrms
