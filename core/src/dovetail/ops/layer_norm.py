"""Layer normalisation: the result alone, where nothing asks for its statistics."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import FLOAT, Array
from dovetail.engine.attributes import Scalar, Sizes
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.norm import differing, normalise, normalise_truth


def last_dims(
    op: str, size: tuple[int, ...], wanted: tuple[int, ...], *weights: Any
) -> tuple[int, ...]:
    """The dims of `wanted`, which `size` and the shapes of the weights end with."""
    if not wanted or tuple(size[-len(wanted) :]) != wanted:
        raise ShapeError(
            op, "normalized_shape", was=f"{wanted} for an input of shape {size}",
            needed="the sizes of its last dims",
        )  # fmt: skip
    for shape in weights:
        if shape is not None and tuple(shape) != wanted:
            raise ShapeError(
                op, "weight or bias", was=f"of shape {tuple(shape)}",
                needed=f"{wanted}, the normalized_shape",
            )  # fmt: skip
    return tuple(range(len(size) - len(wanted), len(size)))


def _as_input(
    x: Any, weight: Any, bias: Any, *, normalized_shape: tuple[int, ...], eps: float
) -> Any:
    last_dims("layer_norm", x, normalized_shape, weight, bias)
    return x


def _differing(
    x: Array, weight: Any, bias: Any, normalized_shape: Any, eps: float
) -> Any:
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return differing(x, weight, bias, dims, eps)[0]


# Squares of deviations leave the format before the result does.
@op(cancels=_differing, shape=_as_input, accepts=FLOAT, undefined_on=("extreme",),
    cases=lambda _: [
        ([4, 5], None, None, (5,), 0.001), ([2, 3, 4], [4], [4], (4,), 0.001),
        ([2, 3, 4], [3, 4], None, (3, 4), 0.01), ([40, 20], [20], [20], (20,), 0.01),
        ([6], None, [6], (6,), 0.1), ([0, 3], [3], [3], (3,), 0.1),
    ])  # fmt: skip
def layer_norm(
    input: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
    normalized_shape: Sizes = (), eps: Scalar = 1e-05,
) -> Tensor:  # fmt: skip
    """(input - mean) / sqrt(variance + eps) over the last dims (Ba et al. 2016).

    Times `weight`, plus `bias`. Its gradient is that of `normalise`, which keeps the
    mean and the deviation; calls that keep nothing need not compute them as results.
    """
    ndim = input.ndim
    dims = tuple(range(ndim - len(normalized_shape), ndim))
    return normalise(input, weight, bias, dims, eps)[0]


@layer_norm.oracle
def _(x: Array, weight: Any, bias: Any, normalized_shape: Any, eps: float) -> Any:
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return normalise_truth(x, weight, bias, dims, eps)[0]
