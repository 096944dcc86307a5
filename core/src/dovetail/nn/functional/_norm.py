"""Normalisation over neighbouring channels."""

from __future__ import annotations

import math

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.create import full
from dovetail.ops.shape import cat


@public("F.local_response_norm")
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Each element over (k + alpha mean(x²))^beta of `size` channels around it.

    Krizhevsky et al. 2012, section 3.3.
    """
    shape = tuple(input._a.shape)
    if len(shape) < 3:
        raise ArgumentError(
            "local_response_norm", "input", was=f"{len(shape)}-dimensional",
            needed="at least 3 dims: Expected 3D or higher dimensionality",
        )  # fmt: skip
    if not math.prod(shape):
        return input
    n, channels, *rest = shape
    before, after = size // 2, (size - 1) // 2
    edges = (full((n, c, *rest), 0, input._kind) for c in (before, after))
    square = cat([next(edges), input * input, next(edges)], 1)
    total = square[:, :channels]
    for at in range(1, size):
        total = total + square[:, at : at + channels]
    if not input.dtype.is_inexact:
        total = total // size * size  # torch's mean of integers is one
    return input / (total * (alpha / size) + k) ** beta
