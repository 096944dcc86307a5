"""Softmax, norms and sums of exponentials of the elements that a mask keeps."""

from __future__ import annotations

import math
from typing import Any

from dovetail.dtypes import DType
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.frontend.masked.masks import (
    Dims,
    dims_of,
    filled_with,
    in_dtype,
    lowest,
)
from dovetail.frontend.masked.reductions import norm
from dovetail.ops.formats import cast
from dovetail.ops.logaddexp import logaddexp as _logaddexp

_TORCH = NAMESPACES["torch"]


def _normalised(
    name: str, apply: str, input: Tensor, dim: int, dtype: DType | None, mask: Any
) -> Tensor:
    x = in_dtype(input, dtype)
    fill = math.inf if apply == "softmin" else -math.inf
    x = filled_with(name, x, mask, fill if x.dtype.is_inexact else lowest(x.dtype))
    y: Tensor = NAMESPACES["F"][apply](x, dim)
    return y


@public("masked.softmax")
def softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Exponentials over their sum, of what `mask` keeps; 0 elsewhere."""
    return _normalised("masked.softmax", "softmax", input, dim, dtype, mask)


@public("masked.log_softmax")
def log_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax`."""
    return _normalised("masked.log_softmax", "log_softmax", input, dim, dtype, mask)


@public("masked.softmin")
def softmin(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """`softmax` of what is negated."""
    return _normalised("masked.softmin", "softmin", input, dim, dtype, mask)


@public("masked.normalize")
def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Lines over their norm, which counts as `eps` at least; dropped elements are 0."""
    name = "masked.normalize"
    x = in_dtype(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    size = cast(size.clamp(min=eps), x.dtype)
    return filled_with(name, x, mask, 0) / size


@public("masked.logsumexp")
def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The logarithm of the sum of exponentials of what `mask` keeps."""
    x = in_dtype(input, dtype)
    least = -math.inf if x.dtype.is_inexact else lowest(x.dtype)
    x = filled_with("masked.logsumexp", x, mask, least)
    dims = dims_of("masked.logsumexp", x, dim)
    return cast(_TORCH["logsumexp"](x, dims, keepdim), x.dtype)


@public("masked.logaddexp")
def logaddexp(
    input: Tensor, other: Tensor, *, dtype: DType | None = None,
    input_mask: Tensor | None = None, other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """log(exp(input) + exp(other)), of what the masks keep."""
    x = filled_with("masked.logaddexp", in_dtype(input, dtype), input_mask, -math.inf)
    y = filled_with("masked.logaddexp", in_dtype(other, dtype), other_mask, -math.inf)
    return _logaddexp(x, y)
