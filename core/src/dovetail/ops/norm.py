"""Normalisation: less the mean, over the standard deviation, scaled and shifted.

Statistics are results beside the normalised values, so that backward need not compute
them again and a batch's can be tracked; gradients flow through them too.
"""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, float32
from dovetail.engine.attributes import AxisList, Scalar, Shape
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.create import full
from dovetail.ops.elementwise import neg
from dovetail.ops.primitive import cast, sqrt
from dovetail.ops.sums import sum, sum_to
from dovetail.ops.view import reshape

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]


def statistics_dtype(dtypes: Any, attrs: Any) -> Any:
    """16-bit floats have their statistics in float32."""
    return float32 if dtypes[0] in HALF else dtypes[0]


def kept_shape(shape: Sizes, dims: Sequence[int]) -> Sizes:
    return tuple(1 if d in dims else s for d, s in enumerate(shape))


def _normalised_shape(
    x: Sizes, weight: Any, bias: Any, *, dims: Sizes, eps: float
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    for name, shape in (("weight", weight), ("bias", bias)):
        if shape is not None and not fits(tuple(shape), x):
            raise ShapeError(
                "normalise", name, was=f"of shape {tuple(shape)}",
                needed=f"one that broadcasts to the input's {x}",
            )  # fmt: skip
    kept = kept_shape(x, dims)
    return x, kept, kept, kept


def fits(shape: Sizes, x: Sizes) -> bool:
    tail = x[len(x) - len(shape) :]
    return len(shape) <= len(x) and all(
        s in (1, n) for s, n in zip(shape, tail, strict=True)
    )


@op(
    cancels=True, shape=_normalised_shape, accepts=FLOAT,
    outputs=("y", "mean", "var", "rstd"),
    result=("same", statistics_dtype, statistics_dtype, statistics_dtype),
)  # fmt: skip
def normalise(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, dims: AxisList, eps: Scalar
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(variance + eps) over `dims`, times `weight`, plus `bias`.

    The variance is the biased one; `weight` and `bias` broadcast to `x`. Beside the
    result come the mean, the variance and 1 / sqrt(variance + eps), with `dims` of
    size 1.
    """
    shape = tuple(x._a.shape)
    kept = kept_shape(shape, dims)
    share = 1 / max(math.prod(shape[d] for d in dims), 1)
    mean = reshape(sum(x, dims), kept) * share if dims else x
    centred = x - mean
    square = centred * centred
    variance = reshape(sum(square, dims), kept) * share if dims else square
    rstd = 1 / sqrt(variance + eps)
    y = centred * rstd
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias), mean, variance, rstd


def _through_input(
    ct: Any, x: Tensor, weight: Any, mean: Tensor, rstd: Tensor, dims: Sizes
) -> Any:
    """The part through the result, and that through the statistics beside it."""
    ct_y, *others = ct
    g = None
    if ct_y is not None:
        ct_y = narrowed(ct_y, x)
        g = narrowed(normalise_backward(ct_y, x, weight, mean, rstd, dims), x)
    if all(c is None for c in others):
        return g
    more = _through_statistics(x, mean, rstd, others, dims)
    return more if g is None else g + more


def _through_scale(
    ct: Any, x: Tensor, weight_shape: Sizes, mean: Tensor, rstd: Tensor
) -> Any:
    if ct[0] is None:
        return None
    ct_y = narrowed(ct[0], x)
    return narrowed(normalise_weight_backward(ct_y, x, mean, rstd, weight_shape), x)


normalise.grad(
    x=_through_input,
    weight=_through_scale,
    bias=lambda ct, bias_shape: None if ct[0] is None else sum_to(ct[0], bias_shape),
)


def _through_statistics(
    x: Tensor, mean: Tensor, rstd: Tensor, cts: Sequence[Any], dims: Sizes
) -> Tensor:
    """The part of the gradient that comes through the statistics themselves."""
    share = 1 / max(math.prod(x._a.shape[d] for d in dims), 1)
    ct_mean, ct_var, ct_rstd = cts
    slope: Any = None if ct_var is None else ct_var * 2
    if ct_rstd is not None:
        # d rstd / d var = -rstd³ / 2, and d var / dx = 2 (x - mean) / n
        inner = neg(ct_rstd * rstd * rstd * rstd)
        slope = inner if slope is None else slope + inner
    total: Any = 0.0 if slope is None else slope * (x - mean) * share
    if ct_mean is not None:
        total = ct_mean * share + total
    zeros = full(tuple(x._a.shape), 0, x._kind)
    spread = zeros + total
    return spread if spread.dtype is x.dtype else cast(spread, x.dtype)


@op(cancels=True, shape=lambda ct, x, *_, **__: x, accepts=FLOAT)
def normalise_backward(
    ct: Tensor,
    x: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    dims: AxisList,
) -> Tensor:
    """The gradient rstd (g - mean(g) - z mean(g z)) with g = ct weight, z = y's core.

    Ioffe & Szegedy 2015, section 3; Ba et al. 2016.
    """
    shape = tuple(x._a.shape)
    kept = kept_shape(shape, dims)
    share = 1 / max(math.prod(shape[d] for d in dims), 1)
    g = ct if weight is None else ct * weight
    z = (x - mean) * rstd
    if not dims:
        return g * 0
    first = reshape(sum(g, dims), kept) * share
    second = reshape(sum(g * z, dims), kept) * share
    y: Tensor = (g - first - z * second) * rstd
    return y


@op(cancels=True, shape=lambda ct, x, mean, rstd, *, shape: shape, accepts=FLOAT)
def normalise_weight_backward(
    ct: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, shape: Shape
) -> Tensor:
    """The gradient of the weight of `shape`: ct z, summed where it broadcasts."""
    return sum_to(ct * ((x - mean) * rstd), shape)


@op(
    cancels=True, shape=lambda x, mean, var, weight, bias, *, eps: x, accepts=FLOAT,
)  # fmt: skip
def normalise_by(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None,
    eps: Scalar,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias with statistics that are given."""
    scale = 1 / sqrt(var + eps)
    if weight is not None:
        scale = scale * weight
    shift = neg(mean) * scale
    return x * scale + (shift if bias is None else shift + bias)


def narrowed(y: Tensor, x: Tensor) -> Tensor:
    return y if y.dtype is x.dtype else cast(y, x.dtype)


# ---- the truth, and samples


def axes_of(x: Array, dims: Any) -> tuple[int, ...]:
    return dims if isinstance(dims, tuple) else (dims,)


@normalise.oracle
def _(x: Array, weight: Any, bias: Any, dims: Any, eps: float) -> Any:
    axes = axes_of(x, dims)
    mean = np.mean(x, axis=axes, keepdims=True)
    var = np.var(x, axis=axes, keepdims=True)
    if not x.size:  # nothing is as far from its mean as 0
        mean, var = np.zeros_like(mean), np.zeros_like(var)
    rstd = 1 / np.sqrt(var + eps)
    y = (x - mean) * rstd * (1 if weight is None else weight)
    return y + (0 if bias is None else bias), mean, var, rstd


@normalise.cases
def _(make: Any) -> Any:
    yield case(make(4, 5), None, None, (1,), 1e-3)
    yield case(make(2, 3, 4), make(4), make(4), 2, 1e-3)
    yield case(make(2, 3, 4), make(3, 4), None, (1, 2), 1e-2)
    yield case(make(3, 2, 4), make(1, 2, 1), make(1, 2, 1), (0, 2), 1e-3)
    yield case(make(2, 3, 2, 2), None, make(3, 1, 1), (0, 2, 3), 0.1)


@normalise_backward.oracle
def _(ct: Array, x: Array, weight: Any, mean: Array, rstd: Array, dims: Any) -> Array:
    axes = axes_of(x, dims)
    g = ct * (1 if weight is None else weight)
    z = (x - mean) * rstd
    along = np.mean(g * z, axis=axes, keepdims=True)
    y: Array = (g - np.mean(g, axis=axes, keepdims=True) - z * along) * rstd
    return y


@normalise_backward.cases
def _(make: Any) -> Any:
    mean, rstd = make(4, 1), make(4, 1, low=0.2, high=3)
    yield case(make(4, 5), make(4, 5), None, mean, rstd, (1,))
    mean, rstd = make(1, 2, 1), make(1, 2, 1, low=0.2, high=3)
    yield case(make(3, 2, 4), make(3, 2, 4), make(1, 2, 1), mean, rstd, (0, 2))


@normalise_weight_backward.oracle
def _(ct: Array, x: Array, mean: Array, rstd: Array, shape: Sizes) -> Array:
    wide = (1,) * (x.ndim - len(shape)) + tuple(shape)
    axes = tuple(d for d, n in enumerate(wide) if n == 1)
    y: Array = np.sum(ct * (x - mean) * rstd, axis=axes, keepdims=True).reshape(shape)
    return y


@normalise_weight_backward.cases
def _(make: Any) -> Any:
    mean, rstd = make(4, 1), make(4, 1, low=0.2, high=3)
    yield case(make(4, 5), make(4, 5), mean, rstd, (5,))
    mean, rstd = make(1, 2, 1), make(1, 2, 1, low=0.2, high=3)
    yield case(make(3, 2, 4), make(3, 2, 4), mean, rstd, (2, 1))


@normalise_by.oracle
def _(x: Array, mean: Array, var: Array, weight: Any, bias: Any, eps: float) -> Array:
    y = (x - mean) / np.sqrt(var + eps) * (1 if weight is None else weight)
    return np.asarray(y + (0 if bias is None else bias))


@normalise_by.cases
def _(make: Any) -> Any:
    yield case(make(2, 3), make(3), make(3, low=0.2, high=3), None, None, 1e-3)
    mean, var, weight, bias = (make(3, 1, low=0.2, high=3) for _ in range(4))
    yield case(make(2, 3, 4), mean, var, weight, bias, 1e-3)
