"""Normalisation: less the mean, over the standard deviation, scaled and shifted.

Statistics are results beside the normalised values, so that backward need not compute
them again and a batch's can be tracked; gradients flow through them too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, Array, Sizes, float32
from dovetail.engine.arrival import summed_to
from dovetail.engine.attributes import AxisList, Scalar, Shape
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.create import full
from dovetail.ops.elementwise import neg
from dovetail.ops.primitive import cast, sqrt
from dovetail.ops.sums import sum, sum_to


def statistics_dtype(dtypes: Any, attrs: Any) -> Any:
    """16-bit floats have their statistics in float32."""
    return float32 if dtypes[0] in HALF else dtypes[0]


def kept_shape(shape: Sizes, dims: Sequence[int]) -> Sizes:
    return tuple(1 if d in dims else s for d, s in enumerate(shape))


def check_weights(name: str, x: Sizes, **weights: Any) -> None:
    """Raise for one that does not broadcast to the input's shape."""
    for what, shape in weights.items():
        if shape is None:
            continue
        tail = x[len(x) - len(shape) :]
        if len(shape) > len(x) or any(
            s not in (1, n) for s, n in zip(shape, tail, strict=True)
        ):
            raise ShapeError(
                name, what, was=f"of shape {tuple(shape)}",
                needed=f"one that broadcasts to the input's {x}",
            )  # fmt: skip


def share_of(x: Any, dims: Sequence[int]) -> float:
    """One over the number of elements along `dims`."""
    return 1.0 / max(math.prod(int(x.shape[d]) for d in dims), 1)


def mean_over(x: Tensor, dims: Sizes) -> Tensor:
    """The mean along dims, which stay with size 1."""
    return sum(x, dims, True) * share_of(x._a, dims) if dims else x


def narrowed(y: Tensor, x: Tensor) -> Tensor:
    return y if y.dtype is x.dtype else cast(y, x.dtype)


def _normalised_shape(
    x: Sizes, weight: Any, bias: Any, *, dims: Sizes, eps: float
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    check_weights("normalise", x, weight=weight, bias=bias)
    kept = kept_shape(x, dims)
    return x, kept, kept, kept


def _through_input(
    ct: Any, x: Tensor, weight: Any, mean: Tensor, rstd: Tensor, dims: Sizes
) -> Any:
    """The part through the result, and that through the statistics beside it."""
    ct_y, *others = ct
    g = None
    if ct_y is not None:
        g = normalise_backward(narrowed(ct_y, x), x, weight, mean, rstd, dims)
    if all(c is None for c in others):
        return g
    more = _through_statistics(x, mean, rstd, others, dims)
    return more if g is None else g + more


def _through_scale(
    ct: Any, x: Tensor, weight_shape: Sizes, mean: Tensor, rstd: Tensor
) -> Any:
    if ct[0] is None:
        return None
    return normalise_weight_backward(narrowed(ct[0], x), x, mean, rstd, weight_shape)


def differing(x: Array, weight: Any, bias: Any, dims: Any, eps: float) -> Any:
    """What results are differences of: numbers and their mean, over the deviation.

    Of two numbers side by side each is one deviation away from their mean, however that
    is rounded in the truth; in a format, rounding moves it by a part of what it is.
    """
    _, mean, var, rstd = normalise_truth(x, weight, bias, dims, eps)
    largest = np.max(np.abs(x), initial=0.0)
    size = np.abs(mean) * rstd * (1 if weight is None else np.abs(weight))
    size = np.broadcast_to(size, x.shape)
    size = size + (0 if bias is None else np.abs(bias)) + largest
    return size, *(np.maximum(largest, np.abs(z)) for z in (mean, var, rstd))


# Squares of deviations leave the format before the result does.
@op(cancels=differing, shape=_normalised_shape, accepts=FLOAT,
    undefined_on=("extreme",), outputs=("y", "mean", "var", "rstd"),
    result=("same", statistics_dtype, statistics_dtype, statistics_dtype),
    cases=lambda _: [
        ([4, 5], None, None, (1,), 0.001), ([2, 3, 4], [4], [4], 2, 0.001),
        ([2, 3, 4], [3, 4], None, (1, 2), 0.01),
        ([3, 2, 4], [1, 2, 1], [1, 2, 1], (0, 2), 0.001),
        ([2, 3, 2, 2], None, [3, 1, 1], (0, 2, 3), 0.1),
    ],
    grad={
        "x": _through_input,
        "weight": _through_scale,
        "bias": lambda ct, bias_shape: (
            None if ct[0] is None else summed_to(ct[0], tuple(bias_shape))),
    })  # fmt: skip
def normalise(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, dims: AxisList, eps: Scalar
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(variance + eps) over `dims`, times `weight`, plus `bias`.

    The variance is the biased one; `weight` and `bias` broadcast to `x`. Beside the
    result come the mean, the variance and 1 / sqrt(variance + eps), with `dims` of
    size 1; mean and variance of no elements are 0.
    """
    mean = mean_over(x, tuple(dims))
    centred = x - mean
    variance = mean_over(centred * centred, tuple(dims))
    rstd = 1 / sqrt(variance + eps)
    y = centred * rstd
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias), mean, variance, rstd


def _through_statistics(
    x: Tensor, mean: Tensor, rstd: Tensor, cts: Sequence[Any], dims: Sizes
) -> Tensor:
    """The part of the gradient that comes through the statistics themselves."""
    share = share_of(x._a, dims)
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
    return narrowed(zeros + total, x)


def _mean(x: Array, dims: Any) -> Array:
    """NumPy: the mean along dims, which stay; of nothing it is 0, as a sum is."""
    total: Array = np.sum(x, axis=dims, keepdims=True)
    mean: Array = total / max(x.size / max(total.size, 1), 1)
    return mean


def _backward_truth(
    ct: Array, x: Array, weight: Any, mean: Array, rstd: Array, dims: Any
) -> Any:
    g = ct * (1 if weight is None else weight)
    z = (x - mean) * rstd
    return (g - _mean(g, dims) - z * _mean(g * z, dims)) * rstd


def _backward_calls(make: Any) -> Any:
    mean, rstd = make(4, 1), make(4, 1, low=0.2, high=3)
    yield case(make(4, 5), make(4, 5), None, mean, rstd, (1,))
    mean, rstd = make(1, 2, 1), make(1, 2, 1, low=0.2, high=3)
    yield case(make(3, 2, 4), make(3, 2, 4), make(1, 2, 1), mean, rstd, (0, 2))
    mean, rstd = make(1, 3, 1, 1), make(1, 3, 1, 1, low=0.2, high=3)
    images = make(2, 3, 2, 2), make(2, 3, 2, 2)
    yield case(*images, make(3, 1, 1), mean, rstd, (0, 2, 3))


@op(cancels=True, shape=lambda ct, x, *_, **__: x, accepts=FLOAT, promote=None,
    oracle=_backward_truth, cases=_backward_calls)  # fmt: skip
def normalise_backward(
    ct: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor,
    dims: AxisList,
) -> Tensor:  # fmt: skip
    """The gradient rstd (g - mean(g) - z mean(g z)) with g = ct weight, z = y's core.

    Ioffe & Szegedy 2015, section 3; Ba et al. 2016. Of 16-bit floats, the statistics
    may be float32.
    """
    if ct._kind.dtype in HALF:
        wide = _widened(ct, x, weight, mean, rstd)
        return cast(normalise_backward(*wide, dims), ct._kind.dtype)
    g = ct if weight is None else ct * weight
    z = (x - mean) * rstd
    if not dims:
        return g * 0
    over = tuple(dims)
    return (g - mean_over(g, over) - z * mean_over(g * z, over)) * rstd


def _widened(*given: Any) -> list[Any]:
    """Tensors of 16-bit floats as float32."""
    return [x if x is None else cast(x, float32) for x in given]


def _weight_truth(
    ct: Array, x: Array, mean: Array, rstd: Array, weight_shape: Sizes
) -> Array:
    wide = (1,) * (x.ndim - len(weight_shape)) + tuple(weight_shape)
    axes = tuple(d for d, n in enumerate(wide) if n == 1)
    y: Array = np.sum(ct * (x - mean) * rstd, axis=axes, keepdims=True)
    return y.reshape(weight_shape)


def _weight_calls(make: Any) -> Any:
    mean, rstd = make(4, 1), make(4, 1, low=0.2, high=3)
    yield case(make(4, 5), make(4, 5), mean, rstd, (5,))
    mean, rstd = make(1, 2, 1), make(1, 2, 1, low=0.2, high=3)
    yield case(make(3, 2, 4), make(3, 2, 4), mean, rstd, (2, 1))
    mean, rstd = make(1, 3, 1, 1), make(1, 3, 1, 1, low=0.2, high=3)
    yield case(make(2, 3, 2, 2), make(2, 3, 2, 2), mean, rstd, (3, 1, 1))
    # As many rows as several blocks have, and a few more.
    mean, rstd = make(301, 1), make(301, 1, low=0.2, high=3)
    yield case(make(301, 2), make(301, 2), mean, rstd, (2,))


@op(cancels=True, shape=lambda ct, x, mean, rstd, *, weight_shape: weight_shape,
    accepts=FLOAT, promote=None, oracle=_weight_truth, cases=_weight_calls)  # fmt: skip
def normalise_weight_backward(
    ct: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight_shape: Shape
) -> Tensor:
    """The gradient of a weight of that shape: ct z, summed where it broadcasts."""
    if ct._kind.dtype in HALF:
        wide = _widened(ct, x, mean, rstd)
        return cast(normalise_weight_backward(*wide, weight_shape), ct._kind.dtype)
    return sum_to(ct * ((x - mean) * rstd), weight_shape)


def _by_truth(
    x: Array, mean: Array, var: Array, weight: Any, bias: Any, eps: float
) -> Array:
    y = (x - mean) / np.sqrt(var + eps) * (1 if weight is None else weight)
    return np.asarray(y + (0 if bias is None else bias))


def _by_calls(make: Any) -> Any:
    yield case(make(2, 3), make(3), make(3, low=0.2, high=3), None, None, 1e-3)
    mean, var, weight, bias = (make(3, 1, low=0.2, high=3) for _ in range(4))
    yield case(make(2, 3, 4), mean, var, weight, bias, 1e-3)


def _by_shape(
    x: Sizes, mean: Sizes, var: Sizes, weight: Sizes | None, bias: Sizes | None, *,
    eps: float,
) -> Sizes:  # fmt: skip
    check_weights("normalise_by", x, mean=mean, var=var, weight=weight, bias=bias)
    return x


@op(cancels=True, shape=_by_shape, accepts=FLOAT, row_major=False, oracle=_by_truth,
    cases=_by_calls)  # fmt: skip
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


@normalise.oracle
def normalise_truth(x: Array, weight: Any, bias: Any, dims: Any, eps: float) -> Any:
    """By NumPy, in float64."""
    mean = _mean(x, dims)
    var = _mean((x - mean) ** 2, dims)
    rstd = 1 / np.sqrt(var + eps)
    y = (x - mean) * rstd * (1 if weight is None else weight)
    return y + (0 if bias is None else bias), mean, var, rstd
